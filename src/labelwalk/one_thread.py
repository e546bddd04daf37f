"""One BLAS thread, so that a result never depends on how many cores happen to be free."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

_alone = threading.RLock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread inside the block.

    Two BLAS threads on a busy machine are up to a hundred times slower than one at the sizes
    solved here, and split sums differently. Blocks may be nested. Blocks of several threads take
    turns, because the limit of most BLAS libraries is one for the whole process and would be
    lifted by whichever thread leaves first: keep blocks short and do not wait in one for another
    thread. Where a thread of the program holds a limit of its own through threadpoolctl, that
    limit stands.

    Examples
    --------
    >>> import numpy as np
    >>> with one_blas_thread():
    ...     print(np.eye(2) @ np.ones(2))
    [1. 1.]
    """
    with _alone, _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    # A controller only knows the libraries loaded before it: scipy brings a BLAS of its own.
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()
