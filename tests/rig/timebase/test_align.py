# SPDX-License-Identifier: Apache-2.0
"""Marks and edges find each other, and missing, extra, bounced or stretched ones are
named.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rig.timebase.align import (
    DEBOUNCE_HOLDS,
    RESIDUAL_LIMIT_PERIODS,
    Alignment,
    align,
    debounce_s,
)
from tests.length import length

pytestmark = pytest.mark.computes

HZ = 1_000_000
HOLD_S = 50e-6
#: Intervals of a SYNC burst, docs/reference/PROTOCOL.md section 4.
BURST = np.array([1, 2, 1, 4, 1, 2, 1, 4]) * 5003e-6
#: The rates of instruments: a fast one, the virtual monitor, and the N6705's data
#: logger.
RATES = [1_000_000, 200_000, 24_414]


@dataclass(frozen=True)
class Run:
    """The true times of the marks, the ticks of a device, and the edges a monitor of
    `hz` sees, quantised.
    """

    times_s: NDArray[np.float64]
    ticks: list[int]
    edges: NDArray[np.float64]
    hz: float
    random: np.random.Generator

    @property
    def limit_s(self) -> float:
        return RESIDUAL_LIMIT_PERIODS / self.hz + 1 / HZ


def session(seed: int, hz: float = HZ, ppm: float = 80.0, rhythm: bool = False) -> Run:
    """Make the marks of a trial: a burst, two idle times, forty queries of two phases,
    a burst; `rhythm`: all exactly alike.
    """
    random = np.random.default_rng(seed)
    sway = 0.0 if rhythm else 0.02
    queries = [
        phase_s * (1 + sway * random.uniform(-1, 1)) + sway * random.uniform(0, 0.2)
        for phase_s in (0.005, 0.042, 0.003) * 40
    ]
    times_s = np.cumsum(
        np.concatenate([[0.05], BURST, [2.0, 0.02, 2.0, 0.02], queries, BURST[:-1]])
    )
    return seen(times_s, random, hz, ppm)


def seen(
    times_s: NDArray[np.float64],
    random: np.random.Generator,
    hz: float = HZ,
    ppm: float = 80.0,
) -> Run:
    ticks = [7 * 10**12 + int(t * HZ * (1 + ppm * 1e-6)) for t in times_s]
    return Run(
        times_s, ticks, (np.ceil(times_s * hz + random.random()) - 0.5) / hz, hz, random
    )


def aligned(run: Run, edges: NDArray[np.float64], **more: object) -> Alignment:
    return align(
        run.ticks,
        HZ,
        np.sort(edges),
        run.hz,
        debounce_s=DEBOUNCE_HOLDS * max(HOLD_S, 2 / run.hz),
        **more,
    )  # type: ignore[arg-type]


def codes(run: Run, edges: NDArray[np.float64], **more: object) -> list[str]:
    return [problem.code for problem in aligned(run, edges, **more).problems]


def strangers(
    run: Run, count: int, first_s: float, last_s: float
) -> NDArray[np.float64]:
    """Return edges without a mark, not so close to a mark that they could be its edge."""
    result = run.random.uniform(first_s, last_s, 20 * count)
    far = np.min(np.abs(result[:, None] - run.times_s), axis=1) > 10 * run.limit_s
    return np.asarray(result[far][:count])


# Right matches


@given(
    seed=st.integers(0, 10**6),
    ppm=st.floats(-400, 400),
    hz=st.sampled_from(RATES),
    rhythm=st.booleans(),
)
@settings(max_examples=length(60, 30), deadline=None)
def test_all_marks_find_their_edges_for_any_skew(
    seed: int, ppm: float, hz: float, rhythm: bool
) -> None:
    run = session(seed, hz, ppm, rhythm)
    alignment = aligned(run, run.edges)
    assert (alignment.problems, alignment.pairs) == ((), len(run.ticks))
    assert (
        alignment.timebase is not None
        and alignment.timebase.residual_max_s < run.limit_s
    )


@pytest.mark.parametrize("ppm", [-500, -499, 499, 500])
@pytest.mark.parametrize("rhythm", [False, True])
@pytest.mark.parametrize("hz", [*RATES, 10_000, 1_000])
def test_clocks_that_differ_by_the_limit_are_right_also_at_a_coarse_monitor(
    ppm: float, rhythm: bool, hz: float
) -> None:
    for seed in range(length(10, 3)):
        run = session(seed, hz, ppm, rhythm)
        assert codes(run, run.edges) == []


def test_an_offset_of_hours_and_ticks_of_sixty_bits_have_no_effect() -> None:
    run = session(1)
    ticks = [tick + 2**60 for tick in run.ticks]
    alignment = align(ticks, HZ, run.edges + 20_000, HZ)
    assert (alignment.problems, alignment.pairs) == ((), len(ticks))
    assert alignment.timebase is not None and alignment.timebase.residual_max_s < 2e-6


@pytest.mark.parametrize("hz", RATES)
def test_jitter_up_to_the_limit_is_no_problem(hz: float) -> None:
    for seed in range(10):
        run = session(seed, hz)
        run = seen(
            run.times_s + run.random.uniform(-1.4 / hz, 1.4 / hz, len(run.times_s)),
            run.random,
            hz,
        )
        assert codes(run, run.edges) == []


@pytest.mark.parametrize("tick_hz", [1_000, 32_768, 100_000])
def test_a_device_with_a_coarse_timer_is_as_good_as_its_ticks(tick_hz: int) -> None:
    random = np.random.default_rng(3)
    times_s = np.cumsum(random.uniform(0.02, 0.1, 200))
    ticks = [int(time_s * tick_hz * (1 + 50e-6)) for time_s in times_s]
    alignment = align(ticks, tick_hz, np.ceil(times_s * HZ) / HZ - 0.5 / HZ, HZ)
    assert (alignment.problems, alignment.pairs) == ((), 200)
    assert alignment.timebase is not None
    assert (
        abs(alignment.timebase.s_per_tick * tick_hz * (1 + 50e-6) - 1)
        < 4 * alignment.timebase.slope_u
    )


def test_an_hour_with_a_crystal_that_warms_and_cools_is_followed() -> None:
    random = np.random.default_rng(5)
    times_s = np.cumsum(random.uniform(0.1, 0.6, 10_000))
    drifting_s = times_s + 1e-6 * 3600 / (2 * np.pi) * (
        1 - np.cos(2 * np.pi * times_s / 3600)
    )
    ticks = [int(t * HZ) for t in times_s]
    edges = np.ceil(drifting_s * HZ) / HZ - 0.5 / HZ
    whole = align(ticks, HZ, edges, HZ)
    assert (whole.problems, whole.pairs) == ((), 10_000)
    assert whole.timebase is not None and whole.timebase.drift_ppm == pytest.approx(
        2.0, rel=0.05
    )
    lost = random.choice(10_000, 1000, replace=False)
    holed = align(ticks, HZ, np.delete(edges, lost), HZ)
    assert ([problem.code for problem in holed.problems], holed.pairs) == (
        ["edges"],
        9000,
    )
    assert {i for i, _ in holed.links} == set(range(10_000)) - set(lost.tolist())


# Missing or extra edges


@pytest.mark.parametrize("rhythm", [False, True])
@pytest.mark.parametrize("hz", RATES)
@pytest.mark.parametrize("count", [1, 5, 20])
@pytest.mark.parametrize("where", ["start", "middle", "end", "anywhere"])
def test_missing_edges_are_named_and_shift_no_edge(
    where: str, count: int, hz: float, rhythm: bool
) -> None:
    for seed in range(length(5, 2)):
        run = session(seed, hz, rhythm=rhythm)
        whole = np.arange(len(run.ticks))
        lost = {
            "start": whole[:count],
            "middle": whole[60 : 60 + count],
            "end": whole[-count:],
            "anywhere": np.sort(run.random.choice(whole, count, replace=False)),
        }[where]
        alignment = aligned(run, np.delete(run.edges, lost))
        assert [problem.code for problem in alignment.problems] == ["edges"]
        named = ", ".join(str(number + 1) for number in lost[:5]) + (
            " and 15 more" if count == 20 else ""
        )
        detail = alignment.problems[0].detail
        assert detail.endswith(f"; no edge for mark {named}"), detail
        assert (
            alignment.timebase is not None
            and alignment.timebase.residual_max_s < run.limit_s
        )


@pytest.mark.parametrize("lost", [slice(0, 8), slice(-8, None)])
@pytest.mark.parametrize("rhythm", [False, True])
def test_a_burst_that_was_not_seen_is_missing_and_shifts_no_edge(
    lost: slice, rhythm: bool
) -> None:
    run = session(2, rhythm=rhythm)
    alignment = aligned(run, np.delete(run.edges, lost))
    assert ([problem.code for problem in alignment.problems], alignment.pairs) == (
        ["edges"],
        len(run.ticks) - 8,
    )


@pytest.mark.parametrize("rhythm", [False, True])
@pytest.mark.parametrize("hz", RATES)
@pytest.mark.parametrize("count", [1, 5, 20])
@pytest.mark.parametrize(
    "where", ["start", "middle", "end of an idle time", "end", "anywhere"]
)
def test_extra_edges_are_named_and_shift_no_edge(
    where: str, count: int, hz: float, rhythm: bool
) -> None:
    for seed in range(length(5, 2)):
        run = session(seed, hz, rhythm=rhythm)
        t = run.times_s
        spans = {
            "start": (0.0, t[0]),
            "middle": (t[20], t[90]),
            "end of an idle time": (t[9] - 0.1, t[9]),
            "end": (t[-1], t[-1] + 0.3),
        }
        extra = strangers(run, count, *spans.get(where, (0.0, t[-1] + 0.3)))
        alignment = aligned(run, np.concatenate([run.edges, extra]))
        assert [problem.code for problem in alignment.problems] == ["edges"]
        assert "no edge for" not in alignment.problems[0].detail
        assert alignment.pairs == len(run.ticks)
        assert (
            alignment.timebase is not None
            and alignment.timebase.residual_max_s < run.limit_s
        )


@pytest.mark.parametrize("hz", RATES)
def test_bounces_are_named_and_the_first_edge_counts(hz: float) -> None:
    run = session(4, hz)
    hold_s = max(HOLD_S, 2 / hz)
    at = np.array([0, 9, 33, 80])
    # About the fall, and about the rise one hold later.
    bounces = run.edges[at] + np.array([0.1, 0.3, 1.0, 1.1]) * hold_s
    alignment = aligned(run, np.concatenate([run.edges, bounces]))
    assert (len(alignment.problems), alignment.pairs, alignment.bounced) == (
        1,
        len(run.ticks),
        4,
    )
    assert alignment.problems[0].code == "edges" and alignment.problems[
        0
    ].detail.endswith("; bounced: edge 2, 12, 37, 85")
    assert (
        alignment.timebase is not None
        and alignment.timebase.residual_max_s < run.limit_s
    )


def test_a_spike_just_before_a_pulse_is_extra_and_the_pulse_keeps_its_mark() -> None:
    run = session(4)
    alignment = aligned(run, np.concatenate([run.edges, [run.edges[30] - 40e-6]]))
    assert [problem.detail.split("; ")[1:] for problem in alignment.problems] == [
        ["no mark for edge 31"]
    ]
    assert [problem.edge for problem in alignment.problems] == [31]


def test_marks_whose_edges_fell_into_lost_samples_are_not_missing() -> None:
    run = session(6)
    gaps_s = [(run.edges[50] - 1e-4, run.edges[70] + 1e-4)]
    whole = aligned(run, np.delete(run.edges, np.arange(50, 71)), gaps_s=gaps_s)
    assert (whole.problems, whole.in_gaps, whole.pairs) == ((), 21, len(run.ticks) - 21)
    one_more = aligned(run, np.delete(run.edges, np.arange(50, 72)), gaps_s=gaps_s)
    assert [problem.detail.split("; ")[1:] for problem in one_more.problems] == [
        ["no edge for mark 72"]
    ]


def test_a_trial_whose_samples_are_lost_has_a_gap_and_no_loose_wire() -> None:
    run = session(6)
    none = np.zeros(0)
    lost = aligned(run, none, gaps_s=[(0.0, float(run.edges[-1]))])
    assert [problem.code for problem in lost.problems] == ["gap"]
    assert [
        problem.code for problem in aligned(run, none, gaps_s=[(0.0, 0.1)]).problems
    ] == ["edges"]


# Stretched and scattered edges


@pytest.mark.parametrize("stretch", [4 / 3, 2.0, 0.75, 0.5, 1.001, 0.999])
@pytest.mark.parametrize("rhythm", [False, True])
def test_a_monitor_whose_time_is_stretched_is_a_clock_problem(
    stretch: float, rhythm: bool
) -> None:
    run = session(1, ppm=0.0, rhythm=rhythm)
    alignment = aligned(run, run.edges * stretch)
    assert [problem.code for problem in alignment.problems] == ["clock"]
    assert f"stretched {stretch:.4f} times" in alignment.problems[0].detail
    assert ("logs more channels" in alignment.problems[0].detail) == (
        abs(stretch - 1) > 0.1
    )


@pytest.mark.parametrize("stretch", [4 / 3, 2.0, 0.75, 0.5, 1.0015])
@pytest.mark.parametrize("rhythm", [False, True])
@pytest.mark.parametrize("hz", RATES)
def test_a_stretch_is_named_with_its_ratio_also_when_edges_are_lost(
    stretch: float, rhythm: bool, hz: float
) -> None:
    for seed, lost in enumerate(
        [[3], [0, 1, 2, 60, 61, 130], range(8), range(20), range(-20, 0)]
    ):
        run = session(seed, hz, 0.0, rhythm)
        alignment = aligned(run, np.delete(run.edges, list(lost)) * stretch)
        assert [problem.code for problem in alignment.problems] == ["edges", "clock"]
        reported = re.search(r"stretched ([0-9.]+) times", alignment.problems[1].detail)
        assert reported and float(reported[1]) == pytest.approx(stretch, abs=1.5e-4)
        assert alignment.pairs == len(run.ticks) - len(list(lost))


@pytest.mark.parametrize("late_limits", [1.2, 2.0, 6.0])
def test_one_edge_off_the_line_is_a_sync_problem_and_moves_no_other(
    late_limits: float,
) -> None:
    run = session(1)
    edges = run.edges.copy()
    edges[30] += late_limits * run.limit_s
    alignment = aligned(run, edges)
    assert [problem.code for problem in alignment.problems] == ["sync"]
    assert (
        alignment.timebase is not None
        and alignment.timebase.points == len(run.ticks) - 1
    )
    assert alignment.timebase.residual_s < 1e-6 < alignment.timebase.residual_max_s


def test_edges_that_all_scatter_are_a_sync_problem_and_not_missing() -> None:
    for seed in range(length(10, 4)):
        run = session(seed)
        assert codes(run, run.edges + run.random.normal(0, 20e-6, len(run.edges))) == [
            "sync"
        ]


def test_ticks_that_run_backwards_are_a_clock_problem() -> None:
    run = session(1)
    ticks = [*run.ticks[:50], *(tick - run.ticks[49] for tick in run.ticks[50:])]
    alignment = align(ticks, HZ, run.edges, HZ)
    assert alignment.timebase is None and [
        problem.code for problem in alignment.problems
    ] == ["clock"]
    assert "mark 51" in alignment.problems[0].detail


# What cannot be aligned


def test_no_edges_at_all_ask_for_the_wire() -> None:
    run = session(1)
    alignment = aligned(run, np.zeros(0))
    assert alignment.timebase is None
    assert (
        alignment.problems[0].code == "edges"
        and "wired" in alignment.problems[0].detail
    )


@pytest.mark.parametrize("edges", [[], [1.0], [1.0, 2.0]])
@pytest.mark.parametrize("ticks", [[], [5], [5, 5], [5, 10]])
def test_next_to_nothing_is_an_edges_problem(
    ticks: list[int], edges: list[float]
) -> None:
    alignment = align(ticks, HZ, np.array(edges), HZ)
    assert (alignment.timebase, alignment.pairs) == (None, 0)
    assert [problem.code for problem in alignment.problems] == ["edges"]


def test_two_edges_out_of_many_prove_no_statement() -> None:
    run = session(1)
    alignment = aligned(run, run.edges[[30, 70]])
    assert (alignment.timebase, [problem.code for problem in alignment.problems]) == (
        None,
        ["edges"],
    )


@given(
    seed=st.integers(0, 10**6),
    share=st.sampled_from([0.05, 0.3, 1.0, 2.0]),
    hz=st.sampled_from([*RATES, 1_000]),
    rhythm=st.booleans(),
)
@settings(max_examples=length(100, 30), deadline=None)
def test_edges_of_something_else_are_never_aligned(
    seed: int, share: float, hz: float, rhythm: bool
) -> None:
    run = session(seed, hz, rhythm=rhythm)
    count = int(share * len(run.ticks))
    alignment = aligned(run, run.random.uniform(0, run.times_s[-1], count))
    assert (alignment.timebase, [problem.code for problem in alignment.problems]) == (
        None,
        ["edges"],
    )


def test_a_rhythm_without_beginning_and_end_can_be_read_in_more_than_one_way() -> None:
    run = seen(np.cumsum(np.tile([0.005, 0.042, 0.003], 40)), np.random.default_rng(1))
    alignment = aligned(run, run.edges[3:])
    assert (alignment.timebase, [problem.code for problem in alignment.problems]) == (
        None,
        ["edges"],
    )
    assert "more than one way" in alignment.problems[0].detail


# All of it at once


@given(
    seed=st.integers(0, 2**32),
    marks=st.integers(24, 300),
    longest_s=st.sampled_from([0.05, 0.5, 60.0]),
    ppm=st.floats(-400, 400),
    hz=st.sampled_from(RATES),
    lost=st.floats(0, 0.1),
    extra=st.floats(0, 0.1),
)
@settings(max_examples=length(200, 80), deadline=None)
def test_every_pair_is_a_true_pair_and_nearly_all_are_found(
    seed: int,
    marks: int,
    longest_s: float,
    ppm: float,
    hz: float,
    lost: float,
    extra: float,
) -> None:
    random = np.random.default_rng(seed)
    phases_s = np.exp(random.uniform(np.log(1e-3), np.log(longest_s), marks - 16))
    run = seen(
        np.cumsum(
            np.concatenate([[random.uniform(0, 3)], BURST, phases_s, BURST[:-1]])
        ),
        random,
        hz,
        ppm,
    )
    kept = np.sort(random.choice(marks, marks - int(lost * marks), replace=False))
    others = strangers(run, int(extra * marks), run.times_s[0] - 1, run.times_s[-1] + 1)
    edges = np.concatenate([run.edges[kept], others])
    truth = np.concatenate([kept, np.full(len(others), -1)])[np.argsort(edges)]
    alignment = align(run.ticks, HZ, np.sort(edges), hz)
    assert all(truth[edge] == mark for mark, edge in alignment.links)
    assert alignment.pairs >= 0.95 * len(kept)
    assert [problem.code for problem in alignment.problems] == (
        ["edges"] if len(kept) < marks or len(others) else []
    )


@pytest.mark.parametrize(
    ("hold_s", "edge_hz", "due_s"),
    [(1e-3, 1e6, 1.25e-3), (1e-3, 2e3, 1e-3), (1e-3, 1e3, 0.0), (50e-6, 1e5, 62.5e-6)],
)
def test_bounces_end_before_the_next_mark_that_the_monitor_can_resolve(
    hold_s: float, edge_hz: float, due_s: float
) -> None:
    assert debounce_s(hold_s, edge_hz) == pytest.approx(due_s)
