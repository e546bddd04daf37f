"""Boxes and names drawn onto frames, in any script, and videos of such frames."""

import os
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import cv2
import numpy as np
from PIL import Image as Pillow
from PIL import ImageDraw, ImageFont

from labelwalk._validation import check_number
from labelwalk.faces import frames
from labelwalk.faces.capture import COMPLETE_SHARE, MAX_FRAMES_PER_S, Capture
from labelwalk.faces.pictures import pad_to_size
from labelwalk.faces.pipeline import Face
from labelwalk.faces.recognizer import format_person

Colour = tuple[int, int, int]  # red, green, blue

GREY: Colour = (128, 128, 128)
# white letters are readable on these
COLOURS: tuple[Colour, ...] = (
    (0, 114, 178),
    (213, 94, 0),
    (0, 158, 115),
    (160, 70, 141),
    (150, 110, 0),
    (60, 60, 140),
)
LETTERS_PER_SIDE, LINES_PER_SIDE = 20, 240  # letters are a 20th of the shorter side high
MIN_LETTER_PIXELS = 11
MAX_CHARACTERS = 40
MISSING_CHARACTER = "\U0010ffff"  # in no font: drawn as all missing characters are
# Searched for where the system has its fonts. Pillow contains a Latin one.
FONT_FILES = (
    "DejaVuSans.ttf",
    "NotoSans-Regular.ttf",
    "NotoSansCJK-Regular.ttc",
    "wqy-microhei.ttc",
    "Arial Unicode.ttf",
    "PingFang.ttc",
    "arial.ttf",
    "msyh.ttc",
    "malgun.ttf",
)
CODECS = {".mp4": "mp4v", ".webm": "VP80", ".avi": "MJPG", ".mkv": "VP80"}
MIN_FRAMES_PER_S, DEFAULT_FRAMES_PER_S = 0.1, 25.0
_STDERR_LOCK = Lock()


class Caption(NamedTuple):
    """A box with a name; None for a stranger."""

    box: frames.Box
    name: str | None
    confidence: float | None = None
    stranger: int | None = None

    @property
    def text(self) -> str:
        """The name, or "unknown #3", and the confidence in percent."""
        name = format_person(self.stranger if self.name is None else self.name)
        return name if self.confidence is None else f"{name} {self.confidence:.0%}"


def draw_faces(image: frames.Image, captions: Iterable[Caption]) -> frames.Image:
    """Return a copy of an image with boxes and captions.

    A name has the same colour in every frame; strangers are grey.

    Examples
    --------
    >>> image = np.zeros((120, 160, 3), dtype=np.uint8)
    >>> captioned = draw_faces(image, [Caption(frames.Box(40, 40, 50, 50), "Zoë", 0.93)])
    >>> image.any(), captioned.any()
    (np.False_, np.True_)
    """
    frames.check_image(image)
    canvas = Pillow.fromarray(np.ascontiguousarray(image[:, :, ::-1]))
    pen = ImageDraw.Draw(canvas)
    shorter = min(canvas.size)
    line = max(1, round(shorter / LINES_PER_SIDE))
    letters = max(MIN_LETTER_PIXELS, round(shorter / LETTERS_PER_SIDE))
    for caption in captions:
        x, y, width, height = caption.box
        colour = choose_colour(caption.name)
        if caption.box.area:
            pen.rectangle((x, y, x + width - 1, y + height - 1), outline=colour, width=line)
        font, text = choose_font(caption.text, letters)
        left, top, right, bottom = map(round, font.getbbox(text))
        pad = max(2, max(1, bottom - top) // 4)
        strip_width, strip_height = right - left + 2 * pad, bottom - top + 2 * pad
        strip_x = max(0, min(x, canvas.width - strip_width))
        strip_y = y - strip_height if y >= strip_height else max(0, y)  # inside if not above
        corners = (strip_x, strip_y, strip_x + strip_width - 1, strip_y + strip_height - 1)
        pen.rectangle(corners, fill=colour)
        pen.text((strip_x + pad - left, strip_y + pad - top), text, fill="white", font=font)
    return np.ascontiguousarray(np.asarray(canvas)[:, :, ::-1])


drawn = draw_faces  # the documented name of version 0.7


def choose_colour(name: str | None) -> Colour:
    """Return the colour of a name, which depends on nothing else."""
    if name is None:
        return GREY
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return COLOURS[int.from_bytes(digest, "big") % len(COLOURS)]


@lru_cache(maxsize=512)
def choose_font(text: str, height: int) -> tuple[ImageFont.FreeTypeFont, str]:
    """Return a font, and the text in characters of this font.

    Characters that no font has lose their accents, or become their number in brackets: with a
    question mark, different names would look the same.
    """
    text = "".join(char if char.isprintable() else " " for char in text).strip() or " "
    text = text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 3] + "..."
    fonts = [font for name in (*FONT_FILES, None) if (font := _load_font(name, height))]
    for font in fonts:
        if all(_has_glyph(font, char) for char in text):
            return font, text
    font = fonts[0]
    return font, "".join(char if _has_glyph(font, char) else _spell(char) for char in text)


@lru_cache(maxsize=64)
def _load_font(name: str | None, height: int) -> ImageFont.FreeTypeFont | None:
    """Return a font of the system, or for None that of Pillow; None if there is no such font."""
    try:
        font = ImageFont.truetype(name, height) if name else ImageFont.load_default(height)
    except OSError:
        return None
    return font if isinstance(font, ImageFont.FreeTypeFont) else None


@lru_cache(maxsize=4096)
def _has_glyph(font: ImageFont.FreeTypeFont, character: str) -> bool:
    if character == " ":
        return True
    glyph, missing = font.getmask(character), font.getmask(MISSING_CHARACTER)
    return glyph.size != missing.size or bytes(glyph) != bytes(missing)


def _spell(character: str) -> str:
    """Return a character without its accent, or its number: "e" for "ë", "[660E]" for "明"."""
    plain = unicodedata.normalize("NFKD", character)[0]
    return plain if plain.isascii() and plain.isprintable() else f"[{ord(character):04X}]"


class VideoFile(frames.Closing):
    """A video file that is being written; a context manager that finishes it.

    Its name ends with .mp4, .webm, .mkv or .avi; an existing file is overwritten. All frames have
    one width and height. Codecs need even numbers: of an odd one, a row or column is cut off.
    """

    def __init__(
        self, path: str | os.PathLike[str], frames_per_second: float, size: tuple[int, int]
    ) -> None:
        check_video_path(path)
        self._path, self.size, self.n_written = Path(path), size, 0
        check_number(
            "frames_per_second", frames_per_second, MIN_FRAMES_PER_S, MAX_FRAMES_PER_S, "25.0"
        )
        frames.check_size(*size, f"size={size}")
        codec = cv2.VideoWriter.fourcc(*CODECS[self._path.suffix.lower()])
        with _silence_stderr():
            self._writer = cv2.VideoWriter(
                str(self._path.absolute()), cv2.CAP_FFMPEG, codec, frames_per_second, size
            )
        if not self._writer.isOpened():
            raise frames.SourceError(
                f"{path} cannot be written. Check that its folder exists and is writable, and that "
                "frames have at least 2 × 2 pixels; otherwise, choose another video format."
            )

    def write(self, image: frames.Image) -> None:
        """Add a frame."""
        frames.check_image(image)
        if (image.shape[1], image.shape[0]) != self.size:
            raise ValueError(
                f"image has {image.shape[1]} × {image.shape[0]} pixels, not the {self.size[0]} × "
                f"{self.size[1]} of this video. Pass frames from one source."
            )
        self._writer.write(image)
        self.n_written += 1

    def close(self) -> None:
        """Finish the file and read it: the codecs do not report a full disk."""
        if not self._writer.isOpened():
            return
        self._writer.release()
        problem = f"{self._path} could not be written completely. Check whether the disk is full."
        if self.n_written:
            capture = Capture(str(self._path.absolute()), str(self._path), problem)
            n_frames = capture.n_frames or 0
            capture.close()
            if n_frames < COMPLETE_SHARE * self.n_written:
                raise frames.SourceError(problem)


class Recording(frames.Closing):
    """A video of a stream with boxes and names; it starts at the first frame, in its size.

    A live source skips frames: each frame is repeated until the time of the next one.
    """

    def __init__(self, path: str, source: frames.Source) -> None:
        check_video_path(path)
        self._path, self._live = path, source.live
        self._rate = max(MIN_FRAMES_PER_S, source.frames_per_second or DEFAULT_FRAMES_PER_S)
        self._file: VideoFile | None = None
        self._newest: frames.Image | None = None
        self._start_s = 0.0

    def add(self, frame: frames.Frame, faces: Sequence[Face]) -> None:
        """Add a frame with its faces."""
        captions = [
            Caption(face.box, face.name, face.confidence if face.name else None, face.stranger)
            for face in faces
        ]
        image = draw_faces(frame.image, captions)
        if self._file is None:
            self._start_s = frame.seconds
            self._file = VideoFile(self._path, self._rate, (image.shape[1], image.shape[0]))
        file, n_due = self._file, self._file.n_written
        if self._live:
            n_due = round((frame.seconds - self._start_s) * self._rate)
        while self._newest is not None and file.n_written < n_due:
            file.write(self._newest)
        self._newest = pad_to_size(image, *file.size)
        if file.n_written <= n_due:
            file.write(self._newest)

    def close(self) -> None:
        """Finish the file, if there is one."""
        if self._file is not None:
            self._file.close()


def check_video_path(path: str | os.PathLike[str]) -> None:
    """Raise `SourceError` if the suffix of a path is not one of a video."""
    if Path(path).suffix.lower() not in CODECS:
        raise frames.SourceError(
            f"{path} does not have a video suffix. Use one of {', '.join(CODECS)}."
        )


@contextmanager
def _silence_stderr() -> Iterator[None]:
    """Redirect standard error to nowhere: OpenCV prints about codecs at any log level."""
    with _STDERR_LOCK:  # else two threads would restore each other's file
        null, saved = os.open(os.devnull, os.O_WRONLY), os.dup(2)
        try:
            os.dup2(null, 2)
            yield
        finally:
            os.dup2(saved, 2)
            os.close(null)
            os.close(saved)
