# SPDX-License-Identifier: Apache-2.0
"""The ST X-NUCLEO-LPM01A (PowerShield, also on the STM32L562E-DK): supply, current and
SYNC events over its serial shell.

Commands and streams: ST UM2269 Rev 6 chapter 4. `eventsrc` is not in it: mlcommons/tiny
and EEMBC use it, from firmware 1.0.6 on. The board never sends its voltage: the trace
holds the voltage that was set, 0 while the supply is off.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Self, TypeAlias

from serial.tools import list_ports

from drivers.serial_instrument import (
    SIMULATOR,
    SerialInstrument,
)
from drivers.st_lpm01a.binary import BinaryParser
from drivers.st_lpm01a.recording import MOST_A, LpmRecording, LpmRecordingContext
from drivers.st_lpm01a.settings import Lpm01aSettings, configuration, require
from drivers.st_lpm01a.shell import TRY, ShellClient, conversation
from drivers.st_lpm01a.sim.simulator import Lpm01aSimulator
from drivers.st_lpm01a.stream import AsciiParser
from drivers.st_lpm01a.supply import LpmSupply
from drivers.stream_recording import RecordingClock
from rig.errors import BenchError, DeviceLost, RemoteProtocolError, RigError
from rig.host.serial_port import DENIED_TRY
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import FoundInstrument, MonitorInfo, Sampling
from rig.model.wiring import Connection, Pin, WireName
from rig.uncertainty import accuracy
from rig.uncertainty.accuracy import Accuracy, Range

VENDOR = 0x0483
PRODUCT = 0x5740
_PWR_SINCE = (1, 0, 2)
_EVENTS_SINCE = (1, 0, 6)
#: The board protects itself from 59 mA on and lets 75 mA pass for a moment (UM2243): a
#: number of more than this is a damaged one.
_MOST_A = 1.0
_CALIBRATION_S = 15.0  # a new voltage makes the board calibrate itself
_SUPPLY_SHARE = 0.02


class StLpm01a(SerialInstrument):
    """One board under host control; it supplies the DUT, measures its current and
    reports edges at its input D7.
    """

    Settings: TypeAlias = Lpm01aSettings

    def __init__(
        self,
        settings: Settings,
        context: BenchContext,
        shell: ShellClient,
    ) -> None:
        super().__init__()
        self._settings = settings
        self._context = context
        self._shell = shell
        self._accuracy = (
            accuracy.load(Path(settings.calibration))
            if settings.calibration
            else _promised(settings)
        )
        self._details: dict[str, Any] = {
            "format": settings.format,
            "output": settings.output,
            "supply_v": settings.supply_v,
        }
        self._serial = ""
        self._supply = LpmSupply(shell)

    @staticmethod
    def sampling(settings: Settings) -> Sampling:
        """Return the rate that is set."""
        return Sampling(settings.sample_hz, settings.sample_hz / 2, "stamps")

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        """Take control of the board, set it up and switch the supply off; raise
        RigError."""
        require(settings)
        part = context.section or "monitor.st_lpm01a"
        played = context.contact.played(part)
        port = f"socket://{played}" if played else settings.port
        with ExitStack() as stack:
            if port == SIMULATOR:
                simulator = Lpm01aSimulator(settings.simulator, context)
                stack.callback(simulator.close)
                port = simulator.port
            heard = context.contact.tap(
                part, conversation(settings.port, settings.baud)
            )
            shell = ShellClient.open(port, settings.baud, heard)
            stack.callback(shell.close)
            return cls(settings, context, shell)._ready(stack)

    @staticmethod
    def wires(settings: Settings) -> Sequence[Connection]:
        """Return its wires: the board supplies the DUT, SYNC goes to its D7
        (docs/how-to/MONITORS.md)."""
        connections = [
            Connection(
                WireName.SUPPLY,
                Pin("monitor", "supply output"),
                Pin("dut", "supply +"),
                f"{settings.supply_v:g} V, to 50 mA",
            ),
            Connection(WireName.GROUND, Pin("monitor", "ground"), Pin("dut", "ground")),
        ]
        if settings.events:
            connections.append(
                Connection(
                    WireName.SYNC, Pin("dut", "SYNC"), Pin("monitor", "Arduino pin D7")
                )
            )
        return connections

    @classmethod
    def scan(cls) -> list[FoundInstrument]:
        """List serial ports that may be a board; none is opened, since other STM32
        devices have the same numbers.
        """
        ports = [
            port
            for port in list_ports.comports()
            if (port.vid, port.pid) == (VENDOR, PRODUCT)
        ]
        return [_found(port.device, port.serial_number or "") for port in ports]

    @staticmethod
    def restated(settings: Settings, info: MonitorInfo) -> MonitorInfo:
        """Return rates, SYNC and limits of error as the settings have them."""
        return dataclasses.replace(
            info,
            sample_hz=settings.sample_hz,
            edge_hz=settings.sample_hz / 2,
            accuracy=info.accuracy if settings.calibration else _promised(settings),
            sync="stamps" if settings.sees_events else "none",
            min_pulse_s=1e-6 if settings.sees_events else 0.0,
        )

    @property
    def info(self) -> MonitorInfo:
        """The board's description of itself."""
        s = self._settings
        return MonitorInfo(
            name="X-NUCLEO-LPM01A",
            kind="st_lpm01a",
            reads_voltage=False,
            simulated=self.simulates(s),
            sample_hz=s.sample_hz,
            # An event is reported between two samples: one period either way.
            edge_hz=s.sample_hz / 2,
            accuracy=self._accuracy,
            serial=self._serial,
            sync="stamps" if s.sees_events else "none",
            min_pulse_s=1e-6 if s.sees_events else 0.0,
            details=dict(self._details),
        )

    def _switch(self, on: bool) -> None:
        if on:
            self._supply.on()
        else:
            self._supply.off()

    def record(self, folder: Path) -> LpmRecording:
        """Record into `folder`."""
        settings = self._settings
        energy = settings.output == "energy"
        to_a = settings.sample_hz / settings.supply_v if energy else 1.0
        parser = AsciiParser if settings.format == "ascii_dec" else BinaryParser
        simulated = self.simulates(settings)
        self._recording = recording = LpmRecording(
            self._shell,
            self.info,
            folder,
            clock=RecordingClock.of(self._context.world, simulated=simulated),
            settings=settings,
            context=LpmRecordingContext(to_a, self.voltage_v, self._supply.require),
            parser=parser(settings.sample_hz, _MOST_A / to_a),
        )
        return recording

    @property
    def voltage_v(self) -> float:
        """Voltage of the DUT's supply, as far as it was set."""
        return self._settings.supply_v if self._supply.commanded_on else 0.0

    def _leave_off(self) -> None:
        # A board whose feeding cable is out supplies no power.
        with suppress(DeviceLost):
            try:
                self._supply.off()
            finally:
                with suppress(RigError):
                    self._shell.command("hrc")

    def _set_up(self) -> None:
        shell = self._shell
        settings = self._settings
        self._details["stale_at_open_b"] = shell.drain()
        # A board is there. Its supply may be on: on any error it is switched off, or
        # the error states that it was not.
        self._answered = True
        shell.command("htc")
        self._off_first()
        self._serial = shell.command("powershield")
        self._identify()
        # Telling an error clears it: what happened to an earlier run is no fault of
        # this one.
        self._details["status_at_open"] = shell.command("status")
        for command in configuration(settings):
            shell.command(command)
        shell.command(f"volt {round(settings.supply_v * 1000)}m", _CALIBRATION_S)
        self._details["volt_get_v"] = round(self._read_back(), 4)
        self._require_dynamic()
        self._require_health()

    def _off_first(self) -> None:
        try:
            self._details["supply_on_at_open"] = self._supply.found_on()
        except BenchError:
            # Firmware that has no `pwr` is too old, which says more than its refusal.
            self._identify()
            raise
        self._supply.off()

    def _identify(self) -> None:
        answer = self._shell.command("version")
        version = re.search(r"(\d+)\.(\d+)\.(\d+)", answer)
        if version is None:
            raise RemoteProtocolError(
                "the PowerShield reports no firmware version",
                evidence=repr(answer),
                try_next=TRY,
            )
        self._details["firmware"] = version[0]
        needed = _EVENTS_SINCE if self._settings.sees_events else _PWR_SINCE
        if tuple(int(part) for part in version.groups()) < needed:
            what = (
                "events at D7 (eventsrc)"
                if needed == _EVENTS_SINCE
                else "the command pwr"
            )
            raise BenchError(
                f"firmware {version[0]} of the PowerShield is too old for {what}",
                evidence=(
                    f"it says version {answer}; {'.'.join(map(str, needed))} is needed"
                ),
                try_next=(
                    "bring the board up to date with ST's STSW-PWRSHLD or "
                    "STM32CubeMonitor-Power"
                ),
            )

    def _read_back(self) -> float:
        answer = self._shell.command("volt get")
        number = re.fullmatch(r"(\d{4})([+-]\d\d)", answer)
        if number is None:
            raise RemoteProtocolError(
                "the PowerShield reports no voltage",
                evidence=repr(answer),
                try_next=TRY,
            )
        is_v = int(number[1]) * 10.0 ** int(number[2])
        set_v = self._settings.supply_v
        if abs(is_v - set_v) > _SUPPLY_SHARE * set_v:
            raise BenchError(
                f"the supply is not the {set_v} V that were set",
                evidence=f"volt get says {is_v:.3f} V",
                try_next="nothing else on the output; the command calib",
            )
        return is_v

    def _require_health(self) -> None:
        if (status := self._shell.command("status")).startswith("err"):
            raise BenchError(
                "the PowerShield is not well after it was set up",
                evidence=f"status says {status!r}",
                try_next=(
                    "its power supply and jumpers; the command autotest; the current of"
                    " the DUT"
                ),
            )

    def _require_dynamic(self) -> None:
        # The PowerShield of a discovery kit has no other mode, and no command to choose
        # it.
        try:
            self._shell.command("acqmode dyn")
        except DeviceLost:
            raise
        except BenchError as refusal:
            self._details["acqmode"] = refusal.evidence


def _promised(settings: StLpm01a.Settings) -> Accuracy:
    # One step of a mantissa of 1000 to 9999, or of 256 to 4095.
    step = 1e-3 if settings.format == "ascii_dec" else 1 / 256
    return Accuracy(
        current=(Range(MOST_A, 0.02, 100e-9, lsb_relative=step),),
        voltage=(Range(3.6, 0.01, 0.0),),
        clock_ppm=100.0,
        source=(
            "ST UM2243 Rev 2 p. 24: 100 nA to 50 mA 'with an accuracy in the range of"
            " 2%'; ST UM2269 Rev 6 sect. 4.4: voltage 'approximatively ±1%'; offset:"
            " the low end of that range; none is stated for noise (0) and clock (100"
            " ppm assumed)"
        ),
        verified=False,
        # Between the analog path and the event input no delay is stated: one sample.
        edge_s=1 / settings.sample_hz,
    )


def _found(device: str, number: str) -> FoundInstrument:
    name = (
        "STM32 virtual COM port, perhaps an X-NUCLEO-LPM01A: its answers were not"
        " checked"
    )
    setting = f'port = "{device}"'
    if os.access(device, os.R_OK | os.W_OK):
        return FoundInstrument(name, number, setting)
    return FoundInstrument(
        name,
        number,
        setting,
        problem=f"the port {device} may not be opened",
        try_next=DENIED_TRY,
    )
