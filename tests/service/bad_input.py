"""Requests that must be refused, kind by kind, each in as many variations as one likes.

The learner that gets them has seen two rows of two features, taught "low" and "high".
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from labelwalk.service.limits import MAX_BODY_BYTES
from labelwalk.service.schemas import ARROW, JSON, RAW

SEEN, FEATURES = 2, 2


@dataclass(frozen=True)
class Request:
    """What is sent to a learner."""

    path: str
    content: bytes
    kind: str = JSON
    method: str = "POST"


Maker = Callable[[Random], Request]


def word(random: Random) -> str:
    return "".join(random.choices("abcäöß字 '\"<>&\\/\n\t0", k=random.randint(1, 12)))


def rows(random: Random, width: int = FEATURES) -> list[list[Any]]:
    return [[random.uniform(-9, 9) for _ in range(width)] for _ in range(random.randint(1, 6))]


def observed(random: Random, **more: Any) -> Request:
    """Rows that are to be learned, named or explained."""
    return Request(random.choice(["observe", "predict", "explain"]), as_json(more))


def as_json(content: Any) -> bytes:
    return json.dumps(content).encode()


def with_a(value: Callable[[Random], Any]) -> Maker:
    """Rows in one place of which stands something else."""

    def made(random: Random) -> Request:
        given = rows(random)
        row = random.choice(given)
        row[random.randrange(FEATURES)] = value(random)
        return observed(random, rows=given)

    return made


def spelt(*wrong: str) -> Maker:
    """Rows in one place of which stands what only a spelling can say."""

    def made(random: Random) -> Request:
        request = with_a(lambda _: "HERE")(random)
        content = request.content.replace(b'"HERE"', random.choice(wrong).encode())
        return Request(request.path, content)

    return made


def cut(random: Random) -> Request:
    whole = as_json({"rows": rows(random)})
    return Request("observe", whole[: random.randrange(1, len(whole))])


def ragged(random: Random) -> Request:
    given = rows(random) + rows(random)
    random.choice(given).append(1.0)
    return observed(random, rows=given)


def taught(random: Random, labels: list[Any], n: int | None = None) -> Request:
    given = rows(random)[:1] * (len(labels) if n is None else n)
    return Request("teach", as_json({"rows": given, "labels": labels}))


def too_few_or_many_labels(random: Random) -> Request:
    n, labels = random.sample(range(1, 9), 2)
    return taught(random, [word(random) for _ in range(labels)], n)


def raw(random: Random, type_: str, features: Any, content: bytes | None = None) -> Request:
    if content is None:
        content = random.randbytes(8 * FEATURES)
    path = random.choice(["observe", "predict", "explain"])
    return Request(f"{path}?type={type_}&features={features}", content, RAW)


def numbers(random: Random, n: int, type_: str) -> bytes:
    values = [random.uniform(-9, 9) for _ in range(n)]
    return np.array(values, dtype=f"<{type_}").tobytes()


def raw_with_a(*wrong: float) -> Maker:
    def made(random: Random) -> Request:
        type_ = random.choice(["f4", "f8"])
        n = FEATURES * random.randint(1, 5)
        values = np.frombuffer(numbers(random, n, type_), dtype=f"<{type_}").copy()
        values[random.randrange(n)] = random.choice(wrong)
        return raw(random, type_, FEATURES, values.tobytes())

    return made


def raw_in_pieces(random: Random) -> Request:
    whole = numbers(random, FEATURES * random.randint(1, 5), "f4")
    return raw(random, "f4", FEATURES, whole[: -random.randrange(1, 4 * FEATURES)])


def raw_of_another_width(random: Random) -> Request:
    width = random.choice([1, 3, 4, 5, 17])
    return raw(random, "f8", width, numbers(random, width * random.randint(1, 4), "f8"))


def late(random: Random, example: Any, label: Any = "low") -> Request:
    return Request("teach_later", as_json({"example": example, "label": label}))


def no_such_example(random: Random) -> int:
    return random.choice([SEEN, SEEN + 1, 99, 2**31, 2**61, random.randint(SEEN, 10**12)])


def no_whole_number(random: Random) -> Any:
    return random.choice([-1, -(10**9), 1.5, 1e30, 2**62, 2**100, True, None, "1", [1], {}])


def no_label(random: Random) -> Any:
    return random.choice([None, 1.5, True, [], ["a"], {}, {"a": 1}, -0.0, 1e300])


def unknown_field(random: Random) -> Request:
    choices: list[tuple[str, dict[str, Any]]] = [
        ("observe", {"rows": rows(random)}),
        ("predict", {"rows": rows(random)}),
        ("teach", {"rows": rows(random)[:1], "labels": ["low"]}),
        ("teach_later", {"example": 0, "label": "low"}),
        ("retract", {"label": "low"}),
        ("forget", {"label": "low"}),
        ("dials", {"sink": 0.5}),
    ]
    path, good = random.choice(choices)
    return Request(path, as_json(good | {f"{word(random)}!": random.random()}))


def dial(random: Random) -> Request:
    name, wrong = random.choice(
        [
            ("sink", [0.0, -1.0, "1", None, [1]]),
            ("half_life", [0.0, -3.0, "long", [9]]),
            ("abstain_below", [-0.1, 1.5, "much", None]),
            ("prior", [{"low": -1.0}, {"low": "half"}, "even", 3, {"other": 1.0}, [["low"]]]),
        ]
    )
    path = random.choice(["dials", "dials/try"])
    return Request(path, as_json({name: random.choice(wrong)}))


def question(random: Random) -> Request:
    n = random.choice(["0", "-1", "101", "1000", "x", "", "1.5", "1e3", "٣x", str(2**70)])
    return Request(f"ask?n={n}", b"", method="GET")


BAD: dict[str, Maker] = {
    "JSON that is cut": cut,
    "no JSON": lambda random: Request("observe", word(random).encode() + b"{"),
    "deep JSON": lambda random: Request(
        random.choice(["observe", "teach"]), b"[" * random.randint(50_000, 200_000)
    ),
    "nothing": lambda random: Request(random.choice(["observe", "teach", "predict"]), b""),
    "blanks": lambda random: Request("observe", b" \n\t" * random.randint(1, 50)),
    "no object": lambda random: Request("observe", as_json(random.choice([[], 1, "a", None]))),
    "no rows": lambda random: observed(random, **random.choice([{}, {"row": [[1, 2]]}])),
    "no list of rows": lambda random: observed(random, rows=random.choice([3, "a", {}, None])),
    "no rows in the list": lambda random: observed(random, rows=random.choice([[], [[]]])),
    "rows that are no lists": lambda random: observed(random, rows=[[1.0, 2.0], random.random()]),
    "ragged": ragged,
    "text": with_a(word),
    "numbers as text": with_a(lambda random: str(random.random())),
    "null": with_a(lambda random: None),
    "truth": with_a(lambda random: random.random() < 0.5),
    "a list in a row": with_a(lambda random: [random.random()]),
    "NaN": spelt("NaN"),
    "infinite": spelt("Infinity", "-Infinity", "1e999", "-1e400"),
    "too large a number": spelt("1" + "0" * 400, "-9e200", "1e151", "3e300"),
    "no number of JSON": spelt("1_000", "0x10", "1,", "01", ".5", "+1", "nan", "--1"),
    "another width": lambda random: observed(random, rows=rows(random, random.choice([1, 3, 9]))),
    "an unknown field": unknown_field,
    "sources that are not wanted": lambda random: Request(
        "observe", as_json({"rows": rows(random)[:1], "sources": [word(random)]})
    ),
    "not UTF-8": lambda random: Request(
        "observe", b'{"rows": [[1, 2]], "' + random.choice([b"\xff", b"\xc3", b"\xed\xa0\x80"]) * 3
    ),
    "no labels": lambda random: Request("teach", as_json({"rows": rows(random)})),
    "too few or many labels": too_few_or_many_labels,
    "labels of another kind": lambda random: taught(random, ["low", no_label(random)]),
    "half a character": lambda random: taught(
        random, [word(random) + chr(random.randint(0xD800, 0xDFFF))]
    ),
    "labels that are no list": lambda random: Request(
        "teach", as_json({"rows": rows(random)[:1], "labels": random.choice(["a", 1, {}, None])})
    ),
    "an example that never was": lambda random: late(random, no_such_example(random)),
    "an example that is no whole number": lambda random: late(random, no_whole_number(random)),
    "a late label of another kind": lambda random: late(random, 0, no_label(random)),
    "a late label without an example": lambda random: Request(
        "teach_later", as_json(random.choice([{}, {"label": word(random)}, {"example": 1}]))
    ),
    "nothing to retract": lambda random: Request(
        "retract", as_json(random.choice([{}, {"example": None}, {"label": None}]))
    ),
    "two things to retract": lambda random: Request(
        "retract", as_json({"example": random.randrange(SEEN), "label": "low"})
    ),
    "a class to retract that never was": lambda random: Request(
        "retract", as_json({"label": "no " + word(random)})
    ),
    "an example to retract that was not taught": lambda random: Request(
        "retract", as_json({"example": no_such_example(random)})
    ),
    "two rows to explain": lambda random: Request(
        "explain", as_json({"rows": rows(random) + rows(random)})
    ),
    "nothing to forget": lambda random: Request(
        "forget", as_json(random.choice([{}, {"examples": []}, {"label": None}]))
    ),
    "two things to forget": lambda random: Request(
        "forget", as_json({"label": "low", "examples": [random.randrange(SEEN)]})
    ),
    "a class to forget that never was": lambda random: Request(
        "forget", as_json({"label": "no " + word(random)})
    ),
    "examples to forget that never were": lambda random: Request(
        "forget", as_json({"examples": [0, no_such_example(random)]})
    ),
    "examples to forget that are no numbers": lambda random: Request(
        "forget", as_json({"examples": [no_whole_number(random)]})
    ),
    "raw without a type": lambda random: Request(
        f"observe?features={FEATURES}", random.randbytes(8), RAW
    ),
    "raw of another type": lambda random: raw(
        random, random.choice(["i4", "f2", "f16", "x", "", "%00", "F4", "<f4"]), FEATURES
    ),
    "raw of no number of features": lambda random: raw(
        random, "f4", random.choice(["", "0", "-2", "x", "2.0", "1e1", str(2**70), "70000"])
    ),
    "raw in pieces": raw_in_pieces,
    "raw without rows": lambda random: raw(random, "f4", FEATURES, b""),
    "raw of another width": raw_of_another_width,
    "raw NaN or infinite": raw_with_a(float("nan"), float("inf"), float("-inf")),
    "no Arrow": lambda random: Request(
        random.choice(["observe", "teach"]), random.randbytes(random.randint(0, 300)), ARROW
    ),
    "a dial that cannot be turned so": dial,
    "no number of questions": question,
    "too many rows": lambda random: raw(
        random, "f4", 1, bytes(4 * (100_001 + random.randrange(1000)))
    ),
    "too large": lambda random: Request(
        "observe", b" " * (MAX_BODY_BYTES + random.randint(1, 10_000))
    ),
}
