# SPDX-License-Identifier: Apache-2.0
"""The firmware's network of a .tflite file on this host: one library that runs the
tables of any.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from rig.network.tflite.tables import IntegerTables

_POINTERS = ("operators", "weights", "numbers", "shifts")
_COUNTS = ("operator_count", "output_at", "output_b")
#: So many numbers before and after the memory of a network must stay as they are.
_GUARD = 64
_MARK = 0x5A


class Model(ctypes.Structure):
    """struct nr_tflite_model."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in _POINTERS),
        *((name, ctypes.c_int32) for name in _COUNTS),
    )


class NetworkStruct(ctypes.Structure):
    """struct nr_tflite."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("model", "input", "arena", "patch")),
        ("starting", ctypes.c_int32),
    )


class DeviceNetwork:
    """A network in the firmware's code, its memory filled with rubbish before."""

    def __init__(self, library: ctypes.CDLL, tables: IntegerTables) -> None:
        self._library = library
        self._tables = tables
        self._operators = np.array(tables.operators, np.int32)
        self._weights = np.array(tables.weights or [0], np.int8)
        self._numbers = np.array(tables.numbers or [0], np.int32)
        self._shifts = np.array(tables.shifts or [0], f"i{tables.shift_b}")
        arrays = (self._operators, self._weights, self._numbers, self._shifts)
        self._model = Model(
            *(array.ctypes.data for array in arrays),
            len(tables.operators),
            tables.output_at,
            tables.output_b,
        )
        self._arena = np.full(tables.arena_b + 2 * _GUARD, _MARK, np.int8)
        self._patch = np.full(tables.patch + 2 * _GUARD, _MARK, np.int16)

    def start(self, row: Any) -> None:
        """Begin a network that is run row by row."""
        self._call(self._library.nr_tflite_start, row)

    def answer(self, values: Any) -> Any:
        """Run an input of int8; return its output, flat."""
        self._call(self._library.nr_tflite_run, values)
        start = _GUARD + self._tables.output_at
        return self._arena[start : start + self._tables.output_b].copy()

    def _call(self, function: Any, values: Any) -> None:
        inputs = np.ascontiguousarray(values)
        before = inputs.copy()
        network = NetworkStruct(
            ctypes.addressof(self._model),
            inputs.ctypes.data,
            self._arena[_GUARD:].ctypes.data,
            self._patch[_GUARD:].ctypes.data,
            0,
        )
        assert function(ctypes.byref(network)) == 0
        assert network.starting == 0
        for memory in (self._arena, self._patch):
            assert bool(np.all(memory[:_GUARD] == _MARK))
            assert bool(np.all(memory[-_GUARD:] == _MARK))
        assert np.array_equal(before, inputs)


def opened(path: Any) -> ctypes.CDLL:
    """Open the library."""
    return ctypes.CDLL(str(path))
