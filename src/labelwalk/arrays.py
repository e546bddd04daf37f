"""Types of arrays and labels that several packages share."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Singles: TypeAlias = NDArray[np.float32]
Ints: TypeAlias = NDArray[np.int64]
SmallInts: TypeAlias = NDArray[np.int32]
Places: TypeAlias = NDArray[np.uint32]
"""Unsigned, so that compiled loops need not handle negative indices."""
Bools: TypeAlias = NDArray[np.bool_]

Label: TypeAlias = str | int
"""The name of a class."""
