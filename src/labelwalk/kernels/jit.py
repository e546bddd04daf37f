"""Compilation of kernels with Numba and a disk cache that is never stale.

Numba stamps a cached kernel with its own source file only, and would keep running old machine code
of kernels in other files that it calls. Here the stamp covers the whole folder. Where no cache can
be written (a read-only installation without a home folder), each process compiles its kernels.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import caching

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


_STAMP = hashlib.sha256()
for source in sorted(Path(__file__).parent.glob("*.py")):
    _STAMP.update(source.name.encode() + source.read_bytes())


class _StampedIndex(caching.IndexDataCacheFile):  # type: ignore[misc]  # Numba is untyped
    """Index of cached machine code that ignores entries of other versions of this package."""

    def _load_index(self) -> dict[Any, Any]:
        try:
            return dict(super()._load_index())
        except (ImportError, AttributeError):  # it names a class that has been moved or renamed
            return {}


def jit(function: Kernel) -> Kernel:
    """Compile `function` with Numba, without fast-math, cached under the stamp of this folder.

    It releases the GIL; the learner's lock keeps other threads from its arrays.
    """
    if numba.config.DISABLE_JIT:
        return function
    try:
        kernel = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
        cache = kernel._cache
        cache._cache_file = _StampedIndex(
            cache_path=cache._cache_path,
            filename_base=cache._impl.filename_base,
            source_stamp=_STAMP.hexdigest(),
        )
    except (RuntimeError, AttributeError):
        return numba.njit(nogil=True, error_model="numpy")(function)
    return kernel
