# SPDX-License-Identifier: Apache-2.0
"""Types of NumPy arrays, named by their elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Float64s = NDArray[np.float64]
Float32s = NDArray[np.float32]
#: Of either precision.
Reals = NDArray[np.floating[Any]]
Int64s = NDArray[np.int64]
Uint8s = NDArray[np.uint8]
Bools = NDArray[np.bool_]
Strings = NDArray[np.str_]
#: Of any elements.
Array = NDArray[Any]
