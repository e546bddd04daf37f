"""Labels, ids and truths as text, whatever a file holds them as."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from labelwalk.arrays import Label


def as_word(value: object) -> str | None:
    """Return a value of a file as text; None where there is none.

    3, 3.0 and "3" are the same, so that a label does not depend on the format it came in.

    Raises
    ------
    ValueError
        It is a list, an object or raw bytes.

    Examples
    --------
    >>> as_word(3.0), as_word("cat"), as_word(True), as_word(""), as_word(None)
    ('3', 'cat', 'true', None, None)
    """
    if value is None or value == "" or value != value:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    raise ValueError("is neither text nor a number")


def as_known(words: Iterable[str], classes: Sequence[Label]) -> list[Label]:
    """Return labels as the learner knows them: whole numbers where it has such classes.

    Examples
    --------
    >>> as_known(["3", "new"], [3, 4]), as_known(["3"], ["3", "4"]), as_known(["3"], [])
    ([3, 'new'], ['3'], ['3'])
    """
    numbers = {str(name): name for name in classes if isinstance(name, int)}
    return [numbers.get(word, _whole(word) if numbers else word) for word in words]


def _whole(word: str) -> Label:
    digits = word.removeprefix("-")
    return int(word) if digits.isascii() and digits.isdigit() and str(int(word)) == word else word
