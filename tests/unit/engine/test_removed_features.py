"""What was removed says so, and what to use instead; files of version 0.7 that use it too."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import labelwalk
from labelwalk import Gaussian, OnlineLearner, SelfTuning, load
from labelwalk.kernels.compare import compute_similarities
from labelwalk.storage.model_file import RemovedFeatureError

DATA = Path(__file__).parents[2] / "data"


def distance(x: Any, rows: Any) -> Any:
    return np.abs(rows - x).sum(axis=1)


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that version 0.7.0 wrote, as `tests/data/write_removed.py` says."""
    with tarfile.open(DATA / "removed-0.7.tgz") as archive:
        archive.extractall(tmp_path, filter="data")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_parameter_window_names_half_life() -> None:
    with pytest.raises(TypeError, match=r"window=9 is not supported\. .*half_life=n / 3"):
        OnlineLearner(window=9)  # type: ignore[arg-type]


@pytest.mark.parametrize("similarity", [Gaussian, SelfTuning])
def test_the_parameter_distance_names_an_embedding(similarity: Callable[..., object]) -> None:
    with pytest.raises(ValueError, match=r"(?s)distance=.*embedding.*harmonic\.solve"):
        similarity(distance=distance)


def test_pairwise_names_an_embedding() -> None:
    with pytest.raises(ImportError, match=r"Pairwise was removed\. .*embedding"):
        labelwalk.Pairwise  # noqa: B018
    with pytest.raises(ValueError, match=r"is neither a SelfTuning nor a Gaussian\. .*embedding"):
        OnlineLearner(similarity=distance)  # type: ignore[arg-type]


def test_the_option_and_the_setting_name_half_life(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from labelwalk.cli import app

    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("a,label\n0,low\n9,high\n")
    command = ["label", "in.csv", "-o", "out.csv"]
    result = CliRunner().invoke(app, [*command, "--window", "9"])
    assert (result.exit_code, result.stderr) == (2, "--window was removed. Use --half-life.\n")
    Path("labelwalk.toml").write_text("window = 9\n")
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 2
    assert result.stderr == "window in labelwalk.toml was removed. Use half_life.\n"


@pytest.mark.parametrize(
    ("name", "message"),
    [("window", r"window=30\. .*use half_life"), ("distance", r"function\. .*embedding")],
)
def test_a_file_that_uses_it_is_refused(old: Path, name: str, message: str) -> None:
    with pytest.raises(RemovedFeatureError, match=rf"{name}\.lw was made with a?.*{message}"):
        load(old / f"{name}.lw")


def test_a_half_life_goes_on_without_the_edges_left_behind(old: Path) -> None:
    learner = load(old / "half_life.lw")
    assert learner.n_seen == 402
    engine, n = learner._engine, learner.n_vertices
    expected, vertices = np.empty((n, n)), engine.state.vertices
    compute_similarities(vertices.mean_distances, vertices.bandwidth, n, engine.rules.cut, expected)
    np.testing.assert_array_equal(learner.graph.similarity, expected)
    assert learner.certificate < 1e-6
    learner.save(old / "again.lw")
    assert load(old / "again.lw").digest() == learner.digest()
    learner.observe(np.random.default_rng(0).normal(size=(100, 2)))
    assert learner.n_seen == 502


@pytest.mark.shell
def test_a_service_keeps_such_a_learner_for_predictions(old: Path) -> None:
    from labelwalk.service.commands import Observe
    from labelwalk.service.learner_store import LearnerStore

    row = np.array([[2.0, 0.0]])
    for _ in range(2):
        store = LearnerStore("service")
        number, other = store.find_id("old"), store.find_id("other")
        assert store.predict(number, row).result().columns["label"] == ["high"]
        with pytest.raises(ValueError, match=r"'old' can only predict: .*window=30"):
            store.submit(number, Observe(row)).result()
        with pytest.raises(ValueError, match="can only predict"):
            store.erase(number, label="low").result()
        assert store.submit(other, Observe(row)).result().columns["label"] == ["high"]
        store.close()
    store = LearnerStore("service")
    store.delete(store.find_id("old")).result()
    store.close()
