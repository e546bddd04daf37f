"""A folder of images, each embedded as a vector by a function."""

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from labelwalk.io.arrow_columns import from_text
from labelwalk.io.rows import Batch, InputError, Position, RowError, TableRows

IMAGE_SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff"}
BATCH_IMAGES = 64
THUMBNAIL_SIDE_PIXELS = 16

Embedding = Callable[[NDArray[np.uint8]], Any]


def read_images(
    folder: str, embed: Embedding | None = None, position: Position | None = None
) -> Iterator[Batch]:
    """Yield the images of a folder: those in subfolders first, then its own, in order of path.

    The columns are "path", "folder" (of the image; empty at the top) and "vector". With
    label="folder", subfolders are labels, and are learned before the other images are read. The
    position is the last image.

    `embed` returns a vector of an array (height, width, 3) of uint8, by default `make_thumbnail`.
    """
    root = Path(folder)
    paths = (path for path in root.rglob("*") if path.suffix.lower() in IMAGE_SUFFIXES)
    names = sorted((path.relative_to(root) for path in paths), key=_sort_key)
    if not names:
        raise InputError(f"{folder} contains no images ({', '.join(sorted(IMAGE_SUFFIXES))}).")
    last = None if position is None or position["last"] is None else Path(position["last"])
    rest = [name for name in names if last is None or _sort_key(name) > _sort_key(last)]
    for first in range(0, len(rest), BATCH_IMAGES):
        paths_read = rest[first : first + BATCH_IMAGES]
        share = (len(names) - len(rest) + first + len(paths_read)) / len(names)
        yield _read_batch(root, paths_read, embed or make_thumbnail, last, share)
        last = paths_read[-1]


def _read_batch(
    root: Path, paths: list[Path], embed: Embedding, before: Path | None, share: float
) -> Batch:
    """Return images as a batch; `before` is the last image that was read before them."""
    names, vectors = [], []
    faults: list[RowError] = []
    for name in paths:
        try:
            vector = np.asarray(embed(_read_pixels(root / name)), dtype=np.float64)
            vectors.append(vector.ravel().tolist())
            names.append(name)
        except ImportError:
            raise
        except Exception as error:  # the function of the user may raise anything
            problem = f"cannot be used ({error})"
            faults.append(RowError(len(names), f"image {name}", problem, row=str(name)))
    folders = ["" if len(name.parts) == 1 else name.parent.as_posix() for name in names]
    columns = {
        "path": from_text([name.as_posix() for name in names]),
        "folder": from_text(folders),
        "vector": pa.array(vectors, pa.list_(pa.float64())),
    }

    def after(n: int | None) -> Position:
        last = paths[-1] if n is None else names[n - 1] if n else before
        return {"last": None if last is None else last.as_posix()}

    return Batch(
        TableRows(pa.table(columns), not_features=("path", "folder")),
        where=lambda i: f"image {names[i]}",
        after=after,
        share=share,
        faults=faults,
    )


def _sort_key(name: Path) -> tuple[bool, tuple[str, ...]]:
    return len(name.parts) == 1, name.parts


def make_thumbnail(pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return an image as 16 × 16 grey levels from 0 to 1."""
    from PIL import Image

    small = Image.fromarray(pixels).convert("L").resize((THUMBNAIL_SIDE_PIXELS,) * 2)
    return np.asarray(small, dtype=np.float64).ravel() / 255.0


def import_embedding(name: str) -> Embedding:
    """Return the function that `package.module:function` names.

    Examples
    --------
    >>> import_embedding("numpy:ravel").__name__
    'ravel'
    """
    module, _, attribute = name.partition(":")
    try:
        function = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ValueError(
            f"embed={name!r} does not name a function ({error}). Give package.module:function."
        ) from error
    if not callable(function):
        raise ValueError(f"embed={name!r} is not a function. Give package.module:function.")
    checked: Embedding = function
    return checked


def _read_pixels(path: Path) -> NDArray[np.uint8]:
    from PIL import Image

    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))
