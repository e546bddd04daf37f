"""Centre and spread of a feature, value by value, and when they are measured."""

from __future__ import annotations

import math
from collections.abc import Sequence


def median(values: Sequence[float]) -> float:
    ascending = sorted(values)
    n = len(ascending)
    if n % 2 == 1:
        return ascending[n // 2]
    return (ascending[n // 2 - 1] + ascending[n // 2]) / 2.0


def spread(values: Sequence[float]) -> float:
    middle = median(values)
    deviations = []
    for value in values:
        if value != middle:
            deviations.append(abs(value - middle))
    if len(deviations) < 2:
        return 1.0
    deviations.sort()
    typical = deviations[(len(deviations) - 1) // 2]
    tame = []
    for value in values:
        if abs(value - middle) <= 20.0 * typical:
            tame.append((value - middle) / typical)
    mean = math.fsum(tame) / len(tame)
    square = math.fsum((value - mean) ** 2 for value in tame) / len(tame)
    return typical * math.sqrt(square)


def scale_after(rows: Sequence[Sequence[float]]) -> tuple[list[float], list[float]]:
    """Centres and spreads as they stand after these rows."""
    n = 1
    while 2 * n <= min(len(rows), 128):
        n = 2 * n
    centres = []
    spreads = []
    for p in range(len(rows[0])):
        column = []
        for i in range(n):
            column.append(rows[i][p])
        centres.append(median(column))
        spreads.append(spread(column))
    return centres, spreads


def scaled(
    rows: Sequence[Sequence[float]], centres: Sequence[float], spreads: Sequence[float]
) -> list[list[float]]:
    result = []
    for row in rows:
        result.append([(row[p] - centres[p]) / spreads[p] for p in range(len(row))])
    return result
