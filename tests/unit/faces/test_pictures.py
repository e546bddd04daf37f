"""Pictures out of bytes: upright, in eight bits, and never a bomb."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow

from labelwalk.faces.frames import SourceError
from labelwalk.faces.pictures import decode_picture
from tests.unit.faces import generated
from tests.unit.faces.generated import scene

pytestmark = pytest.mark.shell

RGB = scene([3])[:, :, ::-1]


def encoded(picture: Pillow.Image, kind: str = "PNG", **options: object) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_what_is_kept_exactly_comes_back_exactly(kind: str) -> None:
    options = {"lossless": True} if kind == "WEBP" else {}
    frame = decode_picture(encoded(Pillow.fromarray(RGB), kind, **options))
    assert (frame.image == scene([3])).all()
    assert (frame.number, frame.seconds, frame.scale) == (1, 0.0, 1.0)


def test_a_jpeg_is_nearly_the_same() -> None:
    image = decode_picture(encoded(Pillow.fromarray(RGB), "JPEG", quality=95)).image
    assert np.abs(image.astype(float) - scene([3])).mean() < 2.0


@pytest.mark.parametrize("mode", ["L", "LA", "P", "RGBA", "1"])
def test_other_kinds_of_pixels(mode: str) -> None:
    assert decode_picture(encoded(Pillow.fromarray(RGB).convert(mode))).image.shape == (240, 320, 3)


@pytest.mark.parametrize("kind", ["BMP", "GIF", "TIFF", "PPM"])
def test_kinds_that_nobody_sends_are_refused(kind: str) -> None:
    with pytest.raises(SourceError, match=r"is not a picture \(JPEG, PNG, WEBP\)"):
        decode_picture(encoded(Pillow.fromarray(RGB), kind))


def test_sixteen_bits_of_grey_become_eight() -> None:
    deep = np.arange(0, 65536, 256, dtype=np.uint16).reshape(16, 16)
    image = decode_picture(encoded(Pillow.fromarray(deep))).image
    assert (image[:, :, 0].ravel() == np.arange(256)).all()


def test_a_picture_that_lies_on_its_side_is_turned_up() -> None:
    exif = Pillow.Exif()
    exif[0x0112] = 6  # a quarter to the right
    lying = Pillow.fromarray(np.rot90(RGB))
    assert (decode_picture(encoded(lying, exif=exif)).image == scene([3])).all()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells the most memory")
def test_a_bomb_takes_no_memory(tmp_path: Path) -> None:
    """Rows and rows of nothing, 7.5 GB of it: the process takes less than a seventh of that."""
    path = generated.damaged(tmp_path / "bomb.png", generated.png_of_size(50_000, 50_000, rows=500))
    script = """
import resource, sys
from labelwalk.faces.frames import SourceError
from labelwalk.faces.pictures import decode_picture

resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))
try:
    with open(sys.argv[1], "rb") as file:
        decode_picture(file.read(), "bomb.png")
except SourceError as error:
    with open("/proc/self/status") as file:
        (most,) = [int(line.split()[1]) for line in file if line.startswith("VmHWM")]
    print(error, most < 2**20)
"""
    ran = subprocess.run(
        [sys.executable, "-c", script, path],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert ran.stderr == ""
    assert ran.stdout == (
        "bomb.png has more than 67108864 pixels, the maximum. Reduce its size first. True\n"
    )


@pytest.mark.parametrize("width", [10_000, 13_000, 50_000])
def test_too_large_is_refused_however_much_too_large(width: int) -> None:
    with pytest.raises(SourceError, match="67108864"):
        decode_picture(generated.png_of_size(width, 10_000))


@given(st.binary(max_size=200))
def test_bytes_that_are_no_picture(data: bytes) -> None:
    with pytest.raises(SourceError, match="upload is not a picture"):
        decode_picture(data, "upload")


@given(st.data())
def test_damage_is_refused_or_passed_over(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["PNG", "JPEG", "WEBP"]))
    content = bytearray(encoded(Pillow.fromarray(RGB), kind))
    for _ in range(data.draw(st.integers(1, 20))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        image = decode_picture(bytes(content)).image
    except SourceError:
        return
    assert image.dtype == np.uint8
    assert image.ndim == 3
