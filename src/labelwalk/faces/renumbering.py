"""When to look for strangers again: often while few faces have come, rarely later."""

from __future__ import annotations

from labelwalk.faces.recognizer import FaceRecognizer

FIRST, MOST = 8, 64  # faces between two looks
SHARE = 8  # or an eighth of all that came so far


class Renumbering:
    """Has a recogniser number its strangers whenever enough faces have come.

    Parameters
    ----------
    recognizer : FaceRecognizer

    Examples
    --------
    >>> from labelwalk.faces.profiles import PIXELS
    >>> recognizer = FaceRecognizer(PIXELS)
    >>> renumbering = Renumbering(recognizer)
    >>> for _ in range(8):
    ...     _ = recognizer.observe([[0.0, 0.1]])
    ...     renumbering.look()
    >>> recognizer.stranger([0.0, 0.1])
    1
    """

    def __init__(self, recognizer: FaceRecognizer) -> None:
        self._recognizer, self._looked = recognizer, 0

    def look(self) -> None:
        """Look for strangers, if it is time; also where somebody was erased."""
        seen, last = self._recognizer.learner.n_seen, self._looked
        if seen < last or seen >= last + min(MOST, max(FIRST, last // SHARE)):
            self._looked = seen
            self._recognizer.strangers()
