"""Everybody a recogniser has met, kept in a folder; and nobody who is to be forgotten."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from unicodedata import normalize

import numpy as np
from numpy.typing import ArrayLike

from labelwalk.arrays import Bools, Floats, Label
from labelwalk.faces.absent import NobodyError
from labelwalk.faces.crops import Crops
from labelwalk.faces.kept_mind import KeptMind
from labelwalk.faces.onlooker import VIEWS
from labelwalk.faces.pictures import encoded
from labelwalk.faces.pixels import Pixels
from labelwalk.faces.profiles import profile_of
from labelwalk.faces.recognizer import FaceRecognizer
from labelwalk.faces.representations import Representation, name_of
from labelwalk.faces.strangers import Stranger
from labelwalk.learner import OnlineLearner
from labelwalk.service.commands import Rows
from labelwalk.service.encryption import Cipher
from labelwalk.service.erasure import ErasureResult
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.managed_learner import ManagedLearner
from labelwalk.service.worker import NoLearnerError

NAME = "faces"  # of the learner
REPRESENTATION = "representation"  # noted with it
CROPS = "crops"  # a folder


class Gallery:
    """The people of a folder, and the strangers.

    Parameters
    ----------
    store : LearnerStore
        Of the folder. The learner is called "faces", and made where it is not there.
    representation : Representation
    crops : Crops, optional
        Where pictures go; into memory alone where none is given.

    Raises
    ------
    ValueError
        The folder's vectors are of another representation.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = LearnerStore(folder)
    ...     gallery = Gallery(store, Pixels(32))
    ...     face = np.arange(1024, dtype=np.uint8).reshape(32, 32, 1).repeat(3, axis=2)
    ...     gallery.recognizer.teach([Pixels(32)(face)], ["Ada"])
    ...     print(gallery.recognizer.people, gallery.forget("Ada").examples)
    ...     print(gallery.recognizer.people)
    ...     store.close()
    ('Ada',) 1
    ()
    """

    def __init__(
        self, store: LearnerStore, representation: Representation, *, crops: Crops | None = None
    ) -> None:
        self.representation, self.crops = representation, crops or Crops()
        self._store, self.n_sweeps = store, 0
        self._begin()
        store.when_lessened = self._sweep
        self._sweep()

    @property
    def pupil(self) -> ManagedLearner:
        """The learner, to glance at."""
        return self._store.get(self._number)

    @property
    def is_gone(self) -> bool:
        """Whether the learner was struck out, and everybody with it."""
        try:
            self._store.get(self._number)
        except NoLearnerError:
            return True
        return False

    def begin_anew(self) -> None:
        """Know nobody, after the learner was struck out; or those of one that took its place.

        Raises
        ------
        ValueError
            One took its place that was made for other vectors.
        CleanupError
            Pictures of before are left. Others of the same numbers would be taken for them.
        """
        self.crops.sweep([], 0)
        self._begin()

    def correct(self, examples: Sequence[int], name: str) -> None:
        """Take back whatever else some examples were called."""
        taught = {example for example, label in self._taught().items() if label != name}
        for example in examples:
            if example in taught:
                with suppress(ValueError):  # it has merged with others of its name
                    self.recognizer.retract(example)

    def undo(self, examples: Sequence[int]) -> int:
        """Take back the names of examples, and return how many had one.

        Raises
        ------
        ValueError
            None had one.
        """
        taught = self._taught()
        named = [example for example in dict.fromkeys(examples) if example in taught]
        if not named:
            raise ValueError(f"examples={list(examples)[:10]}: none of them has a name any more.")
        for example in named:
            self.recognizer.retract(example)
        return len(named)

    def name_stranger(self, number: int, name: str) -> list[int]:
        """Say who a stranger is: the views that stand for most others are taught, and returned.

        Raises
        ------
        NobodyError
        ValueError
            No view of them is remembered any more.
        """
        views = self._stranger(number).views[:VIEWS]
        if not views:
            raise ValueError(
                f"no view of unknown #{number} is remembered any more. Let them be seen again."
            )
        for example in views:
            self.recognizer.name(example, name)
        return list(views)

    def forget(self, name: str) -> ErasureResult:
        """Make somebody as if they had never been: all views that are taken for them, and pictures.

        Raises
        ------
        NobodyError
        """
        names = {str(label): label for label in self.pupil.learner.classes}
        wanted = name if name in names else normalize("NFC", name)
        if wanted not in names:
            raise NobodyError(f"there is nobody called {name!r}. Look at the list of people.")
        label = names[wanted]

        def is_theirs(managed: ManagedLearner, rows: Rows) -> Bools:
            return np.array([said == label for said in managed.learner.predict(rows).label])

        return self._erased(label=label, belongs=is_theirs)

    def forget_stranger(self, number: int) -> ErasureResult:
        """Make a stranger as if they had never been.

        Raises
        ------
        NobodyError
        """
        self._stranger(number)

        def is_theirs(managed: ManagedLearner, rows: Rows) -> Bools:
            said = managed.learner.predict(rows).label
            return np.array(
                [
                    name is None and self.recognizer.stranger(row) == number
                    for name, row in zip(said, np.asarray(rows, np.float64), strict=True)
                ]
            )

        return self._erased(belongs=is_theirs)

    def forget_strangers(self) -> ErasureResult:
        """Make all who have no name as if they had never been, those without a number too."""

        def is_nobody(managed: ManagedLearner, rows: Rows) -> Bools:
            return np.array([said is None for said in managed.learner.predict(rows).label])

        return self._erased(belongs=is_nobody)

    def picture(self, example: int) -> bytes:
        """Return a picture of an example as a JPEG; one drawn from its vector where none is held.

        Raises
        ------
        NobodyError
            There is none.
        """
        found = None if example in self.pupil.erased else self.crops.of(example)
        if found is None and isinstance(self.representation, Pixels):
            mean = self._mind.ask(lambda learner: self._mean_around(learner, example))
            found = None if mean is None else encoded(self.representation.picture(mean))
        if found is None:
            raise NobodyError(f"there is no picture of example {example}.")
        return found

    def _mean_around(self, learner: OnlineLearner, example: int) -> Floats | None:
        """Return the mean of the vertex whose newest example this is."""
        places = np.flatnonzero(self._mind.numbered(learner.newest) == example)
        return learner.vertices.means[places[0]] if len(places) else None

    def _stranger(self, number: int) -> Stranger:
        strangers = self.recognizer.strangers()
        for one in strangers:
            if one.number == number:
                return one
        others = ", ".join(f"#{one.number}" for one in strangers) or "nobody"
        raise NobodyError(f"there is no unknown #{number}, or no longer. Unknown are: {others}.")

    def check_remembered(self, example: int) -> None:
        """See that an example can be named.

        Raises
        ------
        ValueError
        """
        if example not in self._mind.ask(lambda learner: self._numbers(learner.remembered.id)):
            raise ValueError(
                f"example={example} is not remembered any more. Name a face that was seen lately."
            )

    def _taught(self) -> dict[int, Label]:
        """Return the names of examples that are remembered, or were named lately."""

        def found(learner: OnlineLearner) -> dict[int, Label]:
            last, kept = list(self.pupil.past.taught), learner.remembered
            lately = zip(self._numbers([one.id for one in last]), last, strict=True)
            labels = zip(self._numbers(kept.id), kept.label.tolist(), strict=True)
            return {n: one.label for n, one in lately} | {n: label for n, label in labels if label}

        return self._mind.ask(found)

    def _numbers(self, ids: ArrayLike) -> list[int]:
        found: list[int] = self._mind.numbered(np.asarray(ids, dtype=np.int64)).tolist()
        return found

    def _begin(self) -> None:
        """Find the learner, or make it."""
        profile = profile_of(self.representation)
        try:
            number = self._store.find_id(NAME)
        except NoLearnerError:
            notes = {REPRESENTATION: name_of(self.representation)}
            number = self._store.create(NAME, profile.learner(), notes).result()
        if REPRESENTATION not in self._store.get(number).notes:
            self._take_over(number)
        _check_same(self._store.get(number), self.representation)
        self._number, self._mind = number, KeptMind(self._store, number)
        self.recognizer = FaceRecognizer(profile, mind=self._mind)

    def _erased(self, **unwanted: Any) -> ErasureResult:
        gone: ErasureResult = self._store.erase(self._number, **unwanted).result()
        self.recognizer.strangers()  # so that it knows none who is gone
        return gone

    def _take_over(self, number: int) -> None:
        """Use a learner that was brought here from elsewhere, if it was made for such vectors."""
        made_for = profile_of(self.representation).learner().settings.describe()["similarity"]
        learner = self._store.get(number).learner
        if learner.settings.describe()["similarity"] != made_for:
            raise ValueError(
                f"the learner {NAME!r} of this folder was not made for such faces. Delete it, or "
                "choose another folder."
            )
        self._store.update_notes(number, {REPRESENTATION: name_of(self.representation)}).result()

    def _sweep(self) -> None:
        """Destroy the pictures of what is gone; of all, where the learner is."""
        self.n_sweeps += 1
        try:
            erased, n = self.pupil.erased, self.pupil.next_example_id
        except NoLearnerError:
            erased, n = [], 0
        self.crops.sweep(erased, n)


def crops_in(folder: str, cipher: Cipher, *, are_kept: bool) -> Crops:
    """Return the crops of a folder of learners, to which more are added or not."""
    return Crops(os.path.join(folder, CROPS), cipher, are_kept=are_kept)


def representation_in(store: LearnerStore) -> str | None:
    """Return the name of the representation that the faces of a folder have; None without any."""
    try:
        return str(store.get(store.find_id(NAME)).notes[REPRESENTATION])
    except (NoLearnerError, KeyError):
        return None


def called(name: str) -> Representation:
    """Return the representation of a name: pixels, pixels-32 or "pixels 32", or dlib.

    Raises
    ------
    ValueError

    Examples
    --------
    >>> called("pixels").name
    'pixels 96'
    """
    if pixels := re.fullmatch(r"pixels(?:[ -](\d{1,3}))?", name):
        return Pixels(int(pixels[1] or 96))
    if name in ("dlib", "dlib 128"):
        from labelwalk.faces.dlib_vectors import DlibVectors  # its models take seconds to load

        return DlibVectors()
    raise ValueError(f"{name!r} is no representation of faces. Choose pixels, pixels-32 or dlib.")


def _check_same(managed: ManagedLearner, representation: Representation) -> None:
    there, wanted = str(managed.notes[REPRESENTATION]), name_of(representation)
    if there != wanted:
        raise ValueError(
            f"the faces of this folder are kept as {there}, which cannot be compared with "
            f"{wanted}. Choose {_option(there)}, or another folder."
        )


def _option(name: str) -> str:
    """Return how a representation is asked for."""
    return {"pixels 96": "pixels", "pixels 32": "pixels-32", "dlib 128": "dlib"}.get(name, name)
