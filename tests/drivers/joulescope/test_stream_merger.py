# SPDX-License-Identifier: Apache-2.0
"""Blocks of three streams become one trace: what one of them lost is a gap in all, and
the gap names the one that lost it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from drivers.joulescope.block import StreamBlock, TimeMap
from drivers.joulescope.stream_merger import CURRENT, SYNC, TICK_HZ, VOLTAGE, Lanes
from rig.trace.trace import Trace
from rig.trace.writer import TraceWriter

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
    with TraceWriter(
        tmp_path,
        sample_hz=TICK_HZ,
        edge_hz=TICK_HZ,
        source="test",
        serial="",
        about={},
        sync_kind="digital",
    ) as writer:
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
