# SPDX-License-Identifier: Apache-2.0
"""The device firmware as a host process: real protocol, real code, simulated current. Its times are no results of a device."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from rig.config import PathText
from rig.errors import ConfigError, DeadlineError, DeviceLost, DeviceNotFound, ProtocolError
from rig.plan import Query
from rig.sut import Completion, SutInfo
from rig.table import Table
from sut_backends.dut_process import DutProcess
from sut_backends.edge_wire import EdgeWire, Power
from sut_backends.uart import LinkSettings, UartSut


class PosixSut:
    """The firmware as a process of this machine, behind a pseudo terminal; simulated."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Settings(LinkSettings):
        """The program, its processor (ns for each basic block; 0: CPU time of the process) and its timer.

        `strict_baud` spoils bytes at a wrong line rate; a fault after 0 queries means never.
        """

        program: PathText
        tick_hz: int = 1_000_000
        block_ns: int = 25
        ppm: float = 0.0
        offset_ticks: int = 0
        strict_baud: bool = False
        die_after_queries: int = 0
        mute_after_queries: int = 0
        power_w: Power = field(default_factory=Power)

        @property
        def arguments(self) -> list[str]:
            """Return the options of the program."""
            options = ["--tick-hz", str(self.tick_hz), "--ppm", repr(self.ppm), "--offset", str(self.offset_ticks)]
            options += ["--block-ns", str(self.block_ns)]
            options += ["--baud", str(self.baud)] if self.strict_baud else []
            for name, count in (("--die-after-queries", self.die_after_queries), ("--mute-after-queries", self.mute_after_queries)):
                options += [name, str(count)] if count else []
            return options

    def __init__(self, uart: UartSut, process: DutProcess, edges: EdgeWire, settings: Settings, stack: ExitStack) -> None:
        self.edges = edges
        self._uart, self._process, self._settings, self._stack = uart, process, settings, stack

    @classmethod
    def open(cls, settings: PosixSut.Settings, table: Table) -> PosixSut:
        """Start the program and find the DUT; raise as UartSut.open does, and DeviceNotFound where the program is missing."""
        if not table.world.supply_on:
            raise DeviceNotFound("the DUT has no supply", try_next="switch the monitor's supply on first")
        with ExitStack() as stack:
            process, edges = _start(settings, table, stack)
            uart_settings = {part.name: getattr(settings, part.name) for part in dataclasses.fields(LinkSettings)}
            with _watched(process, edges):
                uart = UartSut.open(UartSut.Settings(port=process.port, **uart_settings), table)
            stack.callback(uart.close)
            return cls(uart, process, edges, settings, stack.pop_all())

    @property
    def info(self) -> SutInfo:
        """Return what the device said of itself, and what the simulation is."""
        info, settings = self._uart.info, self._settings
        processor = {"block_ns": settings.block_ns, "ppm": settings.ppm, "offset_ticks": settings.offset_ticks}
        details = processor | {"power_w": dataclasses.asdict(settings.power_w)}
        firmware = f"{info.firmware}, {self._process.program.name} sha256 {self._process.sha256}"
        return dataclasses.replace(info, kind="posix", simulated=True, firmware=firmware, details=info.details | details)

    @property
    def late_events(self) -> int:
        """Return how many edges came after a horizon beyond them had been handed out; 0 unless the machine is overloaded."""
        return self.edges.late_events

    def load(self, index: int, payload: bytes) -> None:
        """Bring `payload` into device memory as sample `index`."""
        with _watched(self._process, self.edges):
            self._uart.load(index, payload)

    def idle(self, duration_s: float) -> Completion:
        """Stay configured and ready for `duration_s`; two marks."""
        with _watched(self._process, self.edges):
            return self._uart.idle(duration_s)

    def sync(self) -> Completion:
        """Give one SYNC burst; one mark a pulse."""
        with _watched(self._process, self.edges):
            return self._uart.sync()

    def run(self, query: Query) -> Completion:
        """Process the loaded sample of `query`; a mark at the start of each phase and one at the end."""
        with _watched(self._process, self.edges):
            return self._uart.run(query)

    def close(self) -> None:
        """Leave the DUT, end its process and its threads; closing twice is allowed."""
        self._stack.close()


def _start(settings: PosixSut.Settings, table: Table, stack: ExitStack) -> tuple[DutProcess, EdgeWire]:
    program = table.folder / settings.program
    if not settings.program:
        raise ConfigError("a program is needed", path="sut.posix.program", try_next="firmware/build/posix/asc, after make firmware")
    read_fd, write_fd = os.pipe()
    # The world's time goes on where it is: a second device on the same table does not begin at 0.
    origin_ns = time.monotonic_ns() - table.world.now_ns()
    try:
        process = DutProcess(program, settings.arguments, write_fd)
    except BaseException:
        os.close(read_fd)
        raise
    finally:
        os.close(write_fd)
    edges = EdgeWire(read_fd, table.world, settings.power_w, origin_ns)
    stack.callback(edges.close)
    stack.callback(process.close)
    return process, edges


@contextmanager
def _watched(process: DutProcess, edges: EdgeWire) -> Iterator[None]:
    if edges.fault is not None:
        raise edges.fault
    try:
        yield
    except (DeviceLost, DeadlineError, ProtocolError) as error:
        gone = process.gone()
        if gone is not None:
            raise gone from error
        raise
