"""A word on features of very different units, where nothing makes them comparable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from labelwalk.cli.files import say

if TYPE_CHECKING:
    from labelwalk.learner import OnlineLearner

MUCH = 100.0  # times the spread of most features: the others hardly count any more
FEWEST = 3  # features, to speak of most


def say_mixed_units(console: Console, learner: OnlineLearner, names: tuple[str, ...]) -> None:
    """Say which feature alone decides what is near, if one does."""
    import numpy as np

    if learner.settings.scale != "none" or (learner.n_features or 0) < FEWEST:
        return
    spreads = learner.vertices.means.std(axis=0)
    usual = float(np.median(spreads[spreads > 0])) if (spreads > 0).any() else 0.0
    widest = int(spreads.argmax())
    if usual and spreads[widest] >= MUCH * usual:
        name = names[widest] if len(names) == len(spreads) else f"number {widest + 1}"
        say(
            console,
            f"Feature {name} spreads {spreads[widest] / usual:,.0f} times as wide as most, and "
            "nearly alone decides what is near. Try a new learner with --scale robust.",
        )
