"""Frames, and what gives them one after another."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from labelwalk.faces.closing import Closing
from labelwalk.faces.image import Image


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One picture of a stream.

    Attributes
    ----------
    number : int
        Counts from 1. A live source counts those that nobody had time for, too.
    seconds : float
        Since the beginning of the video, or since a live source was opened.
    image : array (height, width, 3) of uint8
        Blue, green, red.
    scale : float
        1, or how much smaller this is than what came: boxes are in pixels of `image`.
    """

    number: int
    seconds: float
    image: Image
    scale: float = 1.0


class Source(Closing):
    """Frames in order, once; a context manager that lets go of file or camera in the end.

    Attributes
    ----------
    name : str
        What it is called in messages.
    n_frames : int or None
        How many there are, where that is known; some kinds of video only estimate it.
    frames_per_second : float or None
        Where that is known.
    live : bool
        Whether it goes on by itself, and frames that nobody waits for are lost.
    """

    name: str
    n_frames: int | None = None
    frames_per_second: float | None = None
    live: bool = False

    @abstractmethod
    def __iter__(self) -> Iterator[Frame]:
        """Give frame after frame.

        Raises
        ------
        SourceError
            It is damaged or gone; all frames before that were given.
        """
