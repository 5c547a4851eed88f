# SPDX-License-Identifier: Apache-2.0
"""What every system under test promises, on its simulator: one row a backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from rig.errors import DeadlineError, LocalProtocolError
from rig.plan import Query
from rig.sut import BATCH, END, IDLE, SystemUnderTest
from rig.table import Table
from sut_backends.cpu import CpuSut
from sut_backends.posix import PosixSut
from sut_backends.qemu import QemuSut
from sut_backends.uart import UartSut
from sut_backends.virtual import VirtualSut
from tests.boards import image
from tests.sut_backends import public_programs

pytestmark = pytest.mark.posix
SAMPLE = bytes(range(64))


@dataclass
class Opened:
    """A system under test and what is known of it: its phases, and whether it counts its iterations."""

    sut: SystemUnderTest
    phases: int
    counts: bool = True


def virtual(table: Table, program: Path, port: Callable[[], str]) -> Opened:
    table.reference = lambda payload: payload
    return Opened(VirtualSut.open(VirtualSut.Settings(slots=4), table), 2)


def posix(table: Table, program: Path, port: Callable[[], str]) -> Opened:
    return Opened(PosixSut.open(PosixSut.Settings(program=str(program)), table), 2)


def cpu(table: Table, program: Path, port: Callable[[], str]) -> Opened:
    table.programs = {"null": public_programs.program("null")}
    return Opened(CpuSut.open(CpuSut.Settings(), table), 2)


def qemu(table: Table, program: Path, port: Callable[[], str]) -> Opened:
    return Opened(QemuSut.open(QemuSut.Settings(program=str(image("mps2", "null"))), table), 2)


def uart_framed(table: Table, program: Path, port: Callable[[], str]) -> Opened:
    return Opened(UartSut.open(UartSut.Settings(port=port(), layer="framed"), table), 2)


def uart_text(table: Table, program: Path, port: Callable[[], str]) -> Opened:
    return Opened(UartSut.open(UartSut.Settings(port=port(), layer="text"), table), 1, counts=False)


@pytest.fixture(params=[virtual, posix, cpu, qemu, uart_framed, uart_text], ids=lambda backend: backend.__name__)
def opened(request: pytest.FixtureRequest, null_program: Path, start_dut: Callable[..., object]) -> Iterator[Opened]:
    table = Table()
    table.world.supply_on = True
    found = request.param(table, null_program, lambda: start_dut().port)  # type: ignore[attr-defined]
    yield found
    found.sut.close()


def test_a_query_marks_each_phase_and_its_end_in_order(opened: Opened) -> None:
    opened.sut.load(3, SAMPLE)
    completion = opened.sut.run(Query((3,), limit_s=10.0))
    assert [mark.phase for mark in completion.marks] == [*range(1, opened.phases + 1), END]
    assert [mark.tick for mark in completion.marks] == sorted(mark.tick for mark in completion.marks)
    assert completion.output
    assert completion.rx_in_window_b == 0


def test_a_batch_is_one_window_with_every_answer_in_order_or_is_refused(opened: Opened) -> None:
    payloads = {index: bytes([index]) * 64 for index in range(min(opened.sut.info.batch_max, 3) or 1)}
    for index, payload in payloads.items():
        opened.sut.load(index, payload)
    query = Query(tuple(reversed(payloads)), limit_s=10.0, repeat=5, batch=True)
    if not opened.sut.info.batch_max:
        with pytest.raises(LocalProtocolError, match=r"batch|one at a time"):
            opened.sut.run(query)
        return
    assert len(payloads) == 3
    completion = opened.sut.run(query)
    assert [mark.phase for mark in completion.marks] == [BATCH, END]
    assert completion.output == b"".join(payloads[index] for index in query.indices)
    assert completion.iterations == 15
    assert opened.sut.run(Query((1,), limit_s=10.0)).output == payloads[1]


def test_the_iterations_of_a_query_are_told_where_the_device_counts_them(opened: Opened) -> None:
    opened.sut.load(3, SAMPLE)
    for repeat in (1, 7):
        completion = opened.sut.run(Query((3,), repeat=repeat, limit_s=10.0))
        assert completion.iterations == (repeat if opened.counts else None)
    assert opened.sut.idle(0.01).iterations == (0 if opened.counts else None)
    assert opened.sut.sync().iterations == (0 if opened.counts else None)


def test_an_idle_time_lasts_at_least_as_long_as_asked(opened: Opened) -> None:
    start, stop = opened.sut.idle(0.05).marks
    assert (start.phase, stop.phase) == (IDLE, END)
    assert (stop.tick - start.tick) / opened.sut.info.tick_hz >= 0.05 * 0.999


def test_a_burst_has_two_marks_or_more_and_uneven_intervals(opened: Opened) -> None:
    ticks = [mark.tick for mark in opened.sut.sync().marks]
    intervals = {round((later - earlier) / opened.sut.info.tick_hz, 3) for earlier, later in pairwise(ticks)}
    assert len(ticks) >= 2 and len(intervals) > 1


def test_a_sample_that_is_not_loaded_is_refused(opened: Opened) -> None:
    opened.sut.load(3, SAMPLE)
    with pytest.raises(LocalProtocolError):
        opened.sut.run(Query((4,), limit_s=10.0))


def test_the_same_sample_gives_the_same_output_again(opened: Opened) -> None:
    opened.sut.load(3, SAMPLE)
    outputs = {opened.sut.run(Query((3,), limit_s=10.0)).output for _ in range(3)}
    assert len(outputs) == 1


def test_a_query_beyond_its_limit_is_a_deadline_error(opened: Opened) -> None:
    opened.sut.load(3, SAMPLE)
    with pytest.raises(DeadlineError):
        opened.sut.run(Query((3,), limit_s=0.03, repeat=1_000_000))


def test_closing_twice_is_allowed(opened: Opened) -> None:
    opened.sut.close()
    opened.sut.close()
