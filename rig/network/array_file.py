# SPDX-License-Identifier: Apache-2.0
"""Arrays of numbers in files that numpy.save wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rig.files import foreign_files
from rig.network.trains import UNREADABLE


def read(path: Path) -> Any:
    """Return the array in a .npy file; raises FileNotFoundError, DataError for a path
    that is no regular file, and ValueError for a file that holds no array of numbers or
    needs code to be read.
    """
    with foreign_files.opened(path) as stream:
        try:
            values = np.load(stream, allow_pickle=False)
        except UNREADABLE as error:
            raise ValueError(str(error)) from error
        if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiub":
            raise ValueError("it holds no array of numbers")
    return values
