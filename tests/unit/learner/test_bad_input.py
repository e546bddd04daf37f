"""What cannot be used is refused by name, with a repair, and leaves the learner as it was."""

from __future__ import annotations

import ast
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

import labelwalk
from labelwalk import Gaussian, ModelFileError, OnlineLearner, load
from labelwalk.engine import state
from labelwalk.storage import model_file

pytestmark = pytest.mark.compiled

Maker: TypeAlias = Callable[[], OnlineLearner]
Arrays: TypeAlias = dict[str, NDArray[Any]]
Header: TypeAlias = dict[str, Any]

REPAIR = re.compile(
    r"\b(give|try|drop|convert|choose|use|wrap|upgrade|start|pass|restore|copy|save|check|rescale)\b",
    re.I,
)


LEARNERS: dict[str, Maker] = {
    "paper": lambda: OnlineLearner.paper(5),
    "default": lambda: OnlineLearner(5),
    "fading": lambda: OnlineLearner(5, half_life=20),
}
every_learner = pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS.keys())

GOOD = np.random.default_rng(0).normal(size=(30, 2))


def started(make: Maker) -> OnlineLearner:
    learner = make()
    learner.teach(GOOD[:2], ["a", "b"])
    learner.observe(GOOD)
    return learner


def assert_refused(name: str, call: Callable[[], object]) -> None:
    """A ValueError that names what is wrong and says what to do."""
    with pytest.raises(ValueError, match=rf"(?s)\b{name}\b") as caught:
        call()
    assert REPAIR.search(str(caught.value)), f"no repair in {caught.value}"


def go_on(learner: OnlineLearner) -> str:
    learner.teach([1.0, -1.0], "c")
    learner.observe(GOOD * 1.5)
    return learner.digest()


@cache
def undisturbed(make: Maker) -> tuple[str, str]:
    """Where an undisturbed learner is, and where it goes from there."""
    learner = started(make)
    return learner.digest(), go_on(learner)


def assert_goes_on(learner: OnlineLearner, make: Maker) -> None:
    """The learner is where an undisturbed one is, and stays there."""
    here, there = undisturbed(make)
    assert learner.digest() == here
    assert go_on(learner) == there


def boxed(*values: object) -> NDArray[Any]:
    """An object array of one row."""
    row = np.empty((1, len(values)), dtype=object)
    row[0] = values
    return row


WRONG_WIDTHS: dict[str, Any] = {
    "too narrow": [[1.0]],
    "too wide": [[1.0, 2.0, 3.0]],
    "a row too narrow": [1.0],
    "a column in place of a row": [[1.0], [2.0]],
}
BAD_FIRST_ROWS: dict[str, Any] = {
    "NaN": [[0.0, math.nan]],
    "infinity": [[0.0, math.inf]],
    "minus infinity": [-math.inf, 0.0],
    "float32 NaN": np.array([[0.0, np.nan]], dtype=np.float32),
    "beyond 1e150": [[1e151, 0.0]],
    "below -1e150": [[0.0, -1e151]],
    "just beyond": [[math.nextafter(1e150, math.inf), 0.0]],
    "ragged": [[1.0, 2.0], [3.0]],
    "ragged, deeper": [[1.0, [2.0]], [3.0, 4.0]],
    "text": [["a", "b"]],
    "numbers as text": [["1.0", "2.0"]],
    "bytes": [[b"1", b"2"]],
    "one string": "ab",
    "None": None,
    "None among numbers": [[1.0, None]],
    "object array with None": boxed(1.0, None),
    "object array with text": boxed(1.0, "2.0"),
    "object array with lists": boxed([1.0], [2.0]),
    "object array with complex numbers": boxed(1.0, 1j),
    "an integer beyond all floats": [[10**400, 0.0]],
    "an integer beyond 1e150": [[10**200, 0.0]],
    "no rows": np.zeros((0, 2)),
    "no columns": np.zeros((3, 0)),
    "an empty list": [],
    "an empty row": [[]],
    "a number": 3.0,
    "three dimensions": np.zeros((2, 2, 2)),
    "three dimensions with one example": np.zeros((1, 1, 2)),
    "complex": np.array([[1 + 1j, 2.0]]),
    "dates": np.array([["2020-01-01", "2020-01-02"]], dtype="datetime64[D]"),
    "structured": np.zeros((1, 2), dtype=[("a", np.float64)]),
    "a sparse matrix": csr_array(np.ones((2, 2))),
    "masked values": np.ma.array([[1.0, 2.0]], mask=[[True, False]]),
    "a dictionary": {"a": 1.0, "b": 2.0},
    "a set": {1.0, 2.0},
    "a function": math.sin,
}
BAD_ROWS = WRONG_WIDTHS | BAD_FIRST_ROWS
bad_rows = pytest.mark.parametrize("X", BAD_ROWS.values(), ids=BAD_ROWS.keys())


class TestRows:
    @every_learner
    @bad_rows
    def test_bad_rows_are_refused_and_leave_no_trace(self, make: Maker, X: Any) -> None:
        learner = started(make)
        assert_refused("X", lambda: learner.observe(X))
        assert_refused("X", lambda: learner.predict(X))
        assert_refused("X", lambda: learner.teach(X, ["a"]))
        assert_refused("X", lambda: learner.teach(X, "new class"))
        assert learner.classes == ("a", "b")
        assert_goes_on(learner, make)

    @every_learner
    @pytest.mark.parametrize("X", BAD_FIRST_ROWS.values(), ids=BAD_FIRST_ROWS.keys())
    def test_bad_rows_at_the_very_start_leave_no_trace(self, make: Maker, X: Any) -> None:
        learner, untouched = make(), make()
        assert_refused("X", lambda: learner.observe(X))
        assert_refused("X", lambda: learner.predict(X))
        assert_refused("X", lambda: learner.teach(X, "a"))
        assert learner.digest() == untouched.digest()
        assert learner.n_features is None
        learner.observe([1.0, 2.0, 3.0])
        assert learner.n_features == 3

    @every_learner
    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 2e150])
    @pytest.mark.parametrize("place", [0, 1, 15, 29])
    def test_one_bad_value_and_no_row_is_learned(
        self, make: Maker, value: float, place: int
    ) -> None:
        learner = started(make)
        rows = GOOD.copy()
        rows[place, 1] = value
        with pytest.raises(ValueError, match=rf"X\[{place}, 1\]"):
            learner.observe(rows)
        with pytest.raises(ValueError, match=rf"X\[{place}, 1\]"):
            learner.predict(rows)
        with pytest.raises(ValueError, match=rf"X\[{place}, 1\]"):
            learner.teach(rows, ["a", "new"] * 15)
        assert learner.classes == ("a", "b")
        assert_goes_on(learner, make)

    def test_the_wrong_width_is_told_beside_the_right_one(self) -> None:
        learner = started(LEARNERS["default"])
        with pytest.raises(ValueError, match=r"X has 3 features.* 2"):
            learner.observe([[1.0, 2.0, 3.0]])

    def test_the_largest_value_is_accepted(self) -> None:
        learner = OnlineLearner(5)
        learner.observe([[1e150, -1e150], [0.0, 0.0]])
        assert learner.n_seen == 2


BAD_LABELS: dict[str, Any] = {
    "too few": ["a"],
    "too many": ["a", "b", "a"],
    "none": [],
    "one for two rows": "a",
    "a word as long as the rows": "ab",
    "bytes as long as the rows": b"ab",
    "a byte array as long as the rows": bytearray(b"ab"),
    "float": ["a", 1.5],
    "whole float": ["a", 1.0],
    "NaN": ["a", math.nan],
    "bool": ["a", True],
    "None": ["a", None],
    "no labels": None,
    "bytes": ["a", b"b"],
    "a list": ["a", ["b"]],
    "a tuple": ["a", ("b",)],
    "complex": ["a", 1j],
    "an object": ["a", object()],
    "numpy float": np.array([1.0, 2.0]),
    "numpy bool": np.array([True, False]),
    "numpy bytes": np.array([b"a", b"b"]),
    "numpy dates": np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]"),
    "numpy dates to the nanosecond": np.array([1, 2], dtype="datetime64[ns]"),
    "numpy times": np.array([1, 2], dtype="timedelta64[ns]"),
    "two columns": np.array([["a", "b"], ["c", "d"]]),
    "a column": np.array([["a"], ["b"]]),
    "one number": 1.5,
    "one truth": True,
    "a function": math.sin,
}
bad_labels = pytest.mark.parametrize("labels", BAD_LABELS.values(), ids=BAD_LABELS.keys())


class TestLabels:
    @every_learner
    @bad_labels
    def test_bad_labels_are_refused_and_leave_no_trace(self, make: Maker, labels: Any) -> None:
        learner = started(make)
        assert_refused("labels", lambda: learner.teach(GOOD[:2], labels))
        assert learner.classes == ("a", "b")
        assert_goes_on(learner, make)

    @every_learner
    def test_bad_labels_at_the_very_start_leave_no_trace(self, make: Maker) -> None:
        learner, untouched = make(), make()
        assert_refused("labels", lambda: learner.teach(GOOD[:2], ["a"]))
        assert_refused("labels", lambda: learner.teach(GOOD[:2], BAD_LABELS["float"]))
        assert learner.digest() == untouched.digest()
        assert learner.classes == ()
        assert learner.n_features is None

    @pytest.mark.parametrize("label", [1.5, True, None, b"a", np.float64(1), np.bool_(True)])
    def test_a_single_bad_label_for_a_single_row(self, label: Any) -> None:
        learner = started(LEARNERS["default"])
        assert_refused("labels", lambda: learner.teach(GOOD[0], label))
        assert_goes_on(learner, LEARNERS["default"])

    @pytest.mark.parametrize("label", ["a", 3])
    def test_a_label_in_an_array_without_dimensions_is_taken_or_refused(self, label: Any) -> None:
        learner = started(LEARNERS["default"])
        try:
            learner.teach(GOOD[0], np.array(label))
        except ValueError:
            assert_refused("labels", lambda: learner.teach(GOOD[0], np.array(label)))
            assert_goes_on(learner, LEARNERS["default"])
        else:
            assert label in learner.classes


HUGE = 10**400
NOT_NUMBERS: tuple[Any, ...] = (
    "1",
    None,
    [1.0],
    (1.0,),
    {},
    1j,
    math.nan,
    np.nan,
    object(),
    np.array([1.0, 2.0]),
)
NOT_WHOLE = (0, -1, 1.5, 2.0, "5", True, math.nan, math.inf, [1], 1j, np.array([1, 2]), Decimal(5))
WORDS = ("", "Doubling", None, 5, ["doubling"], b"pure", True, np.array(["pure", "absorb"]))

BAD_PARAMETERS: dict[str, tuple[Any, ...]] = {
    "n_centroids": (*NOT_WHOLE, 2**70, HUGE),
    "similarity": ("cover", 5, 0.5, Gaussian, np.dot, {"bandwidth": 1.0}, True),
    "scale": (*WORDS, "Robust", 1.0),
    "sink": (0, 0.0, 1.1e100, -1.0, math.inf, True, HUGE, *NOT_NUMBERS),
    "growth": (1, 1.0, 0.5, -2.0, math.inf, True, HUGE, *NOT_NUMBERS),
    "coarsening": WORDS,
    "labelled": WORDS,
    "label_weight": (
        *(0, 0.0, -1.0, math.inf, True, HUGE),
        *(value for value in NOT_NUMBERS if value is not None),
    ),
    "labels_per_class": (*NOT_WHOLE, None, 2**70, HUGE),
    "tolerance": (-0.1, 1.1, math.inf, True, HUGE, *NOT_NUMBERS),
    "abstain_below": (-0.1, 1.1, math.inf, True, HUGE, *NOT_NUMBERS),
}
BAD_BANDWIDTHS = (0, 0.0, -1.0, math.inf, True, HUGE, *NOT_NUMBERS, "wide", "Cover", b"cover")
BAD_THRESHOLDS = (-0.1, 1, 1.0, 1.5, math.inf, True, HUGE, *NOT_NUMBERS)
NOT_FUNCTIONS: tuple[Any, ...] = (5, "euclidean", [abs], {}, np.zeros(3))
BAD_GAUSSIANS: dict[str, tuple[Any, ...]] = {
    "bandwidth": BAD_BANDWIDTHS,
    "threshold": BAD_THRESHOLDS,
    "distance": NOT_FUNCTIONS,
}
BAD_PAPERS: dict[str, tuple[Any, ...]] = {
    "n_centroids": BAD_PARAMETERS["n_centroids"],
    "bandwidth": BAD_BANDWIDTHS,
    "sink": BAD_PARAMETERS["sink"],
    "growth": BAD_PARAMETERS["growth"],
    "threshold": tuple(value for value in BAD_THRESHOLDS if value is not None),
    "tolerance": BAD_PARAMETERS["tolerance"],
}


def cases(table: dict[str, tuple[Any, ...]]) -> pytest.MarkDecorator:
    listed = [(name, value) for name, values in table.items() for value in values]
    ids = [f"{name}-{i}-{type(value).__name__}" for i, (name, value) in enumerate(listed)]
    return pytest.mark.parametrize(("name", "value"), listed, ids=ids)


class TestParameters:
    @cases(BAD_PARAMETERS)
    def test_of_the_learner(self, name: str, value: Any) -> None:
        assert_refused(name, lambda: OnlineLearner(**{name: value}))

    @cases(BAD_PAPERS)
    def test_of_the_paper(self, name: str, value: Any) -> None:
        assert_refused(name, lambda: OnlineLearner.paper(**{name: value}))

    @cases(BAD_GAUSSIANS)
    def test_of_the_gaussian(self, name: str, value: Any) -> None:
        assert_refused(name, lambda: Gaussian(**{name: value}))

    @pytest.mark.parametrize(
        "call",
        [
            lambda: OnlineLearner(bandwith=1.0),  # type: ignore[arg-type]
            lambda: OnlineLearner.paper(bandwith=1.0),  # type: ignore[call-arg]
            lambda: Gaussian(bandwith=1.0),  # type: ignore[call-arg]
        ],
        ids=["learner", "paper", "gaussian"],
    )
    def test_an_unknown_parameter_is_named(self, call: Callable[[], object]) -> None:
        with pytest.raises(TypeError, match="bandwith"):
            call()

    @given(st.sampled_from(sorted(BAD_PARAMETERS)), st.floats() | st.integers() | st.text())
    def test_any_value_is_refused_by_name_or_works(self, name: str, value: Any) -> None:
        try:
            learner = OnlineLearner(**{name: value})
        except ValueError:
            assert_refused(name, lambda: OnlineLearner(**{name: value}))
            return
        learner.teach(GOOD[:2], ["a", "b"])
        learner.observe(GOOD)
        assert len(learner.digest()) == 64


class TestMerging:
    @every_learner
    def test_what_cannot_be_merged_is_refused_and_leaves_no_trace(self, make: Maker) -> None:
        learner = started(make)
        narrow = make()
        narrow.teach([1.0], "c")
        with pytest.raises(ValueError, match=r"other .*same columns"):
            learner.merge(narrow)
        different = OnlineLearner(6)
        different.teach([1.0, 1.0], "c")
        with pytest.raises(ValueError, match="same settings"):
            learner.merge(different)
        assert learner.classes == ("a", "b")
        assert_goes_on(learner, make)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a model.labelwalk"


def assert_not_a_model(path: Path, **arguments: Any) -> str:
    with pytest.raises(ModelFileError) as caught:
        load(path, **arguments)
    message = str(caught.value)
    assert str(path) in message
    assert len(message) > len(str(path)) + 20
    return message


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    target = tmp_path_factory.mktemp("good") / "model"
    started(LEARNERS["default"]).save(target)
    return target.read_bytes()


class TestDamagedFiles:
    @given(data=st.data())
    def test_any_damage_is_noticed(
        self, content: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
    ) -> None:
        path = tmp_path_factory.getbasetemp() / "damaged.labelwalk"
        place = data.draw(st.integers(0, len(content) - 1))
        damage = data.draw(st.sampled_from(["flip", "cut", "insert", "drop", "swap", "zero"]))
        flipped = bytes([content[place] ^ data.draw(st.integers(1, 255))])
        rest = content[place + 1 :]
        damaged = {
            "flip": content[:place] + flipped + rest,
            "cut": content[:place],
            "insert": content[:place] + b"\x00" + content[place:],
            "drop": content[:place] + rest,
            "swap": content[place:] + content[:place],
            "zero": content[:place] + bytes(len(content) - place),
        }[damage]
        if damaged == content:
            return
        path.write_bytes(damaged)
        message = assert_not_a_model(path)
        assert REPAIR.search(message.removeprefix(str(path))), message

    def test_no_file_a_folder_an_empty_file_and_a_picture(self, tmp_path: Path) -> None:
        assert_not_a_model(tmp_path / "nowhere.labelwalk")
        assert_not_a_model(tmp_path)
        for content in (b"", b"\x89PNG\r\n\x1a\n" * 100, b"{}", b"\x80\x04K\x01."):
            (tmp_path / "other").write_bytes(content)
            assert_not_a_model(tmp_path / "other")

    @every_learner
    def test_a_failed_load_leaves_the_file_as_it_was(self, make: Maker, path: Path) -> None:
        started(make).save(path)
        damaged = path.read_bytes()[:-1]
        path.write_bytes(damaged)
        assert_not_a_model(path)
        assert path.read_bytes() == damaged


Forgery: TypeAlias = Callable[[Header, Arrays], object]


def set_to(name: str, value: float) -> Forgery:
    def forge(header: Header, arrays: Arrays) -> None:
        arrays[name] = arrays[name].copy()
        arrays[name].flat[-1] = value

    return forge


def without(name: str) -> Forgery:
    return lambda header, arrays: arrays.pop(name)


def cut(name: str) -> Forgery:
    return lambda header, arrays: arrays.update({name: arrays[name][:-1]})


def retyped(name: str) -> Forgery:
    def forge(header: Header, arrays: Arrays) -> None:
        other = np.int64 if arrays[name].dtype == np.float64 else np.float64
        arrays[name] = arrays[name].astype(other)

    return forge


def settings_with(**changes: Any) -> Forgery:
    return lambda header, arrays: header["settings"].update(changes)


def settings_without(name: str) -> Forgery:
    return lambda header, arrays: header["settings"].pop(name)


def similarity_with(**changes: Any) -> Forgery:
    return lambda header, arrays: header["settings"]["similarity"].update(changes)


def header_with(**changes: Any) -> Forgery:
    return lambda header, arrays: header.update(changes)


def endless_without_features(header: Header, arrays: Arrays) -> None:
    """Arrays that take no room in the file and all of it in memory."""
    arrays["points"] = np.zeros((0, 2**33))
    arrays["here.n"] = np.array([2**33])


def without_features(header: Header, arrays: Arrays) -> None:
    arrays["points"] = arrays["points"][:0]
    arrays["moments"] = arrays["moments"][:, :0]


def one_vertex_too_many(header: Header, arrays: Arrays) -> None:
    arrays["points"] = np.pad(arrays["points"], ((0, 0), (0, 1)))
    arrays["here.n"] = arrays["here.n"] + 1


FORGED_HEADERS: dict[str, Forgery] = {
    "no settings": lambda header, arrays: header.pop("settings"),
    "no classes": lambda header, arrays: header.pop("classes"),
    "settings of the wrong type": header_with(settings=[1, 2]),
    "classes of the wrong type": header_with(classes=5),
    "classes in one word": header_with(classes="ab"),
    "a class too few": header_with(classes=["a"]),
    "a class too many": header_with(classes=["a", "b", "c"]),
    "the same class twice": header_with(classes=["a", "a"]),
    "a class that is a float": header_with(classes=["a", 1.5]),
    "a class that is true": header_with(classes=["a", True]),
    "a class that is nothing": header_with(classes=["a", None]),
    "an unknown setting": settings_with(temperature=1.0),
    "a missing setting": settings_without("sink"),
    "no similarity": settings_without("similarity"),
    "a bad setting": settings_with(sink=-1.0),
    "a setting of the wrong type": settings_with(n_centroids="many"),
    "more centroids than can be counted": settings_with(n_centroids=2**70),
    "more vertices than the settings allow": settings_with(n_centroids=1),
    "a number as similarity": settings_with(similarity=0.5),
    "nothing as similarity": settings_with(similarity=None),
    "an unknown kind of similarity": similarity_with(kind="Cosine"),
    "a kind that is no word": similarity_with(kind=None),
    "a similarity of no kind": lambda header, arrays: header["settings"]["similarity"].pop("kind"),
    "an unknown part of a similarity": similarity_with(temperature=1.0),
    "a bad bandwidth": similarity_with(bandwidth=-1.0),
    "a bad threshold": similarity_with(threshold="low"),
    "a distance that is no function": similarity_with(distance="euclidean"),
    "a function of no name": similarity_with(distance={"name": "x"}),
}
FORGED_ARRAYS: dict[str, Forgery] = {
    "more vertices than there are": set_to("here.n", 10**6),
    "fewer vertices than there are": set_to("here.n", 1),
    "fewer vertices than none": set_to("here.n", -1),
    "a vertex without its arrays": one_vertex_too_many,
    "more vertices than memory": endless_without_features,
    "no features": without_features,
    "a label beyond the classes": set_to("label", 2),
    "a label far beyond the classes": set_to("label", 2**31 - 1),
    "a label below none": set_to("label", -2),
    "a wrong number of unlabelled vertices": set_to("here.n_unlabelled", 1),
    "a negative number of unlabelled vertices": set_to("here.n_unlabelled", -1),
    "a wrong mass": set_to("here.mass", 1),
    "a negative number of examples": set_to("here.n_seen", -1),
    "more outliers than examples": set_to("here.n_outliers", 10**6),
    "a stage that does not exist": set_to("here.stage", 99),
    "a row half learned": set_to("here.stage", 3),
    "the current row at no vertex": set_to("here.vertex", 10**6),
    "the current row below all vertices": set_to("here.vertex", -3),
    "a vertex that stands for nothing": set_to("examples", 0),
    "a vertex that stands for less than nothing": set_to("examples", -5),
    "a weight of zero": set_to("v", 0.0),
    "a sink of zero": set_to("g", 0.0),
    "a negative reach": set_to("reach", -1.0),
    "a negative radius": set_to("here.radius", -1.0),
    "a negative bandwidth": set_to("here.sigma", -1.0),
    "a typical distance below zero": set_to("here.typical", -1.0),
    "a bandwidth that is never measured": set_to("here.measure_at_seen", 5),
    "residuals of other values": set_to("r", 0.3),
    "a mean of zero": set_to("here.mu", 0.0),
    "a vertex similar to itself": set_to("w", 0.5),
    "a vertex far from itself": set_to("distance", 0.5),
    "a point beyond 1e150": set_to("points", 1e200),
    "a probability above one": set_to("f", 1.5),
    "a negative probability": set_to("f", -0.5),
    "a free vertex that is clamped": set_to("clamped", True),
    "rounding that is no number": set_to("drift", math.nan),
}
SAVED = state.to_arrays(state.create_state(1, 1, 1))
FLOAT_NAMES = [name for name, array in SAVED.items() if array.dtype == np.float64]
forged = pytest.mark.parametrize(
    "forgery",
    [*FORGED_HEADERS.values(), *FORGED_ARRAYS.values()],
    ids=[*FORGED_HEADERS.keys(), *FORGED_ARRAYS.keys()],
)


def forged_file(path: Path, forgery: Forgery, learner: OnlineLearner) -> Path:
    """A file with a right checksum that no learner has written."""
    header, arrays = learner._contents()
    forgery(header, arrays)
    model_file.write(path, header, arrays)
    return path


class TestForgedFiles:
    """A right checksum is no proof: the parts must fit together."""

    def test_the_forge_itself_is_sound(self, path: Path) -> None:
        learner = started(LEARNERS["default"])
        assert learner.vertices.label[-1] is None
        forged_file(path, lambda header, arrays: None, learner)
        assert load(path).digest() == learner.digest()

    @forged
    def test_parts_that_do_not_fit(self, path: Path, forgery: Forgery) -> None:
        forged_file(path, forgery, started(LEARNERS["default"]))
        assert_not_a_model(path)

    @pytest.mark.parametrize("name", SAVED)
    @pytest.mark.parametrize("how", [without, cut, retyped], ids=["missing", "cut", "retyped"])
    @pytest.mark.slow
    def test_arrays_that_are_missing_cut_or_of_another_type(
        self, path: Path, name: str, how: Callable[[str], Forgery]
    ) -> None:
        forged_file(path, how(name), started(LEARNERS["fading"]))
        assert_not_a_model(path)

    @pytest.mark.parametrize("name", FLOAT_NAMES)
    @pytest.mark.parametrize("value", [math.nan, math.inf], ids=["NaN", "infinity"])
    @pytest.mark.slow
    def test_numbers_that_are_none(self, path: Path, name: str, value: float) -> None:
        forged_file(path, set_to(name, value), started(LEARNERS["fading"]))
        assert_not_a_model(path)


PACKAGE = Path(labelwalk.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))
RUNNING = {"eval", "exec", "compile", "__import__", "import_module", "run_path", "run_module"}
# names from a table of ours, and the one that a user gives by --embed
IMPORTING = {
    "__init__.py": {"import_module"},
    "io/images.py": {"import_module"},
    "_aliases.py": {"import_module"},
    "_extensions.py": {"import_module"},
}
UNPACKING = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "code"}


def dangers(tree: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names} & UNPACKING
        elif isinstance(node, ast.ImportFrom):
            found |= {(node.module or "").partition(".")[0]} & UNPACKING
            found |= {alias.name for alias in node.names} & RUNNING
        elif isinstance(node, ast.Name):
            found |= {node.id} & RUNNING
        elif isinstance(node, ast.Attribute):
            found |= {node.attr} & (RUNNING - {"compile"})
        elif isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            refused = isinstance(node.value, ast.Constant) and node.value.value is False
            found |= set() if refused else {"allow_pickle"}
    return found


AUDITED = """
import sys
from labelwalk import ModelFileError, load

for path in sys.argv[1:]:  # everything is imported and compiled before it counts
    try:
        load(path)
    except ModelFileError:
        pass

events, outcomes, watching = [], [], True


def watch(event, args):
    harmless = ("open", "os.", "object.", "builtins.id", "sys.", "gc.")
    if watching and (event == "os.system" or not event.startswith(harmless)):
        events.append(event)


sys.addaudithook(watch)
for path in sys.argv[1:]:
    try:
        load(path)
        outcomes.append("loaded")
    except ModelFileError:
        outcomes.append("refused")
watching = False
print(outcomes, events)
"""


class TestNothingIsRun:
    @pytest.mark.parametrize(
        "source", SOURCES, ids=lambda path: path.relative_to(PACKAGE).as_posix()
    )
    def test_no_source_runs_or_unpickles_anything(self, source: Path) -> None:
        allowed = IMPORTING.get(source.relative_to(PACKAGE).as_posix(), set())
        assert dangers(ast.parse(source.read_text("utf-8"))) <= allowed

    def test_the_reader_would_notice(self) -> None:
        for code in (
            "import pickle",
            "from marshal import loads",
            "eval('1')",
            "importlib.import_module('os')",
            "from importlib import import_module",
            "np.load(path, allow_pickle=True)",
        ):
            assert dangers(ast.parse(code))
        assert not dangers(ast.parse("import re; re.compile('x')"))

    @pytest.mark.slow
    def test_loading_imports_compiles_and_runs_nothing(self, tmp_path: Path) -> None:
        """Names in a file are names, even of functions that exist."""
        hostile = "__import__('os').system('true')"
        learner = started(LEARNERS["default"])
        files = {
            "plain": lambda header, arrays: None,
            "code as a class": header_with(classes=[hostile, "os.system"]),
            "a function that exists": similarity_with(distance={"function": "os.system"}),
            "code as a function": similarity_with(distance={"function": hostile}),
            "a kind that exists": similarity_with(kind="Pairwise", similarity="os.system"),
            "code as a kind": similarity_with(kind=hostile),
            "code as a setting": settings_with(coarsening=hostile),
        }
        paths = [
            str(forged_file(tmp_path / f"{i}.labelwalk", forgery, learner))
            for i, forgery in enumerate(files.values())
        ]
        roots = [str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, roots))}
        done = subprocess.run(
            [sys.executable, "-c", AUDITED, *paths],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        outcomes = ["loaded", "loaded", *["refused"] * 5]
        assert done.stdout.strip() == f"{outcomes} []"
