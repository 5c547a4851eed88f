# SPDX-License-Identifier: Apache-2.0
"""A virtual energy monitor: samples the simulated table through its own imperfect clock and
converter.

Where the device lives in real time, so does the monitor, at up to 1 MS/s.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from drivers.front_end import FrontEnd
from rig.errors import ConfigError, DeadlineError, storage_error
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import MonitorInfo
from rig.settings.declare import PathText
from rig.simulation.world import NS_PER_S, World
from rig.trace.trace import Gap
from rig.trace.writer import TraceWriter
from rig.uncertainty import accuracy
from rig.uncertainty.accuracy import Accuracy, Range

_CHUNK = 100_000
_POLL_S = 0.02


class VirtualMonitor:
    """Samples what a simulated device draws, through an imperfect clock and converter;
    simulated.
    """

    @dataclass(frozen=True, slots=True)
    class Settings:
        """Rate, supply, what is wrong with the instrument, and what its maker promises.

        `clock_ppm`: how fast its clock is, as of a device's; `start_s`: how long it records before
        anything else happens; `noise_a`: standard deviation of one current sample; `lsb_a`: one
        step of its converter; `gain`, `offset_a`, `voltage_gain` and `voltage_offset_v`: its
        errors; `low_gain` and `low_offset_a`: those of a lower range, of currents below `low_a`;
        `edge_jitter_s`: standard deviation of the moment at which SYNC is seen; `edge_delay_s`: how
        much later it is seen than power; `share`: the part of the DUT's power that flows through
        it; `fed_v`: another cable feeds the DUT with so many volts (0: none), and nothing flows
        through the monitor. The limits, or a calibration file, are what the uncertainties are made
        of.
        """

        sample_hz: int = 200_000
        supply_v: float = 3.3
        clock_ppm: float = -25.0
        start_s: float = 0.01
        noise_a: float = 20e-6
        lsb_a: float = 1e-6
        gain: float = 0.0
        offset_a: float = 0.0
        voltage_gain: float = 0.0
        voltage_offset_v: float = 0.0
        low_a: float = 0.0
        low_gain: float = 0.0
        low_offset_a: float = 0.0
        edge_jitter_s: float = 0.0
        edge_delay_s: float = 0.0
        share: float = 1.0
        fed_v: float = 0.0
        gain_limit: float = 0.002
        offset_limit_a: float = 5e-6
        voltage_gain_limit: float = 0.001
        clock_limit_ppm: float = 50.0
        calibration: PathText = ""

    def __init__(self, settings: Settings, context: BenchContext) -> None:
        if not 1_000 <= settings.sample_hz <= 1_000_000:
            raise ConfigError(
                f"{settings.sample_hz} samples per second",
                path="monitor.virtual.sample_hz",
                try_next="1000 to 1000000",
            )
        for name, ok, rule in (
            ("supply_v", settings.supply_v > 0, "above 0"),
            ("start_s", 0 < settings.start_s <= 60, "above 0, to 60 s"),
            ("clock_ppm", abs(settings.clock_ppm) < 100_000, "less than 100000 either way"),
            ("noise_a", settings.noise_a >= 0, "0 or more"),
            ("lsb_a", settings.lsb_a >= 0, "0 or more"),
            ("edge_jitter_s", settings.edge_jitter_s >= 0, "0 or more"),
            ("share", 0 < settings.share <= 1, "above 0, to 1"),
            ("fed_v", settings.fed_v >= 0, "0: none; or above"),
        ):
            if not ok:
                raise ConfigError(
                    f"{getattr(settings, name)}", path=f"monitor.virtual.{name}", try_next=rule
                )
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

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        """Put the monitor on the table; the supply is off."""
        context.world.supply_on = False
        return cls(settings, context)

    @property
    def info(self) -> MonitorInfo:
        """Return what the monitor is."""
        s = self._settings
        return MonitorInfo(
            name="virtual monitor",
            kind="virtual",
            simulated=True,
            sample_hz=s.sample_hz,
            edge_hz=s.sample_hz,
            accuracy=self._accuracy,
            details={"clock_ppm": s.clock_ppm, "noise_a": s.noise_a},
        )

    def power(self, on: bool) -> None:
        """Switch the DUT's supply."""
        self._context.world.supply_on = on

    def record(self, folder: Path) -> VirtualRecording:
        """Record into `folder`."""
        self._recordings += 1
        return VirtualRecording(
            self._settings,
            self._context.world,
            folder,
            f"virtual-monitor-{self._context.seed}-{self._recordings}",
        )

    def close(self) -> None:
        """Switch the supply off."""
        self.power(False)


class VirtualRecording:
    """One recording: a thread that follows the world's horizon and appends samples to the trace."""

    def __init__(
        self, settings: VirtualMonitor.Settings, world: World, folder: Path, seed: str
    ) -> None:
        self._world = world
        self._folder = folder
        self._about = {
            "monitor": "virtual",
            "simulated": True,
            "settings": {name: getattr(settings, name) for name in settings.__slots__},
        }
        self._sampler = Sampler(
            settings, world, world.now_ns(), np.random.default_rng(list(seed.encode()))
        )
        self._stop_ns: int | None = None
        self._changed = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="virtual monitor")

    def __enter__(self) -> VirtualRecording:
        settings = self._sampler.settings
        self._writer = TraceWriter(
            self._folder,
            sample_hz=settings.sample_hz,
            edge_hz=settings.sample_hz,
            source="virtual monitor",
            serial="0",
            about=self._about,
        )
        self._thread.start()
        try:
            # An edge is found between two samples: there must be one before the first edge.
            self._world.wait(round(settings.start_s * NS_PER_S))
        except BaseException:
            self._end()
            raise
        return self

    def check(self) -> None:
        """Raise what went wrong in the recording so far; in virtual time, wait until the samples
        have caught up with the device.
        """
        while (
            not self._world.live
            and self._sampler.due(self._world.horizon_ns()) > _CHUNK
            and self._thread.is_alive()
        ):
            self._changed.set()
            threading.Event().wait(0.001)
        if self._failure is not None:
            raise self._failure

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()
        if kind is None:
            self.check()

    def _end(self) -> None:
        self._stop_ns = self._world.now_ns()
        self._changed.set()
        try:
            self._thread.join()
        finally:
            self._writer.close()

    def _work(self) -> None:
        try:
            while self._stop_ns is None:
                self._follow(self._world.horizon_ns())
                self._changed.wait(_POLL_S)
                self._changed.clear()
            self._finish(self._stop_ns)
        except OSError as error:
            self._failure = storage_error(error, self._folder)
        except BaseException as error:
            self._failure = error

    def _finish(self, stop_ns: int) -> None:
        """Wait until the log is complete up to the end, then sample the rest; a horizon that stands
        still ends the wait.
        """
        patience = round(2.0 / _POLL_S)
        while (horizon_ns := self._world.horizon_ns()) < stop_ns and patience:
            self._follow(horizon_ns)
            patience -= 1
            threading.Event().wait(_POLL_S)
        if not patience:
            raise DeadlineError(
                "end of the simulated device's log",
                2.0,
                try_next="did the device die? see the session's events",
            )
        self._follow(stop_ns)

    def _follow(self, horizon_ns: int) -> None:
        while count := min(self._sampler.due(horizon_ns), _CHUNK):
            current_a, voltage_v, levels = self._sampler.take(count)
            self._writer.analog(current_a, voltage_v)
            self._writer.sync(levels)
        for gap in self._sampler.late_gaps():
            self._writer.gap(gap)


class Sampler:
    """The converter of the virtual monitor: what the front end sees, with its errors."""

    def __init__(
        self,
        settings: VirtualMonitor.Settings,
        world: World,
        start_ns: int,
        random: np.random.Generator,
    ) -> None:
        self.settings = settings
        self._world = world
        # Apart, so that the same seed gives the same trace however the samples are grouped into
        # calls.
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
        """Return current (A), voltage (V) and SYNC level of the next `count` samples."""
        block = self._front_end.take(count)
        supply_v = self.settings.supply_v if self._world.supply_on else self.settings.fed_v
        seen_v = supply_v * (1 + self.settings.voltage_gain) + self.settings.voltage_offset_v
        voltage_v = np.full(count, seen_v, dtype=np.float32)
        current_a = block.power_w / self.settings.supply_v if supply_v else np.zeros(count)
        return self._convert(current_a), voltage_v, block.levels

    def late_gaps(self) -> Iterator[Gap]:
        """Return and forget the gaps made by states that came after their time had been sampled."""
        for first, stop in self._front_end.late():
            late_ms = (stop - first) * self._front_end.period_s * 1e3
            yield Gap(first, stop, f"the simulated device reported {late_ms:.1f} ms too late")

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
    return Accuracy(
        current=(
            Range(
                10.0,
                settings.gain_limit,
                settings.offset_limit_a,
                noise=settings.noise_a,
                lsb=settings.lsb_a,
            ),
        ),
        voltage=(Range(100.0, settings.voltage_gain_limit, 0.0),),
        clock_ppm=settings.clock_limit_ppm,
        source="the limits in the bench file",
        verified=True,
    )
