"""Picture files and their bytes: decode, encode, resize, and read all of a folder in order."""

import io
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
from PIL import Image as Pillow
from PIL import ImageOps, UnidentifiedImageError

from labelwalk.faces.frames import MAX_PIXELS, Frame, Image, Source, SourceError, check_size

SUFFIXES = (".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
FILE_FORMATS = ("BMP", "JPEG", "PNG", "TIFF", "WEBP")
NETWORK_FORMATS = ("JPEG", "PNG", "WEBP")  # the best tested decoders
FOLDER_FRAMES_PER_S = 25.0  # of a folder of pictures, which does not say
MAX_SIDE_PIXELS = 1920


class PictureFolder(Source):
    """All pictures of a folder in the order of their names, 2.png before 10.png."""

    frames_per_second = FOLDER_FRAMES_PER_S

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.name, self._paths = str(folder), list_pictures(folder)
        self.n_frames = len(self._paths)

    def __iter__(self) -> Iterator[Frame]:
        for number, path in enumerate(self._paths, start=1):
            try:
                picture = read_picture(path)
            except SourceError as error:
                raise SourceError(f"{error} This file follows frame {number - 1}.") from error
            yield replace(picture, number=number, seconds=(number - 1) / FOLDER_FRAMES_PER_S)


def list_pictures(folder: str | os.PathLike[str]) -> list[Path]:
    """Return the pictures of a folder, without subfolders and hidden files."""
    try:
        paths = [path for path in Path(folder).iterdir() if not path.name.startswith(".")]
    except OSError as error:
        raise SourceError(f"{folder} cannot be read ({error.strerror}).") from error
    pictures = [path for path in paths if is_picture(path) and path.is_file()]
    if not pictures:
        raise SourceError(f"{folder} has no pictures ({', '.join(SUFFIXES)}).")
    return sorted(pictures, key=lambda path: (_split_numbers(path.name), path.name))


def is_picture(path: str | os.PathLike[str]) -> bool:
    """Return whether the suffix of a file is one of a picture."""
    return Path(path).suffix.lower() in SUFFIXES


def _split_numbers(name: str) -> list[str | int]:
    """Return text and numbers in turn, so that two names compare text with text."""
    parts = re.split("([0-9]+)", name)
    return [int(part) if i % 2 else part for i, part in enumerate(parts)]


def read_picture(path: str | os.PathLike[str]) -> Frame:
    """Return the picture in a file."""
    return Frame(1, 0.0, *_decode(Path(path), str(path), FILE_FORMATS))


def decode_picture(data: bytes, name: str = "the picture") -> Frame:
    """Return the picture in the bytes of a JPEG, PNG or WebP file, made smaller if very large.

    The size is checked before memory is allocated.
    """
    return Frame(1, 0.0, *_decode(io.BytesIO(data), name, NETWORK_FORMATS))


def encode_jpeg(image: Image, quality: int = 85) -> bytes:
    """Return an image as the bytes of a JPEG file.

    Examples
    --------
    >>> decode_picture(encode_jpeg(np.full((8, 8, 3), 100, dtype=np.uint8))).image[0, 0]
    array([100, 100, 100], dtype=uint8)
    """
    file = io.BytesIO()
    Pillow.fromarray(np.ascontiguousarray(image[:, :, ::-1])).save(file, "JPEG", quality=quality)
    return file.getvalue()


encoded = encode_jpeg  # the documented name of version 0.7


def shrink_to_limit(image: Image) -> tuple[Image, float]:
    """Shrink an image whose longer side exceeds 1920 pixels; return it and its scale."""
    scale = MAX_SIDE_PIXELS / max(image.shape[:2])
    return (image, 1.0) if scale >= 1.0 else (_resize(image, scale), scale)


def pad_to_size(image: Image, width: int, height: int) -> Image:
    """Return an image of exactly this size: enlarged as far as it fits, with black borders."""
    if image.shape[:2] == (height, width):
        return image
    resized = _resize(image, min(width / image.shape[1], height / image.shape[0]))
    canvas = np.zeros((height, width, 3), dtype=np.uint8)
    top, left = (height - resized.shape[0]) // 2, (width - resized.shape[1]) // 2
    canvas[top : top + resized.shape[0], left : left + resized.shape[1]] = resized
    return canvas


def _resize(image: Image, scale: float) -> Image:
    height, width = (max(1, round(side * scale)) for side in image.shape[:2])
    interpolation = cv2.INTER_AREA if scale < 1.0 else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(image, (width, height), interpolation=interpolation), np.uint8)


def _decode(file: Path | io.BytesIO, name: str, formats: tuple[str, ...]) -> tuple[Image, float]:
    try:
        with Pillow.open(file, formats=formats) as picture:
            check_size(*picture.size, name)
            return shrink_to_limit(_convert_to_bgr(picture))
    except SourceError:
        raise
    except (Pillow.DecompressionBombError, Pillow.DecompressionBombWarning) as error:
        raise SourceError(
            f"{name} has more than {MAX_PIXELS} pixels, the maximum. Reduce its size first."
        ) from error
    except UnidentifiedImageError as error:
        raise SourceError(f"{name} is not a picture ({', '.join(formats)}).") from error
    except Exception as error:  # a decoder may raise anything for a damaged file
        if isinstance(error, OSError) and error.strerror is not None:  # about the file itself
            raise SourceError(f"{name} cannot be read ({error.strerror}).") from error
        raise SourceError(f"{name} is not a readable picture ({error}).") from error


def _convert_to_bgr(picture: Pillow.Image) -> Image:
    upright = ImageOps.exif_transpose(picture)
    if upright.mode.startswith("I"):  # 16 bits of grey, of which the upper 8 are kept
        upright = Pillow.fromarray((np.asarray(upright).clip(0, 65535) >> 8).astype(np.uint8))
    return np.ascontiguousarray(np.asarray(upright.convert("RGB"))[:, :, ::-1])
