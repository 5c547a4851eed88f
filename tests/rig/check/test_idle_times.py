# SPDX-License-Identifier: Apache-2.0
"""Idle times show a clock at another rate; a clock as stated and a busy host are
accepted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rig.check import idle_times
from rig.interfaces.sut import SutInfo
from rig.model.completion import END, IDLE, Completion, Mark
from rig.model.step_record import StepRecord
from rig.model.steps import Idle

HZ = 1_000_000
DEVICE = SutInfo("device", "uart", simulated=False, tick_hz=HZ, task="null")


def idle(lasted_s: float, planned_s: float = 0.2) -> StepRecord:
    marks = (Mark(IDLE, 7), Mark(END, 7 + round(lasted_s * HZ)))
    return StepRecord(1, Idle(planned_s), Completion(marks))


def found(
    *lasted_s: float, device: SutInfo = DEVICE, limit_ppm: float = 0.0
) -> list[str]:
    return list(idle_times.differences(map(idle, lasted_s), device, limit_ppm))


def test_idle_times_as_planned_and_those_of_a_busy_host_are_accepted() -> None:
    assert found(0.2, 0.2000004, 0.1999) == []
    assert found(0.2, 9.0, 0.5) == []
    assert found() == []


def test_a_clock_scaled_by_a_quarter_is_found() -> None:
    faster = replace(DEVICE, tick_hz=round(HZ * 1.25))
    (text,) = found(0.2, 0.2, device=faster)
    assert "shorter than any such clock" in text and "0.16 s" in text


def test_all_idle_times_much_too_long_are_found() -> None:
    (text,) = found(1.0, 1.1)
    assert "longer than any such clock" in text


@pytest.mark.parametrize("key", ["clock_ppm", "ppm"])
def test_a_clock_that_is_stated_to_be_off_is_accepted(key: str) -> None:
    assert found(0.15, device=replace(DEVICE, details={key: -250_000.0})) == []
    assert found(0.15, limit_ppm=250_000.0) == []


def test_ticks_of_the_host_make_no_statement() -> None:
    assert found(0.01, device=replace(DEVICE, clock="edges")) == []
