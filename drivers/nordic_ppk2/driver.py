# SPDX-License-Identifier: Apache-2.0
"""Nordic's Power Profiler Kit II: supply or ammeter, current at 100 kHz, SYNC on a line
of its logic port, over its serial port.

No command is acknowledged: mode and voltage are read back from the metadata. The
voltage is set, or that of another supply, and never measured.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Self, TypeAlias

from drivers.nordic_ppk2 import link as commands
from drivers.nordic_ppk2.accuracy import promised
from drivers.nordic_ppk2.attached import attached_instruments, serial_number
from drivers.nordic_ppk2.link import TRY, Ppk2Link, conversation
from drivers.nordic_ppk2.metadata import MODES, Ppk2Metadata, described
from drivers.nordic_ppk2.recording import SAMPLE_HZ, Ppk2Recording, RecordingContext
from drivers.nordic_ppk2.settings import Ppk2Settings
from drivers.nordic_ppk2.sim.simulator import Ppk2Simulator
from drivers.serial_instrument import (
    MAY_BE_ON,
    SIMULATOR,
    SerialInstrument,
)
from drivers.stream_recording import RecordingClock
from rig.errors import BenchError, ConfigError, DeviceLost, RigError
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import FoundInstrument, MonitorInfo, Sampling
from rig.model.wiring import Connection, Pin, WireName
from rig.uncertainty import accuracy

#: Two samples: a shorter pulse may lie between two.
_MIN_PULSE_S = 2 / SAMPLE_HZ


class NordicPpk2(SerialInstrument):
    """One PPK2; it supplies the DUT or lies in its supply, and sees SYNC at its logic
    port.
    """

    Settings: TypeAlias = Ppk2Settings
    knows_range = True

    def __init__(
        self,
        settings: Settings,
        context: BenchContext,
        link: Ppk2Link,
        simulator: Ppk2Simulator | None,
    ) -> None:
        super().__init__()
        self._settings = settings
        self._context = context
        self._link = link
        self._simulator = simulator
        self._accuracy = (
            accuracy.load(Path(settings.calibration))
            if settings.calibration
            else promised()
        )
        self._details: dict[str, Any] = {
            "mode": settings.mode,
            "supply_v": settings.supply_v,
            "sync": f"D{settings.sync}",
        }
        self._metadata: Ppk2Metadata | None = None
        self._on = False

    @staticmethod
    def sampling(settings: Settings) -> Sampling:
        """Return the rate, which is fixed."""
        return Sampling(SAMPLE_HZ, SAMPLE_HZ)

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        """Take control of the PPK2, switch the supply off and set it up; raises
        RigError."""
        part = context.section or "monitor.nordic_ppk2"
        if context.contact.played(part):
            raise ConfigError(
                "a PPK2's conversation is recorded, and cannot be played",
                path="--replay",
                evidence="its commands are bytes without an end, and unanswered",
                try_next=(
                    "a bench file with another monitor; rig probe BENCH --contact FILE"
                    " records this one"
                ),
            )
        port = settings.port
        simulator = None
        with ExitStack() as stack:
            if port == SIMULATOR:
                simulator = Ppk2Simulator(settings.simulator, context)
                stack.callback(simulator.close)
                port = simulator.port
            heard = context.contact.tap(part, conversation(settings.port))
            link = Ppk2Link.open(port, heard)
            stack.callback(link.close)
            return cls(settings, context, link, simulator)._ready(stack)

    @staticmethod
    def wires(settings: Settings) -> Sequence[Connection]:
        """Return its wires (docs/how-to/MONITORS.md): it supplies the DUT, or lies in
        its supply; the logic port has a supply and a ground of its own.
        """
        supplied = f"{settings.supply_v:g} V, to 1 A"
        feed = []
        if settings.mode == "ampere":
            feed = [
                Connection(
                    WireName.SUPPLY, Pin("feed", "+"), Pin("monitor", "VIN"), supplied
                ),
                Connection(WireName.GROUND, Pin("feed", "-"), Pin("monitor", "GND")),
            ]
        return [
            *feed,
            Connection(
                WireName.SUPPLY,
                Pin("monitor", "VOUT"),
                Pin("dut", "supply +"),
                supplied,
            ),
            Connection(WireName.GROUND, Pin("monitor", "GND"), Pin("dut", "ground")),
            Connection(
                WireName.LEVEL,
                Pin("dut", "supply +"),
                Pin("monitor", "logic port VCC"),
                "1.65 to 5.5 V; without it D0 to D7 stand still",
            ),
            Connection(
                WireName.GROUND, Pin("dut", "ground"), Pin("monitor", "logic port GND")
            ),
            Connection(
                WireName.SYNC,
                Pin("dut", "SYNC"),
                Pin("monitor", f"logic port D{settings.sync}"),
            ),
        ]

    @classmethod
    def scan(cls) -> list[FoundInstrument]:
        """List the PPK2 that are attached, each with the one of its two ports that
        answers the question for metadata.
        """
        return attached_instruments()

    @staticmethod
    def restated(settings: Settings, info: MonitorInfo) -> MonitorInfo:
        """Return rates and limits of error."""
        limits = info.accuracy if settings.calibration else promised()
        return dataclasses.replace(
            info,
            sample_hz=SAMPLE_HZ,
            edge_hz=SAMPLE_HZ,
            accuracy=limits,
            sync="digital",
            min_pulse_s=_MIN_PULSE_S,
        )

    @property
    def info(self) -> MonitorInfo:
        """The instrument's description of itself."""
        settings = self._settings
        simulated = self.simulates(settings)
        return MonitorInfo(
            name="Nordic PPK2",
            kind="nordic_ppk2",
            reads_voltage=False,
            simulated=simulated,
            sample_hz=SAMPLE_HZ,
            edge_hz=SAMPLE_HZ,
            accuracy=self._accuracy,
            serial="simulated" if simulated else serial_number(settings.port),
            min_pulse_s=_MIN_PULSE_S,
            details=dict(self._details),
        )

    def record(self, folder: Path) -> Ppk2Recording:
        """Record into `folder`."""
        assert self._metadata is not None
        settings = self._settings
        simulated = self.simulates(settings)
        calibration = self._accuracy.calibration
        corrections = calibration.correction if calibration else ()
        context = RecordingContext(
            currents_a=self._metadata.currents_a(settings.supply_v, corrections),
            metadata=self._metadata,
            voltage_v=settings.supply_v if self._on else 0.0,
            line=settings.sync,
            require=self._require,
            begun=self._simulator.measures if self._simulator else _measures,
        )
        self._recording = recording = Ppk2Recording(
            self._link,
            self.info,
            folder,
            clock=RecordingClock.of(self._context.world, simulated=simulated),
            settings=settings,
            context=context,
        )
        return recording

    def _leave_off(self) -> None:
        # Without its cable it supplies no DUT.
        with suppress(DeviceLost):
            try:
                self._command(False)
            except DeviceLost:
                raise
            except RigError as error:
                raise BenchError(
                    "the PPK2 may not have switched the DUT's supply off",
                    evidence=error.joined("; "),
                    try_next="the supply may still be on: unplug the PPK2",
                    see=MAY_BE_ON,
                ) from error

    def _switch(self, on: bool) -> None:
        # Whether it is on cannot be asked: mode and voltage are.
        self._require(self._command(on))

    def _command(self, on: bool) -> Ppk2Metadata:
        """Switch the supply; the answer to the next question proves that it was
        heard."""
        _, metadata = self._link.ask(commands.power(on))
        self._on = on
        return metadata

    def _set_up(self) -> None:
        settings = self._settings
        stale_b = self._link.drain()
        before = self._command(False)
        # It is there. Its supply is off now, or an error says that it may be on.
        self._answered = True
        mode = commands.mode(MODES[settings.mode])
        voltage = commands.voltage(_millivolts(settings))
        _, self._metadata = self._link.ask(mode, voltage)
        self._require(self._metadata)
        self._details |= {
            "stale_at_open_b": stale_b,
            "found_in_mode": before.mode,
            "found_at_v": before.vdd_mv / 1000,
        }
        self._details |= described(self._metadata)

    def _require(self, metadata: Ppk2Metadata) -> None:
        """Raise BenchError where mode or voltage are not as they were set."""
        settings = self._settings
        mode, supply_mv = MODES[settings.mode], _millivolts(settings)
        if (metadata.mode, metadata.vdd_mv) != (mode, supply_mv):
            raise BenchError(
                f"the PPK2 is not in mode {settings.mode} at {settings.supply_v:g} V",
                evidence=(
                    f"its metadata says mode {metadata.mode}, VDD {metadata.vdd_mv};"
                    f" wanted are mode {mode}, VDD {supply_mv}"
                ),
                try_next=f"close other programs that use it; {TRY}",
            )


def _millivolts(settings: Ppk2Settings) -> int:
    return round(settings.supply_v * 1000)


def _measures(limit_s: float) -> bool:
    """Return at once: of a real instrument the first samples are waited for."""
    return True
