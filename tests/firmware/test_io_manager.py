# SPDX-License-Identifier: Apache-2.0
"""The IO manager's firmware on a simulated ATmega328P: with a DUT that the test plays,
and between the rig and the POSIX firmware.

The simulator applies bits and edges to the pins at exact cycles; the firmware's output
is compared with them.
"""

from __future__ import annotations

import os
import random
import shutil
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import serial

from drivers.keysight_n6705.io_manager import IoManager, IoManagerSettings
from rig.errors import ConfigError, DeadlineError
from rig.interfaces.context import BenchContext
from rig.model.completion import END
from rig.model.steps import Idle, Load, Query, Sync
from rig.timebase.edge_clock import EDGE_CLOCK
from sut_backends.hosted.posix import DutProcess
from sut_backends.lines.faults import LineFaults
from sut_backends.uart.backend import UartSut
from tests.builds import FIRMWARE, built, built_with, make
from tests.programs import captured
from tests.sut_backends.uart.public_device import Build, PublicDevice

NEEDED = {
    "gcc-avr": shutil.which("avr-gcc"),
    "binutils-avr": shutil.which("avr-size"),
    "avr-libc": Path("/usr/lib/avr/include/avr/io.h").exists(),
    "libsimavr-dev": Path("/usr/include/simavr/sim_avr.h").exists(),
    "libelf-dev": Path("/usr/include/libelf.h").exists(),
    "gcc": shutil.which("cc"),
    "make": shutil.which("make"),
}
MISSING = " ".join(package for package, there in NEEDED.items() if not there)
pytestmark = [
    # the simulated processor keeps the pace of real time, and its pins have no patience
    pytest.mark.paced,
    pytest.mark.skipif(bool(MISSING), reason=f"needs the Debian packages {MISSING}"),
]

NAME = b"m-name-io-[neurorig io-manager]\r\n"
READY = b"m-ready\r\n"
# arrives at once on a running machine; it may stand still for a while
PATIENCE_S = 60.0
# a receiver that listened to noise finds the next start bit in two such bytes
BOOT = b"\xff\xff\r\nm-init-done\r\nm-ready\r\n"


def io_manager(dut_baud: int = 9600) -> Path:
    """Build the IO manager for a rate of its DUT."""
    folder = built_with("io-manager", f"NR_DUT_BAUD={dut_baud}")
    return folder / "io_manager" / "io_manager.elf"


class Avr:
    """The simulated microcontroller; `port` is the host's line, `dut_port` the DUT's
    where the test plays it.
    """

    def __init__(self, elf: Path, *options: str, edge_fd: int = -1) -> None:
        command = [built("avr-harness") / "tests" / "avr_harness", elf, *options]
        command += ["--edges", str(edge_fd)] if edge_fd >= 0 else []
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="backslashreplace",
            bufsize=1,
            pass_fds=[edge_fd] if edge_fd >= 0 else [],
        )
        self.said = ""
        self.port = self._word("pty")
        self.dut_port = "" if "--dut" in options else self._word("dut")

    def tell(self, command: str, expected: str = "done") -> str:
        """Send a command; return the text after the word `expected` in the answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")
        return self._word(expected)

    def close(self) -> None:
        _, self.said = self._process.communicate(timeout=PATIENCE_S)

    def _word(self, expected: str) -> str:
        assert self._process.stdout is not None
        word, _, rest = self._process.stdout.readline().strip().partition(" ")
        assert word == expected
        return rest


@contextmanager
def running(elf: Path, *options: str, edge_fd: int = -1) -> Iterator[Avr]:
    avr = Avr(elf, *options, edge_fd=edge_fd)
    try:
        yield avr
    finally:
        avr.close()


@contextmanager
def opened(port: str) -> Iterator[serial.Serial]:
    with serial.Serial(port, 115200, timeout=PATIENCE_S, exclusive=True) as line:
        yield line


@pytest.fixture
def avr() -> Iterator[Avr]:
    with running(io_manager()) as avr:
        yield avr


@pytest.fixture
def host(avr: Avr) -> Iterator[serial.Serial]:
    with opened(avr.port) as line:
        yield line


@pytest.fixture
def dut(avr: Avr) -> Iterator[serial.Serial]:
    with opened(avr.dut_port) as line:
        yield line


def ask(host: serial.Serial, command: bytes) -> bytes:
    host.write(command + b"%")
    return bytes(host.read_until(READY))


def unasked_b(host: serial.Serial) -> int:
    return int(
        ask(host, b"dut-line").partition(b"m-dut-unasked-")[2].partition(b"\r")[0]
    )


def time_us(host: serial.Serial) -> int:
    """The IO manager's time: a machine that stands still does not count."""
    return int(ask(host, b"timestamp").removeprefix(b"m-lap-us-").partition(b"\r")[0])


def enter_frames(host: serial.Serial, dut: serial.Serial) -> None:
    assert ask(host, b"dut frame 1").endswith(READY)
    assert dut.read_until(b"%") == b"frame 1%"
    dut.write(b"m-frame-[1]\r\nm-ready\r\n")
    assert host.read_until(b"[dut]: m-ready\r\n").endswith(b"m-ready\r\n")


def received(line: serial.Serial, count: int) -> bytes:
    """All that comes, up to `count` bytes or a silence of ten seconds."""
    line.timeout = 10.0
    out = b""
    while len(out) < count and (block := line.read(min(count - len(out), 64))):
        out += block
    line.timeout = PATIENCE_S
    return out


# ---- alone ----


def test_it_fits_into_the_microcontroller(tmp_path: Path) -> None:
    command = ["make", "-C", str(FIRMWARE), f"BUILD={tmp_path}", "io-manager"]
    output = captured(command, check=True).stdout
    last = (
        output.splitlines()[-1]
        if "Leaving" not in output.splitlines()[-1]
        else output.splitlines()[-2]
    )
    assert last.startswith("io manager: ")
    flash_b, ram_b = (
        int(word) for word in last.split() if word.isdigit() and word != "2048"
    )
    assert flash_b < 32_768 - 512
    assert ram_b < 2048 - 512


@pytest.mark.repeats  # of test_host.py
def test_its_logic_holds_on_the_host() -> None:
    assert "io_manager: " in make("io-manager-test")


def test_commands_and_answers_pass_the_pins(
    host: serial.Serial, dut: serial.Serial
) -> None:
    assert ask(host, b"name") == NAME + b"m-dut-baud-9600\r\n" + READY
    assert ask(host, b"dut profile") == b"m-dut-passthrough(profile)\r\n" + READY
    assert dut.read_until(b"%") == b"profile%"
    dut.write(b"m-profile-[p]\r\nm-model-[m]\r\nm-ready\r\n")
    expected = b"[dut]: m-profile-[p]\r\n[dut]: m-model-[m]\r\n[dut]: m-ready\r\n"
    assert host.read_until(b"[dut]: m-ready\r\n") == expected


def test_a_dead_dut_is_reported_within_two_seconds(
    avr: Avr, host: serial.Serial
) -> None:
    avr.tell("dut low")
    waited_us = []
    for _ in range(3):  # at least once this process is not late itself
        began_us = time_us(host)
        assert ask(host, b"dut name") == b"m-dut-passthrough(name)\r\n" + READY
        assert (
            host.read_until(READY)
            == b"e-[no answer of the DUT, its line is low]\r\n" + READY
        )
        waited_us.append(time_us(host) - began_us)
    assert 1.5e6 <= min(waited_us) < 2e6


@pytest.mark.parametrize("dut_baud", [9600, 19200])
def test_frames_pass_both_ways_at_once_at_full_rate_under_edges(
    dut_baud: int,
) -> None:
    count = dut_baud // 6  # 1.7 s
    number = random.Random(dut_baud)
    up = number.randbytes(count)
    down = number.randbytes(count).replace(b"name%", b"NAME%")
    with (
        running(io_manager(dut_baud), "--dut-baud", str(dut_baud)) as avr,
        opened(avr.port) as host,
        opened(avr.dut_port) as dut,
    ):
        enter_frames(host, dut)
        heard: dict[str, bytes] = {}
        reader = threading.Thread(target=lambda: heard.update(up=received(host, count)))
        reader.start()
        avr.tell(
            "falls "
            + " ".join(str(700_000 * edge + edge % 7 * 1000) for edge in range(1000))
        )
        dut.write(up)
        heard["down"] = b""
        for at in range(0, count, 32):
            host.write(down[at : at + 32])
            heard["down"] += received(
                dut, at - len(heard["down"])
            )  # so no more than 64 bytes are ahead of the slow line
        heard["down"] += received(dut, count - len(heard["down"]))
        reader.join()
        assert heard == {"up": up, "down": down}
        assert NAME in ask(host, b"\0name")
        assert (
            b"m-dut-broken-0\r\nm-dut-lost-0\r\nm-dut-unasked-0\r\nm-host-lost-0\r\n"
            in ask(host, b"dut-line")
        )
    assert "misframed 0" in avr.said


def test_stamps_are_those_of_the_edges_to_half_a_microsecond(
    avr: Avr, host: serial.Serial
) -> None:
    # The count of 16 bits overflows each 32.768 ms; in steps of 4.1 ms less 62.5 ns,
    # edges fall close to both sides of that.
    given_ns = [edge * 4_095_938 for edge in range(250)]
    avr.tell("falls " + " ".join(map(str, given_ns)))
    stamps_us = [int(host.readline().removeprefix(b"m-lap-us-")) for _ in given_ns]
    for (given, stamp), (later_given, later_stamp) in pairwise(
        zip(given_ns, stamps_us, strict=True)
    ):
        assert abs((later_stamp - stamp) * 1000 - (later_given - given)) <= 1000
    assert abs((stamps_us[-1] - stamps_us[0]) * 1000 - given_ns[-1]) <= 1000
    kept = ask(host, b"stamps").splitlines()
    assert kept[:2] == [b"m-stamps-missed-0", b"m-stamps-lost-218"]
    halves = [float(line.removeprefix(b"m-stamp-us-")) for line in kept[2:-1]]
    assert [int(stamp) for stamp in halves] == stamps_us[-32:]
    for (given, stamp), (later_given, later_stamp) in pairwise(
        zip(given_ns[-32:], halves, strict=True)
    ):
        assert abs((later_stamp - stamp) * 1000 - (later_given - given)) <= 500.001


def test_the_driver_of_the_n6705_reads_its_stamps(avr: Avr) -> None:
    given_s = [0.0, 0.001, 0.0035, 0.25, 0.2501]
    driver = IoManager(IoManagerSettings(port=avr.port, baud=115200))
    try:
        driver.begin()
        avr.tell("falls " + " ".join(str(round(at_s * 1e9)) for at_s in given_s))
        taken: list[float] = []
        end_s = time.monotonic() + PATIENCE_S
        while len(taken) < len(given_s) and time.monotonic() < end_s:
            driver.settle()
            taken += driver.take()
    finally:
        driver.close()
    assert taken == pytest.approx(given_s, abs=1.1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_power_cycles_and_noise_of_the_dut_leave_it_ready(
    avr: Avr, host: serial.Serial, dut: serial.Serial, seed: int
) -> None:
    enter_frames(host, dut)
    avr.tell("dut low")
    avr.tell(f"noise {seed} 200000000")
    avr.tell("dut high")
    dut.write(BOOT)
    assert host.read_until(READY).endswith(b"\r\nm-init-done\r\nm-ready\r\n")
    host.reset_input_buffer()
    # the host does not know of frames, only that the line was quiet
    host.write(b"name%")
    assert host.read_until(READY) == b"\r\n" + NAME + b"m-dut-baud-9600\r\n" + READY
    assert dut.read_until(b"name%").endswith(b"name%")
    avr.tell("dut low")
    avr.tell(f"noise {seed + 10} 200000000")
    avr.tell("dut high")
    before_b = unasked_b(host)
    dut.write(BOOT)
    while unasked_b(host) < before_b + len(BOOT) - 2:
        pass
    assert ask(host, b"dut name") == b"m-dut-passthrough(name)\r\n" + READY
    assert dut.read_until(b"%") == b"name%"
    dut.write(b"m-ready\r\n")
    assert (
        host.read_until(b"[dut]: m-ready\r\n")
        == b"[dut]: m-init-done\r\n[dut]: m-ready\r\n"
    )


def test_a_client_of_the_public_runner_finds_what_it_looks_for(
    avr: Avr, host: serial.Serial, dut: serial.Serial
) -> None:
    """It sends words and `%` apart, takes lines up to one with m-ready, wants two of
    them, then lines up to the DUT's m-ready.
    """
    host.write(b"dut name")
    host.write(b"%")
    lines = []
    while not any(b"m-ready" in line for line in lines):
        lines.append(host.readline().rstrip())
    assert len(lines) == 2
    assert lines[1] == b"m-ready"
    assert dut.read_until(b"%") == b"name%"
    dut.write(b"m-name-dut-[x]\r\nm-ready\r\n")
    answer = []
    while b"m-ready" not in answer:
        answer.append(host.readline().rstrip().replace(b"[dut]: ", b""))
    assert answer == [b"m-name-dut-[x]", b"m-ready"]


# ---- between the rig and a DUT ----


class Chain:
    """The firmware of a DUT, the IO manager in front of it, and its SYNC line."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self.edge_lines: list[str] = []
        dut_edges, edges = os.pipe()
        self.dut = self._start_dut(edges)
        os.close(edges)
        self._copied, copy = os.pipe()
        self.avr = Avr(io_manager(), "--dut", self.dut.port, edge_fd=self._copied)
        os.close(self._copied)
        self._reader = threading.Thread(target=self._copy, args=(dut_edges, copy))
        self._reader.start()
        self.port = self.avr.port

    def _start_dut(self, edge_fd: int) -> DutProcess:
        dut = DutProcess(built("posix") / "posix" / "null", [], edge_fd)
        self._stack.callback(dut.close)
        return dut

    def power_cycle(self) -> None:
        """The DUT restarts; its edges are ignored from now on."""
        self.dut.close()
        self.avr.tell("dut low")
        with Path(os.devnull).open("wb") as nowhere:
            self.dut = self._start_dut(nowhere.fileno())
        self.avr.tell(f"dut open {self.dut.port}")

    def _copy(self, source: int, target: int) -> None:
        with os.fdopen(source) as lines, os.fdopen(target, "w", buffering=1) as out:
            for line in lines:
                self.edge_lines.append(line)
                out.write(line)

    def falls_s(self) -> list[float]:
        """When SYNC fell, in the DUT's true time."""
        return [
            int(line.split()[1]) / 1e9
            for line in self.edge_lines
            if line.split()[2] == "0"
        ]

    def close(self) -> None:
        self._stack.close()
        self._reader.join()
        self.avr.close()


@pytest.fixture
def chain() -> Iterator[Chain]:
    chain = Chain()
    try:
        yield chain
    finally:
        chain.close()


@contextmanager
def driven(chain: Chain, **settings: Any) -> Iterator[UartSut]:
    context = BenchContext(folder=FIRMWARE, seed=1)
    sut = UartSut.open(
        UartSut.Settings(
            **{"port": chain.port, "simulated": True, "timeout_s": 10.0, **settings}
        ),
        context,
    )
    try:
        yield sut
    finally:
        sut.close()


def test_the_rig_drives_a_dut_in_the_framed_layer(chain: Chain) -> None:
    with driven(chain) as sut:
        assert (
            sut.info.link
            == f"{chain.port} through neurorig io-manager, 9600 baud, framed"
        )
        for index in range(2):
            sample = bytes([index]) + bytes(range(1, 200))
            sut.do(Load(index), [sample])
            done = sut.do(Query((index,), repeat=3, limit_s=5.0))
            assert done.output == sample[:64]
            assert [mark.phase for mark in done.marks] == [1, 2, END]
        assert len(sut.do(Idle(0.05)).marks) == 2
    with opened(chain.port) as host:  # left in a state that any host can use
        assert NAME + b"m-dut-baud-9600\r\n" + READY in ask(host, b"name")


def test_the_rig_drives_a_dut_in_the_text_layer(chain: Chain) -> None:
    with driven(chain, layer="text") as sut:
        assert (
            sut.info.link
            == f"{chain.port} through neurorig io-manager, 9600 baud, text"
        )
        sut.do(Load(0), [bytes(range(60))])
        done = sut.do(Query((0,), limit_s=5.0))
        assert done.marks[1].tick > done.marks[0].tick
        assert len(done.output) == 60 // 4 * 4
        assert len(sut.do(Sync()).marks) == 8


def burst(chain: Chain) -> tuple[list[float], list[float], list[float]]:
    """Return when SYNC fell as the DUT, the bench and the IO manager have it, in
    seconds of each.

    The bench plays edges 200 ms late, and says where the machine was later than that:
    those do not concern the IO manager.
    """
    for _ in range(5):
        falls_before = len(chain.falls_s())
        late_before = chain.avr.tell("late", "late")
        with driven(chain) as sut:
            marks_s = [mark.tick / sut.info.tick_hz for mark in sut.do(Sync()).marks]
        with opened(chain.port) as host:
            end_s = time.monotonic() + PATIENCE_S
            stamps_s = list[float]()
            while len(stamps_s) < len(marks_s) and time.monotonic() < end_s:
                stamps_s += [
                    float(line[11:]) / 1e6
                    for line in ask(host, b"stamps").splitlines()
                    if line.startswith(b"m-stamp-us-")
                ]
        if chain.avr.tell("late", "late") == late_before:
            return marks_s, chain.falls_s()[falls_before:], stamps_s
    pytest.fail("this machine is too slow to play edges in time")


def test_stamps_in_the_io_managers_clock_are_those_of_the_duts_edges(
    chain: Chain,
) -> None:
    marks_s, falls_s, stamps_s = burst(chain)
    assert len(stamps_s) == len(falls_s) == len(marks_s) == 8
    assert [stamp - stamps_s[0] for stamp in stamps_s] == pytest.approx(
        [fall - falls_s[0] for fall in falls_s], abs=0.6e-6
    )
    assert [stamp - stamps_s[0] for stamp in stamps_s] == pytest.approx(
        [mark - marks_s[0] for mark in marks_s], abs=1.6e-6
    )


def test_a_host_that_died_among_frames_is_followed_by_another(chain: Chain) -> None:
    context = BenchContext(folder=FIRMWARE, seed=1)
    dead = UartSut.open(
        UartSut.Settings(port=chain.port, simulated=True, through="auto"), context
    )
    dead.line.write(b"\x00\x05\x11")
    dead.line._line.close()  # type: ignore[attr-defined]  # not even its own close() ran
    with driven(chain) as sut:
        sut.do(Load(0), [b"after"])
        assert sut.do(Query((0,), limit_s=5.0)).output == b"after"


def test_a_power_cycle_of_the_dut_is_overcome(chain: Chain) -> None:
    with driven(chain) as sut:
        sut.do(Load(0), [b"before"])
        chain.power_cycle()
        done = sut.do(Query((0,), limit_s=5.0))
        assert (done.output, done.restarts) == (b"before", 1)


def test_a_restart_of_the_io_manager_itself_is_overcome_too(chain: Chain) -> None:
    with driven(chain) as sut:
        sut.do(Load(0), [b"before"])
        chain.avr.tell("reset")
        done = sut.do(Query((0,), limit_s=5.0))
        assert (done.output, done.restarts) == (b"before", 1)


def test_a_restart_of_the_io_manager_in_a_frame_is_overcome_too(chain: Chain) -> None:
    """The DUT has a part of one then, and takes the next bytes within 100 ms for the
    rest of it.
    """
    with driven(chain) as sut:
        sut.do(Load(0), [b"before"])
        sut.line.write(b"\x00" + bytes(range(1, 60)))  # 62 ms at the DUT's line
        time.sleep(0.03)  # about half of it is at the DUT then
        chain.avr.tell("reset")
        done = sut.do(Query((0,), limit_s=5.0))
        assert (done.output, done.restarts) == (b"before", 1)


def test_a_dead_dut_behind_it_is_named(chain: Chain) -> None:
    chain.avr.tell("dut low")
    with pytest.raises(DeadlineError) as raised, driven(chain):
        pass
    assert "behind the IO manager" in str(raised.value)
    assert "its line is low" in raised.value.evidence


def test_lost_and_spoilt_bytes_are_repaired_through_it(chain: Chain) -> None:
    with driven(chain, faults=LineFaults(drop=0.001, flip=0.001, seed=3)) as sut:
        sample = bytes(range(250)) * 2
        sut.do(Load(0), [sample])
        assert sut.do(Query((0,), limit_s=5.0)).output == sample[:64]


def test_a_change_of_the_rate_behind_it_is_refused_by_name(chain: Chain) -> None:
    with pytest.raises(ConfigError) as raised, driven(chain, frame_baud=115_200 * 2):
        pass
    assert raised.value.path == "sut.uart.frame_baud"


@pytest.mark.parametrize(
    "energy", [False, True], ids=["performance mode", "energy mode"]
)
def test_a_public_device_is_driven_through_the_io_manager_as_it_is_without(
    energy: bool,
) -> None:
    with (
        PublicDevice(Build(sample_b=64, classes=4, energy=energy)) as device,
        running(io_manager(), "--dut", device.port) as avr,
    ):
        settings = UartSut.Settings(port=avr.port, simulated=True, timeout_s=10.0)
        sut = UartSut.open(settings, BenchContext())
        try:
            assert "through neurorig io-manager" in sut.info.link
            assert sut.info.clock == (EDGE_CLOCK if energy else "")
            for number in (2, 1):
                sut.do(Load(number), [bytes([number]) + bytes(62) + b"\x5a"])
                scores = struct.unpack(
                    "<4i", sut.do(Query((number,), repeat=2, limit_s=5.0)).output
                )
                assert scores.index(max(scores)) == number
        finally:
            sut.close()
        assert device.behind_b == 0 and not device.crashed
        assert "" not in device.commands, "an empty command would be its end"
