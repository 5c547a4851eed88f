# SPDX-License-Identifier: Apache-2.0
"""Idle times as they were planned, and as the device's ticks have them: a clock at
another rate than the stated one shows there.

A host that is busy makes an idle time longer, never shorter, whether it waits itself or
an emulated device does. So each one is held to the lower limit, and only the shortest
to the upper one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rig.interfaces.sut import SutInfo
from rig.model.step_record import StepRecord
from rig.model.steps import Idle
from rig.timebase.edge_clock import EDGE_CLOCK

#: Of a clock without a stated limit: the oscillators inside microcontrollers are within
#: 10 % before calibration.
_CLOCK = 0.10
#: Marks are whole ticks, and stand within the idle time.
_TICKS = 4
#: A host that starts a process or swaps may take so long, but hardly each time.
_BUSY_S = 0.5
#: Where the keys of backends with a simulated clock tell its error.
_PPM = ("clock_ppm", "ppm")


def differences(
    records: Iterable[StepRecord], sut: SutInfo, device_clock_ppm: float
) -> Iterator[str]:
    """Yield which idle times are too short for the stated clock, the first of them
    alone, and whether all are too long. `device_clock_ppm` is the limit of the clock
    that the bench file states, 0 where it states none.
    """
    if sut.clock == EDGE_CLOCK:  # these ticks are the host's
        return
    limit = max(_CLOCK, 2e-6 * device_clock_ppm, 2e-6 * _stated_ppm(sut))
    excess: list[float] = []
    for item in records:
        marks = item.completion.marks
        if not isinstance(item.step, Idle) or len(marks) != 2:
            continue
        planned_s = item.step.duration_s
        lasted_s = (marks[1].tick - marks[0].tick) / sut.tick_hz
        if lasted_s < planned_s * (1 - limit) - _TICKS / sut.tick_hz:
            yield _said(item, lasted_s, "shorter", sut)
            return
        excess.append(lasted_s - planned_s * (1 + limit))
        longest = item, lasted_s
    if excess and min(excess) > _BUSY_S:
        yield _said(*longest, "longer", sut)


def _stated_ppm(sut: SutInfo) -> float:
    values = [sut.details.get(name) for name in _PPM]
    return max(
        (abs(value) for value in values if isinstance(value, int | float)), default=0.0
    )


def _said(item: StepRecord, lasted_s: float, how: str, sut: SutInfo) -> str:
    assert isinstance(item.step, Idle)
    return (
        f"step {item.number}: an idle time of {item.step.duration_s:g} s lasted"
        f" {lasted_s:.6g} s by {sut.tick_hz} ticks a second, {how} than any such clock"
        " can make it"
    )
