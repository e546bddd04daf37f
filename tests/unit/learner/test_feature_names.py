"""Columns have names: they are matched by name wherever a learner goes, or refused."""

from __future__ import annotations

import copy
import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from labelwalk import OnlineLearner, QuantizedHarmonicClassifier, load
from labelwalk.cli import app
from labelwalk.distributed.keyed_learners import KeyedLearners
from labelwalk.learner import from_bytes
from labelwalk.storage.model_file import ModelFileError, read, write
from tests.support.interrupts import interrupt_at_event

pytestmark = pytest.mark.compiled

pd = pytest.importorskip("pandas")  # comes with River

K = 30
NAMES = ("width", "höhe 🙂", "c")
TURNED = [NAMES[2], NAMES[0], NAMES[1]]


def blobs(n: int = 120, seed: int = 0) -> tuple[Any, np.ndarray[Any, Any]]:
    """Two blobs that are mistaken for each other if columns are taken in another order."""
    rng = np.random.default_rng(seed)
    labels = np.where(rng.random(n) < 0.5, "low", "high")
    low = (labels == "low")[:, None]
    rows = rng.normal(size=(n, 3)) + np.where(low, [8.0, 0.0, 0.0], [0.0, 8.0, 0.0])
    return pd.DataFrame(rows, columns=list(NAMES)), labels


FRAME, LABELS = blobs()


def begun(X: Any = FRAME, **settings: Any) -> OnlineLearner:
    learner = OnlineLearner(K, **settings)
    learner.teach(X[:10], LABELS[:10])
    learner.observe(X[10:])
    return learner


def accuracy(learner: Any, X: Any = FRAME[TURNED]) -> float:
    return float(np.mean(learner.predict(X).label == LABELS))


def renamed(learner: OnlineLearner, path: Path) -> OnlineLearner:
    learner.save(path)
    shutil.move(path, path.with_name("elsewhere.lw"))
    return load(path.with_name("elsewhere.lw"))


JOURNEYS: dict[str, Callable[[OnlineLearner, Path], OnlineLearner]] = {
    "stay": lambda learner, path: learner,
    "save and mv": renamed,
    "bytes": lambda learner, path: from_bytes(learner.to_bytes()),
    "pickle": lambda learner, path: pickle.loads(pickle.dumps(learner)),
    "copy": lambda learner, path: copy.deepcopy(learner),
}


class TestLearner:
    @pytest.mark.parametrize("journey", JOURNEYS)
    @pytest.mark.parametrize("scale", ["none", "robust"])
    def test_names_travel(self, journey: str, scale: str, tmp_path: Path) -> None:
        before = begun(scale=scale)
        learner = JOURNEYS[journey](before, tmp_path / "a.lw")
        assert learner.feature_names == NAMES
        assert learner.digest() == before.digest()
        assert accuracy(learner) == 1.0

    @pytest.mark.parametrize(
        "reorder",
        [
            lambda frame: frame[TURNED],
            lambda frame: pa.Table.from_pandas(frame[TURNED]),
            lambda frame: pa.RecordBatch.from_pandas(frame[TURNED]),
            lambda frame: frame[TURNED].astype(object),
            lambda frame: frame.set_index(frame["c"].map(str))[TURNED],
            lambda frame: frame.to_numpy(),
            lambda frame: frame.to_numpy().tolist(),
            lambda frame: frame.set_axis(range(3), axis=1),
            lambda frame: frame.set_axis(pd.MultiIndex.from_product([[1], [1, 2, 3]]), axis=1),
        ],
        ids=["pandas", "table", "batch", "objects", "index", "array", "lists", "ints", "tuples"],
    )
    def test_every_call_takes_columns_by_name(self, reorder: Callable[[Any], Any]) -> None:
        learner, plain = begun(), begun(FRAME.to_numpy())
        X, rows = reorder(FRAME), FRAME.to_numpy()
        assert learner.predict(X).confidence.tolist() == plain.predict(rows).confidence.tolist()
        np.testing.assert_array_equal(learner.scaled(X), plain.scaled(rows))
        assert learner.observe(X).label.tolist() == plain.observe(rows).label.tolist()
        learner.teach(X, LABELS)
        plain.teach(rows, LABELS)
        learner.feature_names = ()
        assert learner.digest() == plain.digest()

    def test_a_row_of_a_frame(self) -> None:
        learner = begun()
        turned = FRAME[TURNED]
        assert [learner.predict(turned.iloc[i]).label for i in range(9)] == LABELS[:9].tolist()
        assert str(learner.explain(turned.iloc[0])) == str(learner.explain(FRAME.to_numpy()[0]))
        assert str(learner.explain(turned[:1])) == str(learner.explain(FRAME.to_numpy()[0]))

    @pytest.mark.parametrize(
        ("X", "message"),
        [
            (FRAME[[*NAMES[:2]]], r"missing \['c'\], extra \[\]"),
            (FRAME.assign(id=1), r"missing \[\], extra \['id'\]"),
            (FRAME.assign(id="x"), r"extra \['id'\].*learner\.feature_names"),
            (FRAME.rename(columns={"c": "C"}), r"missing \['c'\], extra \['C'\]"),
            (pd.concat([FRAME, FRAME[["c"]]], axis=1), "'c', which is a duplicate"),
            (FRAME.rename(columns={"c": 3}), "3, which is a duplicate or not a string"),
            (FRAME.iloc[0].rename({"c": "d"}), r"extra \['d'\]"),
            (pa.table({"c": [1.0], "x": [1.0], "y": [1.0]}), r"extra \['x', 'y'\]"),
            (FRAME[TURNED].assign(c=np.nan), "only finite values"),
            (FRAME[TURNED].assign(c="a"), "not numeric"),
        ],
    )
    @pytest.mark.parametrize("call", ["observe", "teach", "predict", "scaled", "explain"])
    def test_other_columns_are_refused(self, call: str, X: Any, message: str) -> None:
        learner = begun()
        before = learner.digest()
        more = (["low"] * len(X),) if call == "teach" else ()
        with pytest.raises(ValueError, match=message):
            getattr(learner, call)(X, *more)
        assert learner.digest() == before

    def test_names_come_with_the_first_frame_that_is_learned(self) -> None:
        learner = begun(FRAME.to_numpy())
        assert accuracy(learner, FRAME) == 1.0
        assert not learner.feature_names
        with pytest.raises(ValueError, match="for 120 rows"):
            learner.teach(FRAME, ["low"])
        with pytest.raises(ValueError, match="source_share=None"):
            learner.observe(FRAME, source="door")
        with pytest.raises(ValueError, match="is a duplicate"):
            learner.observe(FRAME.set_axis(["a", "a", "b"], axis=1))
        assert not learner.feature_names
        learner.observe(FRAME)
        assert list(learner.feature_names) == list(NAMES)
        assert accuracy(learner) == 1.0

    def test_names_stay_with_what_was_learned_before_an_interrupt(self) -> None:
        learner = OnlineLearner(K)
        with interrupt_at_event(5), pytest.raises(KeyboardInterrupt):
            learner.observe(FRAME)
        assert 0 < learner.n_seen < len(FRAME)
        assert learner.feature_names == NAMES

    @pytest.mark.parametrize("names", [("a", "b"), ("a", "b", 3), "ab", [None] * 3, (1, 2, 3)])
    def test_names_that_cannot_be_given(self, names: Any) -> None:
        learner = begun()
        with pytest.raises(ValueError, match="does not have one string for each of 3 features"):
            learner.feature_names = names
        assert learner.feature_names == NAMES
        with pytest.raises(ValueError, match="a new learner takes them from its first data frame"):
            OnlineLearner(K).feature_names = ("a",)

    def test_a_file_with_names_that_do_not_fit(self, tmp_path: Path) -> None:
        begun().save(tmp_path / "a.lw")
        header, arrays = read(tmp_path / "a.lw")
        for names in (["a"], ["a", "b", 3], 7, [["a"], "b", "c"]):
            write(tmp_path / "b.lw", header | {"feature_names": names}, arrays)
            with pytest.raises(ModelFileError, match=r"b\.lw does not contain a valid learner"):
                load(tmp_path / "b.lw")


class TestMerge:
    @pytest.mark.parametrize("order", [TURNED, list(NAMES), [NAMES[1], NAMES[2], NAMES[0]]])
    @pytest.mark.parametrize("settings", [{}, {"scale": "robust"}, {"representative": "founder"}])
    def test_features_are_matched_by_name(
        self, settings: dict[str, Any], order: list[str], tmp_path: Path
    ) -> None:
        start = begun(**settings)
        start.observe(FRAME)
        left, right = copy.deepcopy(start), copy.deepcopy(start)
        if not settings:
            right = begun(FRAME[order])
            assert right.feature_names == tuple(order)
        right.observe(FRAME[order])
        alike = copy.deepcopy(start)
        alike.merge(begun(FRAME) if not settings else copy.deepcopy(right))
        left.merge(right)
        assert left.feature_names == NAMES
        assert accuracy(left) == accuracy(left, FRAME) == accuracy(left, FRAME.to_numpy()) == 1.0
        assert left.certificate < 1e-9
        table = left.vertices
        near = np.abs(table.means[:, None] - FRAME.to_numpy()).sum(axis=2).min(axis=1)
        assert near.max() < 4.0
        assert renamed(left, tmp_path / "a.lw").digest() == left.digest()

    def test_one_without_names(self) -> None:
        for left, right in ((begun(), begun(FRAME.to_numpy())), (begun(FRAME.to_numpy()), begun())):
            left.merge(right)
            assert left.feature_names == NAMES
            assert accuracy(left) == 1.0
        new = OnlineLearner(K)
        new.merge(begun(FRAME[TURNED]))
        assert new.feature_names == tuple(TURNED)
        assert accuracy(new) == 1.0

    def test_other_names_are_refused(self) -> None:
        left, right = begun(), begun(FRAME.rename(columns={"c": "d"}))
        before = left.digest()
        with pytest.raises(ValueError, match=r"missing \['c'\], extra \['d'\]"):
            left.merge(right)
        assert left.digest() == before
        right.feature_names = NAMES
        left.merge(right)
        assert accuracy(left) == 1.0


class TestFaces:
    def test_the_estimator_tells_its_learner(self) -> None:
        y = np.where(LABELS == "low", 0, 1)
        y[20:] = -1
        for model in (
            QuantizedHarmonicClassifier(K).fit(FRAME, y),
            QuantizedHarmonicClassifier(K).partial_fit(FRAME, y).partial_fit(FRAME, y),
        ):
            assert model.learner_.feature_names == tuple(model.feature_names_in_)
            said = model.learner_.predict(FRAME[TURNED]).label
            assert (said == model.predict(FRAME)).all()
        assert QuantizedHarmonicClassifier(K).fit(FRAME.to_numpy(), y).learner_.feature_names == ()

    def test_river_tells_its_learner(self) -> None:
        river = pytest.importorskip("labelwalk.integrations.river")
        model = river.OnlineHarmonicClassifier(K)
        for row, label in zip(FRAME.to_dict("records"), LABELS, strict=True):
            model.learn_one(row, label)
        assert model.learner.feature_names == model.features == tuple(sorted(NAMES))
        assert accuracy(model.learner) == 1.0
        other = river.OnlineHarmonicClassifier(K)
        other.learn_one({1: 0.0, "a": 1.0}, "low")
        assert other.learner.feature_names == ()

    def test_learners_by_key(self, tmp_path: Path) -> None:
        learners = KeyedLearners(str(tmp_path), OnlineLearner(K).settings)
        learners.teach("door", FRAME[:60], LABELS[:60].tolist(), position=0)
        learners.save()
        again = KeyedLearners(str(tmp_path), OnlineLearner(K).settings)
        said = again.observe("door", FRAME[TURNED][60:], position=60)
        assert (said.label == LABELS[60:]).all()


def labelwalk(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def ok(*arguments: str) -> Result:
    result = labelwalk(*arguments)
    assert result.exit_code == 0, result.output
    return result


def put(name: str, frame: Any) -> str:
    """Write a frame by the ending of a name."""
    if name.endswith(".csv"):
        frame.to_csv(name, index=False)
    elif name.endswith(".ndjson"):
        frame.to_json(name, orient="records", lines=True, force_ascii=False)
    else:
        pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), name)
    return name


def right_share(model: str, stream: str, *options: str) -> float:
    ok("predict", model, stream, "-osaid.ndjson", "-q", *options)
    said = [json.loads(line) for line in Path("said.ndjson").read_text().splitlines()]
    return float(np.mean([one["label"] == label for one, label in zip(said, LABELS, strict=True)]))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a learner that was taught by rows in order, and rows in another."""
    monkeypatch.chdir(tmp_path)
    put("first.csv", FRAME.assign(label=LABELS))
    put("turned.csv", FRAME[TURNED].assign(label=LABELS))
    for ending in ("csv", "parquet", "ndjson"):
        put(f"rows.{ending}", FRAME[TURNED])
    ok("teach", "m.lw", "first.csv", "-q")
    return tmp_path


@pytest.mark.shell
class TestCommands:
    @pytest.mark.parametrize("ending", ["csv", "parquet", "ndjson"])
    def test_a_learner_that_was_moved(self, ending: str, folder: Path) -> None:
        assert [path.name for path in folder.glob("m.lw*")] == ["m.lw"]
        Path("m.lw").rename("moved.lw")
        assert right_share("moved.lw", f"rows.{ending}") == 1.0
        load("moved.lw").save("copied.lw")
        assert right_share("copied.lw", f"rows.{ending}") == 1.0
        ok("teach", "copied.lw", "turned.csv", "-q")
        assert right_share("copied.lw", f"rows.{ending}") == 1.0
        assert json.loads(ok("inspect", "copied.lw", "--json").stdout)["feature_names"] == [*NAMES]

    @pytest.mark.parametrize("n", [2, 3])
    def test_merged_learners_of_other_orders(self, n: int, folder: Path) -> None:
        ok("teach", "turned.lw", "turned.csv", "-q")
        put("third.csv", FRAME[[NAMES[1], NAMES[0], NAMES[2]]].assign(label=LABELS))
        ok("label", "third.csv", "-oout.csv", "--model=third.lw", "-q")
        ok("merge", *["m.lw", "turned.lw", "third.lw"][:n], "-oall.lw")
        assert load("all.lw").n_seen == n * len(FRAME)
        for stream in ("rows.csv", "rows.parquet"):
            assert right_share("all.lw", stream) == 1.0

    def test_merged_learners_of_other_columns(self, folder: Path) -> None:
        put("other.csv", FRAME.rename(columns={"c": "d"}).assign(label=LABELS))
        ok("teach", "other.lw", "other.csv", "-q")
        result = labelwalk("merge", "m.lw", "other.lw", "-oall.lw")
        assert result.exit_code == 2
        message = " ".join(result.stderr.split())
        assert "other.lw cannot be merged: X and the learner have different columns" in message
        assert not Path("all.lw").exists()

    def test_a_run_goes_on_with_a_learner_that_was_moved(self, folder: Path) -> None:
        lines = Path("turned.csv").read_text().splitlines(keepends=True)
        Path("long.csv").write_text("".join([*lines[:60], "x,y,z,low\n"]))
        command = ("--checkpoint=run.lw", "--every=10", "-oout.csv", "-q")
        assert labelwalk("label", "long.csv", "--model=m.lw", *command).exit_code == 3
        Path("m.lw").rename("moved.lw")
        Path("run.lw").rename("moved-run.lw")
        Path("long.csv").write_text("".join(lines))
        command = ("--checkpoint=moved-run.lw", *command[1:])
        ok("label", "long.csv", "--model=moved.lw", *command)
        assert load("moved.lw").feature_names == NAMES
        assert right_share("moved.lw", "rows.csv") == 1.0

    def test_columns_that_are_chosen(self, folder: Path) -> None:
        put("more.csv", FRAME[TURNED].assign(id=range(len(FRAME)), w=7.0))
        assert right_share("m.lw", "more.csv") == 1.0  # what was not taught passes through
        result = labelwalk("predict", "m.lw", "more.csv", "--features=w,width,c")
        assert result.exit_code == 2
        assert "column 'höhe 🙂' is not among" in result.stderr
        put("other.csv", FRAME.set_axis(["f1", "f2", "f3"], axis=1))
        assert labelwalk("predict", "m.lw", "other.csv").exit_code == 2
        assert right_share("m.lw", "other.csv", "--features=f*") == 1.0
        put("few.csv", FRAME[["c", "width"]])
        assert "column 'höhe 🙂' is not among" in labelwalk("predict", "m.lw", "few.csv").stderr

    def test_names_beside_a_learner_of_an_earlier_version(self, folder: Path) -> None:
        learner = load("m.lw")
        learner.feature_names = ()
        learner.save("old.lw")
        beside = Path("old.lw.columns.json")
        beside.write_text(json.dumps({"features": list(NAMES)}))
        assert right_share("old.lw", "rows.csv") == 1.0
        ok("merge", "old.lw", "m.lw", "-oall.lw")
        assert load("all.lw").feature_names == NAMES
        ok("teach", "old.lw", "turned.csv", "-q")
        beside.unlink()
        assert load("old.lw").feature_names == NAMES
        assert right_share("old.lw", "rows.csv") == 1.0

    def test_a_column_of_lists(self, folder: Path) -> None:
        vectors = pa.array(FRAME[["width", "c"]].to_numpy().tolist())
        table = {"v": vectors, "label": pa.array(LABELS.tolist()), "h": pa.array(FRAME[NAMES[1]])}
        pq.write_table(pa.table(table), "lists.parquet")
        ok("teach", "v.lw", "lists.parquet", "-q")
        assert load("v.lw").feature_names == ("v", "v", "h")
        pq.write_table(pa.table({"h": table["h"], "v": vectors}), "turned.parquet")
        assert right_share("v.lw", "turned.parquet") == 1.0
        wide = pa.table({"h": vectors, "v": table["h"]})
        pq.write_table(wide, "wide.parquet")
        assert labelwalk("predict", "v.lw", "wide.parquet").exit_code == 2
