"""The people of a folder: a durable recognizer and pictures of faces, both with erasure."""

import logging
import os
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from unicodedata import normalize

import numpy as np

from labelwalk.arrays import Bools, Floats, Ints, Label
from labelwalk.faces import recognizer, representations
from labelwalk.faces.detection import Detector
from labelwalk.faces.frames import Box, Image, crop_box
from labelwalk.faces.pictures import encode_jpeg
from labelwalk.faces.pipeline import MAX_TAUGHT_VIEWS, FacePipeline
from labelwalk.learner import OnlineLearner
from labelwalk.service.commands import Command, Note, Observe, Rows
from labelwalk.service.database import DamagedError, DiskError, FolderInUseError
from labelwalk.service.encryption import Cipher, DecryptionError, NoEncryption, PassphraseError
from labelwalk.service.erasure import CleanupError, ErasureResult
from labelwalk.service.journal import JOURNAL_FILE
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.managed_learner import ManagedLearner
from labelwalk.service.worker import NoLearnerError
from labelwalk.storage.atomic_write import sync_folder

T = TypeVar("T")
LEARNER_NAME = "faces"
REPRESENTATION = "representation"  # key of the note with its name
CROP_FOLDER, CROP_CONTEXT = "crops", "picture of example {}"  # the context of encryption
OPTIONS = {"pixels 96": "pixels", "pixels 32": "pixels-32", "dlib 128": "dlib"}
CROP_MARGIN = 0.25  # of a face, on each side
MAX_CACHED_CROPS = 1000
PLAIN_SUFFIX, ENCRYPTED_SUFFIX, PART_SUFFIX = "jpg", "locked", "part"
CROP_FILE = re.compile(rf"([0-9]+)\.({PLAIN_SUFFIX}|{ENCRYPTED_SUFFIX}|{PART_SUFFIX})")
LOGGER = logging.getLogger(__name__)


class DurableLearner(recognizer.LearnerHandle):
    """A learner of a `LearnerStore`: a change is on disk before the method returns."""

    def __init__(self, store: LearnerStore, number: int) -> None:
        self._store, self._number = store, number

    @property
    def learner(self) -> OnlineLearner:
        """The learner; read it only."""
        return self._store.get(self._number).learner

    @property
    def notes(self) -> Mapping[str, Any]:
        """Notes stored with the learner."""
        return self._store.get(self._number).notes

    def apply(self, command: Command) -> None:
        """Execute a command and store it."""
        self._store.submit(self._number, command).result()

    def observe(self, vectors: Floats) -> recognizer.Recognition:
        """Learn vectors without labels, and answer them with the learner after all of them."""
        first = self._store.submit(self._number, Observe(vectors)).result().first
        verdicts = self.ask(lambda learner: learner.predict(vectors))
        return recognizer.Recognition(verdicts, np.arange(first, first + len(vectors)))

    def note(self, notes: Mapping[str, Any]) -> None:
        """Store JSON values with the learner."""
        self.apply(Note(dict(notes)))

    def ask(self, question: Callable[[OnlineLearner], T]) -> T:
        """Call a function with the learner, in the thread that changes it."""
        answer: T = self._store.query(
            self._number, lambda managed: question(managed.learner), skip_durability=True
        ).result()
        return answer

    def to_ids(self, examples: Ints) -> Ints:
        """Return the permanent ids of the learner's examples."""
        return self._store.get(self._number).to_public_ids(examples)


class CropStore:
    """Pictures of examples by their ids."""

    def __init__(self, folder: str, cipher: Cipher | None = None, *, are_kept: bool = True) -> None:
        self._cipher = cipher or NoEncryption()
        self._suffix = ENCRYPTED_SUFFIX if self._cipher.key_name else PLAIN_SUFFIX
        self._folder, self.are_kept = Path(folder), are_kept
        self._cache: dict[int, bytes] = {}
        if are_kept:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def cache(self, example: int, image: Image, box: Box) -> None:
        """Hold the picture of a face in memory, instead of the oldest one if there are too many."""
        self._cache[example] = encode_jpeg(crop_box(image, box, CROP_MARGIN))
        if len(self._cache) > MAX_CACHED_CROPS:
            del self._cache[next(iter(self._cache))]

    def persist(self, example: int) -> None:
        """Write a cached picture to disk, if the user has enabled this."""
        if not self.are_kept or example not in self._cache:
            return
        context = CROP_CONTEXT.format(example).encode()
        content = self._cipher.encrypt([self._cache[example]], context)[0]
        part = self._folder / f"{example}.{PART_SUFFIX}"
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            with open(os.open(part, flags, 0o600), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            part.rename(self._folder / f"{example}.{self._suffix}")
        except OSError as error:  # the example counts without a picture
            LOGGER.warning("a picture cannot be stored (%s)", error.strerror)

    def get(self, example: int) -> bytes | None:
        """Return the picture of an example as a JPEG; None if there is none."""
        if example in self._cache:
            return self._cache[example]
        try:
            content = (self._folder / f"{example}.{self._suffix}").read_bytes()
            return self._cipher.decrypt([content], CROP_CONTEXT.format(example).encode())[0]
        except (OSError, DecryptionError):
            return None

    def purge(self, erased: Collection[int], n_examples: int) -> None:
        """Delete the pictures of erased examples and of unused ids; clear the cache."""
        self._cache.clear()
        if not self._folder.is_dir():
            return
        erased_ids, failed = frozenset(erased), list[str]()
        for path in self._folder.iterdir():
            if not (match := CROP_FILE.fullmatch(path.name)):
                continue
            example = int(match[1])
            if match[2] == PART_SUFFIX or example in erased_ids or example >= n_examples:
                try:
                    path.unlink(missing_ok=True)  # another thread may delete it too
                except OSError:
                    failed.append(str(path))
        sync_folder(str(self._folder))
        if failed:
            raise CleanupError(f"{', '.join(failed)} cannot be deleted. Delete the files manually.")


class PeopleStore:
    """People and strangers of a folder."""

    def __init__(
        self, store: LearnerStore, representation: representations.Representation, crops: CropStore
    ) -> None:
        self.representation, self.crops = representation, crops
        self._store, self.n_purges = store, 0
        self._open()
        store.on_erased.append(self._purge)
        self._purge()

    @property
    def managed(self) -> ManagedLearner:
        """The learner and its history; read them only."""
        return self._store.get(self._number)

    def make_pipeline(self, detector: Detector) -> FacePipeline:
        """Return a pipeline that recognizes these people."""
        return FacePipeline(self.representation, recognizer=self.recognizer, detector=detector)

    def reopen(self) -> bool:
        """Create the learner again, or use its replacement; return False if it is not deleted."""
        with suppress(NoLearnerError):
            self._store.get(self._number)
            return False
        self.crops.purge([], 0)
        self._open()
        return True

    def remove_other_labels(self, examples: Sequence[int], name: str) -> None:
        """Remove all labels of examples except a name."""
        labels = self._list_labels()
        for example in examples:
            if labels.get(example, name) != name:
                with suppress(ValueError):  # it has merged with others of its label
                    self.recognizer.retract(example)

    def undo(self, examples: Sequence[int]) -> int:
        """Remove the names of examples, and return how many had one."""
        labels = self._list_labels()
        named = [example for example in dict.fromkeys(examples) if example in labels]
        if not named:
            raise ValueError(
                f"examples={list(examples)[:10]}: these examples no longer have a name."
            )
        for example in named:
            self.recognizer.retract(example)
        return len(named)

    def name_stranger(self, number: int, name: str) -> list[int]:
        """Label the views of a stranger that represent most others, and return their ids."""
        views = self._find_stranger(number).views[:MAX_TAUGHT_VIEWS]
        if not views:
            raise ValueError(
                f"no view of unknown #{number} is still remembered. Record the person again."
            )
        for example in views:
            self.recognizer.name(example, name)
        return list(views)

    def forget(self, who: str | int | None) -> ErasureResult:
        """Erase all views recognized as a person, as a stranger, or for None as any stranger."""
        if who is None:  # including views without a number
            return self._erase(lambda answer, row: answer is None)
        if isinstance(who, int):
            self._find_stranger(who)
            find = self.recognizer.stranger
            return self._erase(lambda answer, row: answer is None and find(row) == who)
        labels = {str(label): label for label in self.managed.learner.classes}
        label = labels.get(who, labels.get(normalize("NFC", who)))
        if label is None:
            raise recognizer.UnknownPersonError(
                f"no person is named {who!r}. Check the list of people."
            )
        return self._erase(lambda answer, row: answer == label, label=label)

    def picture(self, example: int) -> bytes:
        """Return a picture of an example as a JPEG, made from its vector if none is stored."""
        picture = None if example in self.managed.erased else self.crops.get(example)
        if picture is None and isinstance(self.representation, representations.Pixels):
            means, newest = self._handle.ask(
                lambda learner: (learner.vertices.means, self._handle.to_ids(learner.newest))
            )
            if example in newest:
                mean = means[newest.tolist().index(example)]
                picture = encode_jpeg(self.representation.picture(mean))
        if picture is None:
            raise recognizer.UnknownPersonError(f"example {example} does not have a picture.")
        return picture

    def check_remembered(self, example: int) -> None:
        """Raise `ValueError` if an example can no longer be labelled."""
        if example not in self._handle.ask(
            lambda learner: self._handle.to_ids(learner.remembered.id)
        ):
            raise ValueError(
                f"example={example} is no longer remembered. Name a face that was seen recently."
            )

    def _find_stranger(self, number: int) -> recognizer.Stranger:
        strangers = {stranger.number: stranger for stranger in self.recognizer.strangers()}
        if number not in strangers:
            numbers = ", ".join(f"#{other}" for other in strangers) or "none"
            raise recognizer.UnknownPersonError(
                f"Stranger #{number} does not exist. Choose one of {numbers}."
            )
        return strangers[number]

    def _list_labels(self) -> dict[int, Label]:
        """Return the labels of examples that are remembered, or were labelled recently."""

        def list_labels(learner: OnlineLearner) -> dict[int, Label]:
            labels = {entry.id: entry.label for entry in self.managed.history.labels}
            remembered = learner.remembered
            pairs = zip(remembered.id.tolist(), remembered.label.tolist(), strict=True)
            labels |= {example: label for example, label in pairs if label}
            ids = self._handle.to_ids(np.array(list(labels), dtype=np.int64))
            return dict(zip(ids.tolist(), labels.values(), strict=True))

        return self._handle.ask(list_labels)

    def _open(self) -> None:
        """Find the learner, or create it."""
        profile = representations.profile_of(self.representation)
        name = representations.name_of(self.representation)
        try:
            number = self._store.find_id(LEARNER_NAME)
        except NoLearnerError:
            notes = {REPRESENTATION: name}
            number = self._store.create(LEARNER_NAME, profile.learner(), notes).result()
        managed = self._store.get(number)
        stored = managed.notes.get(REPRESENTATION)
        if stored is None:  # imported from elsewhere
            similarity = managed.learner.settings.describe()["similarity"]
            if similarity != profile.learner().settings.describe()["similarity"]:
                raise ValueError(
                    f"the learner {LEARNER_NAME!r} of this folder has different settings than "
                    "these faces require. Delete it, or choose another folder."
                )
            self._store.submit(number, Note({REPRESENTATION: name})).result()
        elif stored != name:
            raise ValueError(
                f"the faces of this folder are stored as {stored}, which cannot be compared with "
                f"{name}. Choose {OPTIONS.get(stored, stored)}, or another folder."
            )
        self._number, self._handle = number, DurableLearner(self._store, number)
        self.recognizer = recognizer.FaceRecognizer(profile, handle=self._handle)

    def _erase(
        self, is_theirs: Callable[[Label | None, Floats], bool], label: Label | None = None
    ) -> ErasureResult:
        """Erase a label and the examples that a function selects by answer and vector."""

        def select(managed: ManagedLearner, rows: Rows) -> Bools:
            answers = managed.learner.predict(rows).label
            vectors = np.asarray(rows, np.float64)
            return np.array([is_theirs(*pair) for pair in zip(answers, vectors, strict=True)])

        result: ErasureResult = self._store.erase(
            self._number, label=label, belongs=select
        ).result()
        self.recognizer.strangers()  # so that it no longer knows who was erased
        return result

    def _purge(self) -> None:
        """Delete the pictures of erased examples; all pictures, if the learner was deleted."""
        self.n_purges += 1
        try:
            erased, n = self.managed.erased, self.managed.next_example_id
        except NoLearnerError:
            erased, n = [], 0
        self.crops.purge(erased, n)


def open_people(
    folder: str, store: LearnerStore, kind: str | None, *, keep_crops: bool = False
) -> PeopleStore:
    """Return the people of a folder."""
    representation = representations.find_representation(kind or read_representation(store))
    crops = CropStore(os.path.join(folder, CROP_FOLDER), store.cipher, are_kept=keep_crops)
    return PeopleStore(store, representation, crops)


def read_representation(store: LearnerStore) -> str | None:
    """Return the name of the representation of a folder; None if it has no faces."""
    try:
        return str(store.get(store.find_id(LEARNER_NAME)).notes[REPRESENTATION])
    except (NoLearnerError, KeyError):
        return None


def has_learners(folder: str) -> bool:
    """Return whether a folder has learners, of faces or others."""
    return os.path.exists(os.path.join(folder, JOURNAL_FILE))


@contextmanager
def open_folder(
    folder: str,
    kind: str | None,
    passphrase: str | None,
    *,
    create: bool = False,
    keep_crops: bool = False,
) -> Iterator[PeopleStore]:
    """Open the people of a folder, in one process at a time."""
    problem = f"{folder} is not a folder of people. Create one with `labelwalk faces enroll`."
    if not has_learners(folder):
        if not create:
            raise ValueError(problem)
        if os.path.exists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
            raise ValueError(
                f"{folder} is not a folder of people. Choose a new or an empty folder."
            )
        representations.find_representation(kind)  # before the folder is created
    with warnings.catch_warnings(action="ignore"):  # warnings of learners contain labels
        try:
            with closing(LearnerStore(folder, passphrase=passphrase)) as store:
                if not create and read_representation(store) is None:
                    raise ValueError(problem)
                yield open_people(folder, store, kind, keep_crops=keep_crops)
        except (DamagedError, DiskError, FolderInUseError, PassphraseError) as error:
            raise OSError(str(error)) from error
        except recognizer.UnknownPersonError as error:
            raise ValueError(str(error)) from error
