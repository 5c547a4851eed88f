# SPDX-License-Identifier: Apache-2.0
"""The tools that write an image to a board: their command lines, and the causes of
their failures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rig.errors import (
    BenchError,
    ConfigError,
    DeadlineError,
    DeviceLost,
    DeviceNotFound,
    RigError,
    storage_error,
)
from rig.files.plain_text import visible
from rig.firmware.elf import read_elf
from rig.host.program import joined, run_program

#: Time for a tool to end: a megabyte over a slow debug probe takes a minute.
_LIMIT_S = 180.0
#: The tool that needs no program: a copy to the board's USB drive.
UF2 = "uf2"
_LAST = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class FlashOrder:
    """The image for a tool, and its destination: `part` is the tool's name of the part,
    `probe` OpenOCD's name or file of the debug probe, `device` one of several: the
    serial number of a probe or a board, or a serial port; empty for the only one.
    """

    image: Path
    part: str = ""
    probe: str = "stlink"
    device: str = ""

    @property
    def flat(self) -> Path:
        """The image without headers, for tools that do not take ELF."""
        return self.image.with_suffix(".bin")

    @property
    def interface(self) -> str:
        """OpenOCD's file of the debug probe."""
        probe = self.probe
        return probe if probe.endswith(".cfg") else f"interface/{probe}.cfg"


def _openocd(order: FlashOrder) -> list[list[str]]:
    serial = ["-c", f"adapter serial {order.device}"] if order.device else []
    # A J-Link starts with JTAG, which some of these parts lack.
    swd = ["-c", "transport select swd"] if "jlink" in order.interface else []
    # Braces: in OpenOCD's language a word with spaces or brackets in it.
    write = f"program {{{order.image}}} verify reset exit"
    target = ["-f", order.part, "-c", write]
    return [["openocd", "-f", order.interface, *swd, *serial, *target]]


def _pyocd(order: FlashOrder) -> list[list[str]]:
    probe = ["--uid", order.device] if order.device else []
    # Without --no-wait it waits for a probe for ever.
    words = ["pyocd", "flash", "--no-wait", "--target", order.part, *probe]
    return [[*words, str(order.image)]]


def _probe_rs(order: FlashOrder) -> list[list[str]]:
    probe = ["--probe", order.device] if order.device else []
    chip = ["--non-interactive", "--chip", order.part, *probe]
    return [
        ["probe-rs", "download", *chip, "--verify", str(order.image)],
        ["probe-rs", "reset", *chip],
    ]


def _st_flash(order: FlashOrder) -> list[list[str]]:
    address = read_elf(order.image).flat().address
    serial = ["--serial", order.device] if order.device else []
    return [
        ["st-flash", "--reset", *serial, "write", str(order.flat), f"{address:#010x}"]
    ]


def _picotool(order: FlashOrder) -> list[list[str]]:
    serial = ["--ser", order.device] if order.device else []
    return [
        ["picotool", "load", "--verify", "--execute", str(order.image), *serial],
    ]


def _esptool(order: FlashOrder) -> list[list[str]]:
    """Of an image that is linked to RAM: the chip's boot ROM loads it."""
    at = "0x1000" if order.part in ("esp32", "esp32s2") else "0x0"
    chip = ["esptool", "--chip", order.part]
    port = ["--port", order.device] if order.device else []
    image = str(order.flat)
    return [
        # The boot ROM reads the flash as the image says, and any flash can do so.
        [
            *chip,
            "elf2image",
            "--flash-mode",
            "dio",
            "--output",
            image,
            str(order.image),
        ],
        [*chip, *port, "write-flash", at, image],
    ]


def _bossac(order: FlashOrder) -> list[list[str]]:
    port = order.device.removeprefix("/dev/")
    return [["bossac", f"--port={port}", "-U", "-i", "-e", "-w", str(order.flat), "-R"]]


@dataclass(frozen=True, slots=True)
class FlashTool:
    """A tool: its commands for an order, an example of the part's name where it wants
    one, and whether it takes the image without headers.
    """

    commands: Callable[[FlashOrder], list[list[str]]]
    example: str = ""
    is_flat: bool = False


#: By the program's name, the first first where no board says which suits it.
PROGRAMS: Mapping[str, FlashTool] = {
    "openocd": FlashTool(_openocd, "target/stm32f4x.cfg"),
    "st-flash": FlashTool(_st_flash, is_flat=True),
    "pyocd": FlashTool(_pyocd, "stm32f405rg"),
    "probe-rs": FlashTool(_probe_rs, "STM32F405RG"),
    "picotool": FlashTool(_picotool),
    "esptool": FlashTool(_esptool, "esp32c6"),
    "bossac": FlashTool(_bossac, is_flat=True),
}
TOOLS = (*PROGRAMS, UF2)


def commands(tool: str, order: FlashOrder) -> list[list[str]]:
    """Return the command lines that make a program write an image and restart the
    board; raise ConfigError where it must know the part, and does not.
    """
    program = PROGRAMS[tool]
    if program.example and not order.part:
        raise ConfigError(
            f"{tool} wants to know the part",
            path="--target",
            try_next=f"for example --target {program.example}; or --board BOARD",
        )
    return program.commands(order)


def run(tool: str, order: FlashOrder, heard: Callable[[str], None]) -> None:
    """Write an image by a program; `heard` is called with each line that it prints.
    Raises an error with the cause where its last lines tell one.
    """
    words = commands(tool, order)
    if PROGRAMS[tool].is_flat:
        try:
            order.flat.write_bytes(read_elf(order.image).flat().data)
        except OSError as error:
            raise storage_error(error, order.flat) from error
    for command in words:
        lines: list[str] = []

        def hear(line: str, lines: list[str] = lines) -> None:
            lines.append(visible(line))
            heard(visible(line))

        try:
            end = run_program(command, _LIMIT_S, hear)
        except DeadlineError as error:
            evidence = joined(lines[-_LAST:])
            raise DeadlineError(
                error.awaited,
                error.waited_s,
                evidence=evidence,
                try_next="plug the board and its debug probe in again; end other"
                " programs that use it",
                see="flashing-interrupted",
            ) from error
        except OSError as error:
            raise BenchError(
                f"{tool} cannot be run",
                evidence=error.strerror or str(error),
                try_next="install it again; rig doctor looks at all tools",
                see="program-missing",
            ) from error
        if end.code:
            raise failure(tool, end.code, lines)


@dataclass(frozen=True, slots=True)
class FlashFailure:
    """A cause of failures: texts of tools that show it, and what to try."""

    shown_by: re.Pattern[str]
    error: type[BenchError]
    cause: str
    try_next: str
    see: str


def _failure(
    texts: str, error: type[BenchError], cause: str, try_next: str, see: str
) -> FlashFailure:
    return FlashFailure(re.compile(texts, re.IGNORECASE), error, cause, try_next, see)


#: Texts of openocd 0.12, st-flash 1.7, pyocd 0.46, probe-rs 0.31, picotool 2.3, esptool
#: 5.6 and bossac 1.9, the most certain first.
_FAILURES = (
    _failure(
        r"permission|LIBUSB_ERROR_ACCESS|access error|access denied|EACCES",
        BenchError,
        "this account may not open the board or its debug probe",
        "the udev rules of rig doctor, then plug it in again; on Windows its driver",
        "flashing-denied",
    ),
    _failure(
        r"requires a single|Multiple .* found|[2-9]\d* probes were found"
        r"|Enter the number|more than one",
        BenchError,
        "several boards or debug probes are attached",
        "unplug the others, or --device with the serial number of one",
        "several-boards-to-flash",
    ),
    _failure(
        r"LIBUSB_ERROR_NO_DEVICE|LIBUSB_ERROR_PIPE|LIBUSB_ERROR_IO|no such device"
        r"|disconnected|stopped responding|device went away|Input/output error"
        r"|SAM-BA operation failed|readiness to read but returned no data",
        DeviceLost,
        "the board or its debug probe went away in the middle",
        "a short cable directly at the computer; plug it in again and flash it again",
        "flashing-interrupted",
    ),
    _failure(
        r"wrong .*chip|unknown chip id|UNEXPECTED|cannot be downloaded anywhere"
        r"|cannot be loaded|auto_probe failed|not compatible with|does not match"
        r"|Unknown chip|only supports",
        BenchError,
        "the chip is another one than the image is for",
        "the image of that board: rig firmware boards; or --target",
        "image-of-another-board",
    ),
    _failure(
        r"not recognized|was not found in the (target )?registry|chip .*not found",
        BenchError,
        "the tool does not know this part",
        "pyocd pack install PART; a newer version of the tool; or another --tool",
        "flashing-fails",
    ),
    _failure(
        r"No accessible|No connected (debug )?probe|No target device available"
        r"|find .*ST-?Link|unable to find a matching|No J-Link|open failed"
        r"|Failed to connect to ESP|Could not connect to an Espressif"
        r"|could not open (port )?/dev|doesn't exist|No device found"
        r"|Found 0 serial ports|No probe was found",
        DeviceNotFound,
        "no board or debug probe is attached",
        "plug it in; a board with a bootloader waits for an image only after its button"
        " (BOOTSEL while plugging in, or reset twice)",
        "no-board-to-flash",
    ),
    _failure(
        r"cannot read IDR|unable to connect to the target|init mode failed|No ACK"
        r"|find chip id|Failed to connect to target|Unable to match requested speed",
        BenchError,
        "the debug probe does not reach the chip",
        "is the board powered, and are SWDIO, SWCLK and ground connected?",
        "flashing-fails",
    ),
)


def failure(tool: str, code: int, lines: list[str]) -> RigError:
    """Return the error of a tool that ended with `code` after these lines."""
    text = "\n".join(lines)
    evidence = f"{joined(lines[-_LAST:]) or 'it printed nothing'}; exit code {code}"
    for each in _FAILURES:
        if each.shown_by.search(text):
            return each.error(
                f"{tool} did not write the image: {each.cause}",
                evidence=evidence,
                try_next=each.try_next,
                see=each.see,
            )
    return BenchError(
        f"{tool} did not write the image",
        evidence=evidence,
        try_next="is the board powered, its adapter plugged in, and no other program"
        " debugging it?",
        see="flashing-fails",
    )
