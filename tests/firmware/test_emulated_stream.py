# SPDX-License-Identifier: Apache-2.0
"""Streams on emulated cores: the firmware's machine code listens, by the board's own
timer, while it is fed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from rig.errors import LocalProtocolError
from rig.interfaces.context import BenchContext
from rig.model.completion import DECIDED, END, STREAM, Mark
from rig.model.steps import Load, Query, Scene, Stream
from scenarios.tasks.asc.task import AscTask
from sut_backends.hosted.qemu import QemuSut
from tests.boards import BOARDS, image
from tests.conftest import ROOT

SIGNAL = bytes(range(250)) * 4


@contextmanager
def board(port: str, workload: str) -> Iterator[QemuSut]:
    context = BenchContext(seed=1)
    context.world.supply_on = True
    settings = QemuSut.Settings(
        program=str(image(port, workload)), machine=BOARDS[port]
    )
    sut = QemuSut.open(settings, context)
    try:
        yield sut
    finally:
        sut.close()


def stream_of(
    signal: bytes, windows: int, hop: int, window: int, sample_hz: int, preloaded: bool
) -> tuple[Stream, list[bytes]]:
    """Return a stream of 16-bit samples, and the samples of each of its windows."""
    step = Stream(
        (Scene("any", (0,), (windows - 1) * hop + window),),
        hop,
        window,
        sample_hz,
        preloaded,
        limit_s=60.0,
    )
    return step, [signal[2 * k * hop : 2 * (k * hop + window)] for k in range(windows)]


def begun_late_us(step: Stream, marks: Sequence[Mark]) -> list[int]:
    begun = [mark.tick for mark in marks if mark.phase == 1]
    return [
        tick
        - marks[0].tick
        - (k * step.hop + step.window) * 1_000_000 // step.sample_hz
        for k, tick in enumerate(begun)
    ]


@pytest.mark.parametrize("port", [port for port in BOARDS if port != "microbit"])
def test_a_core_listens_to_a_stream_while_it_is_fed(port: str) -> None:
    # The emulator takes in some kilobytes a second: 100 bytes every quarter of one
    # leave it time on a busy machine.
    step, windows = stream_of(SIGNAL, 7, 25, 50, 100, preloaded=False)
    with board(port, "null") as sut:
        assert sut.info.streams
        done = sut.do(step, windows)
        assert sut.late_events == sut.edges.reordered_events == 0
    assert done.faults == ()
    assert [mark.phase for mark in done.marks] == [STREAM, *[1, 2, DECIDED] * 7, END]
    assert done.output == b"".join(window[:64] for window in windows)
    # It may wake up late, where its host does; it never begins early, and its own
    # arithmetic takes nearly no time.
    assert 0 <= min(begun_late_us(step, done.marks)) < 50
    took = [
        last.tick - first.tick
        for first, last in zip(done.marks[1::3], done.marks[3::3], strict=False)
    ]
    assert 0 < max(took) < 1_000


def test_a_core_with_one_slot_plays_what_it_holds_and_refuses_more() -> None:
    step, windows = stream_of(SIGNAL, 1, 25, 50, 100, preloaded=True)
    with board("microbit", "null") as sut:
        done = sut.do(step, windows)
        assert (done.output, done.faults) == (windows[0][:64], ())
        with pytest.raises(LocalProtocolError, match="one slot"):
            sut.do(*stream_of(SIGNAL, 2, 25, 50, 100, preloaded=False))


def test_asc_hears_in_a_stream_what_it_hears_in_a_query() -> None:
    task = AscTask.open(AscTask.Settings(samples=2), BenchContext(folder=ROOT, seed=1))
    step, windows = stream_of(
        task.payload(0) + task.payload(1), 2, 4000, 8000, 8000, preloaded=True
    )
    with board("mps2", "asc") as sut:
        done = sut.do(step, windows)
        sut.do(Load(0), [windows[1]])
        alone = sut.do(Query((0,), limit_s=60.0)).output
    assert done.output[-len(alone) :] == alone
    assert len(done.output) == 2 * len(alone)
    assert (done.faults, done.rx_in_window_b) == ((), 0)
    assert min(begun_late_us(step, done.marks)) >= 0
