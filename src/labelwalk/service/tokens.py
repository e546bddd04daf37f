"""The two tokens of a folder: made at the first start, and known to its owner alone."""

from __future__ import annotations

import json
import os
import secrets

from labelwalk.service.access import Tokens

SHORTEST = 20  # characters


def path_of(folder: str) -> str:
    """Return where the tokens of a folder are kept."""
    return os.path.join(folder, "tokens.json")


def tokens_of(folder: str) -> tuple[Tokens, bool]:
    """Return the tokens of a folder, and whether they are new.

    Raises
    ------
    ValueError
        The file cannot be understood, or others may read it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first, new = tokens_of(folder)
    ...     again, still_new = tokens_of(folder)
    >>> first == again, new, still_new, len(first.write)
    (True, True, False, 43)
    """
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = path_of(folder)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read(path), False
    tokens = Tokens(read=secrets.token_urlsafe(32), write=secrets.token_urlsafe(32))
    with os.fdopen(descriptor, "w") as file:
        json.dump({"read": tokens.read, "write": tokens.write}, file)
        file.flush()
        os.fsync(file.fileno())
    return tokens, True


def _read(path: str) -> Tokens:
    if os.stat(path).st_mode & 0o077:
        raise ValueError(f"{path} can be read by others. Run: chmod 600 {path}")
    try:
        with open(path) as file:
            found = json.load(file)
        known = [found["read"], found["write"]]
        if not all(isinstance(one, str) and len(one) >= SHORTEST for one in known):
            raise ValueError
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{path} holds no tokens. Delete it, and new ones are made.") from error
    return Tokens(*known)
