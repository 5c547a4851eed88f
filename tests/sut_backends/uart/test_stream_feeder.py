# SPDX-License-Identifier: Apache-2.0
"""Streams on the real firmware as a process: answers, marks, what starves or overruns,
and a line that loses bytes.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from benchmarks.paced_line import PacedLine
from rig.errors import DeadlineError, DeviceRestarted, LocalProtocolError
from rig.interfaces.context import BenchContext
from rig.model.completion import DECIDED, END, STREAM, Completion
from rig.model.steps import Idle, Load, Query, Scene, Stream
from sut_backends.hosted.posix import DutProcess, PosixSut
from sut_backends.lines.faults import LineFaults
from sut_backends.shim.messages import StreamState, TakenMessage
from sut_backends.uart.backend import UartSut

pytestmark = pytest.mark.posix

HZ = 8000
HOP = 400
WINDOW = 800
SAMPLE_B = 2
SLOTS = 16  # of the firmware as a process
ANSWER_B = 64  # the null workload's: the first bytes of its input


@contextmanager
def opened(program: Path, context: BenchContext, **settings: Any) -> Iterator[PosixSut]:
    sut = PosixSut.open(PosixSut.Settings(program=str(program), **settings), context)
    try:
        yield sut
    finally:
        sut.close()


def stream_of(
    windows: int, hop: int = HOP, window: int = WINDOW, sample_hz: int = HZ, **more: Any
) -> tuple[Stream, list[bytes]]:
    """Return a stream of so many windows, and their samples, as a session cuts them."""
    samples = (windows - 1) * hop + window
    signal = random.Random(windows).randbytes(samples * SAMPLE_B)
    cut = [
        signal[k * hop * SAMPLE_B : (k * hop + window) * SAMPLE_B]
        for k in range(windows)
    ]
    return Stream((Scene("noise", (0,), samples),), hop, window, sample_hz, **more), cut


def lateness_us(
    step: Stream, done: Completion, tick_hz: int = 1_000_000
) -> list[float]:
    """Return how much later than its last sample each window began."""
    ready = (
        done.marks[0].tick + (k * step.hop + step.window) * tick_hz // step.sample_hz
        for k in range(step.windows)
    )
    begun = (mark.tick for mark in done.marks if mark.phase == 1)
    return [
        1e6 * (start - at) / tick_hz for start, at in zip(begun, ready, strict=False)
    ]


def test_every_window_is_answered_and_marked_and_none_begins_before_its_last_sample(
    null_program: Path, context: BenchContext
) -> None:
    step, windows = stream_of(24)
    with opened(null_program, context, tick_hz=7_000_003) as sut:
        assert sut.info.streams
        assert sut.info.slots == SLOTS
        done = sut.do(step, windows)
        late_us = lateness_us(step, done, sut.info.tick_hz)
    assert done.faults == ()
    assert done.iterations == len(late_us) == 24
    assert done.output == b"".join(window[:ANSWER_B] for window in windows)
    assert [mark.phase for mark in done.marks] == [STREAM, *[1, 2, DECIDED] * 24, END]
    assert all(first.tick < second.tick for first, second in pairwise(done.marks))
    # A window begins as soon as it is there; how much later one may on this machine is
    # up to who else wants it.
    assert min(late_us) >= 0
    assert median(late_us) < 10_000


def test_the_edges_of_a_stream_are_in_the_world_with_idle_power_while_it_listens(
    null_program: Path, context: BenchContext
) -> None:
    step, windows = stream_of(5)
    with opened(null_program, context) as sut:
        before = len(context.world.states())
        done = sut.do(step, windows)
        sut.do(Idle(0.15))  # by then the wire has been read
        context.world.horizon_ns()
        falls = [state for state in context.world.states(before) if not state.level][
            : len(done.marks)
        ]
        assert sut.edges.late_events == sut.edges.reordered_events == 0
    assert [state.power_w for state in falls] == [
        0.010,
        *[0.030, 0.050, 0.010] * 5,
        0.010,
    ]
    by_tick = [(mark.tick - done.marks[0].tick) / 1e6 for mark in done.marks]
    assert by_tick == pytest.approx(
        [(state.time_ns - falls[0].time_ns) / 1e9 for state in falls], abs=2.1e-6
    )


def test_the_answers_of_a_stream_are_those_of_queries_on_the_same_windows(
    null_program: Path, context: BenchContext
) -> None:
    step, windows = stream_of(4, hop=2000, window=8000)
    with opened(null_program.with_name("asc"), context) as sut:
        done = sut.do(step, windows)
        alone = b""
        for index, window in enumerate(windows):
            sut.do(Load(index), [window])
            alone += sut.do(Query((index,), limit_s=5.0)).output
    assert done.faults == ()
    assert done.output == alone


@pytest.mark.parametrize("settings", [{"frame_baud": 921_600}, {"host_clock": True}])
def test_the_answers_are_right_however_the_device_is_reached(
    null_program: Path, context: BenchContext, settings: dict[str, Any]
) -> None:
    step, windows = stream_of(30)
    with opened(null_program, context, **settings) as sut:
        done = sut.do(step, windows)
    assert done.output == b"".join(window[:ANSWER_B] for window in windows)
    assert done.faults == ()


def test_a_line_that_loses_doubles_and_changes_bytes_changes_no_answer(
    null_program: Path, context: BenchContext
) -> None:
    # 4 kB/s, and such a line carries several times as much.
    step, windows = stream_of(20, hop=200, window=400, sample_hz=1000)
    with opened(
        null_program,
        context,
        faults=LineFaults(drop=0.0005, duplicate=0.0005, flip=0.0005, seed=11),
    ) as sut:
        done = sut.do(step, windows)
    assert done.faults == ()
    assert done.output == b"".join(window[:ANSWER_B] for window in windows)
    assert done.retransmissions > 0


def test_a_preloaded_stream_is_silent_until_it_is_over(
    null_program: Path, context: BenchContext
) -> None:
    step, windows = stream_of(SLOTS, preloaded=True)
    sent_s: list[float] = []
    with opened(null_program, context) as sut:
        context.listen(lambda direction, block: sent_s.append(time.monotonic()))
        done = sut.do(step, windows)
    assert done.output == b"".join(window[:ANSWER_B] for window in windows)
    assert (done.rx_in_window_b, done.faults) == (0, ())
    played_s = (15 * HOP + WINDOW) / HZ
    assert done.marks[-1].tick - done.marks[0].tick >= 1e6 * played_s
    assert (
        max(after - before for before, after in pairwise(sent_s)) >= played_s
    )  # not a byte either way


def test_a_device_that_lags_behind_a_preloaded_stream_is_left_in_peace_until_it_is_done(
    null_program: Path, context: BenchContext
) -> None:
    # 20 ms more than a hop for each window: the last answer comes 370 ms after the last
    # sample.
    step, windows = stream_of(SLOTS, preloaded=True)
    with opened(null_program, context, slow_hop_us=70_000) as sut:
        done = sut.do(step, windows)
    assert (done.iterations, done.rx_in_window_b, done.faults) == (SLOTS, 0, ())


def test_a_preloaded_stream_that_does_not_fit_is_refused_with_the_limit(
    null_program: Path, context: BenchContext
) -> None:
    with (
        opened(null_program, context) as sut,
        pytest.raises(
            LocalProtocolError,
            match=(
                f"{SLOTS + 1} windows: the DUT has {SLOTS} slots and keeps 64 answers"
            ),
        ),
    ):
        sut.do(*stream_of(SLOTS + 1, preloaded=True))


def test_windows_that_are_none_are_refused(
    null_program: Path, context: BenchContext
) -> None:
    step, _ = stream_of(1)
    with opened(null_program, context) as sut:
        for windows in ([], [b""], [bytes(sut.info.slot_bytes + 1)]):
            with pytest.raises(
                LocalProtocolError,
                match=f"windows, of 1 to {sut.info.slot_bytes} bytes",
            ):
                sut.do(step, windows)


def test_the_text_layer_refuses_streams(
    null_program: Path, context: BenchContext
) -> None:
    with opened(null_program, context, layer="text") as sut:
        assert not sut.info.streams
        with pytest.raises(
            LocalProtocolError, match="the text layer has no command for"
        ):
            sut.do(*stream_of(2))


@pytest.mark.paced
def test_a_line_that_is_too_slow_starves_the_stream_and_keeps_what_was_answered(
    start_dut: Callable[..., DutProcess], context: BenchContext
) -> None:
    step, windows = stream_of(80, hop=25, window=100, sample_hz=1000)
    with PacedLine(start_dut().port, 38_400, 0.0) as line:
        sut = UartSut.open(UartSut.Settings(port=line.path, baud=38_400), context)
        try:
            done = sut.do(step, windows)
            again = sut.do(*stream_of(2))
        finally:
            sut.close()
    assert done.iterations is not None
    assert SLOTS < done.iterations < 80
    assert (
        f"starved: window {done.iterations} was not there when it was to be processed"
        in done.faults[-1]
    )
    assert done.output == b"".join(
        window[:ANSWER_B] for window in windows[: done.iterations]
    )
    assert [mark.phase for mark in done.marks] == [
        STREAM,
        *[1, 2, DECIDED] * done.iterations,
        END,
    ]
    assert again.faults == ()


def test_a_device_that_is_too_slow_overruns_and_says_so(
    null_program: Path, context: BenchContext
) -> None:
    step, windows = stream_of(40)
    with opened(null_program, context, slow_hop_us=300_000) as sut:
        done = sut.do(step, windows)
    assert done.iterations is not None
    assert 1 <= done.iterations < 40
    assert done.faults[-1].startswith(
        f"overrun: the device came to window {done.iterations} when its slot was due"
        " for another"
    )
    assert f"with {done.iterations} of 40 windows answered" in done.faults[-1]
    assert [mark.phase for mark in done.marks] == [
        STREAM,
        *[1, 2, DECIDED] * done.iterations,
        END,
    ]


def test_a_stream_that_does_not_end_in_time_is_a_deadline_error(
    null_program: Path, context: BenchContext
) -> None:
    with (
        opened(null_program, context, slow_hop_us=300_000) as sut,
        pytest.raises(DeadlineError, match="end of the stream") as caught,
    ):
        sut.do(*stream_of(SLOTS, limit_s=0.01))
    assert f"of {SLOTS} windows were answered" in caught.value.evidence


def test_a_restart_in_the_middle_of_a_stream_is_an_error_and_not_gone_on_with(
    null_program: Path, context: BenchContext
) -> None:
    with opened(null_program, context, restart_after_queries=1) as sut:
        sut.do(Load(0), [bytes(100)])
        sut.do(Query((0,)))
        with pytest.raises(DeviceRestarted):
            sut.do(*stream_of(20))


def test_samples_that_were_loaded_before_a_stream_are_gone_after_it(
    null_program: Path, context: BenchContext
) -> None:
    with opened(null_program, context) as sut:
        sut.do(Load(0), [bytes(100)])
        sut.do(*stream_of(1))
        with pytest.raises(LocalProtocolError, match="sample 0 is not loaded"):
            sut.do(Query((0,)))
        sut.do(Load(0), [b"new"])
        assert sut.do(Query((0,))).output == b"new"


def test_taken_is_read_as_it_was_packed_and_records_of_unequal_length_are_refused():
    records = bytes(range(24)) + b"abcd"
    taken = TakenMessage(
        StreamState.PLAYING,
        4,
        10,
        0,
        done=3,
        late=1,
        worst_window=2,
        worst_ticks=99,
        code=0,
        first=1,
        count=2,
        records=records * 2,
    )
    assert TakenMessage.unpack(taken.pack()) == taken
    numbers = tuple(
        int.from_bytes(bytes(range(at, at + 8)), "little") for at in (0, 8, 16)
    )
    assert taken.split(3) == [(numbers, b"abcd")] * 2
    for wrong in (taken.pack() + b"x", taken.pack()[:20]):
        with pytest.raises(ValueError, match="TAKEN"):
            TakenMessage.unpack(wrong)
    with pytest.raises(ValueError, match="records of 28 bytes, 4 marks have 32"):
        taken.split(4)
