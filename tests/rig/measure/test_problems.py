# SPDX-License-Identifier: Apache-2.0
"""Windows that are too short, and a window of repeated queries, by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from rig.kinds.span import Span
from rig.measure import measure, problems
from rig.measure.problems import Energy, RailEnergies
from rig.model.completion import Completion
from rig.model.effects import COMMON, Effect, Effects
from rig.model.step_record import StepRecord
from rig.model.steps import Idle
from rig.model.trial import Window
from rig.problems import Problem
from rig.timebase.timebase import Timebase
from rig.trace.gaps import Gap


def span(number: int, repeat: int = 1) -> Span:
    record = StepRecord(number, Idle(1.0), Completion(()))
    return Span(record, "idle", (1000, 3000), repeat)


def windows(*lengths_s: float) -> list[tuple[Span, Window]]:
    return [
        (
            span(number),
            Window(
                "idle", 5.0, 5.0 + length_s, length_s, energy_j=None, effects=Effects()
            ),
        )
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


def test_a_window_of_the_least_length_by_another_clock_is_no_problem() -> None:
    assert problems.short(windows(2e-3 * (1 - 100e-6)), 2e-3) == []
    assert len(problems.short(windows(2e-3 * (1 - 2e-3)), 2e-3)) == 1


def test_a_window_must_be_longer_than_twenty_samples_and_twice_the_pulse() -> None:
    assert problems.shortest_s(1000.0, 1e-3) == pytest.approx(20e-3)
    # Two per cent for the clocks.
    assert problems.wait_s(50e-3) == pytest.approx(102e-3)
    assert problems.shortest_s(1000.0, 50e-3) == pytest.approx(102e-3)


def test_a_window_of_repeated_queries_is_one_of_them() -> None:
    timebase = Timebase.stated(0, 10.0, 1000.0, 0.0, 0.0)
    ticks = Effects({"ticks": Effect(COMMON, 4e-4, 0.0)})
    gain = Effects({"gain": Effect(COMMON, 0.0, 8e-3)})
    result = measure._window(span(1, repeat=4), timebase, ticks, Energy(6.0, gain))
    assert (result.start_s, result.stop_s) == (11.0, 13.0)
    assert (result.latency_s, result.energy_j) == (0.5, 1.5)
    assert result.effects.of["ticks"].latency_s == pytest.approx(1e-4)
    assert result.effects.of["gain"].energy_j == pytest.approx(2e-3)
    alone = measure._window(span(1, repeat=4), timebase, ticks, None)
    assert alone.energy_j is None
    assert list(alone.effects.of) == ["ticks"]


TIMEBASE = Timebase.stated(0, 10.0, 1000.0, 0.0, 0.0)


def energy(energy_j: float, unwired_j: float, beyond: str = "") -> Energy:
    return Energy(energy_j, Effects(), beyond, unwired_j)


def on_rail(name: str, energies: list[Energy | None], repeat: int = 1) -> RailEnergies:
    trace: Any = None
    rows = [(span(number, repeat), each) for number, each in enumerate(energies)]
    return RailEnergies(name, trace, TIMEBASE, rows)


def powerless(**rails: list[Energy | None]) -> list[Problem]:
    rows = [on_rail(name, energies, repeat=2) for name, energies in rails.items()]
    return problems.powerless(rows)


def test_windows_with_no_more_than_an_open_input_shows_are_counted() -> None:
    limit = energy(2e-3, 2e-3)
    (problem,) = powerless(core=[energy(3e-3, 2e-3), limit, energy(1e-3, 2e-3)])
    assert problem.detail.startswith(
        "2 of 3 windows, first idle of step 1 with 0.001 J, where nothing wired may show"
        " 0.001 J by"
    )
    assert (problem.rail, problem.step) == ("core", 1)
    assert (problem.start_s, problem.stop_s) == (11.0, 13.0)
    # Without a number, or beside lost samples, a window is not judged.
    unknown = energy(math.nan, 1.0)
    (problem,) = powerless(core=[unknown, None, energy(1e-3, 2e-3)])
    assert problem.detail.startswith("1 of 1 windows")
    assert powerless(core=[energy(2.1e-3, 2e-3)] * 3) == []


def test_of_several_rails_their_sum_counts_and_each_may_rest() -> None:
    drawing, resting = energy(3e-3, 1e-3), energy(0.5e-3, 1e-3)
    assert powerless(a=[drawing, resting, drawing], b=[resting, drawing, None]) == []
    (problem,) = powerless(a=[drawing] * 3, b=[resting, energy(0.8e-3, 1e-3), resting])
    assert problem.detail.startswith(
        "b: nothing is drawn from it in any of 3 windows; the most is idle of step 1 with"
        " 0.0004 J, where nothing wired may show 0.0005 J"
    )
    assert problem.rail == "b"
    result = powerless(a=[resting, drawing, drawing], b=[resting, drawing, drawing])
    assert [each.rail for each in result] == ["a"]
    assert result[0].detail.startswith(
        "1 of 3 windows, first idle of step 0 with 0.0005"
    )


def test_a_rail_that_flows_backwards_beyond_its_limits_is_named() -> None:
    drawing, back = energy(9e-3, 1e-3), energy(-1.2e-3, 1e-3)
    (problem,) = powerless(a=[drawing] * 3, b=[energy(-1e-3, 1e-3), back, back])
    assert problem.detail == (
        "b: 2 of 3 windows, first idle of step 1 with -0.0006 J: it flows backwards"
    )


def test_windows_beyond_the_ranges_or_without_numbers_are_counted() -> None:
    rows = [None, energy(math.inf, 0.0, "the voltage was 9 V"), energy(1.0, 0.0)]
    (problem,) = problems.beyond(on_rail("io", rows))
    assert problem.detail.startswith(
        "io: 1 of 3 windows, first idle of step 1, where the voltage was 9 V: no limits"
    )
    (problem,) = problems.unreadable(on_rail("", rows))
    assert problem.detail.startswith(
        "1 of 3 windows, first idle of step 1, have no energy: samples in them"
    )
    assert (problem.step, problem.start_s) == (1, 11.0)
    assert problems.unreadable(on_rail("", rows[::2])) == []


def test_restarts_are_counted_over_all_steps() -> None:
    done = [
        StepRecord(number, Idle(1.0), Completion((), restarts=restarts))
        for number, restarts in enumerate((0, 2, 1))
    ]
    (problem,) = problems._restarted(done)
    assert problem.detail.startswith("3 restarts, first in or right before step 1")
    assert problems._restarted(done[:1]) == []


def test_lost_samples_are_named_with_their_place_and_the_windows_they_cost() -> None:
    gaps = iter([None, Gap(30, 45, "lost"), Gap(50, 60, "lost")])
    trace: Any = SimpleNamespace(
        sample_hz=10.0, gap_between=lambda start_s, stop_s: next(gaps)
    )
    result = on_rail("io", [energy(1.0, 0.0), energy(1.0, 0.0), None])
    (problem,) = problems.gaps(replace(result, trace=trace))
    assert problem.detail == (
        "io: 2 of 3 windows, first idle of step 1 (samples 30 to 45: lost); 1 have no"
        " energy"
    )
    assert (problem.step, problem.start_s, problem.stop_s) == (1, 3.0, 4.5)
