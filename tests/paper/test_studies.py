"""Studies: their jobs, what a run leaves behind, their claims, and accidents."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.datasets

import paper.__main__ as command
from paper import (
    all_datasets,
    budget,
    figure_5,
    methods,
    report,
    section_4,
    section_5_1,
    study,
)
from paper.datasets import DATA_VARIABLE
from paper.evaluation import CurvePoint
from paper.findings import Claim, Findings
from paper.runner import ALL, STUDIES, reproduce
from paper.study import Job, Measurement, Plan
from tests.support.waiting import wait_until

pytestmark = pytest.mark.shell

SLOW_JOBS = """
import sys
from pathlib import Path
from paper.study import Plan
sys.path.insert(0, {folder!r})
from counted import jobs
if __name__ == "__main__":
    Plan(True, frozenset(), Path({out!r}), workers=2).run(jobs())
"""
COUNTED = """
import time
from paper.study import Job, Measurement
def work(log, number):
    with open(log, "a") as file:
        file.write(f"{number}\\n")
    time.sleep(0.15)
    return Measurement({"number": [number], "square": [number**2]})
def jobs():
    return [Job(work, {"log": LOG, "number": n}) for n in range(12)]
"""


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a folder nor a network."""

    def offline(**_: Any) -> None:
        raise OSError("no network")

    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", offline)


def double(number: int) -> Measurement:
    return Measurement({"number": [number], "double": np.array([2 * number])}, {"thinking": 0.0})


def fail() -> Measurement:
    raise RuntimeError("no such luck")


class TestJobs:
    def plan(self, folder: Path, **options: Any) -> Plan:
        return Plan(True, frozenset(), folder, "a test", **options)

    def test_a_stored_result_is_not_computed_again(self, tmp_path: Path) -> None:
        job = Job(double, {"number": 3})
        result, same = self.plan(tmp_path).run([job, job])
        assert result == same
        assert result.columns == {"number": [3], "double": [6]}
        path = tmp_path / f"{job.key}.json"
        assert json.loads(path.read_text())["command"] == "a test"
        written = path.stat().st_mtime_ns
        log: list[tuple[int, int, str]] = []
        self.plan(tmp_path, watch=lambda *progress: log.append(progress)).run([job])
        assert path.stat().st_mtime_ns == written
        assert log == [(1, 1, "")]

    def test_results_of_another_call_or_version_or_damaged_ones_do_not_count(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job = Job(double, {"number": 3})
        self.plan(tmp_path).run([job])
        assert Job(double, {"number": 4}).load(tmp_path) is None
        assert job.load(tmp_path) is not None
        with monkeypatch.context() as patch:
            patch.setattr(study, "list_versions", lambda: {"numpy": "next"})
            assert job.load(tmp_path) is None
        for text in ("{", "{}", "[]"):
            (tmp_path / f"{job.key}.json").write_text(text)
            assert job.load(tmp_path) is None

    @pytest.mark.slow
    def test_a_failure_in_another_process_is_raised(self, tmp_path: Path) -> None:
        with pytest.raises(RuntimeError, match="no such luck"):
            self.plan(tmp_path, workers=2).run([Job(fail)])

    def test_a_failure_leaves_the_others(self, tmp_path: Path) -> None:
        good = Job(double, {"number": 1})
        with pytest.raises(RuntimeError, match="no such luck"):
            self.plan(tmp_path).run([good, Job(fail)])
        assert good.load(tmp_path) is not None

    @pytest.mark.slow
    @pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
    def test_killed_in_the_middle_it_continues(self, tmp_path: Path, how: signal.Signals) -> None:
        log, script, out = tmp_path / "log", tmp_path / "run.py", tmp_path / "out"
        (tmp_path / "counted.py").write_text(f"LOG = {str(log)!r}\n{COUNTED}")
        script.write_text(SLOW_JOBS.format(folder=str(tmp_path), out=str(out)))
        environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
        run = subprocess.Popen(
            [sys.executable, str(script)],
            env=environment,
            start_new_session=True,
            stderr=subprocess.DEVNULL,
        )
        wait_until(lambda: len(list(out.glob("counted/*.json"))) >= 3)
        os.killpg(run.pid, how)
        run.wait()
        stored = {path.name for path in out.glob("counted/*.json")}
        assert 3 <= len(stored) < 12
        log.write_text("")
        subprocess.run([sys.executable, str(script)], env=environment, check=True)
        files = list(out.glob("counted/*.json"))
        columns = [json.loads(path.read_text())["columns"] for path in files]
        assert sorted(c["square"][0] for c in columns) == [n**2 for n in range(12)]
        again = set(log.read_text().split())
        assert not any(name.endswith(f"-{n}.json") for name in stored for n in again)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Studies of the same form, of some seconds."""
    for module, values in (
        (
            section_5_1,
            {"QUICK": section_5_1.Scope(1, 120, (10, 20)), "SINKS": (1.0, 1000.0), "K": 20},
        ),
        (
            figure_5,
            {
                "SINKS": (1.0, 0.1, 1e-3, 1e-5),
                "QUICK_WIDTHS": (0.15,),
                "N_RADII": 3,
                "N_CANDIDATES": 30,
                "K": 60,
            },
        ),
        (section_4, {"DIMENSIONS": (1, 2), "QUICK": (40, 200), "CENTROIDS": (10, 20)}),
        (budget, {"SIZES": (20, 40), "WIDTHS": (0.2,)}),
        (
            all_datasets,
            {
                "ALWAYS": ("moons", "drifting", "digits"),
                "QUICK": {"max_examples": 90, "seeds": 1},
                "LABELS_PER_CLASS": (1, 2),
            },
        ),
        (methods, {"K": 40}),
    ):
        for name, value in values.items():
            monkeypatch.setattr(module, name, value)


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_all_studies_without_any_data_twice_the_same(tmp_path: Path) -> None:
    one, two = tmp_path / "one/quick", tmp_path / "two/quick"
    evidence = reproduce(ALL, one.parent, quick=True, workers=1)
    assert evidence.report == one / "report.html"
    assert {"optdigits", "letter", "places", "office"} <= set(evidence.missing)
    reproduce(ALL, two.parent, quick=True, workers=1)
    assert_same_numbers(one, two)
    page = evidence.report.read_text("utf-8")
    for name in STUDIES:
        assert f"id='{name}'" in page
    assert page.count("<img") == len(list((one / "figures").glob("*.svg")))
    for claim in evidence.claims:
        assert claim.verdict in ("holds", "holds in part", "does not hold", "not measured")
        assert "nan" not in claim.ours
    figures = {path.stem for path in (one / "figures").glob("*.png")}
    assert {"fig2-pairs", "fig2-rest", "fig3", "fig5b-digits", "budget"} <= figures


def assert_same_numbers(one: Path, two: Path) -> None:
    """All but times, which some tables, their figures and the report have."""
    names = sorted(path.relative_to(one) for path in one.rglob("*") if path.is_file())
    assert names == sorted(path.relative_to(two) for path in two.rglob("*") if path.is_file())
    for name in names:
        if name.suffix == ".json":
            columns = [json.loads((folder / name).read_text())["columns"] for folder in (one, two)]
            assert columns[0] == columns[1], name
        elif not (name.suffix == ".html" or "budget" in name.stem or name.stem.endswith("times")):
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


def test_the_pairs_are_fixed_and_differ() -> None:
    pairs = section_5_1.choose_problems("digits", "pairs", 10)
    assert pairs == section_5_1.choose_problems("digits", "pairs", 10)
    assert len(set(pairs)) == 10
    assert pairs[:3] == section_5_1.choose_problems("digits", "pairs", 3)


def test_the_search_for_a_sink_uses_other_pairs() -> None:
    pairs = section_5_1.choose_problems("digits", "pairs", 15)
    shown = section_5_1.choose_problems("digits", "pairs", section_5_1.FULL.problems)
    assert not set(pairs[section_5_1.FULL.problems :]) & set(shown)


def test_weak_learners_come_from_their_quarter() -> None:
    assert max(figure_5.draw_candidates(1000, "first quarter")) < 250
    assert min(figure_5.draw_candidates(1000, "last quarter")) >= 750
    assert len(figure_5.draw_candidates(1000, "all")) == 500


@pytest.mark.parametrize("method", methods.METHODS)
def test_every_method_is_made_from_all_its_parameters(method: str) -> None:
    stream = all_datasets.make_stream("moons", 0, 60)
    for chosen in methods.METHODS[method][1]:
        learner = methods.make_learner(method, stream.rows, chosen)
        learner.teach(stream.rows[:8], stream.truth[:8].tolist())
        assert len(learner.observe(stream.rows[8:20]).label) == 12


def test_a_curve_that_never_recalls_is_worth_nothing() -> None:
    assert figure_5.average_precision([CurvePoint(1.0, 1.0, 0.1)]) == 0.0


def test_the_report_escapes_what_it_is_told(tmp_path: Path) -> None:
    findings = Findings(claims=[Claim("<b>", "a & b", "holds")], notes=["<script>"])
    path = tmp_path / "report.html"
    missing = {"letter": "<lost>"}
    report.write_report(path, {STUDIES["fig2"]: findings}, missing, "made & drawn")
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
        monkeypatch.setenv(DATA_VARIABLE, "")  # the command changes it

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

        monkeypatch.setattr("paper.__main__.reproduce", interrupted)
        fails(130, "run the command again", "fig2", "--out", out)


def test_without_matplotlib_the_command_names_it() -> None:
    blocked = (
        "import sys, importlib.util; sys.modules['matplotlib'] = None\n"
        "importlib.util.find_spec = lambda name: None\n"
        "from paper.__main__ import main; sys.exit(main(['fig2']))"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    run = subprocess.run(
        [sys.executable, "-c", blocked], capture_output=True, text=True, env=environment
    )
    assert run.returncode == 1
    assert "pip install matplotlib" in run.stderr


def test_times_end_at_the_end() -> None:
    assert section_5_1.list_times(120)[-1] == 120
    assert (np.diff(section_5_1.list_times(1500)) > 0).all()
