"""A folder of images, each made a vector by a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from labelwalk.io.arrow_arrays import from_words
from labelwalk.io.batch import Batch, Position
from labelwalk.io.fault import Fault, InputError
from labelwalk.io.tables import TableRows

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff"}
SOME = 64  # images a batch
SIDE = 16

Embedding = Callable[[NDArray[np.uint8]], Any]


@dataclass(frozen=True)
class ImageFolder:
    """All images of a folder: those in subfolders first, then its own, in order of path.

    The columns are "path", "folder" (that of the image, empty at the top) and "vector". So labels
    may be given by folders, label="folder", and are learned before the rest comes.

    Parameters
    ----------
    path : str
    embed : function of an array (height, width, 3) of uint8, optional
        Return a vector. The default is `thumbnail`.
    """

    path: str
    embed: Embedding | None = None

    def batches(self, position: Position | None) -> Iterator[Batch]:
        """Yield batches of images; the position is the last one."""
        root = Path(self.path)
        found = (p for p in root.rglob("*") if p.suffix.lower() in SUFFIXES)
        names = sorted((path.relative_to(root) for path in found), key=_order)
        if not names:
            raise InputError(f"{self.path} has no images ({', '.join(sorted(SUFFIXES))}).")
        last = None if position is None or position["last"] is None else Path(position["last"])
        left = [name for name in names if last is None or _order(name) > _order(last)]
        for first in range(0, len(left), SOME):
            some = left[first : first + SOME]
            share = (len(names) - len(left) + first + len(some)) / len(names)
            yield self._batch(some, last, share)
            last = some[-1]

    def _batch(self, some: list[Path], before: Path | None, share: float) -> Batch:
        names, vectors = [], []
        faults: list[Fault] = []
        for name in some:
            try:
                pixels = _pixels(Path(self.path) / name)
                vector = np.asarray((self.embed or thumbnail)(pixels), dtype=np.float64)
                vectors.append(vector.ravel().tolist())
                names.append(name)
            except ImportError:
                raise
            except Exception as error:  # whatever a function of the user's may raise
                problem = f"cannot be used ({error})"
                faults.append(Fault(len(names), f"image {name}", problem, row=str(name)))
        table = pa.table(
            {
                "path": from_words([name.as_posix() for name in names]),
                "folder": from_words([_folder(name) for name in names]),
                "vector": pa.array(vectors, pa.list_(pa.float64())),
            }
        )

        def after(n: int | None) -> Position:
            last = some[-1] if n is None else names[n - 1] if n else before
            return {"last": None if last is None else last.as_posix()}

        return Batch(
            TableRows(table, asides=("path", "folder")),
            where=lambda i: f"image {names[i]}",
            after=after,
            share=share,
            faults=faults,
        )


def _folder(name: Path) -> str:
    return "" if len(name.parts) == 1 else name.parent.as_posix()


def _order(name: Path) -> tuple[bool, tuple[str, ...]]:
    return len(name.parts) == 1, name.parts


def thumbnail(pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return an image in 16 × 16 shades of grey from 0 to 1: enough for like to look alike."""
    from PIL import Image

    small = Image.fromarray(pixels).convert("L").resize((SIDE, SIDE))
    return np.asarray(small, dtype=np.float64).ravel() / 255.0


def embedding(name: str) -> Embedding:
    """Return the function that `package.module:function` names.

    Raises
    ------
    ValueError
        There is none.
    """
    module, _, attribute = name.partition(":")
    try:
        function = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(
            f"embed={name!r} names no function ({error}). Give package.module:function."
        ) from error
    if not callable(function):
        raise ValueError(f"embed={name!r} is not a function. Give package.module:function.")
    checked: Embedding = function
    return checked


def _pixels(path: Path) -> NDArray[np.uint8]:
    from PIL import Image

    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))
