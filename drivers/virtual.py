# SPDX-License-Identifier: Apache-2.0
"""A virtual energy monitor: samples the simulated bench through its own imperfect clock
and converter.

Where the device lives in real time, so does the monitor, at up to 1 MS/s.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from drivers.front_end import FrontEnd
from drivers.recording import ThreadRecording
from drivers.virtual_settings import VirtualMonitorSettings
from rig.errors import DeadlineError
from rig.host.stop import pause
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import MonitorInfo, Sampling
from rig.interfaces.plugin_classes import Driver
from rig.model.wiring import Connection, Pin, WireName
from rig.simulation.world import NS_PER_S, World
from rig.trace.trace import Gap
from rig.trace.writer import TraceWriter
from rig.uncertainty import accuracy
from rig.uncertainty.accuracy import Accuracy, Range

_CHUNK = 100_000
_POLL_S = 0.02
#: A stopped session waits for no more samples than this time allows.
_HURRY_S = 0.3
#: At the end of a recording, a simulated device's log is complete within this.
_COMPLETE_S = 2.0


class VirtualMonitor(Driver):
    """Samples the power of a simulated device through an imperfect clock and converter;
    simulated."""

    Settings: TypeAlias = VirtualMonitorSettings

    def __init__(self, settings: Settings, context: BenchContext) -> None:
        self._settings = settings
        self._context = context
        self._accuracy = (
            accuracy.load(Path(settings.calibration))
            if settings.calibration
            else _promised(settings)
        )
        self._recordings = 0

    @staticmethod
    def simulates(settings: Settings) -> bool:
        """Return True: there is no instrument."""
        return True

    @staticmethod
    def restated(settings: Settings, info: MonitorInfo) -> MonitorInfo:
        """Return the monitor's description by its settings."""
        calibrated = settings.calibration
        return _info(settings, info.accuracy if calibrated else _promised(settings))

    @staticmethod
    def sampling(settings: Settings) -> Sampling:
        """Return the rate that is set, of SYNC as well."""
        return Sampling(settings.sample_hz, settings.sample_hz)

    @staticmethod
    def wires(settings: Settings) -> Sequence[Connection]:
        """Return the wires that it would need were it an instrument."""
        return (
            Connection(
                WireName.SUPPLY, Pin("monitor", "output +"), Pin("dut", "supply +")
            ),
            Connection(
                WireName.GROUND, Pin("monitor", "output -"), Pin("dut", "ground")
            ),
            Connection(WireName.SYNC, Pin("dut", "SYNC"), Pin("monitor", "SYNC input")),
        )

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        """Put the monitor on the bench; the supply is off."""
        context.world.supply_on = False
        return cls(settings, context)

    @property
    def info(self) -> MonitorInfo:
        """Description of the monitor."""
        return _info(self._settings, self._accuracy)

    def power(self, on: bool) -> None:
        """Switch the DUT's supply."""
        wired = self._settings.supply_wire == "wired"
        self._context.world.supply_on = on and wired
        self._context.world.supply_v = self._settings.supply_v
        self._context.world.supply_cut = on and not wired

    def record(self, folder: Path) -> VirtualRecording:
        """Record into `folder`."""
        self._recordings += 1
        return VirtualRecording(
            self._settings,
            self._context.world,
            self.info,
            folder,
            f"virtual-monitor-{self._context.seed}-{self._recordings}",
        )

    def close(self) -> None:
        """Switch the supply off."""
        self.power(False)


def _info(settings: VirtualMonitorSettings, limits: Accuracy) -> MonitorInfo:
    return MonitorInfo(
        name="virtual monitor",
        kind="virtual",
        simulated=True,
        sample_hz=settings.sample_hz,
        edge_hz=settings.sample_hz,
        accuracy=limits,
        details={"clock_ppm": settings.clock_ppm, "noise_a": settings.noise_a},
    )


class VirtualRecording(ThreadRecording):
    """One recording: a thread that follows the world's horizon and appends samples to
    the trace."""

    def __init__(
        self,
        settings: VirtualMonitor.Settings,
        world: World,
        info: MonitorInfo,
        folder: Path,
        seed: str,
    ) -> None:
        super().__init__(folder, "virtual monitor")
        self._world = world
        self._info = info
        self._about = {
            "monitor": "virtual",
            "simulated": True,
            "settings": {name: getattr(settings, name) for name in settings.__slots__},
        }
        random = np.random.default_rng(list(seed.encode()))
        self._sampler = Sampler(settings, world, world.now_ns(), random)
        self._stop_ns: int | None = None
        self._until_s = math.inf
        self._changed = threading.Event()

    def __enter__(self) -> VirtualRecording:
        settings = self._sampler.settings
        calibration = self._info.accuracy.calibration
        self._writer = TraceWriter(
            self._folder,
            sample_hz=settings.sample_hz,
            edge_hz=settings.sample_hz,
            source="virtual monitor",
            serial="0",
            about=self._about,
            correct=calibration.corrected_a if calibration else None,
        )
        self._thread.start()
        try:
            # An edge is found between two samples: there must be one before the first
            # edge.
            self._world.wait(round(settings.start_s * NS_PER_S))
        except BaseException:
            self._end()
            raise
        return self

    def check(self) -> None:
        """Raise what went wrong in the recording so far; in virtual time, wait until
        the samples have caught up with the device.
        """
        while not self._world.live and self._thread.is_alive():
            if self._sampler.due(self._world.horizon_ns()) <= _CHUNK:
                break
            self._changed.set()
            pause(0.001)
        super().check()

    def _leave(self, kind: type[BaseException] | None) -> None:
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            self._until_s = time.monotonic() + _HURRY_S
        self._end()

    def _end(self) -> None:
        self._stop_ns = self._world.now_ns()
        self._changed.set()
        try:
            self._thread.join()
        finally:
            self._writer.close()

    def _record(self) -> None:
        while self._stop_ns is None:
            self._follow(self._world.horizon_ns())
            self._changed.wait(_POLL_S)
            self._changed.clear()
        self._finish(self._stop_ns)

    def _finish(self, stop_ns: int) -> None:
        """Wait until the log is complete up to the end, then sample the rest; a horizon
        that stands still ends the wait.
        """
        polls_left = round(_COMPLETE_S / _POLL_S)
        while (horizon_ns := self._world.horizon_ns()) < stop_ns and polls_left:
            if time.monotonic() > self._until_s:
                return
            self._follow(horizon_ns)
            polls_left -= 1
            threading.Event().wait(_POLL_S)
        if not polls_left:
            raise DeadlineError(
                "end of the simulated device's log",
                _COMPLETE_S,
                try_next="did the device die? see the session's events",
            )
        self._follow(stop_ns)

    def _follow(self, horizon_ns: int) -> None:
        while time.monotonic() < self._until_s and (
            count := min(self._sampler.due(horizon_ns), _CHUNK)
        ):
            current_a, voltage_v, levels = self._sampler.take(count)
            self._writer.analog(current_a, voltage_v)
            self._writer.sync(levels)
        for gap in self._sampler.late_gaps():
            self._writer.gap(gap)


class Sampler:
    """Converter of the virtual monitor: samples of the front end with its errors."""

    def __init__(
        self,
        settings: VirtualMonitor.Settings,
        world: World,
        start_ns: int,
        random: np.random.Generator,
    ) -> None:
        self.settings = settings
        self._world = world
        # A generator of its own, so that a seed yields the same trace for any grouping
        # of samples into calls.
        self._noise, jitter = random.spawn(2)
        self._front_end = FrontEnd(
            world,
            settings.sample_hz,
            clock_ppm=settings.clock_ppm,
            start_ns=start_ns,
            jitter_s=settings.edge_jitter_s,
            edge_delay_s=settings.edge_delay_s,
            share=0.0 if settings.fed_v else settings.share,
            random=jitter,
        )

    def due(self, horizon_ns: int) -> int:
        """Return how many samples end before `horizon_ns`."""
        return self._front_end.due(horizon_ns)

    def take(
        self, count: int
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.uint8]]:
        """Return current (A), voltage (V) and SYNC level of the next `count`
        samples."""
        block = self._front_end.take(count)
        supply_v = self._supply_v()
        seen_v = (
            supply_v * (1 + self.settings.voltage_gain) + self.settings.voltage_offset_v
        )
        voltage_v = np.full(count, seen_v, dtype=np.float32)
        current_a = (
            block.power_w / self.settings.supply_v if supply_v else np.zeros(count)
        )
        return self._convert(current_a), voltage_v, self._line(block.levels)

    def _supply_v(self) -> float:
        settings = self.settings
        if not (self._world.supply_on or self._world.supply_cut):
            return settings.fed_v
        return 0.0 if settings.supply_wire == "unfed" else settings.supply_v

    def _line(self, levels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the level of the SYNC input; an open one is pulled up."""
        settings = self.settings
        if settings.sync_wire == "open":
            return np.ones_like(levels)
        if settings.sync_high_v < settings.sync_threshold_v:
            return np.zeros_like(levels)
        return 1 - levels if settings.sync_wire == "inverted" else levels

    def late_gaps(self) -> Iterator[Gap]:
        """Return and forget the gaps made by states that came after their time had been
        sampled."""
        for first, stop in self._front_end.late():
            late_ms = (stop - first) * self._front_end.period_s * 1e3
            yield Gap(
                first, stop, f"the simulated device reported {late_ms:.1f} ms too late"
            )

    def _convert(self, current_a: NDArray[np.float64]) -> NDArray[np.float32]:
        settings = self.settings
        low = np.abs(current_a) < settings.low_a
        gain = np.where(low, settings.low_gain, settings.gain)
        offset_a = np.where(low, settings.low_offset_a, settings.offset_a)
        seen_a: NDArray[np.float64] = current_a * (1 + gain) + offset_a
        if settings.noise_a:
            seen_a = seen_a + settings.noise_a * self._noise.standard_normal(
                len(seen_a), dtype=np.float32
            )
        if settings.lsb_a:
            seen_a = np.rint(seen_a / settings.lsb_a) * settings.lsb_a
        return seen_a.astype(np.float32)


def _promised(settings: VirtualMonitor.Settings) -> Accuracy:
    current = (
        Range(
            10.0,
            settings.gain_limit,
            settings.offset_limit_a,
            noise=settings.noise_a,
            lsb=settings.lsb_a,
        ),
    )
    voltage = (Range(100.0, settings.voltage_gain_limit, 0.0),)
    return Accuracy(
        current=current,
        voltage=voltage,
        clock_ppm=settings.clock_limit_ppm,
        source="the limits in the bench file",
        verified=True,
    )
