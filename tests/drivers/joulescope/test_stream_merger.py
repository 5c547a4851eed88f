# SPDX-License-Identifier: Apache-2.0
"""Blocks of three streams become one trace: what one of them lost is a gap in all, and
the gap names the one that lost it."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.joulescope.block import StreamBlock, TimeMap
from drivers.joulescope.stream_merger import (
    CURRENT,
    SIGNALS,
    SYNC,
    TICK_HZ,
    VOLTAGE,
    Lanes,
)
from rig.trace.trace import Trace
from rig.trace.writer import TraceWriter
from tests.length import length
from tests.traces import trace_writer

COUNT = 80
MAP = TimeMap(0, 0, float(TICK_HZ))


def block(signal: str, number: int) -> StreamBlock:
    """Return block `number` of a signal, of 80 samples at one tick each."""
    data = np.full(COUNT, 1.0 + number, dtype=np.float32)
    if signal == SYNC:
        data = np.full(COUNT // 8, 255, dtype=np.uint8)
    return StreamBlock(number * COUNT, TICK_HZ, 1, data, MAP)


@pytest.mark.parametrize("lossy", [CURRENT, VOLTAGE, SYNC])
def test_a_gap_names_the_signal_that_lost_samples_and_no_other(
    tmp_path: Path, lossy: str
) -> None:
    with trace_writer(tmp_path, TICK_HZ) as writer:
        lanes = Lanes(writer, 1)
        for number in range(4):
            # The one that loses its second block is ahead of the others.
            if number == 1:
                lanes.feed(lossy, block(lossy, 2))
            for signal in (CURRENT, VOLTAGE, SYNC):
                if signal != lossy or number not in (1, 2):
                    lanes.feed(signal, block(signal, number))
        lanes.finish()
    trace = Trace.open(tmp_path / "trace.jls")
    (gap,) = trace.gaps
    assert (gap.start, gap.stop) == (COUNT, 2 * COUNT)
    assert gap.cause.endswith(f"lost samples of {lossy}")
    assert trace.length == 4 * COUNT


# --- Random streams against a model: sets of samples


def level(tick: int) -> int:
    """Return the level of the SYNC line at a tick."""
    return (tick * 2_654_435_761 >> 16) & 1


@dataclass(frozen=True, slots=True)
class Sent:
    """Blocks of one signal that arrive: first sample or tick, and number of them."""

    signal: str
    blocks: list[tuple[int, int]]

    def block(self, number: int, sample_ticks: int) -> StreamBlock:
        """Return a block whose values tell their place."""
        start, count = self.blocks[number]
        places = range(start, start + count)
        if self.signal == SYNC:
            levels = np.array([level(tick) for tick in places], dtype=np.uint8)
            packed = np.packbits(levels, bitorder="little")
            return StreamBlock(start, TICK_HZ, 1, packed, MAP)
        sign = -1 if self.signal == VOLTAGE else 1
        data = np.array(places, dtype=np.float32) * sign
        return StreamBlock(start * sample_ticks, TICK_HZ, sample_ticks, data, MAP)

    def samples(self, sample_ticks: int) -> set[int]:
        """Return the samples that arrive."""
        there: set[int] = set()
        for start, count in self.blocks:
            there |= set(range(start, start + count))
        if self.signal != SYNC:
            return there
        return {tick // sample_ticks for tick in there}


@st.composite
def sent(draw: st.DrawFn, signal: str, sample_ticks: int) -> Sent:
    """Draw the blocks of a signal, some are lost; none begins in the middle of a
    sample.
    """
    unit = 8 if signal == SYNC else 1
    step = sample_ticks if signal == SYNC else 1
    position = draw(st.integers(0, 20)) * step
    blocks = []
    for _ in range(draw(st.integers(1, 12))):
        count = draw(st.integers(1, 6 if signal == SYNC else 40)) * unit
        if draw(st.integers(0, 3)):
            blocks.append((position, count))
        else:
            count = draw(st.integers(1, 30)) * step  # lost
        position += count
    return Sent(signal, blocks)


@dataclass(slots=True)
class Recorded:
    """A trace in memory: the input of a TraceWriter."""

    current: list[float] = field(default_factory=list)
    voltage: list[float] = field(default_factory=list)
    levels: list[int] = field(default_factory=list)
    gaps: list[tuple[int, int, str]] = field(default_factory=list)

    def analog(self, current: Any, voltage: Any, unreadable: str) -> None:
        self.current += current.tolist()
        self.voltage += voltage.tolist()

    def sync(self, levels: Any) -> None:
        self.levels += levels.tolist()

    def sync_packed(self, packed: Any) -> None:
        self.sync(np.unpackbits(packed, bitorder="little"))

    def skip(self, samples: int, cause: str) -> None:
        start = len(self.current)
        self.gaps.append((start, start + samples, cause))
        self.current += [np.nan] * samples
        self.voltage += [np.nan] * samples


@settings(max_examples=length(1000, 150), deadline=None)
@given(st.data(), st.sampled_from([1, 2]))
def test_of_random_streams_all_common_samples_are_written_and_each_gap_names_who_lacks_some(
    data: st.DataObject, sample_ticks: int
) -> None:
    streams = [data.draw(sent(signal, sample_ticks)) for signal in SIGNALS]
    order = list(
        chain.from_iterable([stream] * len(stream.blocks) for stream in streams)
    )
    order = data.draw(st.permutations(order))
    trace = Recorded()
    lanes = Lanes(cast(TraceWriter, trace), sample_ticks)
    fed = dict.fromkeys(SIGNALS, 0)
    for stream in order:
        number = fed[stream.signal]
        fed[stream.signal] += 1
        lanes.feed(stream.signal, stream.block(number, sample_ticks))
    lanes.finish()

    there = {stream.signal: stream.samples(sample_ticks) for stream in streams}
    common = set.intersection(*there.values())
    # A trace begins, and goes on after a gap, with a byte of the SYNC line.
    byte_starts = set()
    for start, count in streams[-1].blocks:
        ticks = range(start, start + count, 8)
        byte_starts |= {tick // sample_ticks for tick in ticks}
    starts = sorted(common & byte_starts)
    if lanes.first_tick is None:
        assert not trace.current
        return
    origin = lanes.first_tick // sample_ticks
    assert not starts or origin <= starts[0]
    gaps = []
    written = []
    at = origin
    while at in common or any(start > at for start in starts):
        if at in common:
            written.append(at)
            at += 1
            continue
        stop = min(start for start in starts if start > at)
        lacking = [name for name in SIGNALS if not set(range(at, stop)) <= there[name]]
        gaps.append((at - origin, stop - origin, " and ".join(lacking)))
        at = stop
    prefix = "the instrument or its USB connection lost samples of "
    assert trace.gaps == [(start, stop, prefix + who) for start, stop, who in gaps]
    assert len(trace.current) == at - origin
    ticks = range(sample_ticks)
    assert [value for value in trace.current if value == value] == written
    assert [-value for value in trace.voltage if value == value] == written
    levels = []
    for sample in written:
        levels += [level(sample * sample_ticks + tick) for tick in ticks]
    assert trace.levels == levels
