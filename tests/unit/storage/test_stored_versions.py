"""Files of every version from format 3 on: they load, and what wrote them can be gone on with."""

from __future__ import annotations

import tarfile
from pathlib import Path

import numpy as np
import pytest

from labelwalk import OnlineLearner, load
from labelwalk.engine.state import COUNTERS, FIELDS, create_state, from_arrays, to_arrays
from labelwalk.io import Columns, Task, run
from labelwalk.kernels.counters import COUNTERS_DTYPE
from labelwalk.storage import model_file
from labelwalk.storage.model_file import ModelFileError

DATA = Path(__file__).parents[2] / "data"
VERSIONS = sorted(path.name.removesuffix(".tar.gz") for path in DATA.glob("*.tar.gz"))


@pytest.fixture(params=VERSIONS)
def old(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that a version wrote, as `tests/data/write.py` says."""
    with tarfile.open(DATA / f"{request.param}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def format_of(path: Path) -> int:
    return int.from_bytes(path.read_bytes()[10:14], "little")


def test_every_version_is_there() -> None:
    assert VERSIONS == ["0.3", "0.4", "0.5", "0.6", "0.7"]


class TestOld:
    def test_a_learner(self, old: Path) -> None:
        rows = np.random.default_rng(3).normal(size=(40, 2))
        assert format_of(old / "learner.lw") == model_file.OLDEST_VERSION
        learner = load(old / "learner.lw")
        assert (learner.n_seen, learner.classes, learner.feature_names) == (42, ("low", "high"), ())
        assert learner.predict([[-2.0, 0.0], [2.0, 0.0]]).label.tolist() == ["low", "high"]
        before = (old / "learner.lw").read_bytes()
        learner.save(old / "again.lw")
        assert (old / "again.lw").read_bytes() == before  # earlier programs can read it still
        learner.teach_later(41, "high")
        learner.observe(rows)
        assert learner.n_seen == 83
        load(old / "learner.lw").merge(learner)

    def test_a_run(self, old: Path) -> None:
        if not (old / "checkpoint.lw").exists():
            pytest.skip("0.3 has no streams")
        text = (old / "in.csv").read_text()
        (old / "in.csv").write_text(text.replace("1,120,\n8,880,\n", "1,120,low\n8,880,high\n"))
        task = Task("in.csv", "out.csv", Columns(label="label"), all_labelled=True)
        outcome = run(task, OnlineLearner(4, remember=3), checkpoint="checkpoint.lw")
        assert outcome.resumed
        assert outcome.learner.n_seen == 4
        assert outcome.learner.feature_names == ("b", "a")
        assert len((old / "out.csv").read_text().splitlines()) == 5

    @pytest.mark.shell
    def test_a_folder_of_the_service(self, old: Path) -> None:
        if not (old / "service").exists():
            pytest.skip("0.3 and 0.4 have no service")
        from labelwalk.service.commands import Observe
        from labelwalk.service.learner_store import LearnerStore

        for n in (7, 8):
            store = LearnerStore("service")
            number = store.find_id("old")
            assert store.query(number, lambda managed: managed.learner.n_seen).result() == n
            told = store.submit(number, Observe(np.array([[2.0, 0.0]]))).result()
            assert told.columns["label"] == ["high"]
            store.close()


class TestNew:
    def test_every_counter_and_array_is_declared(self) -> None:
        assert set(COUNTERS) == set(COUNTERS_DTYPE.names or ())
        for kind, fields in FIELDS.items():
            assert set(fields) == set(kind.__annotations__)

    def test_a_counter_that_files_lack_has_its_initial_value(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        arrays = to_arrays(create_state(1, 1, 1))
        del arrays["here.usual"], arrays["before.usual"]
        with pytest.raises(ValueError, match=r"'here\.usual' is missing"):
            from_arrays(arrays, 1)
        monkeypatch.setitem(COUNTERS, "usual", COUNTERS["usual"]._replace(required=False))
        assert from_arrays(arrays, 1).counters.usual == COUNTERS["usual"].initial

    def test_a_file_has_the_lowest_format_it_needs(self, tmp_path: Path) -> None:
        learner = OnlineLearner(4)
        learner.teach([[0.0, 1.0]], ["low"])
        learner.save(tmp_path / "a.lw")
        assert format_of(tmp_path / "a.lw") == model_file.OLDEST_VERSION
        learner.feature_names = ("a", "b")
        learner.save(tmp_path / "a.lw", note={"any": "thing"})
        assert format_of(tmp_path / "a.lw") == 4
        assert load(tmp_path / "a.lw").digest() == learner.digest()

    @pytest.mark.parametrize(
        ("version", "repair"),
        [
            (model_file.VERSION + 1, "upgrade labelwalk"),
            (2, "read it with the version that wrote it"),
        ],
    )
    def test_a_format_that_is_not_read(self, version: int, repair: str, tmp_path: Path) -> None:
        OnlineLearner(4).save(tmp_path / "a.lw")
        content = bytearray((tmp_path / "a.lw").read_bytes())
        content[10:14] = version.to_bytes(4, "little")
        (tmp_path / "a.lw").write_bytes(content)
        with pytest.raises(ModelFileError) as caught:
            load(tmp_path / "a.lw")
        message = f"{tmp_path / 'a.lw'}: the file has format version {version}, "
        assert str(caught.value).startswith(message)
        assert f"reads versions 3 to {model_file.VERSION}; {repair}" in str(caught.value)
