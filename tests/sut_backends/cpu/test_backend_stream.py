# SPDX-License-Identifier: Apache-2.0
"""Streams on this computer's processor: by its own clock, out of a pipe, and what ends
one early.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import pairwise
from statistics import median

import pytest

from rig.errors import DeadlineError, DeviceLost, LocalProtocolError, SutError
from rig.interfaces.context import BenchContext
from rig.model.completion import DECIDED, END, STREAM, Completion
from rig.model.steps import Load, Query, Scene, Stream
from sut_backends.cpu.backend import CpuSut
from sut_backends.workers.inside.stream import Inlet, Signal, played
from tests.sut_backends.uart import public_programs
from tests.sut_backends.uart.public_programs import program

Open = Callable[..., CpuSut]
HZ = 1000
#: A hop that a busy machine does not miss twice in a row.
SAFE = 150


@pytest.fixture
def start(context: BenchContext) -> Iterator[Open]:
    """Start programs by name; all are ended."""
    context = replace(
        context, programs={name: program(name) for name in ("null", "moody", "stairs")}
    )
    with ExitStack() as stack:

        def opened(name: str, **settings: int) -> CpuSut:
            return stack.enter_context(
                closing(CpuSut.open(CpuSut.Settings(name, **settings), context))
            )

        yield opened


def stream_of(windows: int, hop: int = 20, **more: float) -> Stream:
    """Return a stream of so many windows, of two hops each, a sample a millisecond."""
    return Stream((Scene("any", (0,), (windows + 1) * hop),), hop, 2 * hop, HZ, **more)


def moods(*first: int) -> list[bytes]:
    """Return windows that begin with these bytes, each followed by its number."""
    return [bytes([mood, number]) for number, mood in enumerate(first)]


def lateness_ns(step: Stream, done: Completion) -> list[int]:
    begun = (mark.tick for mark in done.marks if mark.phase == 1)
    return [
        tick - done.marks[0].tick - (k * step.hop + step.window) * 10**9 // HZ
        for k, tick in enumerate(begun)
    ]


def test_windows_begin_when_their_last_sample_is_captured_by_the_hosts_clock(
    start: Open,
) -> None:
    step = stream_of(20)
    sut = start("null")
    before_ns = time.monotonic_ns()
    done = sut.do(step, [bytes([number]) for number in range(20)])
    assert before_ns <= done.marks[0].tick
    assert done.marks[-1].tick <= time.monotonic_ns()
    assert (done.output, done.iterations, done.faults) == (bytes(range(20)), 20, ())
    late_ns = lateness_ns(step, done)
    # None begins too early; how much later one may on this machine is up to who else
    # wants it.
    assert min(late_ns) >= 0
    assert median(late_ns) < 10_000_000


def test_windows_larger_than_the_pipe_are_taken_in_while_others_are_played(
    start: Open,
) -> None:
    windows = [bytes([number]) * 200_000 for number in range(7)]
    done = start("null", slots=3).do(stream_of(7, SAFE), windows)
    assert done.output == b"".join(window[:64] for window in windows)
    assert done.iterations == 7


def test_simulated_monitors_see_a_pulse_a_mark_two_holds_apart_and_idle_power_while_it_listens(
    start: Open, context: BenchContext
) -> None:
    sut = start("null", sync_hold_us=2_000)
    before = len(context.world.states())
    marks = sut.do(stream_of(4), [b"a"] * 4).marks
    falls = [
        now
        for last, now in pairwise(context.world.states(before - 1))
        if last.level and not now.level
    ]
    assert [state.time_ns for state in falls] == [
        mark.tick - context.world.monotonic_ns for mark in marks
    ]
    assert [state.power_w for state in falls] == [
        0.010,
        *[0.030, 0.050, 0.010] * 4,
        0.010,
    ]
    assert all(late.tick - early.tick >= 4_000_000 for early, late in pairwise(marks))


@pytest.mark.paced  # a device that is not slow must be in time
def test_a_program_that_is_too_slow_overruns_and_goes_on_afterwards(
    start: Open,
) -> None:
    sut = start("moody", slots=2)
    done = sut.do(stream_of(8), moods(*[20] * 8))
    assert done.iterations is not None
    assert 1 <= done.iterations < 8
    assert done.output == bytes(range(done.iterations))
    assert [mark.phase for mark in done.marks] == [
        STREAM,
        *[1, 2, DECIDED] * done.iterations,
        END,
    ]
    assert done.faults[-1].startswith(
        f"overrun: the device came to window {done.iterations} when its slot was due"
        " for another; "
    )
    assert f"with {done.iterations} of 8 windows answered" in done.faults[-1]
    # Bytes still on their way are no part of the next answer.
    assert sut.do(stream_of(3, SAFE), moods(0, 0, 0)).output == b"\0\1\2"
    sut.do(Load(7), [b"\0\7"])
    assert sut.do(Query((7,))).output == b"\7"


@pytest.mark.parametrize(
    ("mood", "words"),
    [(101, "ZeroDivisionError: of no use"), (100, "ValueError: not this one")],
)
def test_a_program_that_fails_or_refuses_a_window_ends_the_stream_and_what_was_answered_is_kept(
    start: Open, mood: int, words: str
) -> None:
    sut = start("moody", slots=2)
    # Two windows are loaded before, and a refusal is heard when the window comes: while
    # an earlier one is awaited.
    done = sut.do(stream_of(7, SAFE), moods(*[0] * 4, mood, 0, 0))
    assert done.iterations is not None
    assert 2 < done.iterations <= 4
    assert done.output == bytes(range(done.iterations))
    assert [mark.phase for mark in done.marks] == [
        STREAM,
        *[1, 2, DECIDED] * done.iterations,
        END,
    ]
    assert done.faults[-1].startswith(f"the program failed: {words}; ")
    assert sut.do(stream_of(2), moods(0, 0)).faults == ()


def test_a_window_that_is_refused_before_the_stream_begins_is_an_error(
    start: Open,
) -> None:
    sut = start("moody")
    with pytest.raises(SutError, match="refuses"):
        sut.do(stream_of(2), moods(0, 100))
    assert sut.do(stream_of(2), moods(0, 0)).output == b"\0\1"


def test_answers_of_different_lengths_are_an_error(start: Open) -> None:
    sut = start("moody")
    with pytest.raises(SutError, match="failed") as caught:
        sut.do(stream_of(3), moods(0, 103, 0))
    assert "differ in length" in caught.value.evidence
    assert sut.do(stream_of(2), moods(0, 0)).output == b"\0\1"


def test_a_process_that_dies_in_a_stream_is_lost_with_its_exit_code(
    start: Open,
) -> None:
    sut = start("moody", slots=2)
    with pytest.raises(DeviceLost) as caught:
        sut.do(stream_of(6, SAFE), moods(0, 0, 102, *[0] * 3))
    assert "exit code 9" in caught.value.evidence


@pytest.mark.parametrize("size_b", [2, 200_000])
def test_a_stream_that_does_not_end_in_time_is_a_deadline_error(
    start: Open, size_b: int
) -> None:
    windows = [window.ljust(size_b) for window in moods(99, *[0] * 5)]
    sut = start("moody", slots=2)
    with pytest.raises(DeadlineError, match="end of the stream"):
        sut.do(stream_of(6, limit_s=0.05), windows)
    with pytest.raises(DeviceLost):
        sut.do(Load(0), [b"\0\0"])


def test_what_no_stream_can_be_is_refused(start: Open) -> None:
    with pytest.raises(LocalProtocolError, match="listens to no stream"):
        start("stairs").do(stream_of(1), [b"1"])
    sut = start("null", slots=1)
    with pytest.raises(LocalProtocolError, match="one slot"):
        sut.do(stream_of(2), [b"1", b"2"])
    for windows in ([], [b""], [b"1", b""]):
        with pytest.raises(LocalProtocolError, match="windows, of a byte or more"):
            sut.do(stream_of(2), windows)
    # One slot is enough for what fits it.
    assert sut.do(stream_of(1), [b"1"]).output == b"1"


def stalled(stalls_s: float) -> tuple[list[str], int]:
    """Play four windows out of two slots, the other two sent so late; return the
    faults, and how many windows were answered.
    """
    signal = Signal([1] * 4, slots=2, hop=200, window=400, sample_hz=HZ, apart_ns=0)
    slots: dict[int, object] = {0: b"0", 1: b"1"}
    ours, theirs = os.pipe()
    sender = threading.Timer(stalls_s, os.write, (theirs, b"23"))
    try:
        heard = played(
            public_programs.null(),
            signal,
            slots,
            Inlet(ours, signal, bytes, slots),
            sender.start,
        )
        sender.join()
    finally:
        os.close(ours)
        os.close(theirs)
    return heard.faults, len(heard.results)


def test_a_window_that_does_not_come_starves_the_stream() -> None:
    # Window 2 is wanted after 0.6 s, and ready after 0.8.
    faults, answered = stalled(2.0)
    assert answered == 2
    assert faults == [
        "starved: window 2 was not there when it was to be processed; the stream"
        " ended with 2 of 4 windows answered"
    ]


def test_a_window_that_comes_late_is_reported() -> None:
    signal = Signal([1] * 3, slots=2, hop=200, window=400, sample_hz=HZ, apart_ns=0)
    slots: dict[int, object] = {0: b"0", 1: b"1"}
    ours, theirs = os.pipe()
    os.write(theirs, b"2")

    def slow(block: bytes) -> bytes:
        # Taken at 0.4 s at the earliest, when window 0 is decided, wanted at 0.6, ready
        # at 0.8.
        time.sleep(0.3)  # it computes so long
        return block

    try:
        heard = played(
            public_programs.null(),
            signal,
            slots,
            Inlet(ours, signal, slow, slots),
            lambda: None,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert len(heard.results) == 3
    assert len(heard.faults) == 1
    assert heard.faults[0].startswith("starved: window 2 was there ")
    assert heard.faults[0].endswith(" ms after its newest hop had begun")
