"""One JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from labelwalk.io.batch import Batch, Position
from labelwalk.io.blocks import Block, TextFile
from labelwalk.io.fault import Fault
from labelwalk.io.objects import ObjectRows


@dataclass(frozen=True)
class NDJSON:
    """A file of JSON objects, one a line.

    Parameters
    ----------
    path : str
        "-" is standard input.
    follow : bool
        Whether to wait at the end for more.
    also : names
        Columns beside those of the first object.
    """

    path: str
    follow: bool = False
    also: Sequence[str] = ()

    def batches(self, position: Position | None) -> Iterator[Batch]:
        """Yield batches of rows; the position counts bytes and lines."""
        file = TextFile(self.path, follow=self.follow)
        start = position or {"bytes": 0, "lines": 0, "names": []}
        names = start["names"]
        for block in file.blocks(start["bytes"], start["lines"]):
            batch = _batch(block, names, self.also, file.size)
            names = batch.rows.names
            yield batch


def _batch(block: Block, names: list[str], also: Sequence[str], size: int | None) -> Batch:
    lines = block.content.split(b"\n")
    written = [i for i, line in enumerate(lines) if line.strip()]
    wheres = [f"line {block.line + i + 1}" for i in written]
    rows, faults, good = parsed([lines[i] for i in written], wheres, names, also)
    places = [written[i] for i in good]
    read = block.offset + len(block.content)

    def after(n: int | None) -> Position:
        if n is None:
            done, end = block.content.count(b"\n"), len(block.content)
        else:
            done = places[n - 1] + 1 if n else 0
            end = min(sum(map(len, lines[:done])) + done, len(block.content))
        return {"bytes": block.offset + end, "lines": block.line + done, "names": rows.names}

    return Batch(
        rows,
        where=lambda i: wheres[good[i]],
        after=after,
        share=None if size is None else read / max(size, 1),
        faults=faults,
    )


def parsed(
    texts: Sequence[bytes], wheres: Sequence[str], names: list[str], also: Sequence[str]
) -> tuple[ObjectRows, list[Fault], list[int]]:
    """Return the objects, what is no object, and which of the texts the objects are.

    The columns have the names given; where there are none yet, those of the first object, and also
    those that somebody has named.
    """
    kept: list[str] = []
    objects: list[dict[str, Any]] = []
    faults: list[Fault] = []
    good: list[int] = []
    for i, (raw, where) in enumerate(zip(texts, wheres, strict=True)):
        try:
            text = raw.decode("utf-8")
            value = json.loads(text)
            problem = None if isinstance(value, dict) else "is not a JSON object"
        except (ValueError, RecursionError) as error:
            text = raw.decode("utf-8", "backslashreplace")
            problem = f"is not JSON ({error})"
        if problem is None:
            kept.append(text)
            objects.append(value)
            good.append(i)
        else:
            faults.append(Fault(len(kept), where, problem, row=text))
    if not names and objects:
        names = list(dict.fromkeys([*objects[0], *also]))
    return ObjectRows(kept, objects, names), faults, good
