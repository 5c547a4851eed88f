# SPDX-License-Identifier: Apache-2.0
"""Signals of a JLS file as it is begun, with their chunks."""

from __future__ import annotations

from typing import Any

import pyjls

from rig.trace.chunks import Chunks
from rig.trace.trace import (
    SYNC,
)

#: Layouts of floats and of levels. Data chunks of levels are shorter than pyjls's 65 536: less of
#: the line is lost with a killed process.
_FLOATS = Chunks(8192, 128, 640, 20)
_LEVELS = Chunks(8192, 1024, 1280, 20)
#: At this rate and above, chunks are longer and have fewer summaries: a quarter less time to write
#: them, and still no more than 33 ms that is lost with a killed process.
_FAST_HZ = 1e6
_FAST_FLOATS = Chunks(32_768, 1024, 640, 20)
_FAST_LEVELS = Chunks(32_768, 1024, 1280, 20)


def define_signal(
    writer: Any, number: int, name: str, kind: str, rate_hz: float, **more: Any
) -> None:
    """Define a signal in a JLS file."""
    writer.signal_def(
        signal_id=number,
        source_id=1,
        signal_type=pyjls.SignalType.FSR,
        data_type=kind,
        sample_rate=max(round(rate_hz), 1),
        name=name,
        **chunks(number, rate_hz).definition(),
        **more,
    )


def chunks(signal: int, rate_hz: float) -> Chunks:
    """Return the chunks of a signal."""
    if rate_hz >= _FAST_HZ:
        return _FAST_LEVELS if signal == SYNC else _FAST_FLOATS
    return _LEVELS if signal == SYNC else _FLOATS
