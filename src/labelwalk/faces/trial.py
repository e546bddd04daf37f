"""How well an onlooker names people, on a stream of which the truth is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable

from labelwalk.faces.boxes import scaled
from labelwalk.faces.frames import Frame
from labelwalk.faces.ground_truth import NamedBox, Tally, paired
from labelwalk.faces.onlooker import Onlooker
from labelwalk.faces.recognizer import FaceRecognizer
from labelwalk.parameters import check_whole


class Trial:
    """Teaches the first faces of each person as they come, and judges all others.

    Parameters
    ----------
    onlooker : Onlooker
    labels : int
        How many faces of each person are taught: the first that are found on a true box with a
        name. These are not judged.

    Attributes
    ----------
    tally : Tally
        Whoever is not known yet, or never will be, counts as a stranger.
    taught : Counter
        How many faces of whom.
    n_judged : int
        Frames of which the truth is known.
    n_met : int
        True boxes on which a face was found, whoever was said to be there.

    Examples
    --------
    >>> from labelwalk.faces.demo import DemoVideo
    >>> from labelwalk.faces.pixels import Pixels
    >>> video, trial = DemoVideo(people=1, n_frames=30), Trial(Onlooker(Pixels(32)))
    >>> for frame in video:
    ...     trial.look(frame, video.truth(frame.number))
    >>> trial.taught["Ada"], trial.tally.precision
    (4, 1.0)
    """

    def __init__(self, onlooker: Onlooker, labels: int = 4) -> None:
        check_whole("labels", labels, "4", least=0)
        self.tally, self.taught = Tally(), Counter[str]()
        self.n_judged = self.n_met = 0
        self._onlooker, self._labels = onlooker, labels

    @property
    def recognizer(self) -> FaceRecognizer:
        """Whoever is tried."""
        return self._onlooker.recognizer

    def look(self, frame: Frame, truth: Iterable[NamedBox] | None) -> None:
        """Look at the next frame.

        Parameters
        ----------
        frame : Frame
        truth : NamedBoxes or None
            In pixels of the source; None where it is not known.
        """
        faces = self._onlooker.look(frame.image)
        if truth is None:
            return
        self.n_judged += 1
        true = list(truth)
        found = [NamedBox(scaled(face.box, 1.0 / frame.scale), face.name) for face in faces]
        taught: dict[int, int] = {}
        pairs = paired(found, true)
        self.n_met += len(pairs)
        for i, j in pairs.items():
            name = true[j].name
            if name is not None and self.taught[name] < self._labels:
                self.recognizer.name(faces[i].example, name)
                self.taught[name] += 1
                taught[i] = j
        known = self.recognizer.people
        self.tally.add(
            [one for i, one in enumerate(found) if i not in taught],
            [_as_known(one, known) for j, one in enumerate(true) if j not in taught.values()],
        )


def _as_known(true: NamedBox, known: Container[str | None]) -> NamedBox:
    return true if true.name in known else true._replace(name=None)
