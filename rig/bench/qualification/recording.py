# SPDX-License-Identifier: Apache-2.0
"""A recording of a known load by a monitor that is opened for it: with no device, and
with the supply off before and after.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rig.bench.config import PluginChoice
from rig.bench.metering import with_only
from rig.bench.opening import Announcer, monitored
from rig.bench.qualification.load import Hands, OutputLoad
from rig.errors import BenchError, ConfigError
from rig.host.raw_clock import raw_monotonic_ns
from rig.host.stop import Stop, pause
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import MonitorInfo, Recording
from rig.simulation.world import NS_PER_S
from rig.trace.tap import Tap, TraceForm, tapped
from rig.trace.trace import TRACE, Trace

#: A real instrument is looked after this often.
_LOOK_S = 0.1
#: Virtual time passes in steps of this length on average. They are of random lengths:
#: a block that is due between two of them arrives at the later one, and its lag must
#: not be the same each time. Between two steps a simulated instrument has its turn.
_STEP_S = 0.01
_TURN_S = 0.003
_SETTLE_S = 0.05


@dataclass(frozen=True, slots=True)
class Bare:
    """The monitor that is checked: its rail, kind and settings, without any
    calibration file."""

    rail: str
    choice: PluginChoice
    folder: Path

    @classmethod
    def of(cls, rail: str, choice: PluginChoice, folder: Path) -> Bare:
        """Take the calibration file out of the settings."""
        if not hasattr(choice.settings, "calibration"):
            raise ConfigError(
                f"limits of error of {choice.kind} cannot be replaced",
                path=f"monitor.{choice.kind}",
                try_next="another monitor; rig list shows the kinds",
            )
        bare: Any = replace(choice.settings, calibration="")
        return cls(rail, PluginChoice(choice.kind, bare), folder)

    def with_settings(self, settings: Any) -> Bare:
        """Return the same monitor with other settings."""
        return replace(self, choice=PluginChoice(self.choice.kind, settings))


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recording: its trace, None where it was not kept, the monitor, the count of
    samples and the host's time at each arrival, the voltmeter's reading, and the cause
    of a loss of samples, empty where there was none.
    """

    info: MonitorInfo
    arrivals: tuple[tuple[int, float], ...]
    trace: Trace | None
    volts: float | None
    lost: str


class _Arrivals:
    """A tap that notes when samples have come."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self.samples = 0
        self.rows: list[tuple[int, float]] = []
        self.lost = ""

    def __call__(self, form: TraceForm) -> Tap:
        return self

    def analog(self, current_a: Any, voltage_v: Any) -> None:
        self.samples += len(current_a)
        self.rows.append((self.samples, self._now_s()))

    def skip(self, samples: int, cause: str) -> None:
        self.lost = cause

    def gap(self, gap: Any) -> None:
        self.lost = gap.cause

    def levels(self, at: int, packed: Any) -> None:
        return

    def sync_voltage(self, at: int, voltage_v: Any) -> None:
        return

    def stamp(self, at_s: float, fall: bool) -> None:
        return

    def end(self) -> None:
        return

    def failed(self, error: Exception) -> None:
        self.lost = repr(error)


def record(
    bare: Bare,
    load: OutputLoad,
    hands: Hands,
    duration_s: float,
    folder: Path,
    stop: Stop,
    kept: bool = True,
) -> Recorded:
    """Wire a load, open the monitor, switch its supply on, and record; the supply is
    off on leaving, also after errors. Raises RigError.
    """
    with stop.heard():
        hands.wire(load)
    folder.mkdir()
    announce = Announcer((), stop)
    bench = with_only({bare.rail: bare.choice}, bare.folder)
    with stop.heard(), monitored(bench, announce) as (context, monitors):
        monitor = monitors[bare.rail]
        info = monitor.info
        _refuse_no_output(info)
        clock = _clock_of(info, context)
        monitor.power(True)
        arrivals = _Arrivals(clock)
        hands.act(load, context.world, duration_s)
        if not info.simulated:
            pause(_SETTLE_S)
        volts = hands.voltage_v(load)
        with (
            tapped(folder, arrivals, kept=kept),
            monitor.record(folder) as recording,
        ):
            _spend(duration_s, info, context, recording, arrivals)
        monitor.power(False)
    trace = Trace.open(folder / TRACE) if kept else None
    gaps = trace.gaps if trace is not None else ()
    lost = gaps[0].cause if gaps else arrivals.lost
    return Recorded(info, tuple(arrivals.rows), trace, volts, lost)


def _refuse_no_output(info: MonitorInfo) -> None:
    if not info.switches:
        raise ConfigError(
            f"{info.name} has no output to which a resistor could be connected",
            path=f"monitor.{info.kind}",
            try_next="a monitor that carries the device's supply",
        )
    if info.sync in ("start", "clock"):
        raise ConfigError(
            f"{info.name} records from the first edge of SYNC on, and no device makes"
            " one here",
            path=f"monitor.{info.kind}.sync",
            try_next="--set with another sync, as voltage",
        )


def _clock_of(info: MonitorInfo, context: BenchContext) -> Callable[[], float]:
    """Return the host's clock (s): that of the virtual bench where the monitor is
    simulated."""
    world = context.world
    if info.simulated and not world.live:
        return lambda: world.now_ns() / NS_PER_S
    return lambda: raw_monotonic_ns() / NS_PER_S


def _spend(
    duration_s: float,
    info: MonitorInfo,
    context: BenchContext,
    recording: Recording,
    arrivals: _Arrivals,
) -> None:
    """Let the time of the recording pass."""
    world = context.world
    virtual = info.simulated and not world.live
    steps = random.Random(context.seed)
    end_s = time.monotonic() + duration_s
    left_s = duration_s
    while left_s > 0:
        if virtual:
            step_s = min(left_s, _STEP_S * steps.uniform(0.5, 1.5))
            world.wait(round(step_s * NS_PER_S))
            pause(_TURN_S)
            left_s -= step_s
        else:
            pause(min(left_s, _LOOK_S))
            left_s = end_s - time.monotonic()
        recording.check()
        if not virtual and not arrivals.samples and left_s <= 0:
            raise BenchError(
                f"no sample of {info.name} came in {duration_s:g} s",
                try_next="rig probe BENCH",
            )
