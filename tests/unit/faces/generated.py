"""Pictures and videos that tests make for themselves: people of the demo, damage, and bombs."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Sequence
from math import ceil, sqrt
from pathlib import Path

import numpy as np
from PIL import Image as Pillow

from labelwalk.faces.demo import (
    BACKGROUND_SHADE,
    HEIGHT_PIXELS,
    WIDTH_PIXELS,
    DemoVideo,
    convert_to_image,
    paint_face,
)
from labelwalk.faces.drawing import VideoFile
from labelwalk.faces.frames import Box, Image

FRAMES = 50


def video(path: Path, n_frames: int = FRAMES, people: int = 2) -> Path:
    """Write people of the demo as a video of the kind that the name says."""
    with VideoFile(path, 25.0, (320, 240)) as file:
        for frame in DemoVideo(people=people, n_frames=n_frames):
            file.write(frame.image)
    return path


def damaged(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def folder(path: Path, pictures: Iterable[tuple[str, Image]]) -> Path:
    path.mkdir(exist_ok=True)
    for name, image in pictures:
        Pillow.fromarray(image[:, :, ::-1]).save(path / name)
    return path


def png_of_size(width: int, height: int, rows: int = 1) -> bytes:
    """A PNG that says it has this size, and holds a few of its rows."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    content = zlib.compress(bytes((3 * width + 1) * rows))
    chunks = [(b"IHDR", header), (b"IDAT", content), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def scene(people: Sequence[int], width: int = WIDTH_PIXELS, height: int = HEIGHT_PIXELS) -> Image:
    """Return an image of these people, in rows."""
    shades = np.full((height, width), BACKGROUND_SHADE)
    if people:
        columns = ceil(sqrt(len(people) * width / height))
        rows = ceil(len(people) / columns)
        side = int(0.7 * min(width / columns, height / rows))
        for i, person in enumerate(people):
            row, column = divmod(i, columns)
            x = int((column + 0.5) * width / columns) - side // 2
            y = int((row + 0.5) * height / rows) - side // 2
            paint_face(shades, person, Box(x, y, side, side), 0.0)
    return convert_to_image(shades)
