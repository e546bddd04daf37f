"""Compilation of kernels with Numba and a disk cache that is never stale.

Numba stamps a cached function with its own source file only, so a kernel that calls a function of
another file would keep running old machine code after that file has changed. Here the stamp of
every kernel covers the whole folder. Where no cache can be written (a read-only installation
without a home folder), each process compiles its kernels.
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


class _StampedIndex(caching.IndexDataCacheFile):  # type: ignore[misc]  # Numba is untyped
    """Index of cached machine code that ignores entries of other versions of this package."""

    def _load_index(self) -> dict[Any, Any]:
        try:
            index: dict[Any, Any] = super()._load_index()
        except (ImportError, AttributeError):  # it names a class that has been moved or renamed
            return {}
        return index


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
            source_stamp=_STAMP,
        )
    except (RuntimeError, AttributeError):
        return numba.njit(nogil=True, error_model="numpy")(function)
    return kernel
