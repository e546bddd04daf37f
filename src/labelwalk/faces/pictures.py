"""Pictures out of files and bytes, no larger than they should be."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image as Pillow
from PIL import ImageOps, UnidentifiedImageError

from labelwalk.faces.frames import Frame, Source
from labelwalk.faces.image import MOST_PIXELS, Image, SourceError, check_size
from labelwalk.faces.shrinking import fitted

SUFFIXES = (".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
FORMATS = ("BMP", "JPEG", "PNG", "TIFF", "WEBP")
SENT = ("JPEG", "PNG", "WEBP")  # kinds that come over a network: the best tested decoders alone
A_SECOND = 25.0  # pictures of a folder: they do not say


class PictureFolder(Source):
    """All pictures of a folder in the order of their names, 2.png before 10.png.

    Parameters
    ----------
    folder : str or path
        Subfolders and names that begin with a dot are left out.

    Raises
    ------
    SourceError
        It has no pictures.
    """

    frames_per_second = A_SECOND

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.name, self._paths = str(folder), pictures_in(folder)
        self.n_frames = len(self._paths)

    def __iter__(self) -> Iterator[Frame]:
        """Give picture after picture, 25 a second."""
        for number, path in enumerate(self._paths, start=1):
            try:
                picture = read(path)
            except SourceError as error:
                raise SourceError(f"{error} It comes after frame {number - 1}.") from error
            yield replace(picture, number=number, seconds=(number - 1) / A_SECOND)

    def close(self) -> None:
        """Do nothing: no file is open between two pictures."""


def pictures_in(folder: str | os.PathLike[str]) -> list[Path]:
    """Return the pictures of a folder in the order of their names.

    Raises
    ------
    SourceError
        There are none.
    """
    try:
        found = [path for path in Path(folder).iterdir() if not path.name.startswith(".")]
    except OSError as error:
        raise SourceError(f"{folder} cannot be read ({error.strerror}).") from error
    pictures = [path for path in found if is_picture(path) and path.is_file()]
    if not pictures:
        raise SourceError(f"{folder} has no pictures ({', '.join(SUFFIXES)}).")
    return sorted(pictures, key=lambda path: natural(path.name))


def is_picture(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is named as a picture."""
    return Path(path).suffix.lower() in SUFFIXES


def read(path: str | os.PathLike[str]) -> Frame:
    """Return the picture in a file.

    Raises
    ------
    SourceError
        It is no picture, damaged, or too large.
    """
    image, scale = _read(Path(path), str(path), FORMATS)
    return Frame(1, 0.0, image, scale)


def decoded(data: bytes, name: str = "the picture") -> Frame:
    """Return the picture that the bytes of a file hold.

    Its size is read before room is made for it, and it is shrunk where it is very large.

    Parameters
    ----------
    data : bytes
        A JPEG, PNG or WebP.
    name : str
        What it is called in messages.

    Raises
    ------
    SourceError
        It is no picture, damaged, or too large.

    Examples
    --------
    >>> file = io.BytesIO()
    >>> Pillow.new("RGB", (4, 2), "red").save(file, "PNG")
    >>> decoded(file.getvalue()).image[0, 0]
    array([  0,   0, 255], dtype=uint8)
    """
    image, scale = _read(io.BytesIO(data), name, SENT)
    return Frame(1, 0.0, image, scale)


def encoded(image: Image, quality: int = 85) -> bytes:
    """Return a picture as the bytes of a JPEG.

    Examples
    --------
    >>> decoded(encoded(np.full((8, 8, 3), 100, dtype=np.uint8))).image[0, 0]
    array([100, 100, 100], dtype=uint8)
    """
    file = io.BytesIO()
    Pillow.fromarray(np.ascontiguousarray(image[:, :, ::-1])).save(file, "JPEG", quality=quality)
    return file.getvalue()


def natural(name: str) -> tuple[list[tuple[bool, int, str]], str]:
    """Return what to sort a name by, so that numbers in it count as numbers.

    Examples
    --------
    >>> sorted(["10.png", "9.png", "a.png"], key=natural)
    ['9.png', '10.png', 'a.png']
    """
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    digits = [part[0] in "0123456789" for part in parts]
    keys = [
        (not is_digits, int(part) if is_digits else 0, "" if is_digits else part)
        for part, is_digits in zip(parts, digits, strict=True)
    ]
    return keys, name


def _read(file: Path | io.BytesIO, name: str, formats: tuple[str, ...]) -> tuple[Image, float]:
    try:
        with Pillow.open(file, formats=formats) as picture:
            check_size(*picture.size, name)
            return fitted(_pixels(picture))
    except SourceError:
        raise
    except (Pillow.DecompressionBombError, Pillow.DecompressionBombWarning) as error:
        raise SourceError(
            f"{name} has more than the {MOST_PIXELS} pixels that are read. Make it smaller first."
        ) from error
    except UnidentifiedImageError as error:
        raise SourceError(f"{name} is not a picture ({', '.join(formats)}).") from error
    except OSError as error:
        if error.strerror is not None:  # of the file, not of what is in it
            raise SourceError(f"{name} cannot be read ({error.strerror}).") from error
        raise SourceError(f"{name} is not a picture that can be read ({error}).") from error
    except Exception as error:  # whatever damage makes a decoder raise
        raise SourceError(f"{name} is not a picture that can be read ({error}).") from error


def _pixels(picture: Pillow.Image) -> Image:
    upright = ImageOps.exif_transpose(picture)
    if upright.mode.startswith("I"):  # 16 bits of grey, of which the upper 8 are kept
        upright = Pillow.fromarray((np.asarray(upright).clip(0, 65535) >> 8).astype(np.uint8))
    return np.ascontiguousarray(np.asarray(upright.convert("RGB"))[:, :, ::-1])
