# SPDX-License-Identifier: Apache-2.0
"""The bytes around a network: its input step after step, and its answer
(docs/reference/FIXED_POINT.md).

It runs in a worker, maybe under another Python: the standard library and numpy are all
there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

_LIMIT = 2**31 - 1


class NetworkCodec:
    """Converts payloads to inputs in the network's own units, and its outputs to whole
    numbers of the device's scales."""

    phases: tuple[Any, ...] = ()

    def __init__(
        self,
        shape: Sequence[int],
        input_b: int,
        input_scale: float,
        sum_scale: float,
        last_scale: float,
    ) -> None:
        self._shape = tuple(shape)
        self._kind = "<u1" if input_b == 1 else "<i2"
        self._input_scale = input_scale
        self._sum_scale = sum_scale
        self._last_scale = last_scale

    def load(self, payload: bytes) -> Any:
        """Return the input (steps, *shape): whole numbers where a unit is 1."""
        numbers = whole_numbers(payload, self._kind, int(np.prod(self._shape)))
        steps = numbers.reshape(len(numbers), *self._shape)
        return steps if self._input_scale == 1.0 else steps * self._input_scale

    def output(self, values: Any, membranes: Any) -> bytes:
        """Return the answer for values (steps, outputs) and last membranes (outputs,);
        membranes of 0 where there are none.
        """
        each = np.asarray(values, np.float64).reshape(len(values), -1)
        if membranes is None:
            last = np.zeros(each.shape[1])
        else:
            last = np.asarray(membranes).reshape(-1)
        return answer(each.sum(axis=0) / self._sum_scale, last / self._last_scale)


def open_codec(**arguments: Any) -> NetworkCodec:
    """Return the codec of a network."""
    return NetworkCodec(**arguments)


def whole_numbers(payload: bytes, kind: str, channels: int) -> Any:
    """Return the numbers of a payload (steps, channels); ValueError where it has no
    whole steps."""
    step_b = channels * np.dtype(kind).itemsize
    if not payload or len(payload) % step_b:
        raise ValueError(f"{len(payload)} bytes, a step has {step_b}")
    return np.frombuffer(payload, kind).reshape(-1, channels).astype(np.int64)


def answer(sums: Any, last: Any) -> bytes:
    """Return sums and last membranes as a device writes them, rounded to whole
    numbers."""
    both = np.clip(np.rint(np.concatenate([sums, last])), -_LIMIT - 1, _LIMIT)
    output: bytes = both.astype(np.int64).astype("<i4").tobytes()
    return output
