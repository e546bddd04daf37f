"""The demonstration: honest numbers, readable on any terminal, with and without a picture."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread
from typer.testing import CliRunner, Result

from labelwalk import OnlineLearner, demo
from labelwalk.cli import app
from labelwalk.demo import DemoProgress, DemoResult, load_digit_stream, run_demo, warm_up
from labelwalk.plotting import COLOURS, draw_comparison

pytestmark = pytest.mark.shell

SMALL_OPTIONS = ["--seed=1", "--n-centroids=30", "--limit=60"]


@pytest.fixture(scope="module")
def small() -> DemoResult:
    return run_demo(1, n_centroids=30, limit=60)


def labelwalk(*arguments: str, **environment: str) -> Result:
    return CliRunner(env=environment).invoke(app, arguments)


class TestStream:
    def test_every_digit_is_taught_or_observed_once(self) -> None:
        stream = load_digit_stream(seed=3, labels_per_class=4)
        assert np.bincount(stream.labels).tolist() == [4] * 10
        assert len(stream.rows) == len(stream.truth) == 1797 - 40
        everything = np.concatenate([stream.taught, stream.rows])
        whole = np.concatenate(load_digit_stream(0, 4)[::2])
        assert sorted(everything.tolist()) == sorted(whole.tolist())

    def test_the_seed_decides_the_order(self) -> None:
        rows, same, other = (load_digit_stream(seed, 4).rows for seed in (3, 3, 4))
        np.testing.assert_array_equal(rows, same)
        assert not np.array_equal(rows[:50], other[:50])

    @pytest.mark.parametrize("labels", [0, 101])
    def test_labels_beyond_reason(self, labels: int) -> None:
        with pytest.raises(ValueError, match=f"labels_per_class={labels} is not between 1 and 100"):
            load_digit_stream(0, labels)

    def test_no_examples(self) -> None:
        with pytest.raises(ValueError, match="limit=0 leaves no examples"):
            run_demo(limit=0)


class TestRun:
    def test_is_strictly_online(self, small: DemoResult) -> None:
        """One row at a time, and no look at the truth, gives the same answers."""
        stream = load_digit_stream(1, 4, 60)
        learner = OnlineLearner(n_centroids=30)
        learner.teach(stream.taught, stream.labels)
        answers = [learner.observe(row).label for row in stream.rows]
        np.testing.assert_array_equal(small.correct, np.array(answers, object) == stream.truth)
        assert small.n_labelled_vertices + small.n_unlabelled_vertices == learner.n_vertices
        assert (small.radius, small.distortion) == (learner.radius, learner.distortion)

    def test_nearest_label(self, small: DemoResult) -> None:
        stream = load_digit_stream(1, 4, 60)
        for row, truth, right in zip(stream.rows, stream.truth, small.nearest_correct, strict=True):
            distances = [np.linalg.norm(row - taught) for taught in stream.taught]
            assert (stream.labels[int(np.argmin(distances))] == truth) == right

    def test_shares(self, small: DemoResult) -> None:
        assert small.accuracy == small.correct.sum() / 60
        assert small.accuracy <= small.answered <= 1.0 - small.outliers
        assert 0.0 <= small.certain <= 1.0
        assert 0.0 < small.largest_bound <= 0.01
        assert small.n_labels == small.n_labelled_vertices == 40
        assert small.n_unlabelled_vertices <= 30

    def test_watch_sees_every_chunk(self) -> None:
        seen: list[DemoProgress] = []
        result = run_demo(1, n_centroids=30, limit=60, watch=seen.append)
        assert [progress.n_done for progress in seen] == [25, 50, 60]
        assert seen[-1].accuracy == result.accuracy
        assert seen[-1].seconds == result.seconds

    def test_chunks_change_nothing(
        self, small: DemoResult, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(demo, "PROGRESS_ROWS", 7)
        again = run_demo(1, n_centroids=30, limit=60)
        np.testing.assert_array_equal(again.correct, small.correct)
        assert again.distortion == small.distortion

    def test_numbers_are_plain(self, small: DemoResult) -> None:
        numbers = small.numbers()
        assert json.loads(json.dumps(numbers)) == numbers
        assert numbers["accuracy"] == small.accuracy
        assert numbers["n_examples"] == 60

    def test_warm_up_leaves_the_run_alone(self, small: DemoResult) -> None:
        warm_up()
        np.testing.assert_array_equal(run_demo(1, n_centroids=30, limit=60).correct, small.correct)

    @pytest.mark.slow
    def test_documented_accuracy(self) -> None:
        """The figures in README.md and docs/faq.md; all runs are better than the nearest label."""
        results = [run_demo(seed) for seed in range(4)]
        accuracies = [f"{result.accuracy:.1%}" for result in results]
        assert accuracies == ["91.7%", "95.0%", "96.0%", "92.6%"]
        nearest = [result.nearest_accuracy for result in results]
        assert (f"{min(nearest):.1%}", f"{max(nearest):.1%}") == ("82.6%", "87.1%")
        assert all(result.accuracy > result.nearest_accuracy + 0.03 for result in results)
        assert f"{run_demo(n_centroids=50).accuracy:.1%}" == "86.9%"

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("labels", "accuracy", "nearest"),
        [(1, "0.80", "0.62"), (2, "0.85", "0.72"), (4, "0.93", "0.84"), (10, "0.97", "0.92")],
    )
    def test_documented_accuracy_by_labels(self, labels: int, accuracy: str, nearest: str) -> None:
        """The figures in docs/faq.md."""
        results = [run_demo(seed, labels_per_class=labels) for seed in range(5)]
        assert f"{np.mean([result.accuracy for result in results]):.2f}" == accuracy
        assert f"{np.mean([result.nearest_accuracy for result in results]):.2f}" == nearest


class TestPicture:
    def draw(self, correct: Any, other: Any, path: Path) -> None:
        draw_comparison({"labelwalk": correct, "nearest label": other}, "title").savefig(path)

    def test_shows_both_lines(self, small: DemoResult, tmp_path: Path) -> None:
        self.draw(small.correct, small.nearest_correct, tmp_path / "small.png")
        pixels = imread(tmp_path / "small.png")
        assert pixels.shape == (750, 1350, 4)
        for colour in COLOURS[:2]:
            exact = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
            assert (np.abs(pixels[..., :3] - exact).max(axis=2) < 0.02).sum() > 500

    @pytest.mark.parametrize("n", [1, 199, 200, 201])
    def test_any_length(self, n: int, tmp_path: Path) -> None:
        correct = np.arange(n) % 2 == 0
        self.draw(correct, ~correct, tmp_path / "any.png")
        assert imread(tmp_path / "any.png").std() > 0.05


class TestCommand:
    def test_numbers_on_screen_and_in_json(self, small: DemoResult, tmp_path: Path) -> None:
        path = tmp_path / "numbers.json"
        result = labelwalk("demo", *SMALL_OPTIONS, "--no-picture", "--json", str(path))
        assert result.exit_code == 0, result.output
        written = json.loads(path.read_text("utf-8"))
        timed = {"seconds", "examples_per_second"}
        expected = small.numbers()
        assert written.keys() == expected.keys()
        assert all(written[name] == expected[name] for name in expected.keys() - timed)
        assert "compiling (first run only) ..." in result.output
        assert f"{small.accuracy:.1%} of all correctly" in " ".join(result.output.split())
        assert f"reaches {small.nearest_accuracy:.1%}" in " ".join(result.output.split())

    def test_plain_and_narrow_without_a_terminal(self) -> None:
        result = labelwalk("demo", *SMALL_OPTIONS, "--no-picture", COLUMNS="60")
        assert result.exit_code == 0, result.output
        assert not {"\x1b", "\r", "\b"} & set(result.output)
        lines = result.output.splitlines()
        assert max(map(len, lines)) <= 60
        assert sum("examples/s" in line for line in lines) == 1

    def test_a_live_line_on_a_terminal(self) -> None:
        result = labelwalk("demo", *SMALL_OPTIONS, "--no-picture", FORCE_COLOR="1", COLUMNS="60")
        assert result.exit_code == 0, result.output
        assert "60/60" in result.output
        assert "\x1b[2K" in result.output

    @pytest.mark.slow
    def test_picture_where_it_is_wanted(self, tmp_path: Path) -> None:
        path = tmp_path / "a [strange] name.png"
        result = labelwalk("demo", *SMALL_OPTIONS, "--picture", str(path))
        assert result.exit_code == 0, result.output
        assert imread(path).shape == (750, 1350, 4)
        assert f"Accuracy over time: {path}" in result.output

    def test_picture_in_this_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        assert labelwalk("demo", *SMALL_OPTIONS).exit_code == 0
        assert os.listdir(tmp_path) == ["labelwalk-demo.png"]

    @pytest.mark.slow
    @pytest.mark.parametrize("option", ["--json", "--picture"])
    def test_no_such_folder(self, option: str, tmp_path: Path) -> None:
        path = tmp_path / "nowhere" / "file.png"
        result = labelwalk("demo", *SMALL_OPTIONS, option, str(path))
        assert result.exit_code == 1
        assert f"{path} cannot be written (No such file" in result.stderr

    def test_no_such_format(self, tmp_path: Path) -> None:
        result = labelwalk("demo", *SMALL_OPTIONS, "--picture", str(tmp_path / "picture.doc"))
        assert result.exit_code == 1
        assert "picture.doc cannot be written (Format 'doc' is not supported" in result.stderr

    @pytest.mark.parametrize(
        "options", [["--labels-per-class=0"], ["--labels-per-class=101"], ["--seed=x"], ["--what"]]
    )
    def test_wrong_usage(self, options: list[str]) -> None:
        assert labelwalk("demo", *options).exit_code == 2

    def test_version(self) -> None:
        result = labelwalk("--version")
        assert result.exit_code == 0
        assert result.output.startswith("labelwalk")


@pytest.mark.parametrize(("asked", "status"), [(False, 0), (True, 1)])
@pytest.mark.slow
def test_without_matplotlib(asked: bool, status: int, tmp_path: Path) -> None:
    blocked = "import sys; sys.modules['matplotlib'] = None; from labelwalk.cli import main; main()"
    picture = ["--picture", "wanted.png"] if asked else []
    outcome = subprocess.run(
        [sys.executable, "-c", blocked, "demo", *SMALL_OPTIONS, *picture],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert outcome.returncode == status, outcome.stderr
    assert "The plot requires matplotlib: pip install matplotlib" in outcome.stdout
    assert "nearest of the same 40 labels" in outcome.stdout
    assert not os.listdir(tmp_path)
