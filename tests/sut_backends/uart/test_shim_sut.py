# SPDX-License-Identifier: Apache-2.0
"""A DUT whose power is cut: while a sample is loaded, in a query, in the middle of its
text, heard and unheard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from rig.errors import DeadlineError, DeviceLost, DeviceRestarted, RemoteProtocolError
from rig.interfaces.context import BenchContext
from rig.interfaces.sut import SutInfo
from rig.model.completion import END, Completion
from rig.model.steps import Idle, Load, Query, Step, Sync
from sut_backends.hosted.posix import PosixSut
from sut_backends.uart.connect import LinkSettings
from sut_backends.uart.dut import Dut
from sut_backends.uart.shim_sut import ShimSut
from tests.waiting import eventually


def sample(index: int) -> bytes:
    return bytes((index * 31 + n * 7 + n // 256) & 0xFF for n in range(20_000))


SAMPLES = [sample(index) for index in range(4)]
HANDSHAKE_B = 150  # bytes that the DUT receives before the first sample, about


@contextmanager
def opened(program: Path, context: BenchContext, **settings: Any) -> Iterator[PosixSut]:
    sut = PosixSut.open(PosixSut.Settings(program=str(program), **settings), context)
    try:
        yield sut
    finally:
        sut.close()


def go_through(sut: PosixSut) -> list[Completion]:
    """Load each sample; run the one before again, which is still in its slot, and the
    new one."""
    done = []
    for index, sample in enumerate(SAMPLES):
        sut.do(Load(index), [sample])
        for number in (max(index - 1, 0), index):
            done.append(sut.do(Query((number,), limit_s=5.0)))
            assert done[-1].output == SAMPLES[number][:64]
            assert [mark.phase for mark in done[-1].marks] == [1, 2, END]
    return done


@pytest.mark.posix
@pytest.mark.parametrize("part", [0.0, 0.3, 0.6, 0.999, 1.002])
def test_a_power_cut_in_the_middle_of_a_load_goes_on_with_that_sample(
    null_program: Path, context: BenchContext, part: float
) -> None:
    cut_b = HANDSHAKE_B + round((2 + part) * 20_300)
    with opened(null_program, context, restart_after_bytes=cut_b) as sut:
        done = go_through(sut)
    assert [completion.restarts for completion in done].count(1) == 1
    assert sum(completion.restarts for completion in done[4:]) == 1
    marks = chain.from_iterable(completion.marks for completion in done)
    ticks = [mark.tick for mark in marks]
    # the timer began again, and this is not hidden
    assert ticks != sorted(ticks)


@pytest.mark.posix
def test_a_power_cut_in_a_query_loses_its_window_and_does_it_again(
    null_program: Path, context: BenchContext
) -> None:
    with opened(null_program, context, restart_after_queries=3) as sut:
        done = go_through(sut)
    # Closed: all edges that the device sent before it ended have been read by now.
    falls = sum(not state.level for state in context.world.states())
    assert [completion.restarts for completion in done] == [0, 0, 0, 1, 0, 0, 0, 0]
    assert falls == 3 * len(done) + 1  # the edge that the lost window had made


@pytest.mark.posix
def test_a_power_cut_is_resumed_in_the_text_layer_too(
    null_program: Path, context: BenchContext
) -> None:
    numbers = (1000).to_bytes(4, "little") + (3000).to_bytes(4, "little") + bytes(400)
    with opened(null_program, context, layer="text", restart_after_bytes=1500) as sut:
        done = []
        for _ in range(3):
            sut.do(Load(0), [numbers])
            done.append(sut.do(Query((0,), limit_s=5.0)))
    assert {completion.output[:8] for completion in done} == {
        (250).to_bytes(4, "little") + (750).to_bytes(4, "little")
    }
    assert sum(completion.restarts for completion in done) == 1


@pytest.mark.posix
@pytest.mark.parametrize(
    "fault",
    [{"restart_after_bytes": HANDSHAKE_B + 30_000}, {"restart_after_queries": 3}],
)
def test_a_restart_at_another_rate_than_the_frames_is_found_out_and_the_rate_changed_again(
    null_program: Path, context: BenchContext, fault: dict[str, int]
) -> None:
    with opened(
        null_program,
        context,
        strict_baud=True,
        frame_baud=921_600,
        timeout_s=0.7,
        **fault,
    ) as sut:
        done = go_through(sut)
        assert sut.info.details["baud"] == 921_600
    assert sum(completion.restarts for completion in done) == 1


@pytest.mark.posix
def test_a_dut_that_is_only_busy_has_not_restarted_and_keeps_its_session(
    null_program: Path, context: BenchContext
) -> None:
    with opened(null_program, context, block_ns=1000) as sut:
        sut.do(Load(0), [SAMPLES[0]])
        with pytest.raises(DeadlineError):
            sut.do(Query((0,), limit_s=0.1, repeat=400_000))

        def marked() -> bool:
            context.world.horizon_ns()
            return sum(not state.level for state in context.world.states()) >= 3

        eventually(marked)
        done = sut.do(Query((0,), limit_s=5.0))
    assert (done.output, done.restarts) == (SAMPLES[0][:64], 0)


class Scripted:
    """A DUT that acts on a test's order at its next step."""

    slots = 2

    def __init__(self, steps: list[Callable[[], None]], model: str = "m") -> None:
        self.steps, self.model, self.samples = steps, model, dict[int, bytes]()
        self.unreported_retransmissions = 0

    @property
    def info(self) -> SutInfo:
        return SutInfo(
            "dut", "uart", False, 1_000_000, "null", model=self.model, slots=self.slots
        )

    def do(self, step: Step, payloads: Sequence[bytes] = ()) -> Completion:
        if self.steps:
            self.steps.pop(0)()
        match step:
            case Load():
                self.samples[step.index] = payloads[0]
            case Query():
                return Completion((), self.samples[step.indices[0]])
        return Completion(())

    def forgotten(self) -> bool:
        return False

    def leave(self) -> None: ...


class UnusedLine:
    """A line that no byte passes."""

    name = "unused"
    baud = 115_200

    def read(self, timeout_s: float) -> bytes:
        raise AssertionError("no byte is due")

    def write(self, block: bytes) -> None:
        raise AssertionError("no byte is due")

    def set_baud(self, baud: int) -> None:
        raise AssertionError("no change of the line rate here")

    def close(self) -> None: ...


def scripted(enter: Callable[[], Dut]) -> ShimSut:
    """Return a system under test that finds these DUTs one after the other."""
    return ShimSut(
        UnusedLine(),
        LinkSettings(),
        simulated=False,
        find=lambda line, settings: enter(),
    )


def restart() -> None:
    raise DeviceRestarted("the DUT restarted", evidence="heard m-init-done")


def nothing() -> None: ...


def test_the_samples_it_had_acknowledged_come_back_and_no_others() -> None:
    first = Scripted([nothing] * 4 + [restart])
    second = Scripted([])
    duts = iter([first, second])
    sut = scripted(lambda: next(duts))
    for index in range(3):
        sut.do(Load(index), [bytes([index])])
    sut.do(Query((1,)))
    first.unreported_retransmissions = 5
    second.unreported_retransmissions = 0
    done = sut.do(Query((2,)))
    assert (done.output, done.restarts, done.retransmissions) == (b"\2", 1, 5)
    assert second.samples == {1: b"\1", 2: b"\2"}
    assert sut.do(Idle(1.0)).restarts == 0


def test_two_restarts_in_one_step_are_a_lost_device() -> None:
    duts = iter([Scripted([restart]), Scripted([restart])])
    sut = scripted(lambda: next(duts))
    with pytest.raises(DeviceLost, match="twice in one step"):
        sut.do(Idle(1.0))


def test_a_dut_that_does_not_come_back_is_lost_with_both_causes() -> None:
    def gone() -> Scripted:
        raise DeadlineError(
            "answer to `name`: the DUT is silent", 2.0, try_next="look at power"
        )

    entries: Iterator[Callable[[], Scripted]] = iter(
        [lambda: Scripted([restart]), gone]
    )
    sut = scripted(lambda: next(entries)())
    with pytest.raises(DeviceLost, match="does not come back") as caught:
        sut.do(Sync())
    assert "m-init-done" in caught.value.evidence and "silent" in caught.value.evidence


def test_a_dut_that_comes_back_with_another_model_is_refused() -> None:
    duts = iter([Scripted([restart]), Scripted([], model="other")])
    sut = scripted(lambda: next(duts))
    with pytest.raises(RemoteProtocolError, match="as another one") as caught:
        sut.do(Idle(0.0))
    assert "'other'" in caught.value.evidence
