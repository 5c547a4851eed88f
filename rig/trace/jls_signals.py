# SPDX-License-Identifier: Apache-2.0
"""Signals of a JLS file as it is begun, with their chunks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyjls

from rig.trace.chunks import Chunks
from rig.trace.reduced import CURRENT_MEAN, POWER_MEAN, VOLTAGE_MEAN, Thinning
from rig.trace.trace import SYNC

#: Layouts of floats and of levels. Data chunks of levels are shorter than pyjls's 65
#: 536: less of the line is lost with a killed process.
_FLOATS = Chunks(8192, 128, 640, 20)
_LEVELS = Chunks(8192, 1024, 1280, 20)
#: At this rate and above, chunks are longer and have fewer summaries: a quarter less
#: time to write them, and still no more than 33 ms that is lost with a killed process.
_FAST_HZ = 1e6
_FAST_FLOATS = Chunks(32_768, 1024, 640, 20)
_FAST_LEVELS = Chunks(32_768, 1024, 1280, 20)


#: Means are few, and a killed process loses no samples that they replace.
_MEANS = Chunks(128, 128, 640, 20)


def define_signal(
    writer: Any,
    number: int,
    name: str,
    kind: str,
    rate_hz: float,
    layout: Chunks | None = None,
    **more: Any,
) -> None:
    """Define a signal in a JLS file, of chunks as they are for its rate where no others
    are given.
    """
    writer.signal_def(
        signal_id=number,
        source_id=1,
        signal_type=pyjls.SignalType.FSR,
        data_type=kind,
        sample_rate=max(round(rate_hz), 1),
        name=name,
        **(layout or chunks(number, rate_hz)).definition(),
        **more,
    )


def chunks(signal: int, rate_hz: float) -> Chunks:
    """Return the chunks of a signal."""
    if signal in (CURRENT_MEAN, VOLTAGE_MEAN, POWER_MEAN):
        return _MEANS
    if rate_hz >= _FAST_HZ:
        return _FAST_LEVELS if signal == SYNC else _FAST_FLOATS
    return _LEVELS if signal == SYNC else _FLOATS


def define_means(writer: Any, sample_hz: float, thinning: Thinning) -> None:
    """Define the signals of means in a JLS file."""
    rate_hz = sample_hz / thinning.every
    named = {CURRENT_MEAN: ("current", "A"), VOLTAGE_MEAN: ("voltage", "V")}
    for number, (name, units) in (named | {POWER_MEAN: ("power", "W")}).items():
        mean = f"{name}, means of {thinning.every}"
        define_signal(writer, number, mean, "f32", rate_hz, units=units)


def thinned(rate_hz: float, margin: int) -> Chunks:
    """Return the chunks of samples for leaving spans out: no longer than the
    margin that follows each window, so that a window is in the file before a span
    begins.
    """
    usual = _FAST_FLOATS if rate_hz >= _FAST_HZ else _FLOATS
    data = min(usual.data, 1 << (margin.bit_length() - 1))
    return replace(usual, data=data)
