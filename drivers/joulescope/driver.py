# SPDX-License-Identifier: Apache-2.0
"""Joulescope JS320, JS220 and JS110: current and voltage at full rate, SYNC on a GPI of
the same instrument.

Through pyjoulescope_driver, or its simulator. Only the full rate: lower ones delay
current and voltage against the GPI by up to 11 ms (host FIR of
jetperch/joulescope_driver).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Self

from annotated_types import doc

from drivers.fields import CalibrationFile, StartTime
from drivers.joulescope import models
from drivers.joulescope.attached import (
    SIMULATED,
    SIMULATOR,
    VENDOR,
    choose,
    found,
    is_simulated,
    serial,
)
from drivers.joulescope.contact import RecordedDriver, conversation
from drivers.joulescope.js110_log import Unheard
from drivers.joulescope.link import DriverLink
from drivers.joulescope.models import InstrumentModel, RequestedSettings
from drivers.joulescope.recording import BlockPace, JoulescopeRecording, streams
from drivers.joulescope.sim.played import PlayedDriver
from drivers.joulescope.sim.simulator import (
    JoulescopeSimulatorSettings,
    SimulatedInstrument,
)
from drivers.joulescope.stream_merger import TICK_HZ
from drivers.joulescope.wires import wires
from drivers.recording import trace_writer
from rig.errors import BenchError, ConfigError
from rig.host.raw_clock import raw_monotonic_ns
from rig.host.stop import pause
from rig.interfaces.contact import unheard
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import FoundInstrument, MonitorInfo, Sampling
from rig.interfaces.plugin_classes import Driver
from rig.model.need import Need, NeedKind
from rig.model.wiring import Connection
from rig.settings.declare import DEVICE, Number
from rig.simulation.world import NS_PER_S
from rig.uncertainty import accuracy


class Joulescope(Driver):
    """A Joulescope between the DUT's supply and the DUT, SYNC on one of its general
    purpose inputs.
    """

    @dataclass(frozen=True, slots=True)
    class Settings:
        """Settings: the instrument, its wiring and its ranges."""

        device: Annotated[
            str,
            DEVICE,
            doc(
                'As "JS220-000415" or "u/js220/000415"; empty: the only one;'
                ' "simulator".'
            ),
        ] = ""
        gpi: Annotated[
            Number,
            doc(
                "Input that carries SYNC: JS220 and JS320 0 to 3, or 7 for the"
                " trigger; JS110 0 or 1."
            ),
        ] = 0
        reference: Annotated[
            str,
            doc(
                'Logic levels: JS220 and JS320 "3.3 V" or "external"; JS110 "1.8 V" to'
                ' "5.0 V".'
            ),
        ] = "3.3 V"
        current_range: Annotated[
            str,
            doc('"auto", or an upper end, from "18 uA" to "10 A"; JS110 also "2 A".'),
        ] = "auto"
        voltage_range: Annotated[
            str,
            doc('JS220 and JS320 "15 V", "2 V" or "auto"; JS110 "15 V" or "5 V".'),
        ] = "15 V"
        start_s: StartTime = 0.01
        calibration: CalibrationFile = ""
        simulator: Annotated[
            JoulescopeSimulatorSettings, doc("The simulated instrument.")
        ] = field(default_factory=JoulescopeSimulatorSettings)

    def __init__(
        self,
        settings: Settings,
        context: BenchContext,
        link: DriverLink,
        model: InstrumentModel,
        found_on: bool,
    ) -> None:
        self._settings = settings
        self._context = context
        self._link = link
        self._model = model
        self._stack = ExitStack()
        self._simulated = is_simulated(settings.device)
        self._wanted = _wanted(settings)
        if settings.calibration:
            self._accuracy = accuracy.load(Path(settings.calibration))
        else:
            self._accuracy = models.promised(model, self._wanted)
        self._details = self._described(found_on)
        self._closed = False

    @staticmethod
    def needs(settings: Settings, context: BenchContext) -> Sequence[Need]:
        """Return the maker's library and access to USB."""
        if is_simulated(settings.device):
            return ()
        return (Need(NeedKind.EXTRA, "joulescope"), Need(NeedKind.USB, "Joulescope"))

    @staticmethod
    def simulates(settings: Settings) -> bool:
        """Check whether the bench file names the simulator."""
        return is_simulated(settings.device)

    @staticmethod
    def restated(settings: Settings, info: MonitorInfo) -> MonitorInfo:
        """Return the rates and the limits of error of the model, in the ranges that are
        set."""
        model = models.named(info.name)
        promised = models.promised(model, _wanted(settings))
        accuracy = info.accuracy if settings.calibration else promised
        return dataclasses.replace(
            info,
            sample_hz=TICK_HZ / model.sample_ticks,
            edge_hz=TICK_HZ,
            accuracy=accuracy,
        )

    @staticmethod
    def sampling(settings: Settings) -> Sampling:
        """Return the rates of the model that is named, of a JS220 where none is."""
        return Sampling(TICK_HZ / _named(settings).sample_ticks, TICK_HZ)

    @classmethod
    def in_each_range(cls, settings: Settings) -> Sequence[Settings]:
        """Return a setting for each range of the model that is named, of a JS220 where
        none is.
        """
        if settings.current_range != "auto":
            return ()
        ascending = reversed(_named(settings).current_ranges)
        return [dataclasses.replace(settings, current_range=name) for name in ascending]

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        """Find the instrument, switch the DUT's supply off and make every setting;
        raises ConfigError, DeviceNotFound, DeviceBusy and BenchError.
        """
        with ExitStack() as stack:
            simulated = is_simulated(settings.device)
            shared = SIMULATED if simulated else VENDOR
            part = context.section or "monitor.joulescope"
            played = context.contact.played(part)
            driver: Any
            if played:
                driver = PlayedDriver(played)
                stack.callback(driver.finalize)
            else:
                driver = stack.enter_context(shared.use())
            # Warnings are how a loss, or a refusal, of a JS110 becomes known.
            driver.log_level = "warning"
            wanted_device = (
                settings.device.removeprefix(SIMULATOR).removeprefix("/")
                if simulated
                else settings.device
            )
            if simulated and not played:
                # Each bench file has a simulated desk of its own, without the
                # instruments of another one.
                instrument = SimulatedInstrument(
                    settings.simulator, context.world, context.seed
                )
                paths = stack.enter_context(driver.attached(instrument))
            else:
                paths = driver.device_paths()
            heard = context.contact.tap(part, conversation(settings.device))
            if heard is not unheard:
                driver = RecordedDriver(driver, heard, paths)
                stack.callback(driver.end)
                paths = driver.device_paths()
            path = choose(paths, wanted_device)
            model = models.of_path(path)
            wanted = _wanted(settings)
            models.require(model, wanted)
            stack.enter_context(shared.hold(path))
            link = DriverLink.open(driver, path, model.refuses_in_log)
            stack.callback(link.close)
            state = link.get(model.supply_topic)
            found_on = state is not None and not link.same(
                model.supply_topic, "off", state
            )
            _switch_off(link, model, wanted)
            link.set_all(model.settings(wanted))
            optional = model.optional(wanted)
            link.set_all([setting for setting in optional if link.knows(setting[0])])
            opened = cls(settings, context, link, model, found_on)
            opened._stack = stack.pop_all()
            return opened

    @staticmethod
    def wires(settings: Settings) -> Sequence[Connection]:
        """Return its wires."""
        return wires(settings)

    @classmethod
    def scan(cls) -> list[FoundInstrument]:
        """Return the instruments that are attached, with what keeps one from being
        opened; none without the maker's driver.
        """
        try:
            with VENDOR.use() as driver:
                return found(driver, VENDOR)
        except ConfigError:
            return []

    @property
    def info(self) -> MonitorInfo:
        """Description of the instrument."""
        return MonitorInfo(
            name=f"Joulescope {self._model.name}",
            kind="joulescope",
            simulated=self._simulated,
            sample_hz=TICK_HZ / self._model.sample_ticks,
            edge_hz=TICK_HZ,
            accuracy=self._accuracy,
            serial=serial(self._link.path),
            details=dict(self._details),
        )

    def power(self, on: bool) -> None:
        """Switch the DUT's supply; raises DeviceLost and BenchError."""
        if self._link.gone:
            raise self._link.lost()
        if on:
            self._link.set_all(self._model.supply(True, self._wanted))
        else:
            _switch_off(self._link, self._model, self._wanted)

    def record(self, folder: Path) -> JoulescopeRecording:
        """Record into `folder`."""
        about = {
            "settings": dataclasses.asdict(self._settings),
            "instrument": self._details,
            "time": (
                f"sample_id / {TICK_HZ * self._model.tick_counts} of the instrument's"
                " own counter"
            ),
        }

        return JoulescopeRecording(
            link=self._link,
            streams=streams(self._settings.gpi),
            writer=lambda: trace_writer(folder, self.info, about),
            sample_ticks=self._model.sample_ticks,
            tick_counts=self._model.tick_counts,
            pace=self._pace(),
            start_ns=round(self._settings.start_s * NS_PER_S),
            watch_loss=self._model.name == "JS110",
            folder=folder,
            readable=models.readable(self._model, self._wanted),
        )

    def close(self) -> None:
        """Switch the supply off and let go of the instrument; one that is gone has
        neither."""
        if self._closed:
            return
        self._closed = True
        with self._stack:
            if not self._link.gone:
                try:
                    self.power(False)
                except BenchError:
                    if not self._link.gone:
                        raise

    def _pace(self) -> BlockPace:
        world = self._context.world
        if not self._simulated:
            return BlockPace(
                lambda duration_ns: pause(duration_ns / NS_PER_S),
                raw_monotonic_ns,
                drains=False,
            )
        # A simulated instrument has no data beyond the horizon: its blocks are prompt
        # or late against that, not against the present.
        return BlockPace(
            world.wait,
            world.horizon_ns,
            not self._settings.simulator.discards,
            world.live,
        )

    def _described(self, found_on: bool) -> dict[str, Any]:
        details: dict[str, Any] = {
            "path": self._link.path,
            "supply_found_on": found_on,
            "gpi": self._wanted.gpi,
            "reference": self._wanted.reference,
            "current_range": self._wanted.current_range,
            "voltage_range": self._wanted.voltage_range,
        }
        if found_on:
            details["note"] = "the DUT's supply was found on, and was switched off"
        noted, faultless, name, note = self._model.noted
        for topic in self._model.versions:
            version = self._link.get(topic)
            details[topic] = (
                "unknown" if version is None else _version_text(int(version))
            )
            known = topic == noted and version is not None
            if known and _version(int(version)) < faultless:
                details[name] = note
        if self._model.name == "JS110":
            details["lost_samples"] = (
                "it does not number them: a loss without a warning shows as SYNC edges"
                " that come too early"
            )
            details["range_switch"] = (
                "up to 4.5 us at each switch of the range are a line between its"
                " neighbours"
                if self._wanted.current_range == "auto"
                else "fixed range: a switch would be a gap"
            )
        return details


class _OffAnew(BenchError):
    supply_is_off = True


def _switch_off(
    link: DriverLink, model: InstrumentModel, wanted: RequestedSettings
) -> None:
    """Disconnect the DUT's supply; where that fails, ask once more, as the instrument
    is opened again for that, and say so before anything else.
    """
    try:
        link.set_all(model.supply(False, wanted))
    except Unheard:
        raise
    except BenchError as error:
        if link.gone:
            raise
        _switch_off_anew(link, model, wanted, error)


def _switch_off_anew(
    link: DriverLink,
    model: InstrumentModel,
    wanted: RequestedSettings,
    first: BenchError,
) -> None:
    evidence = f"{first.cause}; {first.evidence}"
    try:
        link.set_all(model.supply(False, wanted))
    except BenchError as error:
        if link.gone:
            raise
        raise BenchError(
            f"the Joulescope {link.path} does not switch the DUT's supply off",
            evidence=f"{evidence}; the second time: {error.cause}; {error.evidence}",
            try_next=(
                "the supply may still be on: switch it off at its source; then unplug"
                " the instrument and plug it in again"
            ),
            see="supply-may-be-on",
        ) from error
    raise _OffAnew(
        f"the Joulescope {link.path} switched the DUT's supply off only when it was"
        " opened again",
        evidence=evidence,
        try_next=(
            "it is off; unplug the instrument and plug it in again before it measures "
            "anything"
        ),
    ) from first


def _wanted(settings: Joulescope.Settings) -> RequestedSettings:
    return RequestedSettings(
        settings.gpi,
        settings.reference,
        settings.current_range.replace("uA", "µA"),
        settings.voltage_range,
    )


def _version(number: int) -> tuple[int, int, int]:
    return number >> 24, number >> 16 & 0xFF, number & 0xFFFF


def _version_text(number: int) -> str:
    return ".".join(str(part) for part in _version(number))


def _named(settings: Joulescope.Settings) -> InstrumentModel:
    """Return the model that the settings name, a JS220 where they name none."""
    simulated = is_simulated(settings.device)
    return models.named(settings.simulator.model if simulated else settings.device)
