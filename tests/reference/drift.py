"""Watching for drift, literally: all blocks are kept, and every mean is written out.

Imports nothing of the package.
"""

from __future__ import annotations

import math

Row = tuple[float, ...]


class ReferenceWatch:
    """Fed with unlabelled examples, and told when a block may end."""

    def __init__(self) -> None:
        self.alarms: list[int] = []  # by the number of ends so far
        self.alarm = 0.0
        self.ends = 0
        self.start_again()

    def start_again(self) -> None:
        self.rows: list[Row] = []
        self.frame: list[tuple[float, float]] | None = None
        self.blocks = 0  # since the frame
        self.suspicion = 0.0
        self.usual, self.variance = 1.0, 0.25

    def add(self, row: Row) -> None:
        self.rows.append(row)

    def end(self) -> None:
        self.ends += 1
        if len(self.rows) < 128:
            return
        rows, self.rows = self.rows, []
        if self.frame is None:
            self.frame = [mean_and_deviation(column) for column in zip(*rows, strict=True)]
            return
        self.blocks += 1
        values, chances = self.summary(rows)
        if self.blocks == 1:
            self.level, self.chance = list(values), list(chances)
            self.noise = [0.0 for _ in values]
            self.latest = list(values)
            return
        deviations = [math.sqrt(max(n, c)) for n, c in zip(self.noise, self.chance, strict=True)]
        gaps = [(x - m) / s for x, m, s in zip(values, self.level, deviations, strict=True)]
        if self.blocks > 8:
            self.alarm = 0.0
            self.suspect(math.sqrt(sum(gap * gap for gap in gaps) / len(gaps)))
            if self.suspicion > 8.0:
                self.alarm = self.suspicion
                self.alarms.append(self.ends)
                self.start_again()
                return
            gaps = [min(max(gap, -3.0), 3.0) for gap in gaps]
            values = [m + gap * s for m, gap, s in zip(self.level, gaps, deviations, strict=True)]
        self.follow(
            values,
            [
                chance_of(value, rows)
                for value, rows in zip(values, self.squares(rows), strict=True)
            ],
        )

    def squares(self, rows: list[Row]) -> list[tuple[float, int]]:
        """Mean square of every feature, twice over, and how many examples there are."""
        framed = self.framed(rows)
        squares = [
            (sum(y * y for y in column) / len(rows), len(rows))
            for column in zip(*framed, strict=True)
        ]
        return squares + squares

    def framed(self, rows: list[Row]) -> list[list[float]]:
        assert self.frame is not None
        return [
            [
                min(max((x - mean) / max(sd, 1e-150), -4.0), 4.0)
                for x, (mean, sd) in zip(row, self.frame, strict=True)
            ]
            for row in rows
        ]

    def summary(self, rows: list[Row]) -> tuple[list[float], list[float]]:
        """Means and mean absolute values, and the variance of each by chance."""
        columns = list(zip(*self.framed(rows), strict=True))
        values = [sum(c) / len(c) for c in columns]
        values += [sum(abs(y) for y in c) / len(c) for c in columns]
        return values, [
            chance_of(v, square) for v, square in zip(values, self.squares(rows), strict=True)
        ]

    def suspect(self, departure: float) -> None:
        deviation = math.sqrt(max(self.variance, 0.05**2))
        excess = (departure - self.usual) / deviation
        self.suspicion = max(0.0, self.suspicion + min(excess, 6.0) - 1.0)
        step = min(max(excess, -3.0), 3.0) * deviation
        rate = max(1 / 128, 1 / (4 + self.blocks - 8))
        self.usual += rate * step
        self.variance = (1 - rate) * (self.variance + rate * step * step)

    def follow(self, values: list[float], chances: list[float]) -> None:
        slow, slower = max(1 / 128, 1 / self.blocks), max(1 / 128, 1 / (self.blocks - 1))
        for i, (value, chance) in enumerate(zip(values, chances, strict=True)):
            difference = value - self.latest[i]
            self.noise[i] += slower * (difference * difference / 2 - self.noise[i])
            self.chance[i] += slow * (chance - self.chance[i])
            self.level[i] += slow * (value - self.level[i])
            self.latest[i] = value


def chance_of(value: float, square: tuple[float, int]) -> float:
    mean_square, n = square
    return max(mean_square - value * value, 0.01) / n


def mean_and_deviation(column: tuple[float, ...]) -> tuple[float, float]:
    mean = math.fsum(column) / len(column)
    return mean, math.sqrt(math.fsum((x - mean) ** 2 for x in column) / len(column))
