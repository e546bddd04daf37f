"""Whether a truth is of the frames with which it was compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from labelwalk.cli.files import counted

if TYPE_CHECKING:
    from labelwalk.faces.frames import Frame
    from labelwalk.faces.ground_truth import NamedBox, Truth
    from labelwalk.faces.trial import Trial


class Fitting:
    """Counts, while frames pass, what the truth tells of them.

    Parameters
    ----------
    path : str
        Of the file in which the truth is.
    truth : Truth
    source : str
        What the frames come from, in words.
    """

    def __init__(self, path: str, truth: Truth, source: str) -> None:
        self._path, self._truth, self._source = path, truth, source
        self._last, self._boxes, self._outside, self._size = 0, 0, 0, ""

    def truth_of(self, frame: Frame) -> tuple[NamedBox, ...] | None:
        """Return who is in a frame, and where; None where that is not known."""
        self._last = frame.number
        faces = self._truth.get(frame.number)
        if faces:
            width, height = (round(side / frame.scale) for side in frame.image.shape[1::-1])
            self._size = f"{width} × {height} pixels"
            self._boxes += len(faces)
            self._outside += sum(not _lies_within(one, width, height) for one in faces)
        return faces

    def check(self, trial: Trial) -> None:
        """See that something could be compared.

        Raises
        ------
        InputError
        """
        from labelwalk.io import InputError

        if self._last and not trial.n_judged:
            raise InputError(
                f"{self._path} says nothing of the frames 1 to {self._last:,} of {self._source}: "
                f"it is of the frames {min(self._truth):,} to {max(self._truth):,}. "
                "Give one that tells of these; the first frame is 1, and --first says where lines "
                "begin."
            )
        if self._boxes and self._outside == self._boxes:
            raise InputError(
                f"{self._path}: none of its boxes, {self._boxes:,} for the frames that were seen, "
                f"lies in the {self._size} of {self._source}. Give boxes in pixels of that size."
            )

    def warnings(self, trial: Trial, *, to_the_end: bool) -> Iterator[str]:
        """Yield what does not fit, in words.

        Parameters
        ----------
        trial : Trial
        to_the_end : bool
            Whether the source has no more frames than those that were seen.
        """
        beyond = sum(number > self._last for number in self._truth)
        if to_the_end and beyond:
            yield (
                f"{self._path}: {beyond:,} of its {counted(len(self._truth), 'frame')} come after "
                f"frame {self._last:,}, the last of {self._source}. It may be of another video, "
                "or its frames be counted otherwise."
            )
        if to_the_end and min(self._truth) == 1 and max(self._truth) < self._last:
            yield (
                f"{self._path}: it ends at frame {max(self._truth):,}, and {self._source} at "
                f"{self._last:,}. Where its lines begin at a later frame, --first says so."
            )
        if self._outside:
            yield (
                f"{self._path}: {self._outside:,} of {self._boxes:,} true boxes do not lie in the "
                f"{self._size} of {self._source}. They may be of a video of another size."
            )
        if self._boxes and not trial.n_met:
            yield (
                f"{self._path}: on none of its {self._boxes:,} true boxes was a face found. "
                "Frames may be counted otherwise, boxes be of another size, or faces too small "
                "(--smallest)."
            )


def _lies_within(face: NamedBox, width: int, height: int) -> bool:
    """Return whether some of a box is in a picture."""
    from labelwalk.faces.boxes import Box, overlap

    return overlap(face.box, Box(0, 0, width, height)) > 0.0
