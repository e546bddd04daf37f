"""Integrations: the learner as an estimator of other libraries."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

from labelwalk.learner import OnlineLearner

NOT_ADOPTED = ("source_share", "remember")  # examples have no sources and no ids here


def adopt_settings(init: Callable[..., None]) -> Callable[..., None]:
    """Replace `**settings` of a constructor by the settings of the learner and their defaults."""
    *first, _ = signature(init).parameters.values()
    settings = [
        parameter
        for name, parameter in signature(OnlineLearner).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and name not in NOT_ADOPTED
    ]
    adopted = signature(init).replace(parameters=[*first, *settings])

    @wraps(init)
    def construct(*args: Any, **named: Any) -> None:
        arguments = adopted.bind(*args, **named)
        arguments.apply_defaults()
        init(*arguments.args, **arguments.kwargs)

    vars(construct)["__signature__"] = adopted
    return construct
