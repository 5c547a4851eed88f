# SPDX-License-Identifier: Apache-2.0
"""The choice of a board and a tool for an image, and the writing."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rig.errors import (
    BenchError,
    ConfigError,
    DeviceNotFound,
    did_you_mean,
    storage_error,
)
from rig.files.plain_text import one_line
from rig.firmware import flasher, toolchain, uf2, uf2_drive
from rig.firmware import project as projects
from rig.firmware.elf import ElfImage, read_elf
from rig.firmware.flasher import FlashOrder

_EMULATED = "-emulated"
_ANY = range(0x10000)
#: USB identifications of debug probes and bootloaders that have a serial port.
_STLINK = {0x0483: range(0x3744, 0x3760)}
_PORTS = {
    "stlink": _STLINK,
    "jlink": {0x1366: _ANY},
    "cmsis-dap": {0x2E8A: range(0x000C, 0x000D), 0x0D28: range(0x0204, 0x0205)},
    "bossac": {0x2341: range(0x005A, 0x005B)},
    "esptool": {0x303A: _ANY, 0x10C4: range(0xEA60, 0xEA61), 0x1A86: _ANY},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FlashChoice:
    """The choices of a user, each empty where the rig is to choose: the board, the
    tool, its name of the part, the debug probe, and which of several devices.
    """

    board: str = ""
    tool: str = ""
    target: str = ""
    interface: str = ""
    device: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlashPlan:
    """An image, the tool that is to write it, and the tools that suit its board, whose
    name is empty where neither image nor user names it.
    """

    tool: str
    order: FlashOrder
    board: str
    suitable: tuple[str, ...]

    @property
    def uf2_file(self) -> Path:
        """The image as a UF2 file."""
        return self.order.image.with_suffix(".uf2")

    def shown(self) -> list[list[str]]:
        """Return the command lines; of a copy the words of one."""
        if self.tool == flasher.UF2:
            uf2.family(self.order.part)
            return [["cp", str(self.uf2_file), self.order.device or "DRIVE"]]
        return flasher.commands(self.tool, _with_port(self.tool, self.order))


def plan(image: Path, choice: FlashChoice, folder: Path | None = None) -> FlashPlan:
    """Choose board and tool for an image, of the project in `folder`; raise ConfigError
    where the image is for another board or an emulator, or the tool does not suit, and
    DeviceNotFound where none is installed.
    """
    content = read_elf(image)
    name, board = _board(image, content, choice, folder)
    suitable = tuple(flasher.PROGRAMS)
    if board is not None:
        suitable = tuple(board.flash)
        if not suitable:
            raise ConfigError(
                f"{name} is only emulated",
                try_next="rig firmware emulate DIR; rig firmware boards",
            )
        if choice.tool and choice.tool not in suitable and not choice.target:
            raise ConfigError(
                f"{choice.tool} does not write {name}",
                path="--tool",
                try_next=f"one of {', '.join(suitable)}; or --target, its name of the"
                " part",
            )
    tool = choice.tool or _first_installed(suitable)
    known = board.flash.get(tool, "") if board is not None else ""
    probe = board.probe if board is not None else ""
    order = FlashOrder(
        image=image,
        part=choice.target or known,
        probe=choice.interface or probe or "stlink",
        device=choice.device,
    )
    return FlashPlan(tool=tool, order=order, board=name, suitable=suitable)


def carry_out(
    planned: FlashPlan,
    heard: Callable[[str], None],
    comports: Callable[[], list[Any]] | None = None,
) -> None:
    """Write the image; `heard` is called with each line of the tool. Raises an error
    with the cause where no board is there, several are, or the tool fails.
    """
    if planned.tool == flasher.UF2:
        _copy(planned, heard)
        return
    order = planned.order
    toolchain.find(planned.tool)
    if not order.device:
        order = replace(order, device=_port(planned, comports or _comports))
    flasher.run(planned.tool, order, heard)


def _board(
    image: Path, content: ElfImage, choice: FlashChoice, folder: Path | None
) -> tuple[str, projects.Board | None]:
    """Return the board's name, empty where neither image nor user states one, and the
    board itself where it is listed.
    """
    built_for = content.board
    if built_for.endswith(_EMULATED) or projects.is_for_emulator(image):
        hint = "rig firmware build, then the image beside it without -emulated"
        raise ConfigError(
            f"{image} was built for the emulator",
            evidence="its clocks are not the board's",
            try_next=hint,
        )
    project_board = projects.own_board(folder) if folder is not None else None
    board = choice.board or (project_board[0] if project_board else "")
    if board and built_for and board != built_for:
        raise ConfigError(
            f"{image} is an image for {one_line(built_for)}, and the board is {board}",
            try_next=f"rig firmware new DIR --board {board}, and its build",
            see="image-of-another-board",
        )
    name = board or built_for
    if project_board and name == project_board[0]:
        return project_board
    listed = projects.boards(projects.sources())
    if choice.board and choice.board not in listed:
        raise ConfigError(
            f"there is no board {choice.board}",
            path="--board",
            try_next=f"{did_you_mean(choice.board, listed)}one of {', '.join(listed)}",
        )
    return name, listed.get(name)


def _first_installed(suitable: tuple[str, ...]) -> str:
    for tool in suitable:
        if tool == flasher.UF2 or shutil.which(tool):
            return tool
    return toolchain.find_first(suitable)


def _with_port(tool: str, order: FlashOrder) -> FlashOrder:
    """Return an order that names a port where the tool wants one."""
    return replace(
        order, device=order.device or "PORT" if tool == "bossac" else order.device
    )


def _copy(planned: FlashPlan, heard: Callable[[str], None]) -> None:
    order = planned.order
    chips = uf2.family(order.part)
    content = uf2.uf2(read_elf(order.image).segments, chips)
    drive = uf2_drive.choose(chips, planned.board or order.part, order.device)
    try:
        planned.uf2_file.write_bytes(content)
    except OSError as error:
        raise storage_error(error, planned.uf2_file) from error
    heard(f"{planned.uf2_file.name}, {len(content)} bytes, to {drive}")
    uf2_drive.write(drive, planned.uf2_file.name, content)


def _port(planned: FlashPlan, comports: Callable[[], list[Any]]) -> str:
    """Return the serial port of the board that waits, empty for a tool that does not
    want it. Raises BenchError where several boards, or debug probes of one kind, are
    attached: OpenOCD and st-flash would take the first.
    """
    kind = planned.tool if planned.tool in _PORTS else planned.order.probe
    if planned.tool == "picotool" or kind not in _PORTS:
        return ""
    ports: dict[str, Any] = {}
    for port in comports():
        products = _PORTS[kind].get(port.vid or 0, range(0))
        if (port.pid or 0) in products:
            # A probe with two ports has one serial number.
            ports.setdefault(port.serial_number or port.device, port)
    if len(ports) > 1:
        names = [
            f"{port.device} ({one_line(port.serial_number or 'no serial number')})"
            for port in ports.values()
        ]
        raise BenchError(
            f"{len(ports)} boards or debug probes are attached: {', '.join(names)}",
            try_next="unplug the others, or --device with the serial number of one;"
            " with esptool and bossac with its port",
            see="several-boards-to-flash",
        )
    if planned.tool != "bossac":
        return ""
    for port in ports.values():
        return str(port.device)
    raise DeviceNotFound(
        "no board waits for bossac",
        evidence="no serial port of an Arduino bootloader (2341:005a)",
        try_next="press its reset button twice: the LED fades in and out; or --device"
        " with its port",
        see="no-board-to-flash",
    )


def _comports() -> list[Any]:
    from serial.tools import list_ports

    return list(list_ports.comports())
