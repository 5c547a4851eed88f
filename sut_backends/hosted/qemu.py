# SPDX-License-Identifier: Apache-2.0
"""The device firmware on an emulated Cortex-M: real protocol, real machine code,
simulated current.

Its times count instructions, every one the same number of nanoseconds: repeatable, and
no results of a device.
"""

from __future__ import annotations

import dataclasses
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Interval, doc

from rig.errors import BenchError, ConfigError, DeviceNotFound
from rig.firmware import toolchain
from rig.host.kill_with_parent import KillWithParent
from rig.host.pseudo_terminal import refuse_windows
from rig.interfaces.context import BenchContext
from rig.interfaces.sut import SutInfo
from rig.model.finding import Finding
from rig.model.need import Need, NeedKind
from rig.model.pace import Pace
from rig.model.wiring import Connection
from rig.settings.declare import Number, ProgramText
from sut_backends.hosted.guest_sync_wire import GuestWire
from sut_backends.hosted.sync_wire import Power
from sut_backends.hosted.watched import WatchedSut
from sut_backends.lines.faults import FaultyLink
from sut_backends.lines.line import DutLine
from sut_backends.lines.socket import SocketLine
from sut_backends.processes.child_process import ChildProcess, sha256_of
from sut_backends.uart.bring_up import examine
from sut_backends.uart.connect import LinkSettings, pace
from sut_backends.uart.wiring import connections

#: Time of a byte of a payload on the way to the process.
_BYTE_S = 4.5e-5


class QemuSut(WatchedSut):
    """The firmware on a board emulated by qemu-system-arm, on a pair of sockets;
    simulated.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Settings(LinkSettings):
        """The image, the board, and the pace of its processor."""

        program: Annotated[
            ProgramText, doc("Firmware image of the board, below firmware/build.")
        ]
        machine: Annotated[
            Literal["mps2-an385", "netduinoplus2", "microbit"],
            doc("QEMU's name of the board."),
        ] = "mps2-an385"
        icount_shift: Annotated[
            Number,
            Interval(ge=0, le=10),
            doc(
                "An instruction takes 2**`icount_shift` ns; 5: 31 million in a second."
            ),
        ] = 5
        emulator: Annotated[str, doc("Program that emulates the board.")] = (
            "qemu-system-arm"
        )
        power_w: Annotated[Power, doc("What it draws.")] = field(default_factory=Power)

        def __post_init__(self) -> None:
            if self.layer == "text":
                cause = (
                    "in the text layer time stamps are judged by this host's clock, and"
                    " an emulated board does not keep it"
                )
                raise ConfigError(
                    cause, path="sut.qemu.layer", try_next='layer = "framed"'
                )

    def __init__(
        self, settings: Settings, context: BenchContext, stack: ExitStack
    ) -> None:
        """Start the emulator and find the DUT; `stack` owns them until then."""
        process, edges = _start(settings, context, stack)
        line: DutLine = SocketLine(
            process.line, settings.machine, settings.baud, context.wire
        )
        if settings.faults.any:
            line = FaultyLink(line, settings.faults)
        super().__init__(
            line,
            settings,
            simulated=True,
            process=process,
            edges=edges,
            stack=stack,
        )
        self._process = process
        self._qemu = settings

    @staticmethod
    def simulates(settings: QemuSut.Settings) -> bool:
        """Return True: the device is emulated."""
        return True

    @staticmethod
    def restated(settings: QemuSut.Settings, info: SutInfo) -> SutInfo:
        """Return an info with the settings of the emulation."""
        details = {
            "machine": settings.machine,
            "icount_shift": settings.icount_shift,
            "power_w": dataclasses.asdict(settings.power_w),
        }
        return dataclasses.replace(info, simulated=True, details=info.details | details)

    @staticmethod
    def pace(settings: QemuSut.Settings) -> Pace:
        """Return the known times of its link, which has no line rate to wait for."""
        return pace(settings, _BYTE_S)

    @classmethod
    def open(cls, settings: QemuSut.Settings, context: BenchContext) -> QemuSut:
        """Start the emulator and find the DUT; raise as UartSut.open does,
        DeviceNotFound where emulator or image is missing.
        """
        if not context.world.supply_on:
            raise DeviceNotFound(
                "the DUT has no supply", try_next="switch the monitor's supply on first"
            )
        if not settings.program:
            raise ConfigError(
                "a program is needed",
                path="sut.qemu.program",
                try_next=(
                    "firmware/build/mps2/asc.elf, after rig firmware new firmware "
                    "--port mps2, rig firmware build firmware"
                ),
            )
        with ExitStack() as stack:
            return cls(settings, context, stack)

    @staticmethod
    def wires(settings: QemuSut.Settings) -> Sequence[Connection]:
        """Return the wires that a board would need."""
        return connections()

    @staticmethod
    def needs(settings: QemuSut.Settings, context: BenchContext) -> Sequence[Need]:
        """Return the emulator and the image."""
        refuse_windows(settings.emulator)
        image = Need(NeedKind.FILE, str(context.folder / settings.program), _BUILD)
        return (Need(NeedKind.PROGRAM, settings.emulator), image)

    @staticmethod
    def probe(settings: QemuSut.Settings, context: BenchContext) -> Iterator[Finding]:
        """Start the emulator, and check the DUT step by step; raises as `open` where it
        does not start.
        """
        with closing(QemuSut.open(settings, context)) as sut:
            yield from examine(
                sut,
                sut.device_info,
                context.sample,
                own_time=True,
                sync_needed=context.monitored,
            )

    @property
    def device_info(self) -> SutInfo:
        """The device's report about itself."""
        return super().info

    @property
    def info(self) -> SutInfo:
        """The device's report about itself, with the emulation's settings."""
        info = self.device_info
        program = self._process.program
        details = info.details | {"emulator": self._process.version}
        running = dataclasses.replace(
            info,
            kind="qemu",
            firmware=f"{info.firmware}, {program.name} sha256 {self._process.sha256}",
            details=details,
        )
        return self.restated(self._qemu, running)


def _start(
    settings: QemuSut.Settings, context: BenchContext, stack: ExitStack
) -> tuple[EmulatorProcess, GuestWire]:
    # The world's time goes on where it is: a second device on the same table does not
    # begin at 0.
    origin_ns = max(context.world.now_ns(), context.world.states()[-1].time_ns)
    program = context.folder / settings.program
    process = EmulatorProcess(
        settings.emulator, settings.machine, program, settings.icount_shift
    )
    stack.callback(process.line.close)
    power_w = settings.power_w.of_task(context)
    edges = GuestWire(process.wire.detach(), context.world, power_w, origin_ns)
    stack.callback(edges.close)
    stack.callback(process.close)
    return process, edges


_BUILD = (
    "make -C firmware emulated in a checkout; else rig firmware new firmware --port"
    " mps2, and build it"
)
_VERSION_S = 10.0
_TRY = "start it by hand; it is to be QEMU's system emulation for Arm"

#: How the edge wire of each machine leaves the emulator; microbit has only one UART.
_WIRES = {
    "mps2-an385": ("-serial", "chardev:wire"),
    "netduinoplus2": ("-serial", "chardev:wire"),
    "microbit": (
        *("-semihosting-config", "enable=on,target=native,chardev=wire"),
        *("-global", "driver=nrf51-soc,property=sram-size,value=32768"),
    ),
}


class EmulatorProcess(ChildProcess):
    """A running emulator; `line` and `wire` are our ends of the UART and of the edge
    wire, which the caller closes.

    Virtual time is instructions executed, 2**`icount_shift` ns each, and the host's
    while the processor sleeps.
    """

    def __init__(
        self, emulator: str, machine: str, program: Path, icount_shift: int
    ) -> None:
        path = toolchain.find(emulator)
        self.program, self.sha256 = program, sha256_of(program, _BUILD)
        if (
            program.read_bytes()[:4] != b"\x7fELF"
        ):  # the emulator would run anything, from its first byte
            raise DeviceNotFound(
                f"{program} is no ELF image",
                evidence="it does not begin as one",
                try_next=_BUILD,
            )
        self.version = _version(path)
        self.line, line = socket.socketpair()
        self.wire, wire = socket.socketpair()
        try:
            with line, wire:
                ends = (line.fileno(), wire.fileno())
                options = ["-M", machine, "-kernel", str(program)]
                options += ["-icount", f"shift={icount_shift}"]
                options += ["-display", "none", "-monitor", "none", "-nic", "none"]
                options += ["-chardev", f"socket,id=line,fd={ends[0]}"]
                options += ["-serial", "chardev:line"]
                options += ["-chardev", f"socket,id=wire,fd={ends[1]}"]
                options += _WIRES[machine]
                super().__init__(
                    [path, *options],
                    ends,
                    what=f"{emulator} -M {machine}",
                    try_next=_TRY,
                )
            self._hold()
        except BaseException:
            self.line.close()
            self.wire.close()
            raise

    def _hold(self) -> None:
        try:
            self._kill_with_parent = KillWithParent(self.pid)
        except BaseException:
            super().close()
            raise

    def close(self) -> None:
        """End the process; closing twice is allowed."""
        super().close()
        self._kill_with_parent.close()


def _version(path: Path) -> str:
    try:
        process = subprocess.run(
            [path, "--version"],
            capture_output=True,
            text=True,
            check=True,
            timeout=_VERSION_S,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise BenchError(
            f"{path} does not say its version", evidence=str(error), try_next=_TRY
        ) from error
    return process.stdout.partition("\n")[0]
