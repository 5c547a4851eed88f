# SPDX-License-Identifier: Apache-2.0
"""An AVR board with the firmware ina_monitor and one INA219, INA226 or INA228: current,
voltage and SYNC for some ten dollars. It switches no supply.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Self, TypeAlias

from drivers.ina_monitor.chips import (
    CHIPS,
    InaChip,
    InaConversion,
    VoltageRange,
    promised,
)
from drivers.ina_monitor.link import InaLink, conversation
from drivers.ina_monitor.recording import STEP_S, InaRecording
from drivers.ina_monitor.settings import InaMonitorSettings
from drivers.ina_monitor.sim.simulator import InaMonitorSimulator
from drivers.serial_instrument import SIMULATOR, SerialInstrument
from drivers.stream_recording import RecordingClock
from rig.errors import BenchError, ConfigError, RigError
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import MonitorInfo, Sampling
from rig.model.wiring import Connection, Pin, WireName
from rig.uncertainty import accuracy
from rig.uncertainty.accuracy import Accuracy

#: Four equal samples of the input, 0.25 us, and room.
_MIN_PULSE_S = 2e-6
_EDGE_HZ = 1e6


class InaMonitor(SerialInstrument):
    """One board with its chip, in the DUT's supply."""

    Settings: TypeAlias = InaMonitorSettings

    def __init__(
        self, settings: Settings, context: BenchContext, link: InaLink
    ) -> None:
        super().__init__()
        self._settings = settings
        self._context = context
        self._link = link
        self._chip, self._row, self._conversion = _plan(settings)
        self._accuracy = (
            accuracy.load(Path(settings.calibration))
            if settings.calibration
            else _limits(settings)
        )
        self._details: dict[str, Any] = {
            "chip": self._chip.name,
            "shunt_ohm": settings.shunt_ohm,
            "observed_share": self._conversion.shunt_s * settings.sample_hz,
        }

    @staticmethod
    def sampling(settings: Settings) -> Sampling:
        """Return the rate that is set."""
        return Sampling(settings.sample_hz, _EDGE_HZ, "stamps")

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        """Find the board and its chip; raises RigError."""
        _plan(settings)
        part = context.section or "monitor.ina_monitor"
        if context.contact.played(part):
            raise ConfigError(
                "an ina_monitor's conversation is recorded, and cannot be played",
                path="--replay",
                try_next="a bench file with another monitor",
            )
        port = settings.port
        with ExitStack() as stack:
            if port == SIMULATOR:
                simulator = InaMonitorSimulator(
                    settings.simulator, settings.chip, settings.shunt_ohm, context
                )
                stack.callback(simulator.close)
                port = simulator.port
                context.world.supply_on = True
            heard = context.contact.tap(
                part, conversation(settings.port, settings.baud)
            )
            link = InaLink.open(port, settings.baud, heard)
            stack.callback(link.close)
            return cls(settings, context, link)._ready(stack)

    @staticmethod
    def wires(settings: Settings) -> Sequence[Connection]:
        """Return its wires (docs/how-to/MONITORS.md)."""
        return [
            Connection(
                WireName.SUPPLY,
                Pin("feed", "+"),
                Pin("monitor", "VIN+"),
                f"to {_plan(settings)[1].end_v / settings.shunt_ohm:g} A",
            ),
            Connection(WireName.SUPPLY, Pin("monitor", "VIN-"), Pin("dut", "supply +")),
            Connection(WireName.GROUND, Pin("monitor", "GND"), Pin("dut", "ground")),
            Connection(
                WireName.SYNC,
                Pin("dut", "SYNC"),
                Pin("monitor", "ICP1 (pin 8 of an Uno)"),
            ),
        ]

    @staticmethod
    def restated(settings: Settings, info: MonitorInfo) -> MonitorInfo:
        """Return rates and limits of error as the settings have them."""
        limits = info.accuracy if settings.calibration else _limits(settings)
        return dataclasses.replace(
            info,
            sample_hz=settings.sample_hz,
            edge_hz=_EDGE_HZ,
            accuracy=limits,
            sync="stamps",
            min_pulse_s=_MIN_PULSE_S,
        )

    @property
    def info(self) -> MonitorInfo:
        """The description of board and chip."""
        settings = self._settings
        return MonitorInfo(
            name=f"{self._chip.name} on an AVR board",
            kind="ina_monitor",
            simulated=self.simulates(settings),
            sample_hz=settings.sample_hz,
            edge_hz=_EDGE_HZ,
            accuracy=self._accuracy,
            sync="stamps",
            min_pulse_s=_MIN_PULSE_S,
            switches=False,
            details=dict(self._details),
        )

    def record(self, folder: Path) -> InaRecording:
        """Record into `folder`."""
        settings = self._settings
        chip = self._chip
        trigger, shunt, bus = chip.registers
        period_steps = round(1 / settings.sample_hz / STEP_S)
        wait_steps = round(self._conversion.both_s / STEP_S)
        start = (
            f"s {settings.address:X} {trigger:X} {self._conversion.trigger:X}"
            f" {shunt:X} {bus:X} {chip.size_b:X} {wait_steps:X} {period_steps:X}"
        )
        simulated = self.simulates(settings)
        self._recording = recording = InaRecording(
            self._link,
            self.info,
            folder,
            clock=RecordingClock.of(self._context.world, simulated=simulated),
            settings=settings,
            chip=chip,
            row=self._row,
            start=start,
        )
        return recording

    def _switch(self, on: bool) -> None:
        """Leave the supply as it is: another one feeds the DUT."""

    def _leave_off(self) -> None:
        with suppress(RigError):
            self._link.drain()

    def _set_up(self) -> None:
        firmware = self._link.greet()
        self._details |= {"firmware": firmware}
        self._answered = True
        address = f"{self._settings.address:X}"
        register, size_b, identity = self._chip.identity
        if self._chip.name == "INA219":
            self._link.command(f"w {address} 0 8000")
        answer = self._link.command(f"r {address} {register:X} {size_b}")
        # The last digit is that of a revision.
        known = answer and int(answer, 16) & ~0xF == identity & ~0xF
        if not known:
            raise BenchError(
                f"no {self._chip.name} answers at I2C address 0x{address}",
                evidence=f"register {register:X} says {answer or 'nothing'}",
                try_next="chip and address in the bench file; SDA, SCL, supply, ground",
            )
        if self._chip.setup is not None:
            setup = f"w {address} {self._chip.setup:X} {self._row.bits:X}"
            if self._link.command(setup) != "1":
                raise BenchError(
                    f"the {self._chip.name} did not acknowledge its range",
                    try_next="SDA and SCL, and their pull-ups",
                )


def _plan(settings: InaMonitorSettings) -> tuple[InaChip, VoltageRange, InaConversion]:
    """Return the chip, its range and its conversion; raises ConfigError."""
    chip = CHIPS[settings.chip]
    most_v = settings.most_a * settings.shunt_ohm or chip.ranges[-1].end_v
    row = chip.range_for(most_v)
    return chip, row, chip.conversion(settings.sample_hz, row)


def _limits(settings: InaMonitorSettings) -> Accuracy:
    chip, row, _ = _plan(settings)
    return promised(
        chip,
        row,
        settings.shunt_ohm,
        settings.shunt_tolerance,
        1 / settings.sample_hz,
    )
