"""The one way a kernel is compiled: cached on disk, and never stale.

Numba stamps a cached function with its own source file only, so a kernel that calls one in another
file keeps running the old machine code after the other file has changed. Here every kernel is
stamped with the whole folder. Where nothing can be cached (a read-only install without a home),
kernels are compiled anew in each process instead of failing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import caching

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def _folder_stamp(folder: Path) -> str:
    digest = hashlib.sha256()
    for source in sorted(folder.glob("*.py")):
        digest.update(source.name.encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()


_STAMP = _folder_stamp(Path(__file__).parent)


def compiled(function: Kernel) -> Kernel:
    """Compile `function` with Numba, without fast-math, cached under the stamp of this folder.

    Other threads go on while it runs; a learner sees to it that none touches what it works on.
    """
    if numba.config.DISABLE_JIT:
        return function
    try:
        kernel = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
        cache = kernel._cache
        cache._cache_file = caching.IndexDataCacheFile(
            cache_path=cache._cache_path,
            filename_base=cache._impl.filename_base,
            source_stamp=_STAMP,
        )
    except (RuntimeError, AttributeError):
        return numba.njit(nogil=True, error_model="numpy")(function)
    return kernel
