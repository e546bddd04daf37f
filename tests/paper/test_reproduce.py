"""The studies: small ones, from their jobs to the report; twice the same, and after accidents."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.datasets

import paper.__main__ as command
from paper.datasets.files import VARIABLE
from paper.evaluation import CurvePoint, results
from paper.studies import (
    ALL,
    STUDIES,
    binary,
    bounds,
    budget,
    contestants,
    everywhere,
    faces,
    figure5,
    jobs,
    report,
    reproduce,
)
from paper.studies.findings import Claim, Findings, Plan
from paper.studies.jobs import Found, Job

pytestmark = pytest.mark.shell

SLOW_JOBS = """
import sys, time
from pathlib import Path
from paper.studies.jobs import run_all
sys.path.insert(0, {folder!r})
from counted import jobs
if __name__ == "__main__":
    run_all(jobs(), Path({out!r}), "a test", workers=2)
"""
COUNTED = """
import time
from pathlib import Path
from paper.studies.jobs import Found, Job
def work(number, log):
    with open(log, "a") as file:
        file.write(f"{number}\\n")
    time.sleep(0.15)
    return Found({"number": [number], "square": [number**2]}, {})
def jobs():
    return [Job(f"squares/{n}", work, {"number": n, "log": LOG}) for n in range(12)]
"""


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a folder nor a network."""

    def offline(**_: Any) -> None:
        raise OSError("no network")

    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", offline)


def doubled(number: int) -> Found:
    return Found({"number": [number], "double": [2 * number]}, {"thinking": 0.0})


def failing() -> Found:
    raise RuntimeError("no such luck")


class TestJobs:
    def test_what_is_done_is_not_done_again(self, tmp_path: Path) -> None:
        job = Job("deep/down", doubled, {"number": 3})
        jobs.run_all([job, job], tmp_path, "a test", workers=1)
        found = job.result(tmp_path)
        assert found is not None
        assert found.columns == {"number": [3], "double": [6]}
        assert found.about["command"] == "a test"
        assert found.about["call"] == {"function": f"{__name__}.doubled", "number": 3}
        written = (tmp_path / "deep/down.json").stat().st_mtime_ns
        seen: list[tuple[int, int, str]] = []
        jobs.run_all([job], tmp_path, "again", workers=1, watch=lambda *now: seen.append(now))
        assert (tmp_path / "deep/down.json").stat().st_mtime_ns == written
        assert seen == [(1, 1, "")]

    def test_another_call_or_version_is_done_anew(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        jobs.run_all([Job("one", doubled, {"number": 3})], tmp_path, "a test", workers=1)
        assert Job("one", doubled, {"number": 4}).result(tmp_path) is None
        monkeypatch.setattr(results, "versions", lambda: {"numpy": "next"})
        assert Job("one", doubled, {"number": 3}).result(tmp_path) is None

    def test_a_result_that_says_nothing_is_done_anew(self, tmp_path: Path) -> None:
        results.write(tmp_path / "one", {"number": [3]}, {})
        assert Job("one", doubled, {"number": 3}).result(tmp_path) is None

    @pytest.mark.slow
    def test_a_failure_in_another_process_is_told(self, tmp_path: Path) -> None:
        with pytest.raises(RuntimeError, match="no such luck"):
            jobs.run_all([Job("bad", failing)], tmp_path, "a test", workers=2)

    def test_a_failure_leaves_the_others(self, tmp_path: Path) -> None:
        good, bad = Job("good", doubled, {"number": 1}), Job("bad", failing)
        with pytest.raises(RuntimeError, match="no such luck"):
            jobs.run_all([good, bad], tmp_path, "a test", workers=1)
        assert good.result(tmp_path) is not None
        with pytest.raises(LookupError, match="bad has no result"):
            Plan(True, frozenset(), tmp_path).result(bad)

    @pytest.mark.slow
    @pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
    def test_killed_in_the_middle_it_goes_on(self, tmp_path: Path, how: signal.Signals) -> None:
        log = tmp_path / "log"
        text = f"LOG = {str(log)!r}\n{COUNTED}"
        (tmp_path / "counted.py").write_text(text)
        script = tmp_path / "run.py"
        out = tmp_path / "out"
        script.write_text(SLOW_JOBS.format(folder=str(tmp_path), out=str(out)))
        environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
        run = subprocess.Popen(
            [sys.executable, str(script)],
            env=environment,
            start_new_session=True,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 60
        while len(list(out.glob("squares/*.json"))) < 3 and time.monotonic() < deadline:
            time.sleep(0.02)
        os.killpg(run.pid, how)
        run.wait()
        kept = {path.name for path in out.glob("squares/*.json")}
        assert 3 <= len(kept) < 12
        log.write_text("")
        subprocess.run([sys.executable, str(script)], env=environment, check=True)
        assert len(list(out.glob("squares/*.json"))) == 12
        again = {f"{number}.json" for number in log.read_text().split()}
        assert not again & kept
        squares = [results.read(out / f"squares/{n}") for n in range(12)]
        assert [found.columns["square"][0] for found in squares if found] == [
            n**2 for n in range(12)
        ]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Studies of the same form, of some seconds."""
    monkeypatch.setattr(binary, "QUICK", binary.Scope(1, 120, (10, 20)))
    monkeypatch.setattr(binary, "K", 20)
    monkeypatch.setattr(binary, "SINKS", (1.0, 1000.0))
    monkeypatch.setattr(faces, "SINKS", (1.0, 0.1, 1e-3, 1e-5))
    monkeypatch.setattr(faces, "QUICK_WIDTHS", (0.15,))
    monkeypatch.setattr(faces, "RADII", 3)
    monkeypatch.setattr(faces, "CANDIDATES", 30)
    monkeypatch.setattr(faces, "K", 60)
    monkeypatch.setattr(bounds, "DIMENSIONS", (1, 2))
    monkeypatch.setattr(bounds, "QUICK", (40, 200))
    monkeypatch.setattr(bounds, "CENTROIDS", (10, 20))
    monkeypatch.setattr(budget, "SIZES", (20, 40))
    monkeypatch.setattr(budget, "WIDTHS", (0.2,))
    monkeypatch.setattr(everywhere, "ALWAYS", ("moons", "drifting", "digits"))
    monkeypatch.setattr(everywhere, "MOST_QUICK", 90)
    monkeypatch.setattr(everywhere, "LABELS", (1, 2))
    monkeypatch.setattr(contestants, "K", 40)


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_all_studies_without_any_data_twice_the_same(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    found = reproduce(ALL, one, quick=True, workers=1)
    assert found.report == one / "quick/report.html"
    assert {"optdigits", "letter", "places", "office"} <= set(found.missing)
    reproduce(ALL, two, quick=True, workers=1)
    assert_same_numbers(one, two)
    page = found.report.read_text("utf-8")
    for study in STUDIES.values():
        assert f"id='{study.name}'" in page
    assert page.count("<img") == len(list((one / "quick/figures").glob("*.svg")))
    for claim in found.claims:
        assert claim.verdict in ("holds", "holds in part", "does not hold", "not measured")
        assert "nan" not in claim.ours
    figures = {path.stem for path in (one / "quick/figures").glob("*.png")}
    assert {"fig2-pairs", "fig2-rest", "fig3", "fig5b-digits", "budget"} <= figures


def assert_same_numbers(one: Path, two: Path) -> None:
    """All but times: tables of times, and what files of JSON say of them."""
    names = sorted(path.relative_to(one) for path in one.rglob("*") if path.is_file())
    assert names == sorted(path.relative_to(two) for path in two.rglob("*") if path.is_file())
    for name in names:
        timed = name.suffix in (".json", ".html") or name.stem.startswith("budget")
        timed = timed or name.stem.endswith("times")
        if not timed:
            assert (one / name).read_bytes() == (two / name).read_bytes(), name


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_a_study_leaves_tables_that_can_be_read(tmp_path: Path) -> None:
    found = reproduce("bounds", tmp_path, quick=True, workers=1)
    with (tmp_path / "quick/tables/bounds-statements.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["statement"] for row in rows} >= {"Lemma 1", "Proposition 2", "Proposition 7"}
    proven = [row for row in rows if "as printed" not in row["statement"]]
    assert all(row["holds"] == "True" for row in proven)
    assert not found.missing


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_the_folder_of_the_data_is_known_during_the_run_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "before")
    (tmp_path / "data").mkdir()
    reproduce("bounds", tmp_path / "out", data=tmp_path / "data", quick=True, workers=1)
    assert os.environ[VARIABLE] == "before"


def test_the_pairs_are_fixed_and_differ() -> None:
    pairs = binary.problems("digits", "pairs", 10)
    assert pairs == binary.problems("digits", "pairs", 10)
    assert len(set(pairs)) == 10
    assert pairs[:3] == binary.problems("digits", "pairs", 3)


def test_the_search_for_a_sink_uses_other_pairs() -> None:
    every = binary.problems("digits", "pairs", 15)
    shown = binary.problems("digits", "pairs", binary.FULL.problems)
    assert not set(every[binary.FULL.problems :]) & set(shown)


def test_weak_learners_come_from_their_quarter() -> None:
    assert max(faces.sampled(1000, "first quarter")) < 250
    assert min(faces.sampled(1000, "last quarter")) >= 750
    assert len(faces.sampled(1000, "all")) == 500


@pytest.mark.parametrize("method", contestants.METHODS)
def test_every_method_is_made_from_all_its_parameters(method: str) -> None:
    stream = everywhere.stream_of("moons", 0, 60)
    for chosen in contestants.METHODS[method][1]:
        learner = contestants.made(method, stream.rows, chosen)
        learner.teach(stream.rows[:8], stream.truth[:8].tolist())
        assert len(learner.observe(stream.rows[8:20]).label) == 12


def test_a_curve_that_never_recalls_is_worth_nothing() -> None:
    assert figure5.worth([CurvePoint(1.0, 1.0, 0.1)]) == 0.0


def test_the_report_escapes_what_it_is_told(tmp_path: Path) -> None:
    study = STUDIES["fig2"]
    findings = Findings(claims=[Claim("<b>", "a & b", "holds")], notes=["<script>"])
    path = tmp_path / "report.html"
    report.write(path, {study: findings}, {}, {"letter": "<lost>"}, "made & drawn")
    page = path.read_text("utf-8")
    assert "<script>" not in page
    assert "<b>" not in page
    assert "&lt;lost&gt;" in page
    assert "made &amp; drawn" in page


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [("fig9", {}, "name='fig9'"), ("fig2", {"workers": 0}, "workers=0")],
)
def test_bad_input_is_refused_by_name(
    name: str, options: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=words):
        reproduce(name, tmp_path, **options)


class TestCommand:
    def test_help_names_every_study(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit):
            command.main(["--help"])
        text = capsys.readouterr().out
        assert all(f"\n  {name} " in text for name in [*STUDIES, ALL])

    @pytest.mark.slow
    @pytest.mark.usefixtures("small")
    def test_it_says_what_holds_and_where_the_report_is(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        out = tmp_path / "out"
        assert command.main(["bounds", "--quick", "--out", str(out), "--workers", "1"]) == 0
        text = capsys.readouterr().out
        assert "holds" in text
        assert f"Report: {out / 'quick/report-bounds.html'}" in text

    def test_bad_input_and_interrupts_are_reported(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def fails(code: int, message: str, *arguments: str) -> None:
            assert command.main(list(arguments)) == code
            assert message in capsys.readouterr().err

        out = str(tmp_path / "out")
        fails(2, "nowhere is not a folder", "fig2", "--data", str(tmp_path / "nowhere"))
        (tmp_path / "letter").mkdir()
        (tmp_path / "letter/letter.npz").write_bytes(b"half of it")
        fails(2, "Fetch it again", "fig2", "--data", str(tmp_path), "--out", out)
        (tmp_path / "file").write_text("")
        in_the_way = str(tmp_path / "file")
        fails(1, "cannot be written", "bounds", "--quick", "--workers=1", "--out", in_the_way)

        def interrupted(*_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr("paper.studies.reproduce", interrupted)
        fails(130, "run the command again", "fig2", "--out", out)
        monkeypatch.setattr(command, "find_spec", lambda package: None)
        fails(1, "pip install matplotlib", "fig2")


def test_looks_end_at_the_end() -> None:
    assert binary.looks(120)[-1] == 120
    assert (np.diff(binary.looks(1500)) > 0).all()
