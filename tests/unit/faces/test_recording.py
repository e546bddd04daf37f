"""Videos written: they come back, and what cannot be written is told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from labelwalk.faces.capture import open_source
from labelwalk.faces.drawing import CODECS, VideoFile
from labelwalk.faces.frames import SourceError
from labelwalk.faces.pictures import pad_to_size
from tests.unit.faces.generated import scene

pytestmark = pytest.mark.shell


@pytest.mark.parametrize("kind", sorted(CODECS))
@pytest.mark.parametrize("size", [(320, 240), (161, 121)])
def test_what_is_written_comes_back(kind: str, size: tuple[int, int], tmp_path: Path) -> None:
    pictures = [scene([person], *size) for person in range(10)]
    path = tmp_path / f"out{kind.upper()}"
    with VideoFile(path, 12.5, size) as file:
        for picture in pictures:
            file.write(picture)
    with open_source(path) as source:
        assert source.frames_per_second == pytest.approx(12.5)
        frames = list(source)
    assert len(frames) == 10
    for frame, picture in zip(frames, pictures, strict=True):
        even = picture[: size[1] // 2 * 2, : size[0] // 2 * 2]
        assert frame.image.shape == even.shape
        assert np.abs(frame.image.astype(float) - even).mean() < 10.0


def test_other_sizes_are_refused(tmp_path: Path) -> None:
    with VideoFile(tmp_path / "out.avi", 25.0, (320, 240)) as file:
        file.write(scene([1]))
        with pytest.raises(ValueError, match="160 × 120 pixels, not the 320 × 240"):
            file.write(scene([1], 160, 120))
        with pytest.raises(ValueError, match="not an array of height"):
            file.write(scene([1])[:, :, 0])


@pytest.mark.parametrize(
    ("name", "rate", "size", "why"),
    [
        (
            "out.gif",
            25.0,
            (320, 240),
            r"does not have a video suffix. Use one of .mp4, .webm, .avi, .mkv",
        ),
        ("out", 25.0, (320, 240), "does not have a video suffix"),
        ("no/folder/out.avi", 25.0, (320, 240), "cannot be written. Check that its folder exists"),
        ("out.avi", 0.0, (320, 240), "frames_per_second=0.0"),
        ("out.avi", float("nan"), (320, 240), "frames_per_second=nan"),
        ("out.avi", 25.0, (0, 240), "0 × 240"),
        ("out.avi", 25.0, (1, 1), "cannot be written"),
        ("out.avi", 25.0, (50_000, 50_000), "more than the maximum"),
    ],
)
def test_what_cannot_be_written(
    name: str, rate: float, size: tuple[int, int], why: str, tmp_path: Path
) -> None:
    with pytest.raises((SourceError, ValueError), match=why):
        VideoFile(tmp_path / name, rate, size)


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(CODECS))
def test_a_disk_that_is_full_is_told(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("resource")
    script = """
import resource, signal, sys
import numpy as np
from labelwalk.faces.frames import SourceError
from labelwalk.faces.drawing import VideoFile

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
random = np.random.default_rng(0)
file = VideoFile(sys.argv[1], 25.0, (320, 240))
for _ in range(40):
    file.write(random.integers(0, 256, (240, 320, 3), dtype=np.uint8))
try:
    file.close()
except SourceError as error:
    print(error)
"""
    ran = subprocess.run(
        [sys.executable, "-c", script, tmp_path / f"out{kind}"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert "could not be written completely. Check whether the disk is full." in ran.stdout, (
        ran.stderr
    )


@pytest.mark.parametrize("size", [(40, 30), (30, 40), (640, 40), (1, 1), (320, 240)])
def test_pictures_of_any_size_fit_into_one(size: tuple[int, int]) -> None:
    white = np.full((size[1], size[0], 3), 255, np.uint8)
    fits = pad_to_size(white, 320, 240)
    assert fits.shape == (240, 320, 3)
    rows, columns = (np.flatnonzero(fits[:, :, 0].any(axis=axis)) for axis in (1, 0))
    assert len(rows) == 240 or len(columns) == 320
    assert abs(int(rows[0]) - (239 - int(rows[-1]))) <= 1
    assert abs(int(columns[0]) - (319 - int(columns[-1]))) <= 1
