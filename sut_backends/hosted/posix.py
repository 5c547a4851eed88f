# SPDX-License-Identifier: Apache-2.0
"""The device firmware as a host process: real protocol, real code, simulated current.
Its times are not those of a device.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Gt, Unit, doc

from rig.errors import ConfigError, DeviceNotFound
from rig.host.pseudo_terminal import open_port, refuse_windows
from rig.host.ready import can_read
from rig.host.stop import LOOK_S, look
from rig.interfaces.context import BenchContext
from rig.interfaces.sut import SutInfo
from rig.model.finding import Finding
from rig.model.need import Need, NeedKind
from rig.model.wiring import Connection, Talk
from rig.settings.declare import Count, Or, ProgramText
from sut_backends.hosted.sync_wire import EdgeWire, Power
from sut_backends.hosted.watched import FedByUart, WatchedSut
from sut_backends.lines.faults import FaultyLink
from sut_backends.processes.child_process import ChildProcess, sha256_of
from sut_backends.uart.backend import UartSut
from sut_backends.uart.bring_up import probe
from sut_backends.uart.connect import LinkSettings, PortSettings, open_line
from sut_backends.uart.wiring import connections, overheard, talked

#: How long to listen to a device without supply.
_SILENCE_NS = 200_000_000


class PosixSut(WatchedSut):
    """The firmware as a process of this machine, on a pseudo terminal; simulated."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Settings(LinkSettings):
        """The program, its processor and timer, its power, and its faults.

        A fault after 0 queries or bytes never occurs.
        """

        program: Annotated[
            ProgramText,
            doc("Firmware as a program of this machine, below firmware/build/posix."),
        ]
        tick_hz: Annotated[int, Ge(1), Unit("Hz"), doc("Rate of the timer.")] = (
            1_000_000
        )
        block_ns: Annotated[
            int,
            Or(0, "the CPU time of the process"),
            Ge(1),
            Unit("ns"),
            doc("Time that a basic block takes on the simulated processor."),
        ] = 25
        host_clock: Annotated[
            bool,
            doc(
                "The SUT is this host: it works at its own speed, and stamps by"
                " CLOCK_MONOTONIC."
            ),
        ] = False
        ppm: Annotated[
            float,
            Gt(-1e6),
            Unit("ppm"),
            doc("How fast the timer is against its stated rate."),
        ] = 0.0
        offset_ticks: Annotated[
            int, Unit("ticks"), doc("Ticks of the timer at the start.")
        ] = 0
        strict_baud: Annotated[
            bool, doc("Spoil bytes that come at a wrong line rate.")
        ] = False
        die_after_queries: Annotated[
            Count, Ge(0), doc("The process ends after so many queries.")
        ] = 0
        mute_after_queries: Annotated[
            Count, Ge(0), doc("The device is silent after so many queries.")
        ] = 0
        skip_iterations: Annotated[
            Count,
            Ge(0),
            doc(
                "Iterations of every query that are left out, as by a loop that ends"
                " early."
            ),
        ] = 0
        restart_after_bytes: Annotated[
            int, Ge(0), Unit("B"), doc("The device restarts after so many bytes.")
        ] = 0
        restart_after_queries: Annotated[
            Count, Ge(0), doc("The device restarts after so many queries.")
        ] = 0
        overrun_timeout_us: Annotated[
            int, Ge(0), Unit("us"), doc("How late a search ends.")
        ] = 0
        slow_hop_us: Annotated[
            int,
            Ge(0),
            Unit("us"),
            doc("How much longer each window of a stream takes."),
        ] = 0
        wrong_cost: Annotated[
            bool, doc("A search claims a cost that is lower by one than its vector's.")
        ] = False
        short_vector: Annotated[bool, doc("A search cuts its vector.")] = False
        fed_by_uart: FedByUart = False
        power_w: Annotated[Power, doc("Power that it draws.")] = field(
            default_factory=Power
        )

        @property
        def arguments(self) -> list[str]:
            """The options of the program."""
            options = ["--tick-hz", str(self.tick_hz), "--ppm", repr(self.ppm)]
            options += ["--offset", str(self.offset_ticks)]
            options += ["--block-ns", str(self.block_ns)]
            options += ["--host-clock"] if self.host_clock else []
            options += ["--baud", str(self.baud)] if self.strict_baud else []
            faults = {
                "--die-after-queries": self.die_after_queries,
                "--mute-after-queries": self.mute_after_queries,
                "--skip-iterations": self.skip_iterations,
                "--restart-after-bytes": self.restart_after_bytes,
                "--restart-after-queries": self.restart_after_queries,
                "--overrun-timeout": self.overrun_timeout_us,
                "--slow-hop": self.slow_hop_us,
            }
            for name, count in faults.items():
                options += [name, str(count)] if count else []
            options += ["--wrong-cost"] if self.wrong_cost else []
            return options + (["--short-vector"] if self.short_vector else [])

    def __init__(
        self, settings: Settings, context: BenchContext, stack: ExitStack
    ) -> None:
        """Start the program and find the DUT; `stack` owns them until then."""
        process, edges = _start(settings, context, stack)
        port = _port(settings, process)
        line = open_line(port.port, port, context)
        super().__init__(
            line,
            port,
            simulated=port.simulated,
            process=process,
            edges=edges,
            stack=stack,
        )
        self._process = process
        self._posix = settings

    @staticmethod
    def simulates(settings: PosixSut.Settings) -> bool:
        """Check whether the process stands for a device; with the clock of this host,
        the host is the device.
        """
        return not settings.host_clock

    @staticmethod
    def restated(settings: PosixSut.Settings, info: SutInfo) -> SutInfo:
        """Return an info with the settings of the simulation and the rate that the
        timer was set to.
        """
        clock = "CLOCK_MONOTONIC" if settings.host_clock else info.clock
        # The stamps of the text layer are microseconds at any rate of the timer.
        is_text = info.details.get("layer") == "text"
        tick_hz = info.tick_hz if is_text else settings.tick_hz
        stated = _stated(settings, info)
        return dataclasses.replace(stated, tick_hz=tick_hz, clock=clock)

    @classmethod
    def open(cls, settings: PosixSut.Settings, context: BenchContext) -> PosixSut:
        """Start the program and find the DUT; raise as UartSut.open does, and
        DeviceNotFound where the program is missing.
        """
        if not _supplied(settings, context):
            raise DeviceNotFound(
                "the DUT has no supply",
                try_next=(
                    "the wires from the monitor's output; what feeds the monitor; from"
                    " Python, power(True) of the monitor first"
                ),
                see="no-voltage",
            )
        with ExitStack() as stack:
            return cls(settings, context, stack)

    @staticmethod
    def wires(settings: PosixSut.Settings) -> Sequence[Connection]:
        """Return the wires that a board would need; the host itself needs none."""
        return () if settings.host_clock else connections()

    @staticmethod
    def needs(settings: PosixSut.Settings, context: BenchContext) -> Sequence[Need]:
        """Return the program; raise ConfigError on Windows."""
        refuse_windows(_WHAT)
        program = context.folder / settings.program
        return (Need(NeedKind.FILE, str(program), _BUILD),)

    @staticmethod
    def overhears(settings: PosixSut.Settings, context: BenchContext) -> str:
        """Ask the program for its name, where its UART feeds it; without any supply
        there is no program that could answer.
        """
        if not settings.fed_by_uart:
            return ""
        with ExitStack() as stack:
            process, _ = _start(settings, context, stack)
            port = _port(settings, process)
            line = open_line(port.port, port, context)
            stack.callback(line.close)
            return overheard(line, port)

    @staticmethod
    def talk(
        settings: PosixSut.Settings,
        context: BenchContext,
        power_on: Callable[[], None],
        watch: Callable[[Callable[[], None]], int | None],
    ) -> Talk:
        """Start the program as the supply comes on, and listen and ask; raises as
        `open` where it does not start.
        """
        power_on()
        if not _supplied(settings, context):
            return Talk(pulses=watch(lambda: context.world.wait(_SILENCE_NS)))
        with ExitStack() as stack:
            # The power from the start on, before any edge states it.
            context.world.put(context.world.now_ns(), True, settings.power_w.idle)
            process, _ = _start(settings, context, stack)
            port = _port(settings, process)
            # A terminal drops the bytes that came before it was opened; a real port is
            # open before the device starts.
            at_power_up = process.first_words()
            line = open_line(port.port, port, context)
            stack.callback(line.close)
            if settings.faults.any:
                at_power_up = FaultyLink(line, settings.faults).spoil("rx", at_power_up)
            return talked(line, port, at_power_up, watch)

    @staticmethod
    def probe(settings: PosixSut.Settings, context: BenchContext) -> Iterator[Finding]:
        """Start the program, and check the connection to the DUT step by step; raises
        as `open` where it does not start.
        """
        with ExitStack() as stack:
            process, _ = _start(settings, context, stack)
            port = _port(settings, process)
            yield from probe(port, context, lambda: UartSut.open(port, context))

    @property
    def info(self) -> SutInfo:
        """The device's report about itself, with the simulation's settings."""
        info = super().info
        settings = self._posix
        firmware = (
            f"{info.firmware}, {self._process.program.name} sha256"
            f" {self._process.sha256}"
        )
        # A host that stamps by its own clock is the device itself, not a simulation. A
        # monitor of simulated power labels its own results.
        clock = "CLOCK_MONOTONIC" if settings.host_clock else info.clock
        return _stated(
            settings,
            dataclasses.replace(info, kind="posix", firmware=firmware, clock=clock),
        )


def _supplied(settings: PosixSut.Settings, context: BenchContext) -> bool:
    """Check whether the simulated device has a supply; the host itself always has."""
    return settings.host_clock or context.world.supply_on


def _stated(settings: PosixSut.Settings, info: SutInfo) -> SutInfo:
    """Return an info with the fields that the settings determine."""
    power_w = dataclasses.asdict(settings.power_w)
    details = {
        "block_ns": settings.block_ns,
        "ppm": settings.ppm,
        "offset_ticks": settings.offset_ticks,
        "power_w": power_w,
    }
    simulated = not settings.host_clock
    return dataclasses.replace(
        info, simulated=simulated, details=info.details | details
    )


def _port(settings: PosixSut.Settings, process: DutProcess) -> PortSettings:
    """Return the settings of the process's line."""
    names = [setting.name for setting in dataclasses.fields(LinkSettings)]
    shared = {name: getattr(settings, name) for name in names}
    simulated = not settings.host_clock
    return PortSettings(port=process.port, simulated=simulated, **shared)


def _start(
    settings: PosixSut.Settings, context: BenchContext, stack: ExitStack
) -> tuple[DutProcess, EdgeWire]:
    program = context.folder / settings.program
    if settings.host_clock and (settings.ppm or settings.offset_ticks):
        raise ConfigError(
            "the clock of this host has no error to set",
            path="sut.posix.host_clock",
            try_next="leave out ppm, offset_ticks",
        )
    if not settings.program:
        raise ConfigError(
            "a program is needed",
            path="sut.posix.program",
            try_next=(
                "firmware/build/posix/asc, after rig firmware new firmware --port"
                " posix, rig firmware build firmware"
            ),
        )
    read_fd, write_fd = os.pipe()
    # The world's time goes on where it is: a second device on the same table does not
    # begin at 0.
    origin_ns = time.monotonic_ns() - context.world.now_ns()
    context.world.monotonic_ns = origin_ns
    try:
        process = DutProcess(program, settings.arguments, write_fd)
    except BaseException:
        os.close(read_fd)
        raise
    finally:
        os.close(write_fd)
    power_w = settings.power_w.of_task(context)
    edges = EdgeWire(read_fd, context.world, power_w, origin_ns)
    stack.callback(edges.close)
    stack.callback(process.close)
    return process, edges


_WHAT = "[sut.posix], the firmware as a process,"
_START_S = 5.0
_BUILD = (
    "make firmware in a checkout; else rig firmware new firmware --port posix, and"
    " build it"
)


class DutProcess(ChildProcess):
    """A running firmware; `port` is the path of its line."""

    def __init__(self, program: Path, arguments: Sequence[str], edge_fd: int) -> None:
        refuse_windows(_WHAT)
        self.program, self.sha256 = program, sha256_of(program, _BUILD)
        command: list[str | Path] = [program, *arguments, "--edges", str(edge_fd)]
        super().__init__(command, (edge_fd,), what=str(program), try_next=_BUILD)
        try:
            self.port = self._read_port()
        except BaseException:
            self.close()
            raise

    def first_words(self) -> bytes:
        """Return the bytes that it wrote to its line before the line was opened."""
        fd = open_port(self.port, raw=False)
        try:
            return os.read(fd, 1000) if can_read(fd, _START_S / 5) else b""
        finally:
            os.close(fd)

    def _read_port(self) -> str:
        assert self._process.stdout is not None
        fd = self._process.stdout.fileno()
        end_s = time.monotonic() + _START_S
        output = b""
        while b"\n" not in output and (left_s := end_s - time.monotonic()) > 0:
            look()
            if can_read(fd, min(left_s, LOOK_S)):
                block = os.read(fd, 1000)
                output += block
                if not block:
                    break
        word, _, port = (
            output.partition(b"\n")[0]
            .decode("utf-8", "backslashreplace")
            .partition(" ")
        )
        if word != "pty" or not port:
            gone = self.gone()
            evidence = (
                f"it said {output!r}; {gone.evidence if gone else 'it still runs'}"
            )
            raise DeviceNotFound(
                f"{self.program} does not start as the firmware does",
                evidence=evidence,
                try_next=_BUILD,
            )
        return port
