"""Settings that a learner which has begun can be given anew, and what that does to its state."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, TypedDict

from labelwalk.arrays import Label
from labelwalk.engine import weights
from labelwalk.engine.state import State
from labelwalk.settings import Settings
from labelwalk.solver import relaxation


class Dials(TypedDict, total=False):
    """What can be changed."""

    sink: float
    prior: Literal["uniform"] | dict[Label, float] | None
    half_life: float | None
    abstain_below: float


def adjusted(settings: Settings, dials: dict[str, Any], *, begun: bool) -> Settings:
    """Return the settings with some of them changed.

    Raises
    ------
    ValueError
        One cannot be changed, or not to that.
    """
    for name in dials:
        if name not in Dials.__annotations__:
            known = ", ".join(Dials.__annotations__)
            raise ValueError(f"{name} cannot be adjusted. Choose among {known}.")
    new = replace(settings, **dials)
    if begun and new.half_life is None and settings.half_life is not None:
        raise ValueError(
            f"half_life=None, but examples have begun to fade with half_life={settings.half_life}, "
            "and do not come back. Give a very long one, such as 1e12, and no more will."
        )
    return new


def adapt(state: State, old: Settings, new: Settings) -> State:
    """Return the state of a learner that goes on with other settings; some arrays are shared."""
    if new.half_life != old.half_life:
        assert new.half_life is not None
        weights.schedule_fading(state.counters, new.half_life)
    if new.prior != old.prior:  # it is brought to bear from nothing, before the next answer
        state.system.bias[:] = 1.0
        state.counters.balance_at_seen = 0
    if new.sink != old.sink:
        _drain(state, new)
    return state


def _drain(state: State, settings: Settings) -> None:
    """Give every vertex the new sink, and solve."""
    n, system = state.n, state.system
    unit = 1.0 if settings.label_weight is None else float(state.counters.mean_weight)
    system.g[:n] = settings.sink * unit
    relaxation.refresh(system, n)
    if n:
        relaxation.solve_exactly(system, n)
