# SPDX-License-Identifier: Apache-2.0
"""What every system under test promises, on its simulator: one row a backend."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import pytest

from rig.errors import DeadlineError, LocalProtocolError
from rig.interfaces.context import BenchContext
from rig.interfaces.sut import SystemUnderTest
from rig.kinds.stream import captured
from rig.model.completion import BATCH, DECIDED, END, IDLE, REACHED, STREAM
from rig.model.steps import Idle, Load, Query, Scene, Solve, Stream, Sync
from scenarios.tasks.qubo.task import QuboTask
from sut_backends.cpu.backend import CpuSut
from sut_backends.hosted.posix import PosixSut
from sut_backends.hosted.qemu import QemuSut
from sut_backends.served.endpoints import LOOPBACK, Endpoint, PtyEndpoint, TcpEndpoint
from sut_backends.uart.backend import UartSut
from sut_backends.virtual.backend import VirtualSut
from tests.boards import image
from tests.sut_backends.served.serving import echo, serving
from tests.sut_backends.uart import public_programs

pytestmark = pytest.mark.posix
SAMPLE = bytes(range(64))
#: Of a stream, in samples of one byte.
HOP = 50
WINDOW = 100
SAMPLE_HZ = 400
WINDOWS = 6


@dataclass
class OpenedSut:
    """A system under test and its properties: its phases, whether it counts iterations,
    whether its time is the host's; how many iterations take it longer than 0.03 s.
    """

    sut: SystemUnderTest
    phases: int
    counts: bool = True
    host_time: bool = True
    too_many: int = 1_000_000


def virtual(context: BenchContext, program: Path, port: Callable[[], str]) -> OpenedSut:
    context = replace(context, reference=lambda payload: payload)
    return OpenedSut(
        VirtualSut.open(VirtualSut.Settings(slots=4), context), 2, too_many=1_000
    )


def posix(context: BenchContext, program: Path, port: Callable[[], str]) -> OpenedSut:
    return OpenedSut(PosixSut.open(PosixSut.Settings(program=str(program)), context), 2)


def cpu(context: BenchContext, program: Path, port: Callable[[], str]) -> OpenedSut:
    context = replace(context, programs={"null": public_programs.program("null")})
    return OpenedSut(CpuSut.open(CpuSut.Settings(slots=4), context), 2)


def qemu(context: BenchContext, program: Path, port: Callable[[], str]) -> OpenedSut:
    return OpenedSut(
        QemuSut.open(QemuSut.Settings(program=str(image("mps2", "null"))), context),
        2,
        host_time=False,
    )


def uart_framed(
    context: BenchContext, program: Path, port: Callable[[], str]
) -> OpenedSut:
    return OpenedSut(
        UartSut.open(UartSut.Settings(port=port(), layer="framed"), context), 2
    )


def uart_text(
    context: BenchContext, program: Path, port: Callable[[], str]
) -> OpenedSut:
    return OpenedSut(
        UartSut.open(UartSut.Settings(port=port(), layer="text"), context),
        1,
        counts=False,
        # A busy computer may look for the answer as late as 0.2 s.
        too_many=10_000_000,
    )


def served_virtual(
    context: BenchContext, program: Path, port: Callable[[], str]
) -> OpenedSut:
    settings = UartSut.Settings(port=port(), simulated=True)
    return OpenedSut(
        UartSut.open(settings, context), 2, host_time=False, too_many=1_000
    )


def served_cpu(
    context: BenchContext, program: Path, port: Callable[[], str]
) -> OpenedSut:
    return OpenedSut(UartSut.open(UartSut.Settings(port=port()), context), 2)


SERVED: dict[
    Callable[..., OpenedSut],
    tuple[Callable[[], SystemUnderTest], Callable[[], Endpoint]],
]
SERVED = {
    served_virtual: (lambda: echo(8), PtyEndpoint),
    served_cpu: (
        lambda: CpuSut.open(
            CpuSut.Settings(slots=8),
            BenchContext(programs={"null": public_programs.program("null")}),
        ),
        lambda: TcpEndpoint(LOOPBACK, 0),
    ),
}


@pytest.fixture(
    params=[
        virtual,
        posix,
        cpu,
        qemu,
        uart_framed,
        uart_text,
        served_virtual,
        served_cpu,
    ],
    ids=lambda backend: backend.__name__,
)
def opened(
    request: pytest.FixtureRequest, null_program: Path, start_dut: Callable[..., object]
) -> Iterator[OpenedSut]:
    context = BenchContext()
    context.world.supply_on = True
    with ExitStack() as stack:
        port = lambda: start_dut().port  # type: ignore[attr-defined]  # noqa: E731
        if request.param in SERVED:
            open_sut, open_endpoint = SERVED[request.param]
            endpoint = open_endpoint()
            stack.enter_context(serving(open_sut, endpoint))
            port = lambda: endpoint.url  # noqa: E731
        result = request.param(context, null_program, port)
        stack.callback(result.sut.close)
        yield result


def test_a_query_marks_each_phase_and_its_end_in_order(opened: OpenedSut) -> None:
    opened.sut.do(Load(3), [SAMPLE])
    completion = opened.sut.do(Query((3,), limit_s=10.0))
    assert [mark.phase for mark in completion.marks] == [
        *range(1, opened.phases + 1),
        END,
    ]
    assert [mark.tick for mark in completion.marks] == sorted(
        mark.tick for mark in completion.marks
    )
    assert completion.output
    assert completion.rx_in_window_b == 0


def test_a_batch_is_one_window_with_every_answer_in_order_or_is_refused(
    opened: OpenedSut,
) -> None:
    payloads = {
        index: bytes([index]) * 64
        for index in range(min(opened.sut.info.batch_max, 3) or 1)
    }
    for index, payload in payloads.items():
        opened.sut.do(Load(index), [payload])
    query = Query(tuple(reversed(payloads)), limit_s=10.0, repeat=5, batch=True)
    if not opened.sut.info.batch_max:
        with pytest.raises(LocalProtocolError, match=r"batch|one at a time"):
            opened.sut.do(query)
        return
    assert len(payloads) == 3
    completion = opened.sut.do(query)
    assert [mark.phase for mark in completion.marks] == [BATCH, END]
    assert completion.output == b"".join(payloads[index] for index in query.indices)
    assert completion.iterations == 15
    assert opened.sut.do(Query((1,), limit_s=10.0)).output == payloads[1]


def test_the_iterations_of_a_query_are_reported_where_the_device_counts_them(
    opened: OpenedSut,
) -> None:
    opened.sut.do(Load(3), [SAMPLE])
    for repeat in (1, 7):
        completion = opened.sut.do(Query((3,), repeat=repeat, limit_s=10.0))
        assert completion.iterations == (repeat if opened.counts else None)
    assert opened.sut.do(Idle(0.01)).iterations == (0 if opened.counts else None)
    assert opened.sut.do(Sync()).iterations == (0 if opened.counts else None)


def test_an_idle_time_lasts_at_least_as_long_as_asked(opened: OpenedSut) -> None:
    start, stop = opened.sut.do(Idle(0.05)).marks
    assert (start.phase, stop.phase) == (IDLE, END)
    assert (stop.tick - start.tick) / opened.sut.info.tick_hz >= 0.05 * 0.999


def test_a_burst_has_two_marks_or_more_and_uneven_intervals(opened: OpenedSut) -> None:
    ticks = [mark.tick for mark in opened.sut.do(Sync()).marks]
    intervals = {
        round((later - earlier) / opened.sut.info.tick_hz, 3)
        for earlier, later in pairwise(ticks)
    }
    assert len(ticks) >= 2 and len(intervals) > 1


def test_a_sample_that_is_not_loaded_is_refused(opened: OpenedSut) -> None:
    opened.sut.do(Load(3), [SAMPLE])
    with pytest.raises(LocalProtocolError):
        opened.sut.do(Query((4,), limit_s=10.0))


def test_the_same_sample_gives_the_same_output_again(opened: OpenedSut) -> None:
    opened.sut.do(Load(3), [SAMPLE])
    outputs = {opened.sut.do(Query((3,), limit_s=10.0)).output for _ in range(3)}
    assert len(outputs) == 1


def test_a_query_beyond_its_limit_is_a_deadline_error(opened: OpenedSut) -> None:
    opened.sut.do(Load(3), [SAMPLE])
    with pytest.raises(DeadlineError):
        opened.sut.do(Query((3,), limit_s=0.03, repeat=opened.too_many))


def listener(opened: OpenedSut) -> SystemUnderTest:
    """Return a system that streams; of one that does not, test that it says so, and
    skip the rest.
    """
    if not opened.sut.info.streams:
        with pytest.raises(LocalProtocolError, match="stream"):
            opened.sut.do(*stream_of(2))
        pytest.skip("it refuses streams, as it says")
    return opened.sut


def stream_of(windows: int, *, preloaded: bool = False) -> tuple[Stream, list[bytes]]:
    """Return a stream of so many windows, and the samples of each."""
    samples = (windows - 1) * HOP + WINDOW
    signal = bytes(sample % 251 for sample in range(samples))
    step = Stream(
        (Scene("counting", (0,), samples),),
        HOP,
        WINDOW,
        SAMPLE_HZ,
        preloaded,
        limit_s=60.0,
    )
    return step, [signal[k * HOP : k * HOP + WINDOW] for k in range(windows)]


def test_a_stream_marks_its_start_each_phase_each_decision_and_its_end_and_answers_every_window(
    opened: OpenedSut,
) -> None:
    step, windows = stream_of(WINDOWS)
    done = listener(opened).do(step, windows)
    assert [mark.phase for mark in done.marks] == [
        STREAM,
        *[*range(1, opened.phases + 1), DECIDED] * WINDOWS,
        END,
    ]
    assert all(early.tick < late.tick for early, late in pairwise(done.marks))
    length_b = len(done.output) // WINDOWS
    assert length_b > 0
    assert done.output == b"".join(window[:length_b] for window in windows)
    assert (done.iterations, done.faults, done.restarts) == (WINDOWS, (), 0)


def test_no_window_of_a_stream_begins_before_its_last_sample_was_captured(
    opened: OpenedSut,
) -> None:
    step, windows = stream_of(WINDOWS)
    done = listener(opened).do(step, windows)
    begun = [mark.tick for mark in done.marks if mark.phase == 1]
    lasts = [window * HOP + WINDOW - 1 for window in range(WINDOWS)]
    ready = [
        captured(done.marks[0].tick, last, SAMPLE_HZ, opened.sut.info.tick_hz)
        for last in lasts
    ]
    assert [tick >= at for tick, at in zip(begun, ready, strict=True)] == [
        True
    ] * WINDOWS


def test_a_preloaded_stream_has_the_same_answers_and_nothing_is_heard_meanwhile(
    opened: OpenedSut,
) -> None:
    step, windows = stream_of(3, preloaded=True)
    done = listener(opened).do(step, windows)
    assert done.output == b"".join(
        window[: len(done.output) // 3] for window in windows
    )
    assert (done.iterations, done.faults) == (3, ())
    # When a board's clock is slower than the host's, it is asked too early whether the
    # stream is over, and this is reported.
    assert done.rx_in_window_b == 0 or not opened.host_time


def test_more_preloaded_windows_than_slots_are_refused_and_a_shorter_stream_still_plays(
    opened: OpenedSut,
) -> None:
    sut = listener(opened)
    with pytest.raises(LocalProtocolError, match=str(opened.sut.info.slots)):
        sut.do(*stream_of(opened.sut.info.slots + 1, preloaded=True))
    assert sut.do(*stream_of(1, preloaded=True)).iterations == 1


def test_what_was_loaded_before_a_stream_is_gone_after_it(opened: OpenedSut) -> None:
    sut = listener(opened)
    opened.sut.do(Load(3), [SAMPLE])
    sut.do(*stream_of(1))
    with pytest.raises(LocalProtocolError):
        opened.sut.do(Query((3,), limit_s=10.0))
    opened.sut.do(Load(3), [SAMPLE])
    assert opened.sut.do(Query((3,), limit_s=10.0)).output


def test_a_search_is_refused_by_a_system_that_says_it_cannot(opened: OpenedSut) -> None:
    opened.sut.do(Load(0), [SAMPLE])
    assert (opened.sut.info.solves, opened.sut.info.thresholds_max) == (False, 0)
    with pytest.raises(LocalProtocolError):
        opened.sut.do(Solve(0, 0.01, seed=1))


def test_closing_twice_is_allowed(opened: OpenedSut) -> None:
    opened.sut.close()
    opened.sut.close()


@pytest.fixture(scope="module")
def task() -> QuboTask:
    """Give one small workload."""
    return QuboTask.open(
        QuboTask.Settings(nodes=(50,), densities=(0.1,), seeds=(0,)), BenchContext()
    )


def virtual_solver(context: BenchContext, program: Path) -> SystemUnderTest:
    return VirtualSut.open(VirtualSut.Settings(), context)


def posix_solver(context: BenchContext, program: Path) -> SystemUnderTest:
    return PosixSut.open(
        PosixSut.Settings(program=str(program.with_name("qubo"))), context
    )


def cpu_solver(context: BenchContext, program: Path) -> SystemUnderTest:
    if not shutil.which("cc"):
        pytest.skip(
            "the reference search needs a C compiler: apt-get install gcc libc6-dev"
        )
    return CpuSut.open(CpuSut.Settings("reference"), context)


def qemu_solver(context: BenchContext, program: Path) -> SystemUnderTest:
    return QemuSut.open(QemuSut.Settings(program=str(image("mps2", "qubo"))), context)


@pytest.fixture(
    params=[virtual_solver, posix_solver, cpu_solver, qemu_solver],
    ids=lambda backend: backend.__name__,
)
def solver(
    request: pytest.FixtureRequest, null_program: Path, task: QuboTask
) -> Iterator[SystemUnderTest]:
    context = BenchContext(searcher=task.searcher, programs=task.programs)
    context.world.supply_on = True
    result = request.param(context, null_program)
    yield result
    result.close()


@pytest.fixture
def searching(solver: SystemUnderTest, task: QuboTask) -> SystemUnderTest:
    """Give a system that has the workload in its memory."""
    assert solver.info.solves
    solver.do(Load(0), [task.payload(0)])
    return solver


def test_a_search_marks_start_thresholds_and_end_and_its_vector_is_as_good_as_marked(
    searching: SystemUnderTest, task: QuboTask
) -> None:
    thresholds = (-1, -2, -5, -10, -15, -40)
    done = searching.do(Solve(0, 0.05, seed=1, thresholds=thresholds))
    phases = [mark.phase for mark in done.marks]
    assert (phases[0], phases[-1], done.iterations) == (1, END, 1)
    reached = [phase - REACHED for phase in phases[1:-1]]
    assert reached and reached == sorted({*reached})
    assert all(early.tick < late.tick for early, late in pairwise(done.marks))
    costs = task.score(0, done.output).costs
    assert costs is not None and costs.claimed == costs.cost <= thresholds[reached[-1]]
    # No vector of 50 nodes costs less than -50; this graph's best is far from -40 as
    # well.
    assert max(reached) < len(thresholds) - 1


def test_a_search_without_a_target_takes_its_time_out_and_one_with_a_target_ends_there(
    solver: SystemUnderTest, searching: SystemUnderTest
) -> None:
    timeout_s = 0.05
    marks = searching.do(Solve(0, timeout_s, seed=1)).marks
    begun, ended = marks[0].tick, marks[-1].tick
    assert (ended - begun) / solver.info.tick_hz >= timeout_s * 0.999
    done = searching.do(Solve(0, 60.0, seed=1, target=-5, thresholds=(-5,)))
    assert [mark.phase for mark in done.marks] == [1, REACHED, END]
    assert (done.marks[-1].tick - done.marks[0].tick) / solver.info.tick_hz < 60.0


def test_the_same_seed_finds_the_same_vector_and_every_answer_has_one_length(
    searching: SystemUnderTest,
) -> None:
    first, again, other = (
        searching.do(Solve(0, 60.0, seed=seed, target=-12)).output for seed in (7, 7, 8)
    )
    assert first == again
    assert len(first) == len(other) > 0


def test_a_search_of_what_is_not_loaded_or_for_too_many_thresholds_is_refused(
    solver: SystemUnderTest, searching: SystemUnderTest
) -> None:
    with pytest.raises(LocalProtocolError, match="not loaded"):
        searching.do(Solve(1, 0.01, seed=1))
    too_many = tuple(-number for number in range(solver.info.thresholds_max + 1))
    with pytest.raises(LocalProtocolError, match="thresholds"):
        searching.do(Solve(0, 0.01, seed=1, thresholds=too_many))
    assert searching.do(Solve(0, 0.01, seed=1, thresholds=too_many[1:])).output


def test_a_solver_has_idle_times_and_bursts_and_closes_twice(
    solver: SystemUnderTest,
) -> None:
    assert [mark.phase for mark in solver.do(Idle(0.01)).marks] == [IDLE, END]
    assert len(solver.do(Sync()).marks) >= 2
    solver.close()
    solver.close()
