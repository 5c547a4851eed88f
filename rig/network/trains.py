# SPDX-License-Identifier: Apache-2.0
"""What left a network, as bytes: the values of each step, and the last membranes.

A worker packs them, maybe under another Python: the standard library and numpy are all
there is.
"""

from __future__ import annotations

import io
from tokenize import TokenError
from typing import Any
from zipfile import BadZipFile

import numpy as np

#: Exceptions that numpy raises for bytes that are no arrays.
UNREADABLE = (
    OSError,
    KeyError,
    TypeError,
    ValueError,
    OverflowError,
    EOFError,
    MemoryError,
    RecursionError,
    BadZipFile,
    TokenError,
)
_VALUES = "values"
_MEMBRANES = "membranes"


def packed(values: Any, membranes: Any) -> bytes:
    """Return values (steps, outputs), and membranes (outputs,) or None, as bytes."""
    arrays = {_VALUES: np.asarray(values)}
    if membranes is not None:
        arrays[_MEMBRANES] = np.asarray(membranes)
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
    return stream.getvalue()


def unpacked(block: bytes) -> tuple[Any, Any]:
    """Return values and membranes; raises ValueError for other bytes."""
    try:
        with np.load(io.BytesIO(block), allow_pickle=False) as stored:
            return stored[_VALUES], stored.get(_MEMBRANES)
    except UNREADABLE as error:
        raise ValueError(f"{len(block)} bytes are no packed values: {error}") from error
