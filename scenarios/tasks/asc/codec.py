# SPDX-License-Identifier: Apache-2.0
"""The task around a network that a backend runs: the front end before it, the answer
after it.

This module runs in a worker, maybe under another Python, with the standard library and
numpy only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from scenarios.tasks.asc.integer import spike_counts
from scenarios.tasks.asc.model import SLICE_SAMPLES, STATE_MAX, FilterBank

_SPIKE = 65_536
_KINDS = {"b0": np.int32, "a1": np.int32, "a2": np.int32, "offset": np.int16}


class AscCodec:
    """Audio to spike counts of 16 channels, spikes and membranes of four neurons to the
    answer (docs/reference/ASC.md sections 2 and 3).
    """

    def __init__(self, bank: FilterBank) -> None:
        self._bank = bank
        self.phases = (self._counts,)

    def load(self, payload: bytes) -> Any:
        """Return a second of audio (1, 8000)."""
        if len(payload) != 2 * SLICE_SAMPLES:
            raise ValueError(
                f"{len(payload)} bytes, one second of audio has {2 * SLICE_SAMPLES}"
            )
        return np.frombuffer(payload, "<i2").astype(np.int16)[None]

    def output(self, values: Any, membranes: Any) -> bytes:
        """Return the answer for spikes (steps, 4) and membranes (4,); membranes of 0
        where there are none.
        """
        fired = np.asarray(values, np.float64).sum(axis=0)
        return answer(fired, np.zeros(len(fired)) if membranes is None else membranes)

    def _counts(self, audio: Any) -> Any:
        """Return spike counts (125, 16)."""
        return spike_counts(self._bank, audio)[0]


def open_codec(bank: Mapping[str, Any]) -> AscCodec:
    """Return the codec of a filter bank, whose numbers are lists."""
    arrays = {name: np.array(bank[name], kind) for name, kind in _KINDS.items()}
    return AscCodec(FilterBank(**arrays))


def arguments(bank: FilterBank) -> dict[str, Any]:
    """Return what `open_codec` wants, as JSON has it."""
    return {"bank": {name: getattr(bank, name).tolist() for name in _KINDS}}


def answer(fired: Any, membrane: Any) -> bytes:
    """Return the output as docs/reference/ASC.md section 3 has it, the membrane rounded
    to a whole number within 16 bits.
    """
    whole = np.clip(np.rint(membrane), -STATE_MAX - 1, STATE_MAX)
    words = np.asarray(fired) * _SPIKE + whole + STATE_MAX + 1
    output: bytes = words.astype("<i4").tobytes()
    return output
