# SPDX-License-Identifier: Apache-2.0
"""A program on this computer's processor: its input, its core, and its ends."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import pairwise

import pytest

from rig.errors import (
    BenchError,
    ConfigError,
    DeadlineError,
    DeviceLost,
    LocalProtocolError,
    SutError,
)
from rig.interfaces.context import BenchContext
from rig.interfaces.cpu_program import Program
from rig.model.completion import BATCH, END, REACHED
from rig.model.steps import Idle, Load, Query, Solve, Sync
from rig.settings.check import checked
from scenarios.tasks.asc.nirfile import read_model
from scenarios.tasks.asc.programs import network
from scenarios.tasks.asc.task import SHIPPED_MODEL
from sut_backends.cpu.backend import CpuSut
from tests.sut_backends.uart.public_programs import program

Open = Callable[..., CpuSut]


@pytest.fixture
def start(context: BenchContext) -> Iterator[Open]:
    """Start programs by name; all are ended."""
    context = replace(
        context,
        programs={
            name: program(name)
            for name in ("null", "talkative", "mortal", "stairs", "sleeper")
        },
    )
    with ExitStack() as stack:

        def opened(name: str, **settings: int) -> CpuSut:
            return stack.enter_context(
                closing(CpuSut.open(CpuSut.Settings(name, **settings), context))
            )

        yield opened


def test_its_marks_lie_between_the_readings_of_the_hosts_clock_around_it(
    start: Open,
) -> None:
    sut = start("null")
    sut.do(Load(0), [b"a"])
    before_ns = time.monotonic_ns()
    ticks = [mark.tick for mark in sut.do(Query((0,), repeat=1000)).marks]
    assert before_ns <= ticks[0] < ticks[1] < ticks[2] <= time.monotonic_ns()
    assert (sut.info.clock, sut.info.tick_hz, sut.info.simulated) == (
        "CLOCK_MONOTONIC",
        10**9,
        False,
    )


def test_simulated_monitors_see_an_edge_and_the_stated_power_from_every_mark_on(
    start: Open, context: BenchContext
) -> None:
    sut = start("null")
    origin_ns = context.world.monotonic_ns
    sut.do(Load(0), [b"a"])
    marks = [
        *sut.do(Sync()).marks,
        *sut.do(Idle(0.01)).marks,
        *sut.do(Query((0,), repeat=20_000)).marks,
    ]
    states = context.world.states()
    falls = [
        (now.time_ns, now.power_w)
        for before, now in pairwise(states)
        if before.level and not now.level
    ]
    power_w = {0x50: 0.012, 0x40: 0.010, 0x00: 0.010, 0x01: 0.030, 0x02: 0.050}
    assert falls == [(mark.tick - origin_ns, power_w[mark.phase]) for mark in marks]
    sut.close()
    assert context.world.states()[-1].power_w == 0.0
    assert context.world.horizon_ns() >= context.world.states()[-1].time_ns


def test_phases_shorter_than_a_pulse_still_have_an_edge_each(
    start: Open, context: BenchContext
) -> None:
    sut = start("null", sync_hold_us=5_000)
    sut.do(Load(0), [b"a"])
    marks = sut.do(Query((0,))).marks
    states = context.world.states()
    falls = [
        now.time_ns
        for before, now in pairwise(states)
        if before.level and not now.level
    ]
    assert falls[-3:] == [mark.tick - context.world.monotonic_ns for mark in marks]


def test_a_batch_has_one_window_and_the_outputs_of_its_samples_in_order(
    start: Open,
) -> None:
    sut = start("null")
    for index in range(5):
        sut.do(Load(index), [bytes([index]) * 3])
    completion = sut.do(Query((4, 0, 2), repeat=7, batch=True))
    assert [mark.phase for mark in completion.marks] == [BATCH, END]
    assert (completion.output, completion.iterations) == (b"\4\4\4\0\0\0\2\2\2", 21)


def test_a_search_marks_what_it_reaches_and_stops_at_its_target(start: Open) -> None:
    sut = start("stairs")
    sut.do(Load(0), [b"100"])
    before_ns = time.monotonic_ns()
    completion = sut.do(Solve(0, 10.0, seed=0, target=-6, thresholds=(-2, -5, -9)))
    marks = completion.marks
    assert [mark.phase for mark in marks] == [1, REACHED, REACHED + 1, END]
    # A step down takes 2 ms and more.
    for mark, steps in zip(marks, (0, 2, 5, 6), strict=True):
        assert mark.tick - marks[0].tick >= steps * 2_000_000
    assert before_ns <= marks[0].tick and marks[-1].tick <= time.monotonic_ns()
    assert json.loads(completion.output) == [-6, True, [-2, -2, -5, -5, -5, -6]], (
        "it is told how far down to search"
    )


def test_a_search_without_a_target_goes_on_until_its_time_is_over(start: Open) -> None:
    sut = start("stairs")
    sut.do(Load(0), [b"3"])
    completion = sut.do(Solve(0, 0.05, seed=1))
    assert (completion.marks[-1].tick - completion.marks[0].tick) >= 50_000_000
    cost, met, asked = json.loads(completion.output)
    assert (cost, met, set(asked)) == (-3, False, {None})


def test_thresholds_that_are_reached_at_once_have_one_mark(start: Open) -> None:
    sut = start("stairs")
    sut.do(Load(0), [b"100"])
    completion = sut.do(Solve(0, 1.0, seed=5, target=-7, thresholds=(-3, -4, -5, -7)))
    assert [mark.phase for mark in completion.marks] == [
        1,
        REACHED + 2,
        REACHED + 3,
        END,
    ]
    assert completion.known is not None and len(completion.known) == 4
    assert (
        completion.known[0]
        == completion.known[1]
        == completion.known[2]
        < completion.known[3]
    )
    assert completion.marks[0].tick <= completion.known[0] <= completion.marks[1].tick


def test_marks_of_a_search_lie_two_pulses_apart_and_none_is_lost(
    start: Open, context: BenchContext
) -> None:
    sut = start("stairs", sync_hold_us=3_000)
    sut.do(Load(0), [b"100"])
    marks = sut.do(
        Solve(0, 10.0, seed=0, target=-20, thresholds=tuple(range(-1, -15, -1)))
    ).marks
    assert all(late.tick - early.tick >= 6_000_000 for early, late in pairwise(marks))
    assert marks[-2].phase == REACHED + 13 and marks[-1].phase == END
    states = context.world.states()
    falls = [
        now.time_ns
        for before, now in pairwise(states)
        if before.level and not now.level
    ]
    assert falls[-len(marks) :] == [
        mark.tick - context.world.monotonic_ns for mark in marks
    ]


def test_a_search_that_does_not_look_at_the_time_is_seen_to_overrun_it(
    start: Open,
) -> None:
    sut = start("sleeper")
    sut.do(Load(0), [b"9"])
    completion = sut.do(Solve(0, 0.02, seed=0, thresholds=(-9,)))
    assert [mark.phase for mark in completion.marks] == [1, REACHED, END]
    assert completion.marks[-1].tick - completion.marks[0].tick >= 70_000_000
    with pytest.raises(DeadlineError, match="end of the search"):
        sut.do(Solve(0, 0.02, seed=0, limit_s=0.001))


def test_what_a_program_cannot_do_is_refused(start: Open) -> None:
    searches = start("stairs")
    runs = start("null")
    assert (
        searches.info.solves,
        searches.info.batch_max,
        searches.info.thresholds_max,
    ) == (
        True,
        0,
        16,
    )
    assert (runs.info.solves, runs.info.thresholds_max) == (False, 0)
    for sut in (searches, runs):
        sut.do(Load(0), [b"5"])
    with pytest.raises(LocalProtocolError, match="no phases"):
        searches.do(Query((0,)))
    with pytest.raises(LocalProtocolError, match="does not search"):
        runs.do(Solve(0, 0.1, seed=0))
    with pytest.raises(LocalProtocolError, match="17 thresholds"):
        searches.do(Solve(0, 0.1, seed=0, thresholds=tuple(range(0, -17, -1))))
    with pytest.raises(LocalProtocolError):
        searches.do(Solve(1, 0.1, seed=0))


def test_what_a_program_prints_is_no_answer(start: Open) -> None:
    sut = start("talkative")
    sut.do(Load(0), [b"a"])
    assert sut.do(Query((0,), repeat=3)).output == b"a"


def test_a_failing_program_is_a_sut_error_with_its_words_and_lives_on(
    start: Open,
) -> None:
    sut = start("mortal")
    with pytest.raises(SutError, match="refuses") as refused:
        sut.do(Load(0), [b"\1"])
    assert "no ones" in refused.value.evidence
    sut.do(Load(0), [b"\0"])
    with pytest.raises(SutError, match="failed") as failed:
        sut.do(Query((0,)))
    assert "ZeroDivisionError" in failed.value.evidence
    sut.do(Load(0), [b"\2"])
    assert sut.do(Query((0,))).output.isdigit()


def test_a_process_that_dies_is_lost_with_its_exit_code(start: Open) -> None:
    sut = start("mortal")
    sut.do(Load(0), [b""])
    with pytest.raises(DeviceLost) as caught:
        sut.do(Query((0,)))
    assert "exit code 7" in caught.value.evidence
    with pytest.raises(DeviceLost):
        sut.do(Load(0), [b"\2"])


def test_a_limit_of_more_years_than_a_clock_counts_is_no_limit(start: Open) -> None:
    sut = start("null")
    sut.do(Load(0), [b"a"])
    assert sut.do(Query((0,), limit_s=1e300)).iterations == 1


def test_after_a_deadline_the_program_is_gone_and_says_so(start: Open) -> None:
    sut = start("null")
    sut.do(Load(0), [b"a"])
    with pytest.raises(DeadlineError):
        sut.do(Query((0,), limit_s=0.01, repeat=100_000_000))
    with pytest.raises(DeviceLost):
        sut.do(Load(0), [b"a"])


@pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity"), reason="this system pins no processes"
)
def test_a_pinned_program_runs_on_its_core_and_the_rig_stays_where_it_was(
    start: Open,
) -> None:
    before = os.sched_getaffinity(0)
    core = max(before)
    assert start("null", core=core).info.details["cores"] == [core]
    assert start("null").info.details["cores"] == sorted(before)
    assert os.sched_getaffinity(0) == before


def test_what_decides_the_speed_is_reported(start: Open) -> None:
    details = start("null").info.details
    assert details["overhead_ns"] > 0
    assert {
        "python",
        "numpy",
        "cores",
        "pinned",
        "threads",
        "governor",
        "garbage_collector",
        "program",
    } <= set(details)


def test_settings_that_cannot_be_are_refused_by_name(context: BenchContext) -> None:
    for settings, path in (
        (CpuSut.Settings("other"), "sut.cpu.program"),
        (CpuSut.Settings(), "sut.cpu.program"),
        (CpuSut.Settings(core=100_000), "sut.cpu.core"),
        (CpuSut.Settings(threads=0), "sut.cpu.threads"),
        (CpuSut.Settings(slots=0), "sut.cpu.slots"),
    ):
        with pytest.raises(ConfigError) as caught:
            CpuSut.open(checked(settings, "sut.cpu"), context)
        assert caught.value.path == path


def test_a_program_that_is_not_there_says_why(context: BenchContext) -> None:
    context = replace(
        context,
        programs={
            "gone": Program("tests.sut_backends.uart.public_programs:gone", "null")
        },
    )
    with pytest.raises(BenchError, match="does not start") as caught:
        CpuSut.open(CpuSut.Settings(), context)
    assert "gone" in caught.value.evidence


def test_a_tasks_network_is_the_program_nir_of_a_task_without_programs(
    context: BenchContext,
) -> None:
    networked = replace(
        context, network=network(SHIPPED_MODEL, read_model(SHIPPED_MODEL))
    )
    with closing(CpuSut.open(CpuSut.Settings(), networked)) as sut:
        assert (sut.info.details["program"], sut.info.task) == ("nir", "asc")
        sut.do(Load(0), [bytes(16_000)])
        assert [mark.phase for mark in sut.do(Query((0,))).marks] == [1, 2, END]
    with pytest.raises(ConfigError) as caught:
        CpuSut.open(CpuSut.Settings("integer"), networked)
    assert caught.value.try_next == "one of nir"
