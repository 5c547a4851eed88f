# SPDX-License-Identifier: Apache-2.0
"""The firmware's network on this host: one library that runs any network's tables."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from rig.network.fixed.tables import Tables

_POINTERS = (
    "nodes",
    "edges",
    "windows",
    "populations",
    "inputs",
    "outputs",
    "numbers",
    "weights",
)
_COUNTS = (
    "node_count",
    "input_count",
    "output_count",
    "value_count",
    "state_count",
    "input_b",
)
#: So many numbers before and after the memory of a network must stay as they are.
_GUARD = 64
_MARK = 0x5A5A


class Model(ctypes.Structure):
    """struct nr_network_model."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in _POINTERS),
        *((name, ctypes.c_int32) for name in _COUNTS),
    )


class NetworkStruct(ctypes.Structure):
    """struct nr_network."""

    _fields_ = (
        ("model", ctypes.c_void_p),
        ("values", ctypes.c_void_p),
        ("states", ctypes.c_void_p),
    )


class DeviceNetwork:
    """A network in the firmware's code, its memory filled with rubbish before it is
    reset."""

    def __init__(self, library: ctypes.CDLL, tables: Tables, answers: int) -> None:
        self._library = library
        self._answer_b = 8 * answers
        self._arrays = {
            name: np.array(
                getattr(tables, name), np.uint32 if name == "weights" else np.int32
            )
            for name in _POINTERS
        }
        self._values = np.full(tables.value_count + 2 * _GUARD, _MARK, np.int16)
        self._states = np.full(tables.state_count + 2 * _GUARD, _MARK, np.int32)
        model = Model(
            *(array.ctypes.data for array in self._arrays.values()),
            len(tables.nodes),
            len(tables.inputs),
            len(tables.outputs),
            tables.value_count,
            tables.state_count,
            tables.input_b,
        )
        self._model = model
        self._network = NetworkStruct(
            ctypes.addressof(model),
            self._values[_GUARD:].ctypes.data,
            self._states[_GUARD:].ctypes.data,
        )

    def answer(self, payload: bytes, steps: int) -> tuple[np.ndarray, np.ndarray]:
        """Run a payload from rest; return sums and last membranes."""
        network = ctypes.byref(self._network)
        self._library.nr_network_reset(network)
        step_b = len(payload) // steps
        for step in range(steps):
            self._library.nr_network_step(
                network, payload[step * step_b : (step + 1) * step_b]
            )
        buffer = ctypes.create_string_buffer(self._answer_b + 8)
        length = self._library.nr_network_answer(network, buffer)
        assert length == self._answer_b
        assert buffer.raw[length:] == bytes(8)
        for memory in (self._values, self._states):
            assert bool(np.all(memory[:_GUARD] == _MARK))
            assert bool(np.all(memory[-_GUARD:] == _MARK))
        sums, last = np.frombuffer(buffer.raw[:length], "<i4").reshape(2, -1)
        return sums, last


def opened(path: Any) -> ctypes.CDLL:
    """Open the library."""
    library = ctypes.CDLL(str(path))
    library.nr_network_answer.restype = ctypes.c_uint32
    return library
