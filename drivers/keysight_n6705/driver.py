# SPDX-License-Identifier: Apache-2.0
"""Keysight N6705 DC power analyzer with source/measure modules: supplies the DUT, logs
its current and voltage, sees SYNC.

Three ways to see SYNC. "voltage": the line is logged as a voltage by a second module,
and an edge is found within its sample. "trigger": the first edge starts the log, and is
the only one: rates are taken as nominal, so windows must be long. "io_manager": an
EEMBC IO Manager stamps all edges in its own clock, and starts the log with the first.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Self, TypeAlias

from drivers.keysight_n6705 import setup
from drivers.keysight_n6705.accuracy import RANGES_A, promised
from drivers.keysight_n6705.attached import USB, found, identity, usb_resources
from drivers.keysight_n6705.io_manager import STEP_S, IoManager
from drivers.keysight_n6705.link import ScpiLink, conversation, socket_of
from drivers.keysight_n6705.log import LogRecording
from drivers.keysight_n6705.log_plan import REAL, LogClock, LogPlan
from drivers.keysight_n6705.settings import PARAMETER_S, PATH, N6705Settings, require
from drivers.keysight_n6705.sim.simulator import Simulator
from drivers.keysight_n6705.supply import Supply
from drivers.serial_instrument import closed_after_error
from rig.errors import DeadlineError, DeviceLost, DeviceNotFound, RigError
from rig.host.stop import pause
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import FoundInstrument, MonitorInfo, Sampling
from rig.interfaces.plugin_classes import Driver
from rig.model.need import Need, NeedKind
from rig.model.wiring import Connection, Pin, WireName
from rig.simulation.world import NS_PER_S, World
from rig.uncertainty import accuracy
from rig.uncertainty.accuracy import Accuracy

#: From the edge to the log: 5 us of latency (N6900 guide; the N6705's is not
#: published), then the next point of the converter.
TRIGGER_S = 5e-6 + setup.POINT_S
#: How many periods a pulse must last: two (rig/trace/edges.py), and room for the slopes
#: of the line.
_PULSE_PERIODS = 2.5
#: The shortest pulse for the trigger input: 10 us, falling (N6900 guide; the N6705's is
#: not published).
_TRIGGER_PULSE_S = 10e-6
_SIMULATOR = "simulator"


class KeysightN6705(Driver):
    """A mainframe with one module for the DUT and, for SYNC as a voltage, a second
    one."""

    Settings: TypeAlias = N6705Settings

    def __init__(
        self,
        settings: Settings,
        link: ScpiLink,
        world: World | None,
        io_manager: IoManager | None,
    ) -> None:
        self._settings = settings
        self._link = link
        self._world = world
        self._io_manager = io_manager
        self._stack = ExitStack()
        self._closed = self._given_up = self._on = False
        self._setup = setup.Setup(link, settings)
        self._model, self._serial, self._firmware = link.identity()
        self._period_s = self._prepare()
        self._accuracy = self._promise()

    @staticmethod
    def restated(settings: Settings, info: MonitorInfo) -> MonitorInfo:
        """Return the limits of error in the range that is set, at the instrument's
        period."""
        limits = _limits(settings, 1 / info.sample_hz)
        kept = info.accuracy if settings.calibration else limits
        return dataclasses.replace(info, accuracy=kept)

    @staticmethod
    def needs(settings: Settings, context: BenchContext) -> Sequence[Need]:
        """Return the VISA library, which the simulator needs too, access to USB, and
        the port of an IO manager.
        """
        needed = [Need(NeedKind.EXTRA, "keysight")]
        if settings.resource.startswith("USB"):
            needed.append(Need(NeedKind.USB, "Keysight"))
        if settings.sync == "io_manager" and settings.resource != _SIMULATOR:
            needed.append(Need(NeedKind.PORT, settings.io_manager.port))
        return needed

    @staticmethod
    def simulates(settings: Settings) -> bool:
        """Check whether the bench file names the simulator."""
        return settings.resource == _SIMULATOR

    @staticmethod
    def sampling(settings: Settings) -> Sampling:
        """Return the rate of the records."""
        voltage = settings.sync == "voltage"
        period_s = settings.period_s or (3 if voltage else 2) * PARAMETER_S
        return Sampling(
            1 / period_s, 1 / setup.POINT_S, "voltage" if voltage else "stamps"
        )

    @classmethod
    def in_each_range(cls, settings: Settings) -> Sequence[Settings]:
        """Return a setting for each range."""
        if settings.current_range != "auto":
            return ()
        return [
            dataclasses.replace(settings, current_range=f"{limit_a:g}")
            for limit_a in RANGES_A
        ]

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        """Find the instrument and set it up, its output off.

        Raises ConfigError, DeviceNotFound, DeviceBusy, DeviceLost, BenchError (a step
        that it refused), RemoteProtocolError.
        """
        require(settings)
        with ExitStack() as stack:
            part = context.section or PATH
            played = context.contact.played(part)
            world = context.world if settings.resource == _SIMULATOR else None
            resource = socket_of(played) if played else settings.resource
            manager = settings.io_manager
            if resource == _SIMULATOR:
                simulator = Simulator(
                    settings.simulator,
                    context.world,
                    settings.channel,
                    settings.sync_channel,
                    context.seed,
                )
                stack.callback(simulator.close)
                resource = simulator.resource
                if settings.sync == "io_manager":
                    port = simulator.open_io_manager()
                    manager = dataclasses.replace(manager, port=port)
            heard = context.contact.tap(part, conversation(settings.resource))
            library = "@py" if played else settings.visa_library
            link = ScpiLink(resource, library, settings.timeout_s, heard)
            stack.callback(link.close)
            io_manager = None
            if settings.sync == "io_manager":
                io_manager = IoManager(manager)
                stack.callback(io_manager.close)
            monitor = cls(settings, link, world, io_manager)
            monitor._stack = stack.pop_all()
            return monitor

    @staticmethod
    def wires(settings: Settings) -> Sequence[Connection]:
        """Return its wires: a channel supplies the DUT; SYNC goes where `sync` says
        (docs/how-to/MONITORS.md)."""
        connections = [
            Connection(
                WireName.SUPPLY,
                Pin("monitor", f"channel {settings.channel} +"),
                Pin("dut", "supply +"),
                f"{settings.supply_v:g} V, to {settings.current_limit_a:g} A",
            ),
            Connection(
                WireName.GROUND,
                Pin("monitor", f"channel {settings.channel} -"),
                Pin("dut", "ground"),
            ),
        ]
        if settings.sync == "voltage":
            place = "auxiliary input" if settings.sync_input == "aux" else "terminals"
            to = Pin("monitor", f"channel {settings.sync_channel}, {place}")
            # The modules' outputs float against one another.
            back = Pin("monitor", f"channel {settings.sync_channel} -")
            note = "logged as a voltage"
        elif settings.sync == "trigger":
            rear = settings.trigger == "EXT"
            to = Pin(
                "monitor",
                "rear BNC trigger"
                if rear
                else f"digital pin {settings.trigger.removeprefix('PIN')}",
            )
            back = Pin("monitor", "shield of the BNC" if rear else "common, pin 8")
            note = "the first falling edge starts the log"
        else:
            to = Pin("io manager", "8 (ICP1)")
            note = "stamps each edge: docs/how-to/IO_MANAGER.md"
            back = Pin("io manager", "GND")
        connections.append(Connection(WireName.GROUND, Pin("dut", "ground"), back))
        connections.append(Connection(WireName.SYNC, Pin("dut", "SYNC"), to, note))
        return connections

    @classmethod
    def scan(cls) -> list[FoundInstrument]:
        """List the instruments at USB ports: with the vendor's VISA library, or with
        pyvisa-py where PyUSB is there.

        One in the network is not looked for: pyvisa-py would call on every machine in
        it. No setting is changed; only devices with the USB identity of an N6705 are
        asked for their names.
        """
        return [
            found(library, resource)
            for library, resource in usb_resources()
            if identity(resource) in USB
        ]

    @property
    def info(self) -> MonitorInfo:
        """The instrument's description of itself, and the findings and actions of
        opening it."""
        settings = self._settings
        findings = self._setup
        simulated = self.simulates(settings)
        edge_s = STEP_S if settings.sync == "io_manager" else setup.POINT_S
        pulse_s = {
            "voltage": _PULSE_PERIODS * self._period_s,
            "trigger": _TRIGGER_PULSE_S,
            "io_manager": 50e-6,
        }[settings.sync]
        return MonitorInfo(
            name=f"Keysight {self._model}" + (" (simulated)" if simulated else ""),
            kind="keysight_n6705",
            simulated=simulated,
            sample_hz=1 / self._period_s,
            # A mean over whole points of the converter cannot place an edge closer than
            # one of them; its noise is far below that: 0.9 mV of 3.3 V is 0.1 us of a
            # period of 0.3 ms.
            edge_hz=1 / edge_s,
            accuracy=self._accuracy,
            serial=self._serial,
            sync={"voltage": "voltage", "io_manager": "stamps", "trigger": "start"}[
                settings.sync
            ],
            min_pulse_s=pulse_s,
            details={
                "firmware": self._firmware,
                "modules": {
                    str(channel): model for channel, model in findings.modules.items()
                },
                "period_s": self._period_s,
                "sync": self._sync_text(),
                "outputs_found_on_and_switched_off": findings.switched_off,
                "outputs_left_on": findings.left_on,
                "refused": findings.refused,
            },
        )

    def power(self, on: bool) -> None:
        """Switch the DUT's supply, and read back that it has followed; off also where
        only the connection is gone, or slow.
        """
        try:
            if on:
                self._wait(self._settings.settle_on_s)
            setup.switch(self._link, self._settings.channel, on)
            self._on = on
        except (DeviceLost, DeadlineError):
            if on or self._given_up:
                raise
            self._given_up = True
            self._link.reopen()
            setup.switch(self._link, self._settings.channel, False)

    def _wait(self, duration_s: float) -> None:
        # A simulated instrument settles in virtual time; where a live device sets the
        # time it does so at once.
        if self._world is None:
            pause(duration_s)
        elif not self._world.live:
            self._world.wait(round(duration_s * NS_PER_S))

    def record(self, folder: Path) -> LogRecording:
        """Record into `folder`."""
        settings = self._settings
        info = self.info
        plan = LogPlan(
            channel=settings.channel,
            sync_channel=settings.logged_sync_channel,
            sync=settings.sync,
            period_s=self._period_s,
            start_s=settings.start_s,
            fetch_s=settings.fetch_s,
            held_back_s=settings.held_back_s,
            info=info,
            supply=(
                Supply(settings.channel, settings.supply_v, settings.current_limit_a)
                if self._on
                else None
            ),
            about={"details": info.details, **self._trusted},
        )
        # A simulated world becomes live when its device is opened: after this
        # instrument.
        clock = REAL if self._world is None else _clock_of(self._world)
        return LogRecording(plan, self._link, clock, folder, self._io_manager)

    def close(self) -> None:
        """Switch the supply off and let go of the instrument, also where it is gone;
        closing twice is allowed.
        """
        if self._closed:
            return
        self._closed = True
        with self._stack:
            for leave in (partial(self.power, False), self._abort):
                try:
                    leave()
                except (DeviceLost, DeviceNotFound):
                    # a lost instrument cannot be switched off; the error is already
                    # reported
                    return
                except RigError:
                    continue  # where one is refused the other still counts

    def _abort(self) -> None:
        self._link.do(
            f"ABOR:ELOG (@{self._settings.channel})", "leaving the instrument"
        )

    def _prepare(self) -> float:
        steps = self._setup
        with closed_after_error(self._leave_off):
            # Errors of earlier users are not of this session.
            self._link.errors()
            steps.find_modules()
            steps.output_off(self._settings.channel)
        steps.require_logger()
        steps.require_modules()
        steps.outputs_off()
        if steps.switched_off:
            self._wait(self._settings.settle_off_s)
        steps.silence()
        steps.set_supply()
        steps.set_trigger_pin()
        return steps.set_log()

    def _leave_off(self) -> None:
        """Switch the supply off if it may have been on and is not yet confirmed to be
        off."""
        modules = self._setup.modules
        if not modules or self._settings.channel in modules:
            self.power(False)

    def _promise(self) -> Accuracy:
        settings = self._settings
        if settings.calibration:
            return accuracy.load(Path(settings.calibration))
        return _limits(settings, self._period_s)

    @property
    def _trusted(self) -> dict[str, float]:
        return (
            {"rate_limit_ppm": self._settings.clock_limit_ppm}
            if self._settings.sync == "trigger"
            else {}
        )

    def _sync_text(self) -> str:
        settings = self._settings
        unseen = (
            f"; no edge is among the records: about {settings.held_back_s:g} s of them "
            "could be lost unseen"
        )
        if settings.sync == "voltage":
            return (
                f"voltage at channel {settings.sync_channel}, {settings.sync_input}"
                f" input, known to {setup.POINT_S} s"
            )
        if settings.sync == "trigger":
            return (
                f"one edge, which starts the log at {settings.trigger}; from there on"
                " the clocks of device and instrument are trusted to differ by no more"
                f" than {settings.clock_limit_ppm:g} ppm{unseen}"
            )
        manager = settings.io_manager
        return (
            f"stamps of an IO manager whose clock is within {manager.ppm:g} ppm: up to"
            f" {manager.drift_s:.3g} s off the samples after {manager.longest_s:g} s;"
            " the rig refuses edges that differ from the device's clock by more than"
            f" 500 ppm{unseen}"
        )


def _limits(settings: N6705Settings, period_s: float) -> Accuracy:
    """Return the limits of error as the settings have them, for means over
    `period_s`."""
    ppm = settings.io_manager.ppm if settings.sync == "io_manager" else 0.0
    edge_s = {
        "voltage": setup.POINT_S,
        "trigger": TRIGGER_S,
        "io_manager": TRIGGER_S + settings.io_manager.drift_s,
    }[settings.sync]
    return promised(period_s, settings.current_range_a, edge_s, ppm)


def _clock_of(world: World) -> LogClock:
    # Of a live device it is known only at the end of a phase how much time has passed
    # for it: the instrument's records end there too.
    present_ns = world.horizon_ns if world.live else world.now_ns

    def now_s() -> float:
        return present_ns() / NS_PER_S

    def wait(duration_s: float) -> None:
        world.wait(round(duration_s * NS_PER_S))

    return LogClock(now_s, wait, watch=None if world.live else world.watch)
