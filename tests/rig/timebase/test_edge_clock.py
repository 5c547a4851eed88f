# SPDX-License-Identifier: Apache-2.0
"""Edges as the clock of a device that sends no times: taken only where no fact
contradicts that they are the marks'.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.problems import Problem
from rig.timebase.edge_clock import ticks_of_edges

HOST_HZ = 1_000_000
EDGE_HZ = 5_000.0
#: A burst, an idle time, a load, two windows, a burst: moments of the pulses in
#: seconds.
PULSES_S = (0.0, 0.005, 0.02, 1.0, 2.0, 5.0, 15.0, 15.5, 25.5, 26.0, 26.02)

lateness = st.lists(st.floats(0.0, 0.1), min_size=len(PULSES_S), max_size=len(PULSES_S))


def host_of(late_s: list[float]) -> list[int]:
    heard_s = np.maximum.accumulate(
        [1000.0 + at_s + late for at_s, late in zip(PULSES_S, late_s, strict=True)]
    )
    return [round(at_s * HOST_HZ) for at_s in heard_s]


def seen(pulses_s: tuple[float, ...] = PULSES_S) -> np.ndarray:
    return np.round(np.array(pulses_s) * EDGE_HZ + 3000) / EDGE_HZ


@given(lateness)
def test_the_ticks_are_those_of_the_edges_however_late_the_host_heard_of_them(
    late_s: list[float],
) -> None:
    ticks = ticks_of_edges(host_of(late_s), HOST_HZ, seen(), EDGE_HZ)
    assert ticks == tuple(round(at_s * EDGE_HZ) + 3000 for at_s in PULSES_S)


@pytest.mark.parametrize("missing", range(len(PULSES_S)))
def test_a_missing_edge_is_named_and_nothing_is_reported(missing: int) -> None:
    problem = ticks_of_edges(
        host_of([0.0] * len(PULSES_S)), HOST_HZ, np.delete(seen(), missing), EDGE_HZ
    )
    assert isinstance(problem, Problem)
    assert (problem.code, problem.detail[:27]) == (
        "edges",
        "11 marks, 10 falling edges,",
    )


def test_an_edge_too_many_is_named() -> None:
    problem = ticks_of_edges(
        host_of([0.0] * len(PULSES_S)),
        HOST_HZ,
        np.sort(np.append(seen(), 7.0)),
        EDGE_HZ,
    )
    assert isinstance(problem, Problem)
    assert "11 marks, 12 falling edges" in problem.detail


def test_no_edges_at_all_ask_for_the_wire() -> None:
    problem = ticks_of_edges(
        host_of([0.0] * len(PULSES_S)), HOST_HZ, np.zeros(0), EDGE_HZ
    )
    assert isinstance(problem, Problem)
    assert "is SYNC wired" in problem.detail


@given(lateness, st.integers(3, 9), st.floats(6.0, 14.0))
def test_one_edge_missing_and_another_too_many_are_no_windows(
    late_s: list[float], missing: int, stray_s: float
) -> None:
    wrong = np.sort(np.append(np.delete(seen(), missing), seen((stray_s,))))
    problem = ticks_of_edges(host_of(late_s), HOST_HZ, wrong, EDGE_HZ)
    assert isinstance(problem, Problem)
    assert "the host saw" in problem.detail


@pytest.mark.parametrize("stretch", [4 / 3, 2.0, 3 / 4, 0.5])
def test_a_stretched_clock_of_the_monitor_is_seen(stretch: float) -> None:
    problem = ticks_of_edges(
        host_of([0.0] * len(PULSES_S)), HOST_HZ, seen() * stretch, EDGE_HZ
    )
    assert isinstance(problem, Problem)
    assert "the monitor's clock is wrong" in problem.detail


def test_the_first_two_edges_that_do_not_fit_are_named() -> None:
    later_s = (*PULSES_S[:4], *(at_s + 0.5 for at_s in PULSES_S[4:]))
    late = host_of([0.0] * len(PULSES_S))
    problem = ticks_of_edges(late, HOST_HZ, seen(later_s), EDGE_HZ)
    assert isinstance(problem, Problem)
    named = "edges 4 and 5 lie 1.500 s apart, the host saw 1.000 s between these marks"
    assert problem.detail.startswith(named)
