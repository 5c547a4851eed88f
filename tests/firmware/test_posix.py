# SPDX-License-Identifier: Apache-2.0
"""The firmware as a process: its line, its end with the parent, its clock, its edge
wire and the faults it plays on request.

Only the port's own part is tested here, with a codec of a few lines that shares no code
with the product's.
"""

import os
import select
import shutil
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import serial

from tests.builds import FIRMWARE, built
from tests.programs import captured

COMPILER = shutil.which(os.environ.get("CC", "cc"))
pytestmark = [
    pytest.mark.posix,
    pytest.mark.skipif(
        COMPILER is None or shutil.which("make") is None,
        reason="needs make and a C compiler",
    ),
    pytest.mark.skipif(sys.platform != "linux", reason="the port is tested on Linux"),
]


def cobs(data: bytes) -> bytes:
    return b"".join(
        bytes([len(part) + 1]) + part for part in data.split(b"\0")
    )  # right for runs under 254 bytes


def frame(kind: int, seq: int, payload: bytes = b"") -> bytes:
    body = bytes([kind, seq]) + payload
    return b"\0" + cobs(body + struct.pack("<I", zlib.crc32(body))) + b"\0"


@dataclass
class Edge:
    tick: int
    true_ns: int
    level: int
    phase: int
    stolen_ns: int


@dataclass
class Device:
    process: subprocess.Popen[bytes]
    path: str
    edges_fd: int
    port: serial.Serial = field(init=False)

    def __post_init__(self) -> None:
        self.port = serial.Serial(self.path, 115200, timeout=1, exclusive=True)

    def ask(self, command: str, timeout_s: float = 5.0) -> str:
        self.port.timeout = timeout_s
        self.port.write(command.encode() + b"%")
        return self.port.read_until(b"m-ready\r\n").decode(errors="replace")

    def exchange(
        self, kind: int, seq: int, payload: bytes = b"", timeout_s: float = 2.0
    ) -> tuple[int, int] | None:
        """Type and seq of the answer; None when there is none or a spoilt one."""
        self.port.timeout = timeout_s
        self.port.write(frame(kind, seq, payload))
        self.port.read_until(b"\0")
        answer = self.port.read_until(b"\0")
        return (answer[1], answer[2]) if len(answer) > 3 and answer[0] > 2 else None

    def load(self) -> None:
        self.ask("db load 4")
        assert "m-load-done" in self.ask("db 01000000")

    def edges(self) -> list[Edge]:
        os.set_blocking(self.edges_fd, False)
        return [
            Edge(*map(int, line.split()))
            for line in os.read(self.edges_fd, 1 << 16).decode().splitlines()
        ]


@pytest.fixture(scope="module")
def image() -> Path:
    return built("posix") / "posix" / "null"


class Starter:
    def __init__(self, image: Path) -> None:
        self.image = image
        self.devices: list[Device] = []

    def __call__(self, *options: str) -> Device:
        read_fd, write_fd = os.pipe()
        process = subprocess.Popen(
            [str(self.image), "--edges", str(write_fd), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[write_fd],
        )
        os.close(write_fd)
        assert process.stdout is not None
        word, path = process.stdout.readline().decode().split()
        assert word == "pty"
        device = Device(process, path, read_fd)
        self.devices.append(device)
        return device

    def close(self) -> None:
        for device in self.devices:
            device.port.close()
            device.process.kill()
            device.process.wait()
            for stream in (device.process.stdin, device.process.stdout):
                if stream is not None:
                    stream.close()
            os.close(device.edges_fd)


@pytest.fixture
def start(image: Path) -> Iterator[Starter]:
    starter = Starter(image)
    yield starter
    starter.close()


def test_newer_termios_h_that_defines_limits_of_rates_compiles() -> None:
    """That of the GNU C library 2.43 has BAUD_MAX, Debian 12's has not."""
    names = ("-DBAUD_MAX=4294967295U", "-DBAUD_MIN=0U")
    source = FIRMWARE / "ports" / "posix" / "port.c"
    words = [COMPILER, "-fsyntax-only", f"-I{FIRMWARE}/core", *names, source]
    done = captured(words)
    assert done.returncode == 0, done.stderr


def test_a_second_client_is_served_like_the_first(start: Starter) -> None:
    device = start()
    assert device.ask("name") == "m-name-dut-[posix]\r\nm-ready\r\n"
    device.port.close()
    device.port.open()
    assert device.ask("name") == "m-name-dut-[posix]\r\nm-ready\r\n"


def test_the_end_of_standard_input_ends_it_and_its_link(
    start: Starter, tmp_path: Path
) -> None:
    link = tmp_path / "dut"
    device = start("--link", str(link))
    assert str(link.readlink()) == device.path
    assert device.process.stdin is not None
    device.process.stdin.close()
    assert device.process.wait(2) == 0
    assert not link.is_symlink()


def test_sigterm_ends_it_and_its_link(start: Starter, tmp_path: Path) -> None:
    link = tmp_path / "dut"
    link.symlink_to("left-behind")
    device = start("--link", str(link))
    device.process.terminate()
    assert device.process.wait(2) == 0
    assert not link.is_symlink()


def test_a_file_is_no_link_to_be_replaced(image: Path, tmp_path: Path) -> None:
    file = tmp_path / "precious"
    file.write_text("data")
    done = subprocess.run(
        [str(image), "--link", str(file)], stdin=subprocess.PIPE, capture_output=True
    )
    assert done.returncode == 2
    assert file.read_text() == "data"


@pytest.mark.parametrize(
    "option",
    [
        "--tick-hz=999",
        "--ppm=x",
        "--ppm=2e5",
        "--baud=1",
        "--edges=-1",
        "--frobnicate",
        "stray",
    ],
)
def test_wrong_options_are_refused(image: Path, option: str) -> None:
    done = subprocess.run(
        [str(image), option], stdin=subprocess.PIPE, capture_output=True, timeout=5
    )
    assert done.returncode == 2
    assert done.stdout == b""


def test_edges_and_ticks_agree_exactly(start: Starter) -> None:
    tick_hz = 32_000_000
    ppb = -12_345
    offset = 10**15
    clock = ["--tick-hz", str(tick_hz), "--ppm", "-12.345", "--offset", str(offset)]
    device = start(*clock)
    device.load()
    for _ in range(5):
        assert "m-infer-done" in device.ask("infer 100 0")
    edges = device.edges()
    assert (edges[0].level, edges[0].phase, edges[0].stolen_ns) == (1, 0, 0)
    assert [edge.level for edge in edges[1:]] == [0, 1] * 10
    assert [edge.phase for edge in edges[1:5]] == [2, 2, 0, 0]
    for edge in edges:
        assert edge.tick == offset + edge.true_ns * tick_hz * (10**9 + ppb) // 10**18
    for fall, rise in zip(edges[1::2], edges[2::2], strict=True):
        assert rise.true_ns - fall.true_ns == 50_000  # of the text layer
    for rise, fall in zip(edges[2::2], edges[3::2], strict=False):
        assert fall.true_ns - rise.true_ns >= 1000
    stolen = [edge.stolen_ns for edge in edges]
    assert stolen == sorted(stolen)


def test_printed_times_are_those_of_the_edges(start: Starter) -> None:
    device = start("--tick-hz", "48000000")
    device.load()
    lines = device.ask("infer 100000 0").splitlines()
    printed = [
        int(line.removeprefix("m-lap-us-"))
        for line in lines
        if line.startswith("m-lap-us-")
    ]
    assert printed == [edge.tick // 48 for edge in device.edges() if edge.level == 0]


def test_a_stopped_process_is_not_a_slow_device(start: Starter) -> None:
    """Time without the processor during a computation is not in its time."""
    device = start("--block-ns", "0")
    device.load()
    device.ask("infer 1000000 0")
    device.edges()
    device.port.write(b"infer 60000000 0%")
    # it computes now, for 0.3 s
    assert select.select([device.edges_fd], [], [], 5.0)[0]
    device.process.send_signal(19)  # SIGSTOP
    time.sleep(0.5)  # it may not count this
    device.process.send_signal(18)  # SIGCONT
    device.port.timeout = 60
    lines = device.port.read_until(b"m-ready\r\n").decode()
    assert "m-infer-done" in lines
    fall, _, end, _ = device.edges()
    assert end.stolen_ns - fall.stolen_ns >= 450_000_000


def test_the_same_work_takes_the_same_time_to_the_nanosecond(start: Starter) -> None:
    """Independently of the host's load, the simulated processor takes a fixed time for
    each basic block.
    """
    durations_ns = set()
    for _ in range(5):
        device = start()
        device.load()
        device.ask("infer 20000 0")
        *_, fall, _, end, _ = device.edges()
        durations_ns.add(end.true_ns - fall.true_ns)
    assert len(durations_ns) == 1
    # a loop and a call are two blocks or more
    assert durations_ns.pop() >= 20_000 * 2 * 25


def test_a_slow_processor_keeps_its_host_waiting(start: Starter) -> None:
    """Edges leave the device in real time, also where the host computes faster than the
    device would.
    """
    device = start("--block-ns", "1000")
    device.load()
    began_s = time.monotonic()
    device.ask("infer 100000 0")
    took_s = time.monotonic() - began_s
    *_, fall, _, end, _ = device.edges()
    assert (end.true_ns - fall.true_ns) / 1e9 >= 0.2
    assert took_s >= (end.true_ns - fall.true_ns) / 1e9
    assert end.stolen_ns >= fall.stolen_ns >= 0


@pytest.mark.paced  # it waits for a fixed time
def test_a_wrong_rate_spoils_both_ways(start: Starter) -> None:
    device = start("--baud", "57600")
    assert "m-name" not in device.ask("name", 0.2)
    device.port.baudrate = 57600
    device.port.reset_input_buffer()
    device.ask("", 0.5)  # any rest of the spoilt bytes
    assert device.ask("name") == "m-name-dut-[posix]\r\nm-ready\r\n"


def test_without_the_option_any_rate_will_do(start: Starter) -> None:
    device = start()
    for baud in (9600, 1234567, 3000000):
        device.port.baudrate = baud
        assert device.ask("name") == "m-name-dut-[posix]\r\nm-ready\r\n"


def enter_framed(device: Device) -> None:
    assert device.ask("frame 1").startswith("m-frame-[1]")
    assert device.exchange(0x01, 10, struct.pack("<IB", 7, 1)) == (0x81, 10)


@pytest.mark.paced  # a rate is confirmed within half a second
@pytest.mark.parametrize("baud", [921600, 1234567])
def test_the_rate_is_switched(start: Starter, baud: int) -> None:
    device = start("--baud", "115200")
    enter_framed(device)
    assert device.exchange(0x03, 11, struct.pack("<I", baud)) == (0x83, 11)
    device.port.baudrate = baud
    assert device.exchange(0x02, 12) == (0x82, 12)
    time.sleep(0.6)  # longer than it waits for a confirmation
    assert device.exchange(0x02, 13) == (0x82, 13)


@pytest.mark.paced  # it waits for a fixed time
def test_an_unconfirmed_rate_is_taken_back(start: Starter) -> None:
    device = start("--baud", "115200")
    enter_framed(device)
    assert device.exchange(0x03, 11, struct.pack("<I", 921600)) == (0x83, 11)
    assert device.exchange(0x02, 12, timeout_s=0.1) is None
    time.sleep(0.6)  # longer than it waits for a confirmation
    device.port.reset_input_buffer()
    assert device.exchange(0x02, 12) == (0x82, 12)


def test_it_dies_in_the_ordered_query(start: Starter) -> None:
    device = start("--die-after-queries", "2")
    device.load()
    assert "m-infer-done" in device.ask("infer 1 0")
    assert "m-infer-done" in device.ask("infer 1 0")
    device.port.write(b"infer 1 0%")
    assert device.process.wait(2) == 3
    assert len([edge for edge in device.edges() if edge.level == 0]) == 5


def test_it_falls_mute_in_the_ordered_query(start: Starter) -> None:
    device = start("--mute-after-queries", "1")
    device.load()
    assert "m-infer-done" in device.ask("infer 1 0")
    assert "m-infer-done" not in device.ask("infer 1 0", 0.2)
    assert device.ask("name", 0.2) == ""
    assert device.process.poll() is None
