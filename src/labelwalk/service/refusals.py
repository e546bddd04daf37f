"""Why something was not done, as HTTP says it."""

from __future__ import annotations

import json

from labelwalk._extensions import load_extension
from labelwalk.service.access import SOON
from labelwalk.service.commands import UnfinishedError
from labelwalk.service.database import DamagedError, DiskError
from labelwalk.service.erasure import CleanupError, CopyError
from labelwalk.service.idempotency import KeyReusedError
from labelwalk.service.learner_store import NameTakenError
from labelwalk.service.live import TooManyPagesError
from labelwalk.service.views import NoVertexError
from labelwalk.service.wire import TooManyRowsError
from labelwalk.service.worker import BusyError, NoLearnerError
from labelwalk.storage.model_file import ModelFileError

STATUSES: dict[type[Exception], int] = load_extension("errors faces") | {
    NoLearnerError: 404,
    NoVertexError: 404,
    NameTakenError: 409,
    KeyReusedError: 409,
    CopyError: 409,
    TooManyRowsError: 413,
    ModelFileError: 422,
    ValueError: 422,
    BusyError: 429,
    DiskError: 503,
    DamagedError: 503,
    UnfinishedError: 503,
    TooManyPagesError: 503,
    CleanupError: 503,
}
KNOWN = tuple(STATUSES)


def refused(error: Exception) -> tuple[int, dict[str, str], bytes]:
    """Return the status, the headers and the body for one of the known reasons.

    Examples
    --------
    >>> refused(ValueError("k is no number"))
    (422, {}, b'{"error": "k is no number"}')
    """
    status = next(code for kind, code in STATUSES.items() if isinstance(error, kind))
    headers = {"Retry-After": SOON[1].decode()} if status in (429, 503) else {}
    if isinstance(error, UnicodeError):
        reason = "a text holds half a character. Send what UTF-8 can hold."
    else:
        reason = str(error.args[0]) if error.args else str(error)
    said = json.dumps({"error": reason})
    return status, headers, said.encode()
