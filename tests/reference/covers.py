"""A cover by plain loops: every distance measured whenever it is asked for."""

import math
from typing import Any

Vertex = dict[str, Any]
Cover = tuple[list[Vertex], float]


def apart(x: list[float], y: list[float]) -> float:
    total = 0.0
    for a, b in zip(x, y, strict=True):
        gap = b - a
        total += gap * gap
    return math.sqrt(total)


def covered(rows: list[list[float]], k: int, growth: float) -> Cover:
    vertices: list[Vertex] = []
    radius = 0.0
    for x in rows:
        taker: Vertex = {}
        shortest = math.inf
        for vertex in vertices:
            own = apart(x, vertex["point"])
            if own < shortest:
                taker, shortest = vertex, own
        if shortest == 0.0 or shortest < radius:
            taker["rows"].append(x)
            taker["reach"] = max(taker["reach"], shortest)
        else:
            vertices.append({"point": x, "rows": [x], "reach": 0.0})
        if len(vertices) > k:
            aim = math.ceil(0.9 * k)
            vertices, last = merge_closest(vertices, -1.0, k, aim, growth)
            radius = max(radius, last)
    return vertices, radius


def united(covers: list[Cover], k: int) -> Cover:
    vertices = [vertex for cover, _ in covers for vertex in cover]
    radius = max([own for cover, own in covers if cover], default=0.0)
    left, last = merge_closest(vertices, radius, k, k, 1.0)
    heirs: list[Vertex] = [{"point": one["point"], "rows": [], "reach": 0.0} for one in left]
    for vertex in vertices:
        gaps = [apart(vertex["point"], heir["point"]) for heir in heirs]
        gap = min(gaps)
        heir = heirs[gaps.index(gap)]
        heir["rows"] = heir["rows"] + vertex["rows"]
        heir["reach"] = max(heir["reach"], gap + vertex["reach"])
    return heirs, max(radius, last)


def merge_closest(
    vertices: list[Vertex], within: float, limit: int, aim: int, growth: float
) -> Cover:
    vertices, last = list(vertices), -1.0
    while len(vertices) > 1:
        gap, older, younger = min(
            (apart(vertices[i]["point"], vertices[j]["point"]), j, i)
            for i in range(len(vertices))
            for j in range(i)
        )
        near = gap < within or gap == within == 0.0
        onwards = len(vertices) > aim and last >= 0.0 and gap <= growth * last
        if not (near or len(vertices) > limit or onwards):
            break
        a, b = vertices[older], vertices[younger]
        if_older = max(a["reach"], gap + b["reach"])
        if_younger = max(b["reach"], gap + a["reach"])
        if if_younger < if_older or (if_younger == if_older and len(b["rows"]) > len(a["rows"])):
            kept, gone, reach, place = b, a, if_younger, younger
        else:
            kept, gone, reach, place = a, b, if_older, older
        both = {"point": kept["point"], "rows": kept["rows"] + gone["rows"], "reach": reach}
        vertices[place] = both
        del vertices[older if place == younger else younger]
        last = max(last, gap)
    return vertices, last
