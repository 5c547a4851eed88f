# SPDX-License-Identifier: Apache-2.0
"""A SYNC pulse lasts its hold or longer, never less: an instrument's limit is one of
the pulse.

Measured in the emulator's own time: on the edge wire, and in the compare register that
ends a pulse in silicon.
"""

from __future__ import annotations

import json
import socket
from itertools import pairwise
from pathlib import Path

import pytest

from rig.firmware.emulator import Emulator
from rig.interfaces.context import BenchContext
from rig.model.steps import Idle, Sync
from sut_backends.hosted.qemu import QemuSut
from tests.boards import BOARDS, image
from tests.conftest import ROOT
from tests.firmware.test_emulated import ask
from tests.programs import captured

TEXT_HOLD_US = 50
TIM2_CCR1 = 0x4000_0034
TURN = 1 << 32


@pytest.mark.parametrize("port", BOARDS)
@pytest.mark.parametrize("hold_us", [2, 50])
def test_low_and_high_last_the_hold_at_least(port: str, hold_us: int) -> None:
    context = BenchContext(seed=1)
    context.world.supply_on = True
    settings = QemuSut.Settings(
        program=str(image(port, "null")),
        machine=BOARDS[port],
        sync_hold_us=hold_us,
        sync_period_us=300,
    )
    sut = QemuSut.open(settings, context)
    try:
        burst = sut.do(Sync()).marks
        last_ns = burst[-1].tick * 1000 + 2 * hold_us * 1000
        while context.world.horizon_ns() < last_ns:
            sut.do(Idle(0.005))
        states = context.world.states()
    finally:
        sut.close()
    lengths_us = [
        ((later.time_ns - state.time_ns) / 1000, state.level)
        for state, later in pairwise(states)
        if state.level != later.level
    ]
    lows_us = [length_us for length_us, level in lengths_us if not level]
    highs_us = [length_us for length_us, level in lengths_us[1:] if level]
    assert len(lows_us) >= len(burst) and len(highs_us) >= len(burst) - 1
    # The tick was read in a microsecond that had begun: of a pulse of n steps of the
    # counter, the line is low for n - 1 of them at least.
    assert min(lows_us) - 1 >= hold_us
    assert max(lows_us) - 1 <= hold_us + 1
    assert min(highs_us) >= hold_us


def test_the_timer_of_the_stm32_ends_a_pulse_no_sooner(tmp_path: Path) -> None:
    monitor = tmp_path / "qmp"
    options = ("-qmp", f"unix:{monitor},server=on,wait=off")
    with Emulator(image("stm32f405", "null"), BOARDS["stm32f405"], options) as emulator:
        host, _, number = emulator.url.removeprefix("socket://").partition(":")
        with socket.create_connection((host, int(number)), timeout=0.2) as line:
            call(line)
            line.settimeout(20.0)
            assert "m-load-done" in ask(line, "db load 4") + ask(line, "db 01000000")
            for _ in range(3):
                laps_us = [
                    int(each.removeprefix("m-lap-us-"))
                    for each in ask(line, "infer 1 0")
                    if each.startswith("m-lap-us-")
                ]
                steps = (register(monitor, TIM2_CCR1) - laps_us[-1]) % TURN
                assert TEXT_HOLD_US + 1 <= steps <= TEXT_HOLD_US + 2


def call(line: socket.socket) -> None:
    """Ask for the name until the part, which may not have been ready for the first, has
    sent it and is silent.
    """
    output = b""
    for _ in range(100):
        try:
            while block := line.recv(1000):
                output += block
        except TimeoutError:
            if output.endswith(b"m-ready\r\n") and b"m-name" in output:
                return
            line.sendall(b"name%")
    raise AssertionError(output)


def register(monitor: Path, address: int) -> int:
    """Return the content of a register of the emulated part."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(20.0)
        connection.connect(str(monitor))
        with connection.makefile("rw", encoding="utf-8") as lines:
            lines.readline()
            command = {"command-line": f"xp /1wx {address:#x}"}
            for execute in (
                {"execute": "qmp_capabilities"},
                {"execute": "human-monitor-command", "arguments": command},
            ):
                lines.write(json.dumps(execute) + "\n")
                lines.flush()
                while "return" not in (answer := json.loads(lines.readline())):
                    pass
    return int(answer["return"].split(":")[1].strip(), 16)


@pytest.mark.parametrize(
    ("port", "baud", "refused"),
    [
        ("microbit", 115_200, False),
        ("microbit", 110, True),
        ("microbit", 2_000_000, True),
        ("mps2", 115_200, False),
        ("mps2", 2_000_000, True),
        ("stm32f405", 921_600, False),
        ("stm32f405", 20_000_000, True),
        # Those for silicon from the clocks of reset: of an nRF52840 460 800 is 0.8 %
        # off and 921 600 2.1 %, an LPUART divides by 256ths.
        ("nrf52840dk", 460_800, False),
        ("nrf52840dk", 921_600, True),
        ("nrf52840dk", 1_000_000, False),
        ("nucleo_l4r5zi", 921_600, False),
        ("nucleo_l4r5zi", 2_000_000, True),
        ("nucleo_l4r5zi", 900, True),
        ("nucleo_g071rb", 921_600, True),
        ("nucleo_h7a3zi_q", 921_600, False),
        ("pico", 750_000, False),
        ("pico", 921_600, True),
        ("pico2", 921_600, True),
    ],
)
def test_a_rate_that_a_board_cannot_make_is_no_image(
    tmp_path: Path, port: str, baud: int, refused: bool
) -> None:
    image(port, "null")  # skips where there is no compiler
    folders = ("core", "ports/cortex_m", "ports/cortex_m/include", f"boards/{port}")
    firmware = ROOT / "firmware"
    makefile = (firmware / "boards" / port / "board.mk").read_text(encoding="utf-8")
    chip = makefile.split(f"chip_{port} := ")[1].split()[0]
    flags = ["-DNR_EMULATED"] if port in BOARDS else []
    done = captured(
        [
            *(
                "arm-none-eabi-gcc",
                "-std=c99",
                "-mcpu=cortex-m0",
                "-mthumb",
                "-ffreestanding",
            ),
            *(
                "-Wall",
                "-Wextra",
                "-Wpedantic",
                "-Wconversion",
                "-Werror",
                "-fsyntax-only",
            ),
            *(*flags, f"-DNR_BAUD_AT_START={baud}U"),
            *(f"-I{firmware / folder}" for folder in folders),
            str(firmware / "ports" / "cortex_m" / "chips" / f"{chip}.c"),
        ],
        timeout=60,
    )
    assert (done.returncode != 0) == refused, done.stderr
    assert not refused or "cannot make this rate" in done.stderr
