# SPDX-License-Identifier: Apache-2.0
"""How far the traces of a cut-off segment reach: a step counts where both the samples
and the SYNC line of its last mark were kept.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from rig.measure.measure import Rail, covered
from rig.model.completion import END, IDLE, Completion, Mark
from rig.model.completion import SYNC as BURST
from rig.model.step_record import StepRecord
from rig.model.steps import Idle, Sync
from rig.trace.trace import TRACE, Trace
from rig.uncertainty.accuracy import Accuracy, Range
from tests.traces import trace_writer

HZ = 100_000
TICK_HZ = 1_000_000
HOLD_S = 100e-6
ACCURACY = Accuracy((Range(1.0, 0.01, 0.0),), (Range(5.0, 0.01, 0.0),), 10.0, "none")
#: Milliseconds at which the pulses of a burst and of three idle times begin.
BURST_MS = (10, 12, 16, 18, 26, 28, 32, 34)
IDLES_MS = ((60, 91), (120, 157), (190, 233))


def record(
    number: int, step: Idle | Sync, phases: list[int], at_ms: tuple[int, ...]
) -> StepRecord:
    marks = tuple(
        Mark(phase, 1000 * ms) for phase, ms in zip(phases, at_ms, strict=True)
    )
    return StepRecord(number, step, Completion(marks))


DONE = [
    record(0, Sync(), [BURST] * len(BURST_MS), BURST_MS),
    *(record(k, Idle(0.03), [IDLE, END], ms) for k, ms in enumerate(IDLES_MS, start=1)),
]


def recorded(folder: Path, analog_s: float, sync_s: float) -> Rail:
    """Return a rail whose samples and whose SYNC line were kept so far."""
    sync = np.ones(round(HZ * 0.3), np.uint8)
    for ms in (*BURST_MS, *chain.from_iterable(IDLES_MS)):
        sync[ms * HZ // 1000 : ms * HZ // 1000 + round(HOLD_S * HZ)] = 0
    with trace_writer(folder, HZ) as writer:
        length = round(analog_s * HZ)
        writer.analog(np.ones(length, np.float32), np.ones(length, np.float32))
        writer.sync(sync[: round(sync_s * HZ)])
    return Rail("", Trace.open(folder / TRACE), ACCURACY)


@pytest.mark.parametrize(
    ("analog_s", "sync_s", "last"),
    [(0.3, 0.3, 3), (0.2, 0.3, 2), (0.3, 0.2, 2), (0.3, 0.15, 1)],
)
def test_a_step_counts_where_samples_and_sync_of_its_last_mark_were_kept(
    tmp_path: Path, analog_s: float, sync_s: float, last: int
) -> None:
    rail = recorded(tmp_path, analog_s, sync_s)
    assert covered(DONE, TICK_HZ, HOLD_S, [rail]) == last
