# SPDX-License-Identifier: Apache-2.0
"""QemuSut: the emulator, the board's own time as the time of the world, and the ways it
can end."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rig.bench.probe import probe
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
from rig.session.session import SessionResult, open_bench
from rig.simulation.world import World
from rig.store import completion_lines
from sut_backends.hosted.guest_sync_wire import AHEAD_NS, GuestWire
from sut_backends.hosted.qemu import QemuSut
from sut_backends.hosted.sync_wire import Power
from sut_backends.lines.faults import LineFaults
from tests.boards import image
from tests.checking import check
from tests.conftest import ROOT
from tests.uncounted import uncounted
from tests.waiting import eventually

SAMPLE = bytes(range(1, 97))
MPS2_ASC = ROOT / "benches" / "mps2-asc.toml"


@contextmanager
def opened(context: BenchContext, **settings: Any) -> Iterator[QemuSut]:
    program = settings.pop("program", None) or image("mps2", "null")
    sut = QemuSut.open(QemuSut.Settings(program=str(program), **settings), context)
    try:
        yield sut
    finally:
        sut.close()
        sut.close()
        assert not [
            thread for thread in threading.enumerate() if thread.name == "edge wire"
        ]


def test_it_says_that_it_is_simulated_and_what_it_runs(context: BenchContext) -> None:
    program = image("mps2", "null")
    with opened(context, icount_shift=4) as sut:
        info = sut.info
    assert (info.kind, info.simulated, info.name) == ("qemu", True, "mps2-an385")
    assert hashlib.sha256(program.read_bytes()).hexdigest() in info.firmware
    assert (info.details["machine"], info.details["icount_shift"]) == ("mps2-an385", 4)
    assert "version" in info.details["emulator"]


def test_edges_and_power_of_each_phase_are_in_the_world_exactly_at_the_marks(
    context: BenchContext,
) -> None:
    power = Power(idle=0.01, preprocess=0.03, infer=0.05, sync=0.012)
    with opened(context, power_w=power) as sut:
        sut.do(Load(0), [SAMPLE])
        done = sut.do(Query((0,), repeat=1000))
        burst = sut.do(Sync())
        idle = sut.do(Idle(0.02))
        context.world.now_ns()  # reads the messages
        states = context.world.states()
        truth_j = context.world.true_energy_j(
            *(state_of(states, mark.tick) for mark in done.marks[1:])
        )
    falls = [state for state in states if not state.level]
    marks = (*done.marks, *burst.marks, *idle.marks)
    assert [state.power_w for state in falls] == [0.03, 0.05, 0.01] + [0.012] * 8 + [
        0.01,
        0.01,
    ]
    assert [state.time_ns - falls[0].time_ns for state in falls] == [
        (mark.tick - marks[0].tick) * 1_000 for mark in marks
    ]
    rises = [state for state in states[2:] if state.level][: len(falls)]
    assert {
        rise.time_ns - fall.time_ns for rise, fall in zip(rises, falls, strict=True)
    } == {51_000}
    assert truth_j == pytest.approx(
        0.05 * (done.marks[2].tick - done.marks[1].tick) * 1e-6, rel=1e-12
    )
    assert sut.late_events == sut.edges.reordered_events == 0
    assert context.world.states()[-1].power_w == 0.0  # a closed device draws no power


def state_of(states: list[Any], tick: int) -> int:
    return next(
        state.time_ns
        for state in states
        if not state.level and state.time_ns == tick * 1_000
    )


def test_the_horizon_goes_on_while_the_board_sleeps_never_goes_back_and_never_lies(
    context: BenchContext,
) -> None:
    with opened(context) as sut:
        horizons = [0]
        earliest = []
        stop = threading.Event()

        def watch() -> None:
            while not stop.is_set():
                seen = len(context.world.states())
                horizons.append(context.world.horizon_ns())
                earliest.extend(
                    (state.time_ns, horizons[-2])
                    for state in context.world.states(seen)[:1]
                )
                time.sleep(0.001)  # looks a thousand times a second

        watcher = threading.Thread(target=watch)
        watcher.start()
        for index in range(3):
            sut.do(Load(index), [SAMPLE])
            sut.do(Query((index,), repeat=1000))
            sut.do(Idle(0.02))
        asleep_ns = context.world.horizon_ns()
        eventually(lambda: context.world.horizon_ns() >= asleep_ns + 50_000_000)
        stop.set()
        watcher.join()
        assert horizons == sorted(horizons)
        assert all(time_ns >= horizon_ns for time_ns, horizon_ns in earliest)
        assert sut.late_events == 0


def test_a_second_board_goes_on_where_the_first_ended(context: BenchContext) -> None:
    with opened(context) as sut:
        sut.do(Sync())
    before = len(context.world.states())
    last_ns = context.world.states()[-1].time_ns
    with opened(context) as sut:
        sut.do(Sync())
        assert sut.edges.reordered_events == 0
    assert context.world.states(before)[0].time_ns >= last_ns


def test_lost_and_spoilt_bytes_are_sent_again(context: BenchContext) -> None:
    with opened(context, faults=LineFaults(0.005, 0.005, 0.005, 3)) as sut:
        sut.do(Load(0), [bytes(1000) + SAMPLE])
        done = [sut.do(Query((0,))) for _ in range(5)]
    assert {each.output for each in done} == {bytes(64)}


def test_without_supply_there_is_no_device() -> None:
    with pytest.raises(DeviceNotFound, match="no supply"):
        QemuSut.open(QemuSut.Settings(program="x"), BenchContext())


def test_a_missing_emulator_is_named_with_its_package(
    context: BenchContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        DeviceNotFound, match="qemu-system-arm is not installed"
    ) as caught:
        QemuSut.open(QemuSut.Settings(program="x"), context)
    assert "apt-get install qemu-system-arm" in caught.value.try_next


def test_a_missing_image_says_how_to_make_it(
    context: BenchContext, tmp_path: Path
) -> None:
    image("mps2", "null")  # skips where the emulator is missing
    with pytest.raises(DeviceNotFound, match="no program") as caught:
        QemuSut.open(QemuSut.Settings(program=str(tmp_path / "asc.elf")), context)
    assert "make -C firmware emulated" in caught.value.try_next


def test_a_file_that_is_no_image_is_not_started(
    context: BenchContext, tmp_path: Path
) -> None:
    image("mps2", "null")
    program = tmp_path / "asc.elf"
    program.write_text("no image at all")
    with pytest.raises(DeviceNotFound, match="no ELF image"):
        QemuSut.open(QemuSut.Settings(program=str(program)), context)


def test_an_image_for_another_board_ends_with_what_the_emulator_says(
    context: BenchContext,
) -> None:
    program = str(image("stm32f405", "null"))
    with pytest.raises(DeviceLost) as caught:
        QemuSut.open(
            QemuSut.Settings(program=program, machine="mps2-an385", timeout_s=0.5),
            context,
        )
    assert "Lockup" in caught.value.evidence


def test_a_killed_emulator_is_a_lost_device_with_the_signal(
    context: BenchContext,
) -> None:
    with opened(context) as sut:
        killer = threading.Timer(0.2, os.kill, (sut._process.pid, signal.SIGKILL))
        killer.start()
        with pytest.raises(DeviceLost) as caught:
            sut.do(Idle(60.0))
        killer.join()
        assert "signal 9" in caught.value.evidence
        horizon_ns = context.world.horizon_ns()
        # A dead device delays no step.
        eventually(lambda: context.world.horizon_ns() > horizon_ns)


def test_a_stopped_emulator_is_a_deadline_error_and_is_ended_all_the_same(
    context: BenchContext,
) -> None:
    with opened(context, timeout_s=0.2) as sut:
        pid = sut._process.pid
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(DeadlineError):
            sut.do(Idle(0.1))
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


RIG = """
import sys, time
from rig.interfaces.context import BenchContext
from rig.model.steps import Sync
from sut_backends.hosted.qemu import QemuSut
table = BenchContext()
table.world.supply_on = True
sut = QemuSut.open(QemuSut.Settings(program=sys.argv[1]), table)
try:
    print(sut._process.pid, flush=True)
    time.sleep(60)  # until it is killed or interrupted
except KeyboardInterrupt:
    print(len(sut.do(Sync()).marks), flush=True)
    sut.close()
"""


@pytest.fixture
def other_rig() -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Start another process that holds an emulator; returns it and the number of the
    emulator.
    """
    command = [sys.executable, "-c", RIG, str(image("mps2", "null"))]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=uncounted(),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        yield process, int(process.stdout.readline())
        process.kill()


def ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_killed_rig_takes_the_emulator_along(
    other_rig: tuple[subprocess.Popen[str], int],
) -> None:
    process, pid = other_rig
    os.kill(pid, 0)
    process.kill()
    eventually(lambda: ended(pid))


def test_an_interrupt_at_the_terminal_leaves_the_end_of_the_emulator_to_the_rig(
    other_rig: tuple[subprocess.Popen[str], int],
) -> None:
    process, pid = other_rig
    os.killpg(process.pid, signal.SIGINT)
    assert process.stdout is not None
    assert process.stdout.readline() == "8\n"  # the board still answered
    assert process.wait(30) == 0
    eventually(lambda: ended(pid))


def test_settings_come_from_a_bench_file() -> None:
    settings = typed(
        QemuSut.Settings,
        {"program": "x", "machine": "microbit", "power_w": {"idle": 1}},
        "sut.qemu",
    )
    assert (settings.machine, settings.power_w.idle, settings.icount_shift) == (
        "microbit",
        1.0,
        5,
    )
    for wrong, path in (
        ({"machine": "toaster"}, r"sut\.qemu\.machine"),
        ({"icount_shift": 11}, r"sut\.qemu\.icount_shift"),
    ):
        with pytest.raises(ConfigError, match=path):
            typed(QemuSut.Settings, {"program": "x"} | wrong, "sut.qemu")
    with pytest.raises(
        ConfigError, match="time stamps are judged by this host's clock"
    ):
        typed(QemuSut.Settings, {"program": "x", "layer": "text"}, "sut.qemu")


# ---- a session ----


@pytest.fixture
def run_null(tmp_path: Path) -> Callable[..., SessionResult]:
    """Run the null workload on the emulated Cortex-M3."""
    bench = tmp_path / "mps2-null.toml"
    bench.write_text(
        '[bench]\nname = "mps2-null"\n[sut.qemu]\nprogram ='
        f' "{image("mps2", "null")}"\n[monitor.virtual]\nsample_hz ='
        " 200_000\n[scenario.single_stream]\nidle_s = 0.1\nrepeat ="
        " 50_000\n[task.null]\nsamples = 4\npayload_b = 64\n"
    )

    def run(*overrides: str) -> SessionResult:
        with open_bench(bench, overrides) as opened:
            return opened.run(1, tmp_path)

    return run


def test_power_and_energy_are_the_true_ones_within_their_uncertainty_and_repeat(
    run_null: Callable[..., SessionResult],
) -> None:
    results = [run_null(), run_null()]
    for result in results:
        assert result.content["problems"] == []
        rows = result.content["metrics"]
        completions = [
            each.completion
            for each in completion_lines.read(result.folder / "trial-1")
            if each.completion.output
        ]
        ticks = [done.marks[2].tick - done.marks[1].tick for done in completions]
        assert len(ticks) >= 4 and max(ticks) - min(ticks) <= 1
        truth = {
            "power_idle": 0.010,
            "latency_infer": sum(ticks) / len(ticks) * 1e-6 / 50_000,
        }
        truth["energy_infer"] = Power().infer * truth["latency_infer"]
        for name, true in truth.items():
            assert rows[name]["value"] == pytest.approx(true, rel=2e-3), name
    first, second = (result.metrics["energy_infer"].value for result in results)
    assert first == pytest.approx(second, rel=2e-3)


def test_the_bench_with_asc_gives_a_session_that_says_simulated_and_checks(
    tmp_path: Path,
) -> None:
    image("mps2", "asc")
    short = [f"scenario.single_stream.{entry}" for entry in ("idle_s=0.1", "warmup=0")]
    with open_bench(MPS2_ASC, ["task.asc.samples=2", *short]) as bench:
        result = bench.run(1, tmp_path)
        assert bench.context.reference is not None
        expected = {
            bench.context.reference(bench.task.payload(index)) for index in range(2)
        }
    done = completion_lines.read(result.folder / "trial-1")
    assert {
        item.completion.output for item in done if item.completion.output
    } == expected
    assert result.content["problems"] == []
    assert result.content["simulated"] is True
    assert check(result.folder).ok


def test_the_probe_passes_and_does_not_judge_the_emulators_time() -> None:
    image("mps2", "asc")
    findings = {finding.name: finding for finding in probe(MPS2_ASC)}
    assert all(finding.ok for finding in findings.values()), findings
    assert not findings["timer rate"].tested
    assert "8 edges" in findings["SYNC wire"].detail


# ---- the edge wire, written by the test itself ----


@pytest.fixture
def wire() -> Iterator[tuple[int, GuestWire, World]]:
    """Give the wire of a board that the test plays; tick 0 is at 1 s of the world."""
    read_fd, write_fd = os.pipe()
    world = World()
    edges = GuestWire(read_fd, world, Power(), 1_000_000_000)
    yield write_fd, edges, world
    edges.close()
    os.close(write_fd)


def test_the_horizon_is_what_the_board_has_told_and_the_present_a_little_more(
    wire: tuple[int, GuestWire, World],
) -> None:
    write_fd, _, world = wire
    assert world.horizon_ns() == 1_000_000_000
    os.write(write_fd, b"T 000000001388\n")
    assert world.horizon_ns() == 1_005_000_000
    time.sleep(0.05)  # the board sends no times, so no edge may move
    assert world.horizon_ns() == 1_005_000_000
    assert world.now_ns() == 1_005_000_000 + AHEAD_NS


def test_a_pulse_is_a_fall_and_a_rise_and_moves_the_horizon_behind_itself(
    wire: tuple[int, GuestWire, World],
) -> None:
    write_fd, edges, world = wire
    os.write(write_fd, b"E 000000000064 02 00033\nE 0000000000")
    assert world.horizon_ns() == 1_000_201_000
    os.write(write_fd, b"c9 00 00033\n")
    assert world.horizon_ns() == 1_000_302_000
    states = [
        (state.time_ns, state.level, state.power_w) for state in world.states()[2:]
    ]
    expected = [
        (1_000_100_000, False, 0.05),
        (1_000_151_000, True, 0.05),
        (1_000_201_000, False, 0.01),
        (1_000_252_000, True, 0.01),
    ]
    assert states == expected
    assert edges.late_events == 0


@pytest.mark.parametrize(
    "line", [b"hello\n", b"T 12 34\n", b"E 12 34\n", b"T xyz\n", b"\xff\n"]
)
def test_nonsense_on_the_edge_wire_is_a_remote_protocol_error(
    wire: tuple[int, GuestWire, World], line: bytes
) -> None:
    write_fd, edges, world = wire
    os.write(write_fd, line)
    world.horizon_ns()
    assert isinstance(edges.fault, RemoteProtocolError)
