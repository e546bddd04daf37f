"""The header by which a repetition is known."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header

from labelwalk.service.wire import LONGEST_KEY

Key = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        max_length=LONGEST_KEY,
        description="Your own name for a request: sent again, it is answered again and done once.",
    ),
]
