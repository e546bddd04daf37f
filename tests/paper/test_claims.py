"""Verdicts on tables made up for the purpose: a claim holds where it should, and only there."""

from __future__ import annotations

from typing import Any

import pytest

from paper import (
    all_datasets,
    budget,
    figure_5,
    methods,
    section_4,
    section_5_1,
)
from paper.evaluation import CurvePoint
from paper.findings import judge

pytestmark = pytest.mark.shell

T = [100.0 * t for t in range(1, 13)]


def levels(error: list[float], accuracy: list[float]) -> list[str]:
    """Verdicts of Figure 2 on one data set, both variants alike."""
    table = {"t": T, "offline": accuracy, "every_example": accuracy}
    for variant in section_5_1.VARIANTS:
        table |= {f"normalised, {variant}": error, f"accuracy, {variant}": accuracy}
    return [claim.verdict for claim in section_5_1._judge_over_time("pairs", {"made up": table})]


def over_k(error: list[float], accuracy: list[float], all_so_far: float) -> list[str]:
    """Verdicts of Figure 3 as printed: the error falls, accuracy improves, and approaches."""
    table = {"k": [25.0, 50.0, 100.0], "every_example": [all_so_far] * 3}
    table |= {"normalised, absorb": error, "accuracy, absorb": accuracy}
    return [claim.verdict for claim in section_5_1._judge_over_k({"digits": table}, "absorb")]


class TestFigure2:
    def test_an_error_that_rises_and_stays(self) -> None:
        assert levels([min(t, 400.0) for t in T], [0.9] * 12) == ["holds", "holds"]

    def test_an_error_that_goes_on_rising(self) -> None:
        assert levels(T, [0.9] * 12)[0] == "does not hold"

    def test_an_error_that_falls_and_then_soars(self) -> None:
        assert levels([abs(t - 700.0) for t in T], [0.9] * 12)[0] == "does not hold"

    def test_accuracy_that_wanes(self) -> None:
        assert levels(T, [0.9 - 0.01 * i for i in range(12)])[1] == "does not hold"


class TestFigure3:
    def test_all_as_claimed(self) -> None:
        assert over_k([3.0, 2.0, 1.0], [0.8, 0.85, 0.9], 0.905) == ["holds"] * 3

    def test_an_error_that_rises_in_between(self) -> None:
        assert over_k([3.0, 3.5, 1.0], [0.8, 0.85, 0.9], 0.9)[0] == "holds in part"

    def test_accuracy_that_falls_a_little_does_not_improve(self) -> None:
        assert over_k([3.0, 2.0, 1.0], [0.9, 0.9, 0.899], 0.9)[1:] == ["does not hold", "holds"]

    def test_accuracy_that_stays_away(self) -> None:
        assert over_k([3.0, 2.0, 1.0], [0.7, 0.75, 0.8], 0.9)[2] == "does not hold"

    def test_all_examples_as_centroids_lose_nothing(self) -> None:
        assert over_k([1.0, 0.0, 0.0], [0.8, 0.9, 0.95], 0.95) == ["holds"] * 3


def straight(precision: float, recalls: tuple[float, ...] = (0.5, 0.7, 0.96)) -> list[CurvePoint]:
    return [CurvePoint(0.0, precision, recall) for recall in recalls]


class TestFigure5:
    def verdicts_of_places(self, **precision: float) -> list[str]:
        names = {"ours": figure_5.OURS, "nearest": figure_5.NEAREST}
        names |= {q: f"boosting, {q} quarter" for q in ("first", "last")}
        names["whole"] = "boosting, all"
        best = {names[name]: straight(value) for name, value in precision.items()}
        return [claim.verdict for claim in figure_5.judge_places("made up", best)]

    def test_as_in_the_paper(self) -> None:
        found = self.verdicts_of_places(ours=0.95, nearest=0.8, whole=0.94, first=0.8, last=0.7)
        assert found == ["holds"] * 3

    def test_nothing_of_it(self) -> None:
        found = self.verdicts_of_places(ours=0.8, nearest=0.9, whole=0.7, first=0.7, last=0.7)
        assert found == ["does not hold"] * 3

    def test_one_quarter_is_as_good(self) -> None:
        found = self.verdicts_of_places(ours=0.95, nearest=0.8, whole=0.94, first=0.94, last=0.7)
        assert found[2] == "holds in part"

    def test_eight_people(self) -> None:
        best = {figure_5.OURS: straight(0.96), figure_5.NEAREST: straight(0.8)}
        claims = figure_5.judge_people("made up", best)
        assert [claim.verdict for claim in claims] == ["holds", "holds"]
        best = {figure_5.OURS: straight(0.96, (0.6,)), figure_5.NEAREST: straight(0.9, (0.6,))}
        claims = figure_5.judge_people("made up", best)
        assert [claim.verdict for claim in claims] == ["does not hold", "does not hold"]
        assert "not reached" in claims[0].ours

    def test_recalls_that_only_one_reaches_are_not_compared(self) -> None:
        best = {figure_5.OURS: straight(0.96), figure_5.NEAREST: straight(0.8, (0.1,))}
        assert figure_5.judge_people("made up", best)[1].verdict == "not measured"


class TestBudget:
    def table(self, *rows: tuple[str, int, float, float]) -> dict[str, list[Any]]:
        columns = list(zip(*rows, strict=True))
        names = ("method", "size", "accuracy", "seconds")
        return {name: list(column) for name, column in zip(names, columns, strict=True)}

    def test_what_the_same_time_buys(self) -> None:
        quick = ("k-means", 50, 0.9, 0.1)
        slower = ("Nyström", 50, 0.8, 0.2)
        assert budget._judge_budgets(self.table(quick, slower)).verdict == "holds"
        better = ("Nyström", 50, 0.95, 0.2)
        assert budget._judge_budgets(self.table(quick, better)).verdict == "does not hold"
        faster = ("Nyström", 50, 0.8, 0.05)
        assert budget._judge_budgets(self.table(quick, faster)).verdict == "does not hold"

    @pytest.mark.parametrize(
        ("accuracy", "seconds", "verdict"),
        [(0.89, 0.9, "holds"), (0.8, 0.1, "does not hold"), (0.9, 2.0, "does not hold")],
    )
    def test_speed_for_little(self, accuracy: float, seconds: float, verdict: str) -> None:
        table = self.table(("exact", 0, 0.9, 10.0), ("default", 50, accuracy, seconds))
        assert budget._judge_speed(table, "default", "ours").verdict == verdict


def test_bounds_say_where_their_conditions_are_not_met() -> None:
    table: dict[str, list[Any]] = {
        "statement": ["Lemma 1", "Lemma 1"],
        "sink": [1.0, 2.0],
        "left": [1.0, 3.0],
        "right": [2.0, 2.0],
        "holds": [True, False],
        "covered": [True, False],
    }
    claim = section_4._judge_statements(table)[0]
    assert claim.verdict == "holds in part"
    assert "conditions are not met" in claim.ours


def test_methods_that_see_fewer_examples_are_no_rivals() -> None:
    scores = dict.fromkeys(methods.METHODS, 0.5) | {
        all_datasets.OURS: 0.8,
        "nearest label": 0.795,
    }
    scores["all examples so far"] = scores["k-means, offline"] = 0.99
    table: dict[str, list[object]] = {
        "data": ["moons"] * len(scores),
        "method": list(scores),
        "accuracy": list(scores.values()),
    }
    assert [claim.verdict for claim in all_datasets._judge_claims(table)] == ["holds", "holds"]
    table["accuracy"] = [0.9 if name == "nearest label" else 0.8 for name in scores]
    assert [claim.verdict for claim in all_datasets._judge_claims(table)] == ["does not hold"] * 2


def test_nothing_measured_is_no_verdict() -> None:
    assert judge([]) == "not measured"
