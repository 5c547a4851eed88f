# SPDX-License-Identifier: Apache-2.0
"""The public MLPerf Tiny runner, as our host: its messages, their timing, and its
reading of the answers.

Written from observations of that runner. It shares no code with the product's own
client.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest
import serial

from drivers.st_lpm01a.sim.simulator import Lpm01aSimulator, Lpm01aSimulatorSettings
from rig.interfaces.context import BenchContext
from sut_backends.hosted.posix import DutProcess
from sut_backends.hosted.sync_wire import EdgeWire, Power
from tests.builds import built

pytestmark = [
    pytest.mark.posix,
    pytest.mark.skipif(
        not shutil.which(os.environ.get("CC", "cc")) or not shutil.which("make"),
        reason="needs make and gcc",
    ),
    pytest.mark.skipif(sys.platform != "linux", reason="the port is tested on Linux"),
]

DIRECT_B = 31
THROUGH_IO_MANAGER_B = 26
CLASSES = 12


@pytest.fixture(scope="module")
def programs() -> Path:
    return built("posix") / "posix"


class Runner:
    """The runner's side of a line: a command and its `%` go out in two writes, answers
    are read one byte at a time.
    """

    def __init__(self, path: str) -> None:
        self._port = serial.Serial(path, 115_200, timeout=0.1)

    def close(self) -> None:
        self._port.close()

    def line(self, limit_s: float = 20.0) -> str:
        output = b""
        end_s = time.monotonic() + limit_s
        while time.monotonic() < end_s:
            byte = self._port.read(1)
            if byte == b"\n":
                return output.decode("ascii")
            output += b"" if byte in (b"\r", b"\0") else byte
        raise AssertionError(f"no line, only {output!r}")

    def send(self, command: str, limit_s: float = 20.0) -> list[str]:
        """Return the lines up to the first that contains m-ready, as the runner
        does."""
        self._port.write(command.encode())
        self._port.write(b"%")
        lines = [self.line(limit_s)]
        while "m-ready" not in lines[-1]:
            lines.append(self.line(limit_s))
        return lines

    def load(self, content: bytes, step_b: int = DIRECT_B) -> list[str]:
        """Return the answer to the last command; the runner looks at none of them."""
        answer = self.send(f"db load {len(content)}")
        for at in range(0, len(content), step_b):
            answer = self.send(
                "db " + "".join(f"{byte:02x}" for byte in content[at : at + step_b])
            )
        return answer

    def infer(self, count: int, warmups: int) -> tuple[list[float], list[int]]:
        """Return the results and the laps that the runner finds in the answer."""
        lines = self.send(f"infer {count} {warmups}", 30.0)
        result = [
            match
            for line in lines
            if (match := re.match(r"^m-results-\[([^]]+)\]$", line))
        ]
        laps = [
            int(match[1])
            for line in lines
            if (match := re.match(r"^m-lap-us-([0-9]+)$", line))
        ]
        return (
            [float(word) for word in result[0][1].split(",") if word.strip()]
            if result
            else []
        ), laps


@pytest.fixture
def runner_of(programs: Path) -> Iterator[Callable[[str], Runner]]:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    opened: list[Runner | DutProcess] = []

    def start(name: str) -> Runner:
        process = DutProcess(programs / name, [], nowhere)
        runner = Runner(process.port)
        opened.extend([process, runner])
        return runner

    yield start
    for part in reversed(opened):
        part.close()
    os.close(nowhere)


def scores_of(number: int, size_b: int = 490) -> bytes:
    """Return an input that the null workload answers as 16 outputs, the highest is
    number `number`.
    """
    numbers = [400 if position == number else 10 + position for position in range(16)]
    return struct.pack("<16i", *numbers) + bytes(
        (position * 7) & 0xFF for position in range(size_b - 64)
    )


def test_the_handshake_finds_name_profile_and_model(
    runner_of: Callable[[str], Runner],
) -> None:
    runner = runner_of("null")
    names = [
        match
        for line in runner.send("name")
        if (match := re.match(r"^m-(name)-dut-\[([^]]+)]$", line))
    ]
    assert [match[2] for match in names] == ["posix"]
    about = dict(
        match.groups()
        for line in runner.send("profile")
        if (match := re.match(r"^m-(model|profile)-\[([^]]+)]$", line))
    )
    assert about == {"profile": "neurorig null", "model": "null"}


@pytest.mark.parametrize("step_b", [DIRECT_B, THROUGH_IO_MANAGER_B])
def test_samples_are_loaded_in_the_runners_steps_and_every_one_gets_its_own_answer(
    runner_of: Callable[[str], Runner], step_b: int
) -> None:
    runner = runner_of("null")
    for number in range(CLASSES):
        assert runner.load(scores_of(number), step_b) == ["m-load-done", "m-ready"]
        results, laps = runner.infer(1, 0)
        assert results.index(max(results)) == number
        assert (len(results), round(sum(results), 3), len(laps)) == (16, 1.0, 2)


def test_the_throughput_that_the_runner_computes_from_the_laps_is_the_devices(
    runner_of: Callable[[str], Runner],
) -> None:
    runner = runner_of("asc")
    throughputs = []
    for number in range(5):
        runner.load(bytes((number + position) & 0xFF for position in range(16_000)))
        results, laps = runner.infer(20, 2)
        assert len(results) == 4
        throughputs.append(20 * 1e6 / (laps[1] - laps[0]))
    # By the simulated processor, which takes 25 ns for each of the basic blocks that an
    # inference runs through.
    laps = [runner.infer(1, 0)[1] for _ in range(3)]
    alone = [lap[1] - lap[0] for lap in laps]
    assert median(throughputs) == pytest.approx(1e6 / median(alone), rel=0.02)


def test_every_line_is_printable_ends_in_cr_lf_and_says_ready_once_at_the_end(
    programs: Path,
) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    process = DutProcess(programs / "null", [], nowhere)
    commands = [
        "name",
        "profile",
        "timestamp",
        "help",
        "db load 4",
        "db 01020304",
        "infer 2 1",
        "infer 2",
        "results",
        "timestamp-mode",
    ]
    commands += [
        "db print",
        "start",
        "stop",
        "print_detections",
        "db load",
        "db 012",
        "infer",
        "infer 0",
        "infer x",
        "db load 99999999",
    ]
    with serial.Serial(process.port, 115_200, timeout=5.0) as port:
        for command in commands:
            port.write(command.encode())
            port.write(b"%")
            output = port.read_until(b"m-ready\r\n")
            assert output.endswith(b"m-ready\r\n") and output.count(b"m-ready") == 1
            for line in output.removesuffix(b"\r\n").split(b"\r\n"):
                assert re.fullmatch(rb"[me]-[ -~]+", line)
    process.close()
    os.close(nowhere)


def test_commands_arrive_whole_however_they_are_cut(
    runner_of: Callable[[str], Runner],
) -> None:
    runner = runner_of("null")
    for byte in b"profile%":
        runner._port.write(bytes([byte]))
        runner._port.flush()
    assert [runner.line() for _ in range(3)][-1] == "m-ready"
    runner._port.write(b"name%name%")
    assert [runner.line() for _ in range(4)] == ["m-name-dut-[posix]", "m-ready"] * 2


def test_a_load_that_went_wrong_unnoticed_gives_no_result_that_the_runner_could_take(
    runner_of: Callable[[str], Runner],
) -> None:
    runner = runner_of("null")
    spoilt = {
        "too large": ["db load 99999999", "db 0102"],
        "a digit lost": ["db load 4", "db 010"],
        "a byte lost": ["db load 4", "db 010203"],
        "a byte too many": ["db load 4", "db 0102030405"],
        "no digit": ["db load 4", "db 0102030g"],
    }
    for commands in spoilt.values():
        runner.load(scores_of(3))
        assert runner.infer(1, 0)[0]
        for command in commands:
            runner.send(command)
        assert runner.infer(1, 0) == ([], [])


def test_db_print_does_not_cost_the_load_that_is_open(
    runner_of: Callable[[str], Runner],
) -> None:
    runner = runner_of("null")
    runner.send("db load 64")
    assert runner.send("db print")[0].startswith("e-[")
    content = scores_of(5)[:64]
    runner.send("db " + content[:31].hex())
    assert runner.send("db " + content[31:].hex()) == ["m-load-done", "m-ready"]


# ---- energy ----

SET_UP = (
    "htc",
    'lcd 1 "MLPerf Tiny"',
    'lcd 2 "     monitor    "',
    "pwr off",
    "acqtime inf",
    "trigdelay 0",
    "trigsrc sw",
)
SET_UP += (
    "eventsrc d7 fal",
    "output energy",
    "format ascii_dec",
    "freq 1k",
    "volt 3300m",
    'lcd 2 "           3.3V "',
)
SAMPLE_HZ = 1000


class Energy:
    """The runner's side of a PowerShield: lines of samples and events, in the order
    they come."""

    def __init__(self, path: str) -> None:
        self._port = serial.Serial(path, 3_686_400, timeout=0.1)
        self._partial = b""
        self.samples: list[float] = []
        self.events: list[tuple[int, int]] = []
        self.texts: list[str] = []

    def close(self) -> None:
        self._port.close()

    def command(self, words: str) -> None:
        self.texts.clear()
        self._port.write(words.encode())
        self._port.write(b"\r\n")
        self.until(
            lambda: any(
                text.replace("PowerShield > ", "") == f"ack {words}"
                for text in self.texts
            )
        )

    def until(self, done: Callable[[], bool], limit_s: float = 10.0) -> None:
        end_s = time.monotonic() + limit_s
        while not done():
            assert time.monotonic() < end_s, (
                f"{self.texts[-3:]}, {len(self.samples)} samples, {len(self.events)}"
                " events"
            )
            self._take(self._port.read(max(self._port.in_waiting, 1)))

    def stop(self) -> None:
        self._port.write(b"stop\r\n")
        self.until(lambda: any("Acquisition completed" in text for text in self.texts))

    def _take(self, block: bytes) -> None:
        *lines, self._partial = (
            self._partial + block.replace(b"\r", b"").replace(b"\0", b"")
        ).split(b"\n")
        for text in (line.decode("ascii") for line in lines):
            if re.match(r"\d{4}[+-]\d{2}", text):
                result = re.findall(r"\d{4}[-+]\d{2}", text)
                self.samples += [
                    float(word.replace("+", "e+").replace("-", "e-")) for word in result
                ]
            elif event := re.match(r"event (\d+) ris", text):
                self.events.append((int(event[1]), len(self.samples)))
            elif text.startswith("TimeStamp"):
                assert re.match(
                    r"^TimeStamp:[ ><]([0-9]{3})s ([0-9]{3})ms, buff [0-9]{2}%$", text
                )
            elif text:
                self.texts.append(text)


def test_the_energy_that_the_runner_sums_between_the_last_two_events_is_the_devices(
    programs: Path,
) -> None:
    """With the firmware's SYNC at D7 of the simulated PowerShield; the truth is the
    energy log of the simulated world.
    """
    context = BenchContext(seed=3)
    read_fd, write_fd = os.pipe()
    origin_ns = time.monotonic_ns() - context.world.now_ns()
    process = DutProcess(programs / "asc", [], write_fd)
    os.close(write_fd)
    edges = EdgeWire(read_fd, context.world, Power(), origin_ns)
    board = Lpm01aSimulator(Lpm01aSimulatorSettings(), context)
    runner = Runner(process.port)
    energy = Energy(board.port)
    count = 20
    try:
        for words in (*SET_UP, "pwr on nostatus", "start"):
            energy.command(words)
        runner.load(
            bytes(position & 0xFF for position in range(16_000)), THROUGH_IO_MANAGER_B
        )
        runner.infer(count, 1)
        energy.until(lambda: len(energy.events) == 2)
        energy.stop()
        states = context.world.states()
        falls_ns = [
            after.time_ns
            for before, after in pairwise(states)
            if before.level and not after.level
        ]
        truth_j = context.world.true_energy_j(falls_ns[0], falls_ns[1])
    finally:
        for part in (energy, runner, board, edges, process):
            part.close()
    (first, start), (second, stop) = energy.events
    assert second == first + 1
    assert (stop - start) / SAMPLE_HZ == pytest.approx(
        (falls_ns[1] - falls_ns[0]) / 1e9, abs=1.5 / SAMPLE_HZ
    )
    # Each end of the sum is a whole sample: what one of 50 mW holds.
    assert sum(energy.samples[start:stop]) == pytest.approx(
        truth_j, abs=1.5 * 0.05 / SAMPLE_HZ
    )
