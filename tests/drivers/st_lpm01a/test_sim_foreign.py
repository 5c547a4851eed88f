# SPDX-License-Identifier: Apache-2.0
"""The simulated LPM01A answers programs that were written for a real board by others.
There is none in a package, so each was run by hand, and here are its bytes and its
reading of the answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import serial

from drivers.st_lpm01a.sim.simulator import Lpm01aSimulator, Lpm01aSimulatorSettings
from rig.interfaces.context import BenchContext
from rig.simulation.world import World

MS = 1_000_000
PROMPT = b"PowerShield > "


@contextmanager
def board() -> Iterator[tuple[serial.Serial, World]]:
    """Yield an open port with a board on it that feeds a DUT of 33 mW, and its world."""
    world = World()
    world.put(0, True, 0.033)
    settings = Lpm01aSimulatorSettings(clock_ppm=0.0, noise_a=0.0)
    simulator = Lpm01aSimulator(settings, BenchContext(world=world))
    try:
        with serial.Serial(simulator.port, 3_686_400, timeout=5) as port:
            yield port, world
    finally:
        simulator.close()


def exact(port: serial.Serial, command: bytes, answer: bytes) -> None:
    port.write(command + b"\r\n")
    assert port.read(len(answer)) == answer


def test_a_client_of_2019_gets_each_answer_to_the_byte() -> None:
    """LPM01 by "Markus" of 2019-07-18: reads as many bytes as it expects, and compares
    them."""
    with board() as (port, world):
        exact(port, b"htc", b"\r\nPowerShield > ack htc\r\n\r\n")
        exact(port, b"echo ABC", b"\r\nPowerShield > echo ABC\r\n")
        for command in (
            b"trigdelay 8",
            b"freq 20k",
            b"volt 3300m",
            b"pwrend on",
            b"targrst 100m",
            b"pwr on",
            b"trigdelay 0",
            b"acqtime 0",
            b"funcmode optim",
            b"format bin_hexa",
            b"start",
        ):
            exact(port, command, b"\r\nPowerShield > ack " + command + b"\r\n\r\n")
        world.advance(500 * MS)
        heard = b""
        port.timeout = 0.3
        while block := port.read(10_000):
            heard += block
        assert twelve_bits(heard) == pytest.approx([0.01] * 10_000, rel=2e-3)
        port.write(b"stop\r\n")
        rest = port.read_until(b"PowerShield > Acquisition completed\r\n")
        assert rest.endswith(b"completed\r\n")


def twelve_bits(stream: bytes) -> list[float]:
    """Decode as that client does: what begins with 0xF0 or more ends at FF FF."""
    values = []
    at = 0
    while at + 1 < len(stream):
        if stream[at] >= 0xF0:
            at = stream.index(b"\xff\xff", at) + 2
            continue
        word = int.from_bytes(stream[at : at + 2])
        values.append((word & 0xFFF) * 16.0 ** -(word >> 12))
        at += 2
    return values


def lines(port: serial.Serial, until: str) -> Iterator[str]:
    """Yield lines as MLPerf Tiny's SerialDevice cuts them: at LF, without CR and
    NUL."""
    while True:
        raw = port.read_until(b"\n")
        assert raw.endswith(b"\n"), f"no {until!r}"
        line = raw.translate(None, b"\r\n\0").decode()
        yield line
        if until in line:
            return


def acknowledged(port: serial.Serial, command: str) -> list[str]:
    """Send a command as MLPerf Tiny's runner does; return the words after `ack` and the
    command."""
    port.write(command.encode() + b"\r\n")
    for line in lines(port, command):
        answer = line.replace(PROMPT.decode(), "").strip()
        if command in answer and answer.startswith("ack"):
            return answer.replace(command, "").split(" ", 2)[1:]
    pytest.fail(command)


def test_mlperf_tinys_runner_measures_energy_between_events() -> None:
    """mlcommons/tiny at 1afd2c9, benchmark/runner/power_manager/power_manager_lpm.py:
    setup, power_on, start, power_off while samples come, tear_down.
    """
    with board() as (port, world):
        for command in (
            "htc",
            'lcd 1 "MLPerf Tiny"',
            'lcd 2 "     monitor    "',
            "pwr off",
            "acqtime inf",
            "trigdelay 0",
            "trigsrc sw",
            "eventsrc d7 fal",
            "output energy",
            "format ascii_dec",
            "freq 1k",
            "volt 3000m",
        ):
            assert acknowledged(port, command) in ([], [""]), command
        assert acknowledged(port, "powershield")[-1] == "540619864-1110659081-4784204"
        assert acknowledged(port, "version")[-1] == "1.0.6"
        assert acknowledged(port, "status")[-1] == "ok"
        acknowledged(port, "pwr on nostatus")
        acknowledged(port, "start")
        for level, power_w in (
            (True, 0.033),
            (False, 0.066),
            (True, 0.033),
            (False, 0.066),
        ):
            world.put(world.now_ns(), level, power_w)
            world.advance(250 * MS)
        reported = list(lines(port, "TimeStamp: 001s"))
        port.write(b"pwr off\r\n")
        reported += lines(port, "ack pwr off")
        world.advance(100 * MS)
        port.write(b"stop\r\n")
        reported += lines(port, "Acquisition completed")
        assert acknowledged(port, "pwr off") in ([], [""])
        assert acknowledged(port, "hrc") in ([], [""])
    samples: list[float] = []
    events: list[int] = []
    for line in reported[: reported.index("end")]:
        if re.match(r"\d{4}[+-]\d{2}", line):
            values = re.findall(r"\d{4}[-+]\d{2}", line)
            samples += [
                float(each.replace("+", "e+").replace("-", "e-")) for each in values
            ]
        elif re.match(r"event \d+ ris", line):
            events.append(len(samples))
    expected_j = ([33e-6] * 250 + [66e-6] * 250) * 2
    assert (
        samples[:1000] == pytest.approx(expected_j, rel=1e-3) and len(samples) == 1100
    )
    assert events == [250, 750] and set(samples[-100:]) == {0.0}
    stamps = [
        line
        for line in reported
        if re.match(r"^TimeStamp:[ ><]\d{3}s \d{3}ms, buff \d\d%$", line)
    ]
    assert len(stamps) == 2


def test_zephyrs_harness_reads_voltage_temperature_and_an_acquisition_that_ends():
    """zephyrproject-rtos/zephyr,
    scripts/pylib/power-twister-harness/stm32l562e_dk/PowerShield.py: it reads words by
    their place, and all input until the line is silent.
    """
    with board() as (port, world):

        def ask(command: str) -> str:
            port.write(command.encode("ascii") + b"\r\n")
            port.timeout = 0.1
            heard = b""
            while byte := port.read(1):
                heard += byte
            return re.sub(r"(\0|\r|\n\n\n)", "", heard.decode("ascii")).strip()

        for command in (
            "htc",
            "volt 3300m",
            "format bin_hexa",
            "funcmode high",
            "freq 1k",
        ):
            assert f"ack {command}" in ask(command)
        assert re.fullmatch(r"3300-03", ask("volt get").split()[5])
        assert re.fullmatch(r"\d+\.\d", ask("temp degc").split()[5])
        # convert_to_scientific_notation
        assert "ack acqtime 500-3" in ask("acqtime 500-3")
        port.write(b"start\r\n")
        port.timeout = 2.0
        heard = port.read_until(b"\xf0\xf3")
        # Bytes before the first time stamp are no sample, and 0xF0 is not in it.
        assert b"ack start" in heard and heard.count(0xF0) == 1
        heard += port.read_until(b"\xff\xff")
        assert heard[-7:-2] == b"\0\0\0\0\0"
        world.advance(600 * MS)
        samples = port.read_until(b"\xf0\xf4\xff\xff")[:-4]
        assert twelve_bits(samples) == pytest.approx([0.01] * 500, rel=2e-3)
        port.timeout = 0.1
        summary = port.read(1000).decode()
        assert "summary beg" in summary and "Acquisition completed" in summary


def test_lpm01a_lib_ends_commands_with_a_line_feed_alone() -> None:
    """lazicdanilo/LPM01A-lib at d594e6f, src/LPM01A.py: `\\n` ends a command, and the
    first line that is not empty must be the answer; NUL before a sample is cut off.
    """
    with board() as (port, world):

        def send(command: str) -> str:
            port.write(command.encode() + b"\n")
            return row()

        def row() -> str:
            for _ in range(3):
                if text := heard().decode().strip():
                    return text
            return ""

        def heard() -> bytes:
            line: bytes = port.readline()
            assert line, "nothing came"
            return line

        for command in (
            "htc",
            "format ascii_dec",
            "volt 3300m",
            "freq 1000",
            "acqtime 0",
            "start",
        ):
            assert send(command) == f"PowerShield > ack {command}"
        world.advance(1010 * MS)
        rows = [row() for _ in range(1003)]
        assert re.search(r"TimeStamp: (\d+)s (\d+)ms, buff (\d+)%", rows[0])
        assert rows[1] == "\x001000-05" and rows[2] == "1000-05"
        assert rows.index("TimeStamp: 001s 000ms, buff 00%") == 1001
