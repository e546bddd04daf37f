"""What each label taught would be called if it alone had not been: a verdict on the learner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelwalk.arrays import Floats, Label
from labelwalk.engine.leave_one_out import held_out, told
from labelwalk.engine.state import State
from labelwalk.engine.worth import nearest_other
from labelwalk.kernels.answer import NO_CLASS, write_answer
from labelwalk.settings import Settings
from labelwalk.verdicts import Verdicts, blank_answers, decide


class LeftOut(NamedTuple):
    """The labels that others of their class could foretell, and what was said of each.

    Attributes
    ----------
    label : array of n labels
        What was taught.
    verdicts : Verdicts
        What is said without it.
    """

    label: NDArray[np.object_]
    verdicts: Verdicts


def left_out(now: State, bias: Floats, settings: Settings, classes: Sequence[Label]) -> LeftOut:
    """Leave out each labelled vertex in turn, and read the answer there as that of an example.

    Parameters
    ----------
    now : State
    bias : array
        That of the settled system: the prior brought to bear.
    settings : Settings
    classes : sequence of labels
    """
    codes = now.vertices.label[: now.n].astype(np.int64)
    labels = codes[codes >= 0]
    counted = np.flatnonzero(told(labels)) if len(labels) else labels
    answers = blank_answers(len(counted), len(classes))
    if len(counted):
        values, near = held_out(now.graph, codes, len(classes)), nearest_other(now, codes)
        sharpness = float(now.counters.sharpness)
        for row, i in enumerate(counted.tolist()):
            guess = int(near[i]) if settings.unreached == "nearest" else NO_CLASS
            write_answer(answers, row, values[i], 0.0, bias, guess, sharpness)
    names = np.empty(len(classes), dtype=object)
    names[:] = classes
    verdicts = decide(answers, classes, settings.abstain_below)
    return LeftOut(names[labels[counted]], verdicts)
