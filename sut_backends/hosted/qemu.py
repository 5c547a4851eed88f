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
from typing import Annotated, Any, ClassVar, Literal, Self

from annotated_types import Interval, Unit, doc

from rig.errors import BenchError, ConfigError, DeviceNotFound
from rig.firmware import toolchain
from rig.firmware.rp2040js import INSTALL
from rig.host.kill_with_parent import KillWithParent
from rig.host.pseudo_terminal import refuse_windows
from rig.interfaces.context import BenchContext
from rig.interfaces.sut import SutInfo
from rig.model.finding import Finding
from rig.model.need import Need, NeedKind
from rig.model.wiring import Connection
from rig.settings.declare import Number, ProgramText
from sut_backends.hosted.guest_sync_wire import GuestWire
from sut_backends.hosted.sync_wire import Power
from sut_backends.hosted.watched import FedByUart, WatchedSut
from sut_backends.lines.faults import FaultyLink
from sut_backends.lines.line import DutLine
from sut_backends.lines.socket import SocketLine
from sut_backends.processes.child_process import ChildProcess, sha256_of
from sut_backends.uart.bring_up import examine
from sut_backends.uart.connect import LinkSettings
from sut_backends.uart.wiring import (
    BOOT_S,
    connections,
    overheard,
    words_at_power_up,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmulatedSettings(LinkSettings):
    """Settings of every emulated board."""

    program: Annotated[
        ProgramText, doc("Firmware image of the board, below firmware/build.")
    ]
    machine: str
    fed_by_uart: FedByUart = False
    timeout_s: Annotated[
        float,
        Interval(gt=0, le=3600),
        Unit("s"),
        doc("Time within which the emulated DUT starts, or answers a short request."),
    ] = 10.0


class EmulatedSut(WatchedSut):
    """The firmware on a board that another program emulates, on a pair of sockets;
    simulated. A subclass has the settings of its emulator and starts it.
    """

    #: Kind of the system under test, and an image for it.
    kind: ClassVar[str]
    example: ClassVar[str]

    def __init__(
        self, settings: EmulatedSettings, context: BenchContext, stack: ExitStack
    ) -> None:
        """Start the emulator and find the DUT; `stack` owns them until then."""
        process, edges, line = self._start(settings, context, stack)
        super().__init__(
            line,
            settings,
            simulated=True,
            process=process,
            edges=edges,
            stack=stack,
        )
        self._process = process
        self._emulated = settings

    @classmethod
    def _start(
        cls, settings: EmulatedSettings, context: BenchContext, stack: ExitStack
    ) -> tuple[EmulatorProcess, GuestWire, DutLine]:
        """Start the emulator; return it with its edge wire and its line."""
        process = cls.process(settings, context.folder / settings.program)
        stack.callback(process.line.close)
        # The world's time goes on where it is: a second device on the same table does
        # not begin at 0, and not when its emulator, which may take a second to start,
        # was asked for.
        origin_ns = max(context.world.now_ns(), context.world.states()[-1].time_ns)
        edges = cls.wire(settings, process.wire.detach(), context, origin_ns)
        stack.callback(edges.close)
        stack.callback(process.close)
        line: DutLine = SocketLine(
            process.line, settings.machine, settings.baud, context.wire
        )
        if settings.faults.any:
            line = FaultyLink(line, settings.faults)
        return process, edges, line

    @classmethod
    def overhears(cls, settings: EmulatedSettings, context: BenchContext) -> str:
        """Ask the board for its name, where its UART feeds it; without any supply no
        board could answer.
        """
        if not settings.fed_by_uart:
            return ""
        with ExitStack() as stack:
            _, _, line = cls._start(settings, context, stack)
            # Its emulator starts only now, and may take a second.
            words_at_power_up(line.read, settings.timeout_s + BOOT_S)
            return overheard(line, settings)

    @staticmethod
    def process(settings: Any, program: Path) -> EmulatorProcess:
        """Start the emulator."""
        raise NotImplementedError

    @staticmethod
    def wire(
        settings: Any, fd: int, context: BenchContext, origin_ns: int
    ) -> GuestWire:
        """Return the reader of the edge wire."""
        raise NotImplementedError

    @staticmethod
    def details(settings: Any) -> dict[str, Any]:
        """Return the settings of the emulation for the record."""
        raise NotImplementedError

    @staticmethod
    def simulates(settings: EmulatedSettings) -> bool:
        """Return True: the device is emulated."""
        return True

    @classmethod
    def restated(cls, settings: EmulatedSettings, info: SutInfo) -> SutInfo:
        """Return an info with the settings of the emulation."""
        details = info.details | cls.details(settings)
        return dataclasses.replace(info, simulated=True, details=details)

    @classmethod
    def open(cls, settings: EmulatedSettings, context: BenchContext) -> Self:
        """Start the emulator and find the DUT; raise as UartSut.open does,
        DeviceNotFound where emulator or image is missing.
        """
        if not context.world.supply_on:
            raise DeviceNotFound(
                "the DUT has no supply",
                try_next=(
                    "the wires from the monitor's output; what feeds the monitor; from"
                    " Python, power(True) of the monitor first"
                ),
                see="no-voltage",
            )
        if not settings.program:
            raise ConfigError(
                "a program is needed",
                path=f"sut.{cls.kind}.program",
                try_next=(
                    f"firmware/build/{cls.example}/asc.elf, after rig firmware new"
                    f" firmware --board {cls.example}, rig firmware build firmware"
                ),
            )
        with ExitStack() as stack:
            return cls(settings, context, stack)

    @staticmethod
    def wires(settings: EmulatedSettings) -> Sequence[Connection]:
        """Return the wires that a board would need."""
        return connections()

    @classmethod
    def needs(cls, settings: Any, context: BenchContext) -> Sequence[Need]:
        """Return the emulator and the image."""
        refuse_windows(settings.emulator)
        program = context.folder / settings.program
        image = Need(NeedKind.FILE, str(program), _BUILD)
        return (*cls.emulators(settings, program), image)

    @staticmethod
    def emulators(settings: Any, program: Path) -> Sequence[Need]:
        """Return the programs that run an image."""
        return (Need(NeedKind.PROGRAM, settings.emulator),)

    @classmethod
    def probe(
        cls, settings: EmulatedSettings, context: BenchContext
    ) -> Iterator[Finding]:
        """Start the emulator, and check the DUT step by step; raises as `open` where it
        does not start.
        """
        with closing(cls.open(settings, context)) as sut:
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
            kind=self.kind,
            firmware=f"{info.firmware}, {program.name} sha256 {self._process.sha256}",
            details=details,
        )
        return self.restated(self._emulated, running)


class QemuSut(EmulatedSut):
    """The firmware on a board emulated by qemu-system-arm, on a pair of sockets;
    simulated.
    """

    kind = "qemu"
    example = "mps2"

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Settings(EmulatedSettings):
        """The image, the board, and the pace of its processor."""

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
        power_w: Annotated[Power, doc("Power that it draws.")] = field(
            default_factory=Power
        )

        def __post_init__(self) -> None:
            refuse_text(self.layer, "sut.qemu.layer")

    @staticmethod
    def process(settings: Settings, program: Path) -> EmulatorProcess:
        """Start QEMU."""
        return EmulatorProcess(
            settings.emulator, settings.machine, program, settings.icount_shift
        )

    @staticmethod
    def wire(
        settings: Settings, fd: int, context: BenchContext, origin_ns: int
    ) -> GuestWire:
        """Return the reader of the edges that the firmware tells."""
        power_w = settings.power_w.of_task(context)
        return GuestWire(fd, context.world, power_w, origin_ns)

    @staticmethod
    def details(settings: Settings) -> dict[str, Any]:
        """Return machine, pace and power."""
        return {
            "machine": settings.machine,
            "icount_shift": settings.icount_shift,
            "power_w": dataclasses.asdict(settings.power_w),
        }


def refuse_text(layer: str, path: str) -> None:
    """Raise ConfigError for the text layer on an emulated board."""
    if layer == "text":
        raise ConfigError(
            "in the text layer time stamps are judged by this host's clock, and"
            " an emulated board does not keep it",
            path=path,
            try_next='layer = "framed"',
        )


_BUILD = (
    "make -C firmware emulated boards in a checkout; else rig firmware new firmware"
    " --board BOARD, and build it; rig firmware boards lists them"
)
_VERSION_S = 10.0
_TRY = "start it by hand; it is to be QEMU's system emulation for Arm"
_SCRIPT_TRY = f"{INSTALL}; start it by hand"

#: How the edge wire of each machine leaves the emulator; microbit has only one UART,
#: and that of pico is its SYNC pin, which the emulator watches.
_WIRES = {
    "mps2-an385": ("-serial", "chardev:wire"),
    "netduinoplus2": ("-serial", "chardev:wire"),
    "pico": ("-serial", "chardev:wire"),
    "microbit": (
        *("-semihosting-config", "enable=on,target=native,chardev=wire"),
        *("-global", "driver=nrf51-soc,property=sram-size,value=32768"),
    ),
}


class EmulatorProcess(ChildProcess):
    """A running emulator; `line` and `wire` are our ends of the UART and of the edge
    wire, which the caller closes.

    Virtual time is instructions executed, 2**`icount_shift` ns each (None: as the
    emulator has it), and the host's while the processor sleeps. `script` is the
    emulator where `emulator` is its interpreter.
    """

    def __init__(
        self,
        emulator: str,
        machine: str,
        program: Path,
        icount_shift: int | None,
        script: Path | None = None,
    ) -> None:
        command = [toolchain.find(emulator), *filter(None, [script])]
        self.program, self.sha256 = program, sha256_of(program, _BUILD)
        if (
            program.read_bytes()[:4] != b"\x7fELF"
        ):  # the emulator would run anything, from its first byte
            raise DeviceNotFound(
                f"{program} is no ELF image",
                evidence="it does not begin as one",
                try_next=_BUILD,
            )
        # A script may look for its library beside the image.
        beside = ["-kernel", str(program)] if script else []
        hint = _SCRIPT_TRY if script else _TRY
        self.version = _version([*command, *beside], hint)
        self.line, line = socket.socketpair()
        self.wire, wire = socket.socketpair()
        try:
            with line, wire:
                ends = (line.fileno(), wire.fileno())
                options = ["-M", machine, "-kernel", str(program)]
                if icount_shift is not None:
                    options += ["-icount", f"shift={icount_shift}"]
                options += ["-display", "none", "-monitor", "none", "-nic", "none"]
                options += ["-chardev", f"socket,id=line,fd={ends[0]}"]
                options += ["-serial", "chardev:line"]
                options += ["-chardev", f"socket,id=wire,fd={ends[1]}"]
                options += _WIRES[machine]
                super().__init__(
                    [*command, *options],
                    ends,
                    what=f"{emulator} -M {machine}",
                    try_next=hint,
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


def _version(command: Sequence[str | Path], hint: str) -> str:
    try:
        process = subprocess.run(
            [*command, "--version"],
            capture_output=True,
            text=True,
            check=True,
            timeout=_VERSION_S,
        )
    except (OSError, subprocess.SubprocessError) as error:
        evidence = str(error)
        cause = f"{command[0]} does not say its version"
        if isinstance(error, subprocess.CalledProcessError) and error.stderr:
            evidence = error.stderr.strip()
            cause = f"{command[0]} does not start the emulator"
        raise BenchError(
            cause,
            evidence=evidence,
            try_next=hint,
        ) from error
    return process.stdout.partition("\n")[0]
