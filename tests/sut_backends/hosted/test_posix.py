# SPDX-License-Identifier: Apache-2.0
"""PosixSut: the process, its edges as states of the world, and the ways it can end."""

from __future__ import annotations

import hashlib
import os
import signal
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rig.bench.structure import typed
from rig.errors import (
    ConfigError,
    DeadlineError,
    DeviceLost,
    DeviceNotFound,
    RemoteProtocolError,
)
from rig.interfaces.context import BenchContext
from rig.model.steps import Idle, Load, Query, Sync
from rig.simulation.world import World
from sut_backends.hosted import sync_wire
from sut_backends.hosted.posix import PosixSut
from sut_backends.hosted.sync_wire import EdgeWire, Power
from sut_backends.lines.faults import LineFaults
from tests.waiting import eventually

pytestmark = pytest.mark.posix

SAMPLE = bytes(range(256)) * 8


@contextmanager
def opened(program: Path, context: BenchContext, **settings: Any) -> Iterator[PosixSut]:
    sut = PosixSut.open(PosixSut.Settings(program=str(program), **settings), context)
    try:
        yield sut
    finally:
        sut.close()
        sut.close()
        assert not [
            thread for thread in threading.enumerate() if thread.name == "edge wire"
        ]


def test_it_says_that_it_is_simulated_and_what_it_runs(
    null_program: Path, context: BenchContext
) -> None:
    with opened(
        null_program, context, ppm=25.0, tick_hz=8_000_000, offset_ticks=5
    ) as sut:
        info = sut.info
    assert (info.kind, info.simulated, info.tick_hz, info.task) == (
        "posix",
        True,
        8_000_000,
        "null",
    )
    assert hashlib.sha256(null_program.read_bytes()).hexdigest() in info.firmware
    assert (info.details["ppm"], info.details["offset_ticks"]) == (25.0, 5)


def test_a_device_that_runs_less_often_than_asked_says_so(
    null_program: Path, context: BenchContext
) -> None:
    with opened(null_program, context, skip_iterations=3) as sut:
        sut.do(Load(0), [SAMPLE])
        assert [
            sut.do(Query((0,), repeat=repeat, limit_s=5.0)).iterations
            for repeat in (10, 4, 3, 1)
        ] == [7, 1, 0, 0]


def test_a_device_that_ends_a_batch_early_says_so(
    null_program: Path, context: BenchContext
) -> None:
    with opened(null_program, context, skip_iterations=3) as sut:
        for index in range(2):
            sut.do(Load(index), [SAMPLE])
        assert (
            sut.do(Query((0, 1), repeat=10, limit_s=5.0, batch=True)).iterations
            == 7 * 2
        )


def test_a_program_is_found_beside_the_bench_file(
    null_program: Path, tmp_path: Path, context: BenchContext
) -> None:
    (tmp_path / "dut").symlink_to(null_program)
    context = replace(context, folder=tmp_path)
    with opened(Path("dut"), context) as sut:
        assert sut.info.task == "null"


def test_edges_and_power_of_each_phase_are_in_the_world_at_the_ticks_of_the_marks(
    null_program: Path, context: BenchContext
) -> None:
    power = Power(idle=0.01, preprocess=0.03, infer=0.05, sync=0.012)
    with opened(null_program, context, power_w=power) as sut:
        sut.do(Load(0), [SAMPLE])
        done = sut.do(Query((0,)))
        burst = sut.do(Sync())
        idle = sut.do(Idle(0.05))
        states = wait_for_states(context.world, 2 * (3 + 8 + 2))
        falls = [state for state in states if not state.level]
    marks = (*done.marks, *burst.marks, *idle.marks)
    assert [state.power_w for state in falls] == [0.03, 0.05, 0.01] + [0.012] * 8 + [
        0.01,
        0.01,
    ]
    assert [state.power_w for state in states if state.level][-13:] == [
        0.03,
        0.05,
        0.01,
    ] + [0.01] * 8 + [0.01, 0.01]
    by_tick = [(mark.tick - marks[0].tick) / 1e6 for mark in marks]
    by_state = [(state.time_ns - falls[0].time_ns) / 1e9 for state in falls]
    assert by_tick == pytest.approx(by_state, abs=2.1e-6)
    assert sut.edges.late_events == sut.edges.reordered_events == 0
    assert context.world.states()[-1].power_w == 0.0  # a closed device draws no power


def wait_for_states(world: World, edges: int) -> list[Any]:
    def arrived() -> bool:
        world.horizon_ns()
        return sum(not state.level for state in world.states()) >= edges // 2

    eventually(arrived)
    return world.states()


def test_the_horizon_follows_the_clock_never_goes_back_and_never_lies(
    null_program: Path, context: BenchContext
) -> None:
    with opened(null_program, context) as sut:
        horizons = [0]
        known = [0]
        stop = threading.Event()

        def watch() -> None:
            while not stop.is_set():
                seen = len(context.world.states())
                horizons.append(context.world.horizon_ns())
                new = [state.time_ns for state in context.world.states(seen)]
                known.append(min([*new, horizons[-1]]))
                time.sleep(0.001)  # looks a thousand times a second

        watcher = threading.Thread(target=watch)
        watcher.start()
        for index in range(10):
            sut.do(Load(index), [SAMPLE])
            sut.do(Query((index,), repeat=1000))
            sut.do(Idle(0.02))
        # The state of an idle device that has answered is known up to the present.
        asleep_ns = context.world.now_ns()
        eventually(lambda: horizons[-1] > asleep_ns)
        stop.set()
        watcher.join()
        assert horizons == sorted(horizons)
        assert sut.late_events == 0


def test_a_second_device_goes_on_where_the_first_ended(
    null_program: Path, context: BenchContext
) -> None:
    with opened(null_program, context) as sut:
        sut.do(Load(0), [SAMPLE])
        sut.do(Query((0,)))
    before = len(context.world.states())
    last_ns = context.world.states()[-1].time_ns
    with opened(null_program, context) as sut:
        sut.do(Load(0), [SAMPLE])
        sut.do(Query((0,)))
        assert sut.edges.reordered_events == 0
    assert context.world.states(before)[0].time_ns >= last_ns


@pytest.mark.parametrize(
    "settings",
    [
        {"layer": "text"},
        {"strict_baud": True, "frame_baud": 460_800},
        {"faults": LineFaults(0.001, 0.001, 0.001, 3)},
    ],
)
def test_every_way_to_speak_gives_the_result(
    null_program: Path, context: BenchContext, settings: dict[str, Any]
) -> None:
    with opened(null_program, context, **settings) as sut:
        sut.do(Load(0), [(1).to_bytes(4, "little") * 4])
        output = sut.do(Query((0,))).output
    assert (
        output
        == (250 if settings.get("layer") == "text" else 1).to_bytes(4, "little") * 4
    )


def test_without_supply_there_is_no_device(null_program: Path) -> None:
    with pytest.raises(DeviceNotFound, match="no supply"):
        PosixSut.open(PosixSut.Settings(program=str(null_program)), BenchContext())


def test_a_missing_program_says_how_to_make_it(
    context: BenchContext, tmp_path: Path
) -> None:
    with pytest.raises(DeviceNotFound, match="no program") as caught:
        PosixSut.open(PosixSut.Settings(program=str(tmp_path / "asc")), context)
    assert "make firmware" in caught.value.try_next


@pytest.mark.parametrize(
    "script",
    [
        "#!/bin/sh\necho hello\n",
        "#!/bin/sh\necho broken >&2; exit 7\n",
        "no program at all",
    ],
)
def test_a_program_that_is_no_firmware_is_not_found(
    context: BenchContext, tmp_path: Path, script: str
) -> None:
    program = tmp_path / "other"
    program.write_text(script)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    with pytest.raises(DeviceNotFound):
        PosixSut.open(PosixSut.Settings(program=str(program)), context)


def test_a_wrong_option_is_reported_with_what_the_program_says(
    null_program: Path, context: BenchContext
) -> None:
    with pytest.raises(DeviceNotFound) as caught:
        PosixSut.open(PosixSut.Settings(program=str(null_program), tick_hz=1), context)
    assert "exit code 2" in caught.value.evidence


def test_a_dut_that_dies_in_a_query_is_lost_with_its_exit_code(
    null_program: Path, context: BenchContext
) -> None:
    with opened(null_program, context, die_after_queries=2) as sut:
        sut.do(Load(0), [SAMPLE])
        started_s = time.monotonic()
        with pytest.raises(DeviceLost, match="ended") as caught:
            for _ in range(3):
                sut.do(Query((0,), limit_s=30.0))
        assert time.monotonic() - started_s < 3.0
        assert "exit code 3" in caught.value.evidence
        horizon_ns = context.world.horizon_ns()
        # A dead device delays no step.
        eventually(lambda: context.world.horizon_ns() > horizon_ns)


def test_a_dut_that_falls_silent_in_a_query_is_a_deadline_error_in_bounded_time(
    null_program: Path, context: BenchContext
) -> None:
    with opened(null_program, context, mute_after_queries=1) as sut:
        sut.do(Load(0), [SAMPLE])
        sut.do(Query((0,)))
        started_s = time.monotonic()
        with pytest.raises(DeadlineError, match="DONE of RUN") as caught:
            sut.do(Query((0,), limit_s=0.5))
        # It may work still, or be dead.
        assert caught.value.try_next.startswith("a longer limit_s, or a smaller repeat")
        assert "supply and wiring" in caught.value.try_next
        assert time.monotonic() - started_s < 2.0
    assert time.monotonic() - started_s < 5.0


def test_a_killed_process_is_a_lost_device_with_the_signal(
    null_program: Path, context: BenchContext
) -> None:
    with opened(null_program, context) as sut:
        killer = threading.Timer(0.2, os.kill, (sut._process.pid, signal.SIGKILL))
        killer.start()
        with pytest.raises(DeviceLost) as caught:
            sut.do(Idle(20.0))
        killer.join()
        assert "signal 9" in caught.value.evidence


def test_a_stopped_process_is_ended_all_the_same(
    null_program: Path, context: BenchContext
) -> None:
    with opened(null_program, context, timeout_s=0.5) as sut:
        pid = sut._process.pid
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(DeadlineError):
            sut.do(Idle(0.1))
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_process_that_stands_still_longer_than_the_repeats_last_goes_on(
    null_program: Path, context: BenchContext
) -> None:
    with opened(null_program, context, timeout_s=20.0) as sut:
        sut.do(Load(0), [SAMPLE])
        os.kill(sut._process.pid, signal.SIGSTOP)
        waker = threading.Timer(1.0, os.kill, (sut._process.pid, signal.SIGCONT))
        waker.start()
        done = sut.do(Query((0,)))
        waker.join()
    assert (done.output, done.rx_in_window_b, done.retransmissions) == (
        SAMPLE[:64],
        0,
        8,
    )


def test_settings_come_from_a_bench_file() -> None:
    values = {
        "program": "x",
        "faults": {"drop": 0.1},
        "power_w": {"idle": 1, "sync": 0.5},
        "layer": "framed",
        "ppm": 3,
    }
    settings = typed(PosixSut.Settings, values, "sut.posix")
    assert settings.faults == LineFaults(drop=0.1)
    assert (settings.power_w.idle, settings.power_w.infer) == (1.0, Power().infer)
    with pytest.raises(ConfigError, match=r"sut\.posix\.layer"):
        typed(PosixSut.Settings, {"program": "x", "layer": "telepathy"}, "sut.posix")


#: In place of the margin of the product, which is longer than a test should wait.
MARGIN_NS = 100_000_000


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, EdgeWire, World, int]]:
    """Give an edge wire that the test itself writes, with a margin of 0.1 s."""
    monkeypatch.setattr(sync_wire, "MARGIN_NS", MARGIN_NS)
    read_fd, write_fd = os.pipe()
    world = World()
    origin_ns = time.monotonic_ns()
    edges = EdgeWire(read_fd, world, Power(), origin_ns)
    yield write_fd, edges, world, origin_ns
    edges.close()
    os.close(write_fd)


def test_in_a_window_the_horizon_stands_at_the_last_edge_until_the_next_one(
    wire: tuple[int, EdgeWire, World, int],
) -> None:
    write_fd, edges, world, origin_ns = wire
    time.sleep(0.12)  # outside a window the horizon follows the clock
    at_ns = time.monotonic_ns()
    os.write(write_fd, f"1 {at_ns} 0 1 0\n2 {at_ns + 50_000} 1 1 0\n".encode())
    time.sleep(0.15)  # longer than the margin, and no edge may move
    assert world.horizon_ns() == at_ns + 50_000 - origin_ns
    stolen_ns = 40_000_000
    end_ns = time.monotonic_ns() - stolen_ns
    os.write(
        write_fd,
        f"3 {end_ns} 0 0 {stolen_ns}\n4 {end_ns + 50_000} 1 0 {stolen_ns}\n".encode(),
    )
    eventually(lambda: world.horizon_ns() > end_ns - origin_ns)
    horizon_ns = world.horizon_ns()
    assert (
        abs(time.monotonic_ns() - origin_ns - stolen_ns - MARGIN_NS - horizon_ns)
        < 20_000_000
    )
    assert edges.late_events == 0


def test_a_quiet_wire_is_complete_up_to_the_present_and_waits_while_the_device_may_mark(
    wire: tuple[int, EdgeWire, World, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync_wire, "MARGIN_NS", 60_000_000_000)
    monkeypatch.setattr(sync_wire, "GIVEN_UP_NS", 60_000_000_000)
    write_fd, edges, world, origin_ns = wire
    running: Any = SimpleNamespace(gone=lambda: None)
    with edges.marking(running):
        os.write(write_fd, f"1 {time.monotonic_ns()} 1 0 0\n".encode())
        assert eventually(lambda: (world.horizon_ns(), len(world.states()) == 2)[1])
        assert world.horizon_ns() < MARGIN_NS
    # The answer has come: the marks before it have been written.
    now_ns = world.now_ns()
    horizon_ns = world.horizon_ns()
    assert horizon_ns >= now_ns
    with pytest.raises(DeadlineError), edges.marking(running):
        raise DeadlineError("an answer", 1.0)
    # Without an answer it may still mark.
    at_ns = time.monotonic_ns()
    assert horizon_ns <= world.horizon_ns() <= at_ns - origin_ns
    os.write(write_fd, f"2 {at_ns} 0 1 0\n".encode())
    assert eventually(lambda: (world.horizon_ns(), len(world.states()) == 3)[1])
    assert edges.late_events == 0


def test_late_and_reordered_events_are_counted_and_kept(
    wire: tuple[int, EdgeWire, World, int],
) -> None:
    write_fd, edges, world, origin_ns = wire
    horizon_ns = eventually(world.horizon_ns)
    os.write(
        write_fd,
        f"1 {origin_ns + horizon_ns - 5} 0 2 0\n2 {origin_ns + horizon_ns - 9} 1 2 0\n".encode(),
    )
    eventually(lambda: world.horizon_ns() and edges.late_events == 2)
    assert edges.reordered_events == 1
    assert [state.time_ns for state in world.states()[-2:]] == [horizon_ns - 5] * 2


def test_nonsense_on_the_edge_wire_is_a_remote_protocol_error(
    wire: tuple[int, EdgeWire, World, int],
) -> None:
    write_fd, edges, world, _ = wire
    os.write(write_fd, b"hello\n")
    assert isinstance(
        eventually(lambda: (world.horizon_ns(), edges.fault)[1]), RemoteProtocolError
    )
