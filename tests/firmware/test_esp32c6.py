# SPDX-License-Identifier: Apache-2.0
"""The image of the ESP32-C6 on a processor that is not ours, Unicorn's, with peripherals
that were written from Espressif's descriptions: `make peers`. It was never run on
silicon.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from rig.interfaces.context import BenchContext
from rig.model.steps import Idle, Load, Query, Sync
from sut_backends.uart.backend import UartSut
from tests.builds import built_with

PYTHON = os.environ.get("UNICORN_PYTHON", "")
if not PYTHON:
    pytest.skip("unicorn is not installed: make peers", allow_module_level=True)
if shutil.which("riscv64-unknown-elf-gcc") is None:
    pytest.skip(
        "needs riscv64-unknown-elf-gcc (apt-get install gcc-riscv64-unknown-elf)",
        allow_module_level=True,
    )
SAMPLE = bytes(range(1, 97))
HOLD_US = 50
IDLE_S = 0.02
#: From the store that drops the pin to the latch of the counter, and one count of it.
LATE_NS = 400


@dataclass(frozen=True, slots=True)
class Esp32c6Conversation:
    """The device's reports, and the edges of its pin: levels, and times in ns."""

    name: str
    ticks: list[int]
    edges: list[tuple[int, float]]
    registers: dict[str, list[int]]
    least_hold_us: float
    least_edges: list[tuple[int, float]]


@pytest.fixture(scope="module")
def conversation(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Esp32c6Conversation]:
    image = built_with("riscv-boards", "WORKLOADS=null asc") / "esp32c6" / "null.elf"
    edges = tmp_path_factory.mktemp("esp32c6") / "edges"
    program = Path(__file__).with_name("esp32c6_board.py")
    words = [PYTHON, str(program), str(image), str(edges)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            url = f"socket://127.0.0.1:{int(process.stdout.readline())}"
            yield talk(url, edges, process.stdout)
        finally:
            process.kill()


def talk(url: str, edges: Path, output: IO[str]) -> Esp32c6Conversation:
    """Bring a sample, and ask for marks of each kind."""
    settings = UartSut.Settings(port=url, baud=115_200, sync_hold_us=HOLD_US)
    with closing(UartSut.open(settings, BenchContext(seed=1))) as sut:
        info = sut.info
        ticks = [mark.tick for mark in sut.do(Sync()).marks]
        ticks += [mark.tick for mark in sut.do(Idle(IDLE_S)).marks]
        sut.do(Load(0), [SAMPLE])
        ticks += [mark.tick for mark in sut.do(Query((0,))).marks]
    registers = json.loads(output.readline())
    levels = read(edges)
    settings = UartSut.Settings(port=url, baud=115_200, sync_hold_us=1)
    with closing(UartSut.open(settings, BenchContext(seed=1))) as sut:
        least_hold_us = sut.info.sync_hold_s * 1e6
        sut.do(Sync())
    output.readline()
    least = read(edges)[len(levels) :]
    return Esp32c6Conversation(
        name=info.name,
        ticks=ticks,
        edges=levels,
        registers=registers,
        least_hold_us=least_hold_us,
        least_edges=least,
    )


def read(edges: Path) -> list[tuple[int, float]]:
    lines = map(str.split, edges.read_text(encoding="ascii").splitlines())
    return [(int(level), float(at_ns)) for level, at_ns in lines]


def test_it_answers_on_its_uart(conversation: Esp32c6Conversation) -> None:
    assert conversation.name == "esp32c6"


def test_each_mark_is_a_fall_of_the_pin_in_its_microsecond(
    conversation: Esp32c6Conversation,
) -> None:
    falls_ns = [at_ns for level, at_ns in conversation.edges if not level]
    assert len(falls_ns) == len(conversation.ticks) > 10
    for tick, at_ns in zip(conversation.ticks, falls_ns, strict=True):
        assert tick * 1000 - LATE_NS <= at_ns < (tick + 1) * 1000


def test_an_alarm_raises_the_pin_after_its_hold(
    conversation: Esp32c6Conversation,
) -> None:
    edges = conversation.edges  # the first one is a fall: it was high before
    pulses = list(zip(edges[::2], edges[1::2], strict=True))
    assert [(fall[0], rise[0]) for fall, rise in pulses] == [(0, 1)] * len(pulses)
    for fall, rise in pulses:
        assert HOLD_US * 1000 <= rise[1] - fall[1] <= (HOLD_US + 1) * 1000 + LATE_NS


def test_the_shortest_pulse_leaves_time_to_arm_its_alarm(
    conversation: Esp32c6Conversation,
) -> None:
    edges = conversation.least_edges
    assert conversation.least_hold_us == pytest.approx(4.0)
    assert len(edges) > 4
    for fall, rise in zip(edges[::2], edges[1::2], strict=True):
        assert (fall[0], rise[0]) == (0, 1)
        assert 4000 <= rise[1] - fall[1] <= 5000 + LATE_NS


def test_an_idle_window_lasts_as_long_as_was_asked(
    conversation: Esp32c6Conversation,
) -> None:
    first, last = conversation.ticks[-5:-3]
    assert 0 <= (last - first) - IDLE_S * 1e6 < 200


def test_watchdogs_are_off_and_the_crystal_is_the_clock(
    conversation: Esp32c6Conversation,
) -> None:
    # lp_wdt_reg.h, timer_group_reg.h: no flash boot mode, none enabled, the super
    # watchdog feeds itself; pcr_reg.h: XTAL, each divider for it by 1.
    timer_group, low_power, itself = conversation.registers["watchdogs"]
    assert timer_group & (1 << 31 | 1 << 14) == 0
    assert low_power & (1 << 31 | 1 << 12) == 0
    assert itself >> 18 & 1 == 1
    source, cpu, ahb, apb = conversation.registers["clocks"]
    assert source >> 16 & 3 == 0
    assert (cpu & 0xFF, ahb & 0xFF, apb & 0xFFFF) == (0, 0, 0)
