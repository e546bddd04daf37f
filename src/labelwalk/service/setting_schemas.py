"""The shapes of settings: as they are given, as they are told, and those that can be turned.

Bounds are as `labelwalk.settings` has them; what two settings must not be together is said there.
"""

from __future__ import annotations

from labelwalk.service.shapes import (
    LABEL,
    ONE_OR_MORE,
    SHARE,
    TRUTH,
    Schema,
    above,
    between,
    choice,
    either,
    many,
    named,
    or_nothing,
    pair,
    record,
)

_LARGE = 1e100
_PART = above(0, _LARGE)  # of the stream; parts need not add up to 1
_UNIFORM = choice("uniform")
_PARTS = named(_PART) | {"minProperties": 1}
_PAIRS = many(pair(LABEL, _PART)) | {"minItems": 1}
# Not as a pair: what checks answers against this description misreads prefixItems in them.
_TWO = many(either(LABEL, _PART)) | {"minItems": 2, "maxItems": 2}
SETTINGS: dict[str, Schema] = {
    "n_centroids": or_nothing(ONE_OR_MORE),
    "scale": choice("none", "robust"),
    "sink": between(1e-300, _LARGE),
    "growth": above(1, _LARGE),
    "coarsening": choice("just-enough", "doubling"),
    "labelled": choice("pure", "absorb"),
    "label_weight": or_nothing(between(1e-100, _LARGE)),
    "weight_cap": or_nothing(above(1, _LARGE)),
    "labels_per_class": ONE_OR_MORE,
    "representative": choice("mean", "founder"),
    "readout": choice("example", "vertex"),
    "unreached": choice("nearest", "abstain"),
    "quarantine": or_nothing(ONE_OR_MORE),
    "source_share": or_nothing(above(0, 1)),
    "remember": {"type": "integer", "minimum": 0, "maximum": 10_000_000},
    "half_life": or_nothing(between(1, _LARGE)),
    "window": or_nothing({"type": "integer", "minimum": 1, "maximum": 9_999_999}),
    "calibrate": TRUTH,
    "prior": or_nothing(either(_UNIFORM, _PARTS)),
    "tolerance": SHARE,
    "abstain_below": SHARE,
}
DIALS: dict[str, Schema] = {
    "sink": SETTINGS["sink"],
    "prior": or_nothing(either(_UNIFORM, _PARTS, _PAIRS)),
    "half_life": SETTINGS["half_life"],
    "abstain_below": SETTINGS["abstain_below"],
}
_GAUSSIAN = record(
    {
        "kind": choice("Gaussian"),
        "bandwidth": either(choice("cover", "scale"), {"type": "number", "exclusiveMinimum": 0}),
        "threshold": SHARE,
        "distance": {"type": "null"},
    }
)
_SELF_TUNING = record(
    {
        "kind": choice("SelfTuning"),
        "neighbour": {"type": "integer", "minimum": 1, "maximum": 64},
        "width": either(choice("auto"), between(1e-3, 1e3)),
        "evenness": either(choice("auto"), SHARE),
        "threshold": SHARE,
        "distance": {"type": "null"},
    }
)
TOLD: dict[str, Schema] = SETTINGS | {
    "similarity": either(_GAUSSIAN, _SELF_TUNING),
    "prior": or_nothing(either(_UNIFORM, many(_TWO))),
}
SCHEMAS: dict[str, Schema] = {"Settings": record({}, SETTINGS), "SettingsTold": record(TOLD)}
