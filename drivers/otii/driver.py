# SPDX-License-Identifier: Apache-2.0
"""Qoitech's Otii Arc and Ace: supply, current and voltage, SYNC on a digital input of
the expansion port, by the TCP server of the Otii application.

Each setting is read back. The server records; the samples are fetched when a recording
has ended.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Self, TypeAlias

from drivers.otii import licence
from drivers.otii.accuracy import VOLTAGE_HZ, promised
from drivers.otii.answers import OtiiDevice, read
from drivers.otii.link import TRY, OtiiLink, OtiiRefusal, conversation
from drivers.otii.recording import CURRENT, VOLTAGE, OtiiRecording
from drivers.otii.settings import ARC_HZ, OtiiSettings
from drivers.otii.sim.simulator import OtiiSimulator
from drivers.otii.wires import wires
from drivers.serial_instrument import (
    MAY_BE_ON,
    SIMULATOR,
    SerialInstrument,
)
from drivers.stream_recording import RecordingClock
from rig.errors import (
    BenchError,
    ConfigError,
    DeadlineError,
    DeviceLost,
    DeviceNotFound,
    RigError,
)
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import MonitorInfo, Sampling
from rig.model.need import Need
from rig.model.wiring import Connection
from rig.uncertainty import accuracy

_MODELS = ("Arc", "Ace")
#: An edge has a time of samples: a period either way.
_EDGE_HZ = VOLTAGE_HZ / 2
#: A shorter pulse may lie between two looks at the input.
_MIN_PULSE_S = 2 / VOLTAGE_HZ
_CONNECT_S = 5


class _DeviceGone(DeviceLost):
    """The device, and not its server."""


class Otii(SerialInstrument):
    """One Otii Arc or Ace of a server; it supplies the DUT, and sees SYNC at its
    expansion port.
    """

    Settings: TypeAlias = OtiiSettings

    def __init__(
        self, settings: Settings, context: BenchContext, link: OtiiLink, address: str
    ) -> None:
        super().__init__()
        self._settings = settings
        self._context = context
        self._link = link
        self._address = address
        self._device = ""
        self._project = -1
        self._model = "Arc"
        self._details: dict[str, Any] = {
            "server": link.version,
            "supply_v": settings.supply_v,
            "sync": f"GPI{settings.sync}",
        }

    @staticmethod
    def needs(settings: Settings, context: BenchContext) -> Sequence[Need]:
        """Return no need of this computer: the server may be anywhere."""
        return ()

    @staticmethod
    def simulates(settings: Settings) -> bool:
        """Check whether the bench file names the simulator."""
        return settings.server == SIMULATOR

    @staticmethod
    def sampling(settings: Settings) -> Sampling:
        """Return the rate that is set."""
        return Sampling(settings.sample_hz, _EDGE_HZ, "stamps")

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        """Reserve a licence, take the device, switch its supply off and set it up;
        raises RigError."""
        part = context.section or "monitor.otii"
        if context.contact.played(part):
            raise ConfigError(
                "an Otii server's conversation is recorded, and cannot be played",
                path="--replay",
                evidence="how often it is asked whether it records depends on time",
                try_next="a bench file with another monitor",
            )
        server = settings.server
        with ExitStack() as stack:
            if server == SIMULATOR:
                simulator = OtiiSimulator(settings.simulator, context)
                stack.callback(simulator.close)
                server = simulator.server
            heard = context.contact.tap(part, conversation(settings.server))
            link = OtiiLink.open(server, heard)
            stack.callback(link.close)
            monitor = cls(settings, context, link, server)
            monitor._details["licence"] = licence.reserve(link, stack)
            return monitor._ready(stack)

    @staticmethod
    def wires(settings: Settings) -> Sequence[Connection]:
        """Return its wires."""
        return wires(settings)

    @staticmethod
    def restated(settings: Settings, info: MonitorInfo) -> MonitorInfo:
        """Return rates and limits of error as the settings have them."""
        model = info.name.split()[-1]
        stated = info.accuracy if settings.calibration else promised(settings, model)
        return dataclasses.replace(
            info,
            sample_hz=settings.sample_hz,
            edge_hz=_EDGE_HZ,
            accuracy=stated,
            sync="stamps",
            min_pulse_s=_MIN_PULSE_S,
        )

    @property
    def info(self) -> MonitorInfo:
        """The description of the device."""
        settings = self._settings
        return MonitorInfo(
            name=f"Otii {self._model}",
            kind="otii",
            simulated=self.simulates(settings),
            sample_hz=settings.sample_hz,
            edge_hz=_EDGE_HZ,
            accuracy=(
                accuracy.load(Path(settings.calibration))
                if settings.calibration
                else promised(settings, self._model)
            ),
            serial=self._device,
            sync="stamps",
            min_pulse_s=_MIN_PULSE_S,
            details=dict(self._details),
        )

    def record(self, folder: Path) -> OtiiRecording:
        """Record into `folder`."""
        simulated = self.simulates(self._settings)
        self._recording = recording = OtiiRecording(
            self._link,
            self.info,
            folder,
            clock=RecordingClock.of(self._context.world, simulated=simulated),
            settings=self._settings,
            project=self._project,
            device=self._device,
        )
        return recording

    def _leave_off(self) -> None:
        # An Otii whose cable is out supplies no power; one whose server is gone does.
        with suppress(_DeviceGone), ExitStack() as stack:
            try:
                self._switch_off(stack)
            except _DeviceGone:
                raise
            except RigError as error:
                evidence = "; ".join(filter(None, (error.cause, error.evidence)))
                raise BenchError(
                    "the Otii may not have switched the DUT's supply off",
                    evidence=evidence,
                    try_next="the supply may still be on: look at the Otii application",
                    see=MAY_BE_ON,
                ) from error

    def _switch_off(self, stack: ExitStack) -> None:
        """Switch the supply off, where needed by another connection."""
        try:
            self._switch(False)
        except _DeviceGone:
            raise
        except (DeviceLost, DeadlineError):
            self._link.close()
            self._link = OtiiLink.open(self._address)
            stack.callback(self._link.close)
            licence.reserve(self._link, stack)
            self._switch(False)

    def _switch(self, on: bool) -> None:
        self._do("arc_set_main", enable=on)
        if bool(self._ask("arc_get_main", "value")) != on:
            raise BenchError(
                f"the Otii does not switch its supply {'on' if on else 'off'}",
                evidence="arc_get_main says so",
                try_next=TRY,
            )

    def _do(self, name: str, **data: Any) -> None:
        """Ask the device for something; raises DeviceLost for one that is gone."""
        self._asked(name, data)

    def _ask(self, name: str, key: str, **data: Any) -> Any:
        answer = self._asked(name, data)
        return answer.get(key) if isinstance(answer, dict) else None

    def _asked(self, name: str, data: dict[str, Any]) -> Any:
        try:
            return self._link.request(name, device_id=self._device, **data)
        except OtiiRefusal as error:
            if error.code != "Device not connected":
                raise
            raise _DeviceGone(
                f"the Otii device {self._device} is gone",
                evidence=error.evidence,
                try_next="look at its USB cable and power",
            ) from error

    def _set_up(self) -> None:
        settings = self._settings
        self._choose()
        self._details["supply_found_on"] = bool(self._ask("arc_get_main", "value"))
        # It is there. Its supply is off now, or an error says that it may be on.
        self._answered = True
        self._switch(False)
        self._take_project()
        version = self._asked("arc_get_version", {})
        self._details |= {key: version[key] for key in sorted(version)}
        self._do("arc_set_supply_power_box")
        self._set("arc_{}_range", "range", settings.current_range)
        self._set("arc_{}_main_voltage", "value", settings.supply_v)
        self._set("arc_{}_max_current", "value", settings.most_a)
        self._set("arc_{}_exp_voltage", "value", settings.logic_v)
        self._do("arc_enable_exp_port", enable=True)
        for channel in (CURRENT, VOLTAGE, f"i{settings.sync}"):
            self._do("arc_enable_channel", channel=channel, enable=True)
        self._set_rate(CURRENT, settings.sample_hz)
        self._set_rate(VOLTAGE, VOLTAGE_HZ)

    def _choose(self) -> None:
        """Take the device that is named, or the only one."""
        found = self._link.value(
            "otii_get_devices", "devices", limit_s=2.0 * _CONNECT_S, timeout=_CONNECT_S
        )
        devices = [read(OtiiDevice, row) for row in found]
        there = [each for each in devices if each.type in _MODELS]
        wanted = self._settings.device
        names = ", ".join(map(str, there))
        matching = [each for each in there if wanted in ("", each.name, each.device_id)]
        if not matching:
            raise DeviceNotFound(
                f"the Otii server has no device{wanted and f' {wanted}'}",
                evidence=f"connected: {names or 'none'}",
                try_next="look at its USB cable and power, and at `device`",
                see="no-instrument",
            )
        if len(matching) > 1:
            raise ConfigError(
                "the Otii server has several devices",
                path="monitor.otii.device",
                evidence=names,
                try_next=f'name one, as device = "{matching[0].device_id}"',
            )
        self._device = matching[0].device_id
        self._model = matching[0].type

    def _take_project(self) -> None:
        """Take the active project, or make one, and end a recording that runs."""
        link = self._link
        project = link.value("otii_get_active_project", "project_id")
        if project == -1:
            project = link.value("otii_create_project", "project_id")
        self._project = project
        self._do("arc_add_to_project")
        last = link.value(
            "project_get_last_recording", "recording_id", project_id=project
        )
        running = last != -1 and link.value(
            "recording_is_running", "running", recording_id=last
        )
        if running:
            link.request("project_stop_recording", project_id=project)
        self._details["recording_found"] = bool(running)

    def _set(self, name: str, key: str, wanted: float | str) -> None:
        """Make a setting and read it back; raises BenchError for another value."""
        self._do(name.format("set"), **{key: wanted})
        self._require(name.format("get"), key, wanted, {})

    def _set_rate(self, channel: str, hz: int) -> None:
        about = {"channel": channel}
        if self._model != "Arc":
            self._do("arc_set_channel_samplerate", value=hz, **about)
        elif channel == CURRENT and hz != ARC_HZ:
            raise ConfigError(
                f"an Arc has no other rate than {ARC_HZ} samples a second",
                path="monitor.otii.sample_hz",
                try_next=f"sample_hz = {ARC_HZ}",
            )
        self._require("arc_get_channel_samplerate", "value", hz, about)

    def _require(
        self, name: str, key: str, wanted: float | str, about: dict[str, Any]
    ) -> None:
        got = self._ask(name, key, **about)
        same = got == wanted
        if isinstance(got, (int, float)) and isinstance(wanted, (int, float)):
            same = same or abs(got - wanted) <= 1e-3 * abs(wanted)
        if not same:
            raise BenchError(
                "the Otii does not keep a setting",
                evidence=f"{name}: wanted {wanted!r}, it says {got!r}",
                try_next="close what else uses it; a value that this model has",
            )
