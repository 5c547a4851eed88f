# SPDX-License-Identifier: Apache-2.0
"""How marks are attached to a trace without edges for all of them: one edge and nominal
rates, or a clock of the host.
"""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rig.timebase.attach import _inverted, at_nominal_rate, attach, shifted
from rig.trace.gaps import Gap
from rig.trace.trace import Trace
from rig.trace.writer import TraceWriter
from tests.traces import trace_writer

TICK_HZ = 1_000_000


def traced(
    folder: Path, sync: str, about: dict[str, Any], stamps_s: tuple[float, ...] = ()
) -> Trace:
    with TraceWriter(
        folder,
        sample_hz=1000,
        edge_hz=50_000,
        source="t",
        serial="",
        about=about,
        sync_kind=sync,
    ) as writer:
        for at_s in stamps_s:
            writer.stamp(at_s)
        writer.analog(np.ones(5000), np.ones(5000))
    return Trace.open(folder / "trace.jls")


def test_one_edge_ties_the_first_mark_and_the_rate_is_trusted_within_its_limit(
    tmp_path: Path,
) -> None:
    trace = traced(tmp_path, "start", {"rate_limit_ppm": 300.0}, (0.0,))
    alignment = attach(trace, [5_000, 1_005_000, 4_005_000], TICK_HZ, 50e-6, "")
    timebase = alignment.timebase
    assert timebase is not None and timebase.nominal_rate and alignment.problems == ()
    assert [timebase.seconds(tick) for tick in (5_000, 4_005_000)] == [0.0, 4.0]
    own_u_s = math.hypot(20e-6, 1e-6) / math.sqrt(12)
    assert timebase.seconds_u_s(5_000) == pytest.approx(own_u_s)
    assert timebase.seconds_u_s(4_005_000) == pytest.approx(
        math.hypot(own_u_s, 4 * 300e-6 / math.sqrt(3))
    )
    assert timebase.interval_u_s(1_005_000, 1_105_000) == pytest.approx(
        0.1 * 300e-6 / math.sqrt(3)
    )


def test_a_window_that_may_lie_elsewhere_is_a_sync_problem(tmp_path: Path) -> None:
    timebase = attach(
        traced(tmp_path, "start", {"rate_limit_ppm": 300.0}, (0.0,)),
        [0, 4_000_000],
        TICK_HZ,
        50e-6,
        "",
    ).timebase
    assert timebase is not None
    assert shifted(timebase, [(0, 1_000_000), (3_000_000, 4_000_000)]) == []
    problems = shifted(timebase, [(0, 1_000_000), (3_990_000, 4_000_000)])
    assert [problem.code for problem in problems] == ["sync"]
    assert (
        "1 of 2 windows" in problems[0].detail
        and "10 ms by 0.693 ms" in problems[0].detail
    )


@pytest.mark.parametrize("stamps_s", [(), (0.0, 1.0)])
def test_another_number_of_edges_than_one_ties_nothing(
    tmp_path: Path, stamps_s: tuple[float, ...]
) -> None:
    alignment = attach(
        traced(tmp_path, "start", {"rate_limit_ppm": 300.0}, stamps_s),
        [0, 1],
        TICK_HZ,
        50e-6,
        "",
    )
    assert alignment.timebase is None
    assert [problem.code for problem in alignment.problems] == ["edges"]


def test_a_clock_that_both_read_ties_all_marks_to_the_nanosecond(
    tmp_path: Path,
) -> None:
    uptime_ns = 10**17 + 123_456_789
    trace = traced(tmp_path, "clock", {"start_monotonic_ns": uptime_ns})
    ticks = [
        (uptime_ns + offset_ns) // 1000 for offset_ns in (250_000_211, 1_250_000_211)
    ]
    alignment = attach(trace, ticks, TICK_HZ, 50e-6, "CLOCK_MONOTONIC")
    timebase = alignment.timebase
    assert timebase is not None and alignment.problems == ()
    assert timebase.seconds(ticks[0]) == pytest.approx(0.250000211, abs=1e-9)
    assert timebase.interval_s(*ticks) == 1.0
    assert timebase.interval_u_s(*ticks) == 0.0
    assert (alignment.marks, alignment.edges, alignment.pairs) == (2, 0, 0)


def test_without_a_monitor_the_device_s_clock_holds_within_its_stated_limit() -> None:
    alignment = at_nominal_rate([500, 1_000_500, 3_000_500], TICK_HZ, 300.0)
    timebase = alignment.timebase
    assert timebase is not None and alignment.problems == ()
    assert (alignment.marks, alignment.edges, alignment.pairs) == (3, 0, 0)
    assert [timebase.seconds(tick) for tick in (500, 3_000_500)] == [0.0, 3.0]
    assert timebase.interval_u_s(1_000_500, 3_000_500) == pytest.approx(
        2 * 300e-6 / math.sqrt(3)
    )


def test_marks_of_another_clock_are_not_tied(tmp_path: Path) -> None:
    alignment = attach(
        traced(tmp_path, "clock", {"start_monotonic_ns": 5}), [0, 1], TICK_HZ, 50e-6, ""
    )
    assert alignment.timebase is None
    assert "a timer of its own" in alignment.problems[0].detail


@pytest.mark.parametrize("sync", ["start", "clock"])
def test_ticks_that_run_backwards_are_named(tmp_path: Path, sync: str) -> None:
    trace = traced(
        tmp_path,
        sync,
        {"start_monotonic_ns": 5, "rate_limit_ppm": 1.0},
        (0.0,) if sync == "start" else (),
    )
    alignment = attach(trace, [10, 20, 15], TICK_HZ, 50e-6, "CLOCK_MONOTONIC")
    [problem] = alignment.problems
    assert problem.code == "clock"
    assert "mark 3 has tick 15, less than the one before, 20:" in problem.detail


def pulsed(
    folder: Path,
    *spans: tuple[float, int],
    gaps_s: tuple[tuple[float, float], ...] = (),
) -> Trace:
    """Return a trace at 10 kHz of spans (s, level), where what lies in gaps was
    lost."""
    level = np.concatenate(
        [
            np.full(round(length_s * 10_000), level, dtype=np.uint8)
            for length_s, level in spans
        ]
    )
    with trace_writer(folder, 10_000) as writer:
        at = 0
        for start_s, stop_s in (*gaps_s, (len(level) / 10_000, 0.0)):
            start = round(start_s * 10_000)
            stop = round(stop_s * 10_000)
            writer.analog(np.ones(start - at), np.ones(start - at))
            writer.sync(level[at:start])
            if stop_s:
                writer.skip(stop - start, "lost")
                at = stop
    return Trace.open(folder / "trace.jls")


def codes(trace: Trace, marks_s: list[float]) -> list[str]:
    ticks = [round(at_s * TICK_HZ) for at_s in marks_s]
    attached = attach(trace, ticks, TICK_HZ, 1e-3, "")
    return [problem.code for problem in attached.problems]


#: Pulses of 1 ms, unevenly: with a long rest between two of them.
REST_S = 20.0
SPANS = [
    (0.01, 1),
    *((0.001, 0), (0.013, 1), (0.001, 0), (0.007, 1)) * 3,
    (0.001, 0),
    (REST_S, 1),
    *((0.001, 0), (0.02, 1)) * 2,
]


def falls_of(spans: list[tuple[float, int]]) -> list[float]:
    starts_s = np.cumsum([0.0, *(length_s for length_s, _ in spans)])
    return [
        float(at_s)
        for at_s, (_, level) in zip(starts_s, spans, strict=False)
        if not level
    ]


def test_a_line_upside_down_is_named_and_one_that_is_not_is_not(tmp_path: Path) -> None:
    (tmp_path / "as it is").mkdir()
    (tmp_path / "inverted").mkdir()
    marks_s = falls_of(SPANS)
    assert codes(pulsed(tmp_path / "as it is", *SPANS), marks_s) == []
    inverted = pulsed(
        tmp_path / "inverted", *((length_s, 1 - level) for length_s, level in SPANS)
    )
    assert codes(inverted, marks_s) == ["sync"]


def test_lost_ends_of_pulses_beside_a_long_rest_are_no_line_upside_down(
    tmp_path: Path,
) -> None:
    marks_s = falls_of(SPANS)
    before_s, behind_s = marks_s[-3:-1]
    gaps_s = (
        (before_s + 0.0005, before_s + 0.0015),
        (behind_s - 0.001, behind_s + 0.0005),
    )
    trace = pulsed(tmp_path, *SPANS, gaps_s=gaps_s)
    assert "inverted" not in str(
        attach(
            trace, [round(at_s * TICK_HZ) for at_s in marks_s], TICK_HZ, 1e-3, ""
        ).problems
    )
    assert len(trace.gaps) == 2 and len(trace.rises_s) < len(marks_s)


@pytest.mark.parametrize(
    ("gaps", "share"),
    [((), None), ((Gap(15, 16, "lost"),), "90%"), ((Gap(25, 26, "lost"),), None)],
)
def test_a_pulse_next_to_lost_samples_makes_no_statement_about_the_line(
    gaps: tuple[Gap, ...], share: str | None
) -> None:
    trace: Any = SimpleNamespace(
        falls_s=np.array([1.0, 2.0, 3.0]),
        rises_s=np.array([1.05, 2.9]),
        gaps=gaps,
        sample_hz=10.0,
    )
    problems = _inverted(trace, [(0, 0), (1, 1), (2, 2)])
    assert [problem.detail.split()[5] for problem in problems] == (
        [share] if share else []
    )


def test_pulses_in_lost_samples_are_missed_by_no_mark(tmp_path: Path) -> None:
    spans = [(0.01, 1)]
    for number in range(12):
        spans += [(0.001, 0), (0.015 + 0.003 * (number * 5 % 7), 1)]
    marks_s = falls_of(spans)
    lost_s = (marks_s[5] - 0.004, marks_s[6] + 0.004)
    for name in ("gap", "high"):
        (tmp_path / name).mkdir()
    with_gap = pulsed(tmp_path / "gap", *spans, gaps_s=(lost_s,))
    assert len(with_gap.falls_s) == len(marks_s) - 2
    assert codes(with_gap, marks_s) == []
    high = [*spans[:11], (0.001, 1), spans[12], (0.001, 1), *spans[14:]]
    without_pulses = pulsed(tmp_path / "high", *high)
    assert len(without_pulses.falls_s) == len(marks_s) - 2
    assert codes(without_pulses, marks_s) != []
