# SPDX-License-Identifier: Apache-2.0
"""Windows that are too short, and a window of repeated queries, by hand."""

from __future__ import annotations

import pytest

from rig.kinds.span import Span
from rig.measure import measure, problems
from rig.measure.problems import Energy
from rig.model.completion import Completion
from rig.model.effects import COMMON, Effect, Effects
from rig.model.step_record import StepRecord
from rig.model.steps import Idle
from rig.model.trial import Window
from rig.timebase.timebase import Timebase


def span(number: int, repeat: int = 1) -> Span:
    record = StepRecord(number, Idle(1.0), Completion(()))
    return Span(record, "idle", (1000, 3000), repeat)


def windows(*lengths_s: float) -> list[tuple[Span, Window]]:
    return [
        (span(number), Window("idle", 5.0, 5.0 + length_s, length_s, None, Effects()))
        for number, length_s in enumerate(lengths_s)
    ]


@pytest.mark.parametrize(
    ("monitored", "unit"), [(True, "20 samples"), (False, "20 ticks")]
)
def test_the_shortest_of_the_windows_below_the_limit_is_named(
    monitored: bool, unit: str
) -> None:
    rows = windows(3e-3, 1.5e-3, 1e-3, 2.1e-3)
    (problem,) = problems.short(rows, 2e-3, monitored)
    assert problem.detail.startswith(
        "2 of 4 windows, shortest idle of step 2 with 1000.0 us; more than 2000.0 us are"
        f" needed ({unit}, and twice the SYNC pulse): raise the scenario's "
    )
    assert problem.detail.endswith(" or the monitor's sample rate") is monitored
    assert (problem.step, problem.start_s, problem.stop_s) == (2, 5.0, 5.001)
    assert problems.short(windows(3e-3, 2.1e-3), 2e-3) == []


def test_a_window_must_be_longer_than_twenty_samples_and_twice_the_pulse() -> None:
    assert problems.shortest_s(1000.0, 1e-3) == pytest.approx(20e-3)
    # Two per cent for the clocks.
    assert problems.wait_s(50e-3) == pytest.approx(102e-3)
    assert problems.shortest_s(1000.0, 50e-3) == pytest.approx(102e-3)


def test_a_window_of_repeated_queries_is_one_of_them() -> None:
    timebase = Timebase.stated(0, 10.0, 1000.0, 0.0, 0.0)
    ticks = Effects({"ticks": Effect(COMMON, 4e-4, 0.0)})
    gain = Effects({"gain": Effect(COMMON, 0.0, 8e-3)})
    found = measure._window(span(1, repeat=4), timebase, ticks, Energy(6.0, gain))
    assert (found.start_s, found.stop_s) == (11.0, 13.0)
    assert (found.latency_s, found.energy_j) == (0.5, 1.5)
    assert found.effects.of["ticks"].latency_s == pytest.approx(1e-4)
    assert found.effects.of["gain"].energy_j == pytest.approx(2e-3)
    alone = measure._window(span(1, repeat=4), timebase, ticks, None)
    assert alone.energy_j is None
    assert list(alone.effects.of) == ["ticks"]
