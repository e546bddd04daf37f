"""Names for the types that pass between the rooms."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Singles: TypeAlias = NDArray[np.float32]
Ints: TypeAlias = NDArray[np.int64]
SmallInts: TypeAlias = NDArray[np.int32]
Places: TypeAlias = NDArray[np.uint32]
"""Unsigned, so that compiled loops need not look for indices from the end."""
Bools: TypeAlias = NDArray[np.bool_]

Label: TypeAlias = str | int
"""What a class is called."""
