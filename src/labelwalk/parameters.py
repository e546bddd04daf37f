"""What a parameter may be: each check names the parameter, the value and the repair."""

from __future__ import annotations

import math

import numpy as np

MOST = 2**62 - 1  # more than any stream counts
LARGEST = 1e100  # of a number that is multiplied with data


def plain_numbers(settings: object) -> None:
    """Turn NumPy scalars among the fields of a frozen dataclass into Python's own."""
    for name, value in vars(settings).items():
        if isinstance(value, np.generic):
            object.__setattr__(settings, name, value.item())


def is_number(value: object) -> bool:
    """Say whether this is a number that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def check_number(
    name: str, value: object, low: float, high: float, repair: str, *, above: bool = False
) -> None:
    """Refuse what is not a number from `low` (or above it) to `high`."""
    if is_number(value):
        number = float(value)  # type: ignore[arg-type]
        if (low < number if above else low <= number) and number <= high:
            return
    wanted = f"above {low:g} and up to {high:.9g}" if above else f"from {low:g} to {high:.9g}"
    raise ValueError(f"{name}={shown(value)} is not a number {wanted}. Try {repair}.")


def check_whole(name: str, value: object, repair: str, *, least: int = 1, most: int = MOST) -> None:
    """Refuse what is not a whole number from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        top = "2**62" if most == MOST else f"{most}"
        raise ValueError(
            f"{name}={shown(value)} is not a whole number from {least} to {top}. Try {repair}."
        )


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse what is not one of the words."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name}={shown(value)} is unknown. Choose {' or '.join(choices)}.")


def shown(value: object) -> str:
    """Return the value for a message, short enough to be read."""
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python writes
        text = f"a {type(value).__name__} too large to write"
    return text if len(text) <= 80 else text[:77] + "..."
