"""The columns a learner was taught by, beside its file: the same stream gives the same file."""

from __future__ import annotations

import json
import os

from labelwalk.replacement import replace

ENDING = ".columns.json"


def remember(model: str, names: tuple[str, ...]) -> None:
    """Write the features of a learner beside its file, in order."""
    content = json.dumps({"features": list(names)}, ensure_ascii=False)
    replace(model + ENDING, [memoryview(content.encode())])


def remembered(model: str) -> tuple[str, ...]:
    """Return the features of a learner, in order; none where nobody knows.

    Raises
    ------
    ValueError
        What stands beside the learner cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     remember(f"{folder}/learner.lw", ("height", "width"))
    ...     remembered(f"{folder}/learner.lw"), remembered(f"{folder}/another.lw")
    (('height', 'width'), ())
    """
    path = model + ENDING
    if not os.path.exists(path):
        return ()
    with open(path, "rb") as file:
        content = file.read()
    try:
        found = json.loads(content)["features"]
        if not all(isinstance(name, str) for name in found):
            raise TypeError
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path} is damaged. Delete it, and name columns by --features."
        ) from error
    return tuple(found)
