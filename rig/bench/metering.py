# SPDX-License-Identifier: Apache-2.0
"""One monitor of a bench as a meter: its supply is on, samples are counted and shown,
and the device is not used.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rig.bench import config, plugins
from rig.bench.config import Config, PluginChoice
from rig.bench.labgrid.loan import on_loan
from rig.bench.opening import Announcer, monitored
from rig.bench.parts import open_part
from rig.errors import BenchError, ConfigError, RigError, Stopped
from rig.files.shipped import shipped
from rig.host.stop import Stop, pause
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import MonitorInfo, Recording
from rig.live.accumulated import Amounts
from rig.live.block import Observer
from rig.live.meter import Meter
from rig.live.meter_recorder import MeterRecorder
from rig.live.observers import Observers
from rig.simulation.world import NS_PER_S
from rig.store.events import RailState
from rig.trace.tap import Fork, Tap, TraceForm, tapped
from rig.trace.trace import TRACE

_LOOK_S = 0.05
#: A bench for a monitor alone: only the monitor is used, and its simulated device where
#: the monitor is simulated.
_ALONE = "virtual-null.toml"
#: Kinds that do not measure the present.
_NOT_LIVE = ("none", "playback")


@dataclass(frozen=True, slots=True)
class Metering:
    """The meter is at work."""

    info: MonitorInfo
    meter: Meter


@dataclass(frozen=True, slots=True)
class RecordingEnded:
    """The end of a recording: its trace, the amounts that the meter counted, and the
    error, if any.
    """

    trace: Path
    amounts: Amounts
    error: RigError | None = None


@dataclass(frozen=True, slots=True)
class NotRecorded:
    """A recording could not begin."""

    error: RigError


Tell = Callable[[Any], None]


def alone(kind: str, changes: Sequence[str] = ()) -> Config:
    """Return a bench with only a monitor; `changes` are its settings as NAME=VALUE.
    Raises ConfigError.
    """
    settings = config.settings_of("monitor", kind, changes)
    return with_only({"": PluginChoice(kind, settings)}, Path.cwd())


def with_only(monitors: dict[str, PluginChoice], folder: Path) -> Config:
    """Return a bench with these monitors and no other part to use."""
    resolved = config.load(shipped("benches") / _ALONE)
    return replace(resolved, monitors=monitors, folder=folder)


def kinds() -> list[str]:
    """Return the kinds of monitor that measure now."""
    return [name for name in plugins.names("monitor") if name not in _NOT_LIVE]


def meter_supply(
    resolved: Config,
    rail: str,
    tell: Tell,
    stop: Stop,
    observers: Sequence[Observer] = (),
) -> None:
    """Switch the supplies of a bench on and meter one rail until a stop is requested;
    the supplies are off at the end in every case.

    `tell` gets the events of opening, Metering, and RecordingEnded for each recording.
    Raises RigError.
    """
    _refuse_no_meter(resolved, rail)
    announce = Announcer((tell,), stop)
    with (
        suppress(Stopped),
        closing(Observers(observers)) as watching,
        on_loan(resolved, stop) as resolved,
        monitored(resolved, announce) as (context, monitors),
        ExitStack() as stack,
        stop.heard(),
    ):
        for name, monitor in monitors.items():
            if monitor.info.switches:
                monitor.power(True)
                tell(RailState(name, True))
        info = monitors[rail].info
        meter = Meter(info.accuracy)
        stack.callback(_leave, meter, tell)

        def tap(form: TraceForm) -> Tap:
            return Fork.of(watching.tap(rail, form), meter.begin(form))

        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="rig-meter-"))
        with (
            tapped(Path(scratch), tap, kept=False),
            monitors[rail].record(Path(scratch)) as recording,
            suppress(Stopped),
            _device(resolved, info, context),
        ):
            tell(Metering(info, meter))
            _follow(recording, info, meter, context, tell)


def _refuse_no_meter(resolved: Config, rail: str) -> None:
    """Raise ConfigError where no monitor of the rail measures now."""
    if rail not in resolved.monitors:
        cause = "this bench has no monitor"
        if rail:
            cause = f"there is no monitor of the rail {rail!r}"
        raise ConfigError(
            cause, path="monitor", try_next="another bench, or a kind of monitor"
        )
    kind = resolved.monitors[rail].kind
    if kind in _NOT_LIVE:
        raise ConfigError(
            f"{kind} measures nothing now",
            path="monitor",
            try_next="another kind of monitor; a recording is looked at as a trace",
        )


def _follow(
    recording: Recording,
    info: MonitorInfo,
    meter: Meter,
    context: BenchContext,
    tell: Tell,
) -> None:
    """Look after the meter until the end is asked for."""
    world = context.world
    before_s = time.monotonic()
    while True:
        pause(_LOOK_S)
        now_s = time.monotonic()
        if info.simulated and not world.live:
            # A simulated instrument lives in the bench's time, which passes as ours
            # does.
            world.wait(round((now_s - before_s) * NS_PER_S))
        before_s = now_s
        recording.check()
        if meter.error is not None:
            raise BenchError(
                "the meter ended by an error of its own", evidence=repr(meter.error)
            )
        if (error := meter.refused()) is not None:
            tell(NotRecorded(error))
        if (recorder := meter.collect()) is not None:
            tell(_closed(recorder))


def _leave(meter: Meter, tell: Tell) -> None:
    """Close a recording that is still open."""
    if (recorder := meter.collect(at_once=True)) is not None:
        tell(_closed(recorder))


def _closed(recorder: MeterRecorder) -> RecordingEnded:
    error = recorder.error
    try:
        recorder.close()
    except RigError as failure:
        error = error or failure
    return RecordingEnded(recorder.folder / TRACE, recorder.total.amounts(), error)


@contextmanager
def _device(
    resolved: Config, info: MonitorInfo, context: BenchContext
) -> Iterator[None]:
    """Let a simulated device be there for a simulated monitor to see: a real one is by
    itself."""
    kind = plugins.find("sut", resolved.sut.kind)
    simulated = kind.simulates(resolved.sut.settings)
    if not (info.simulated and simulated):
        yield
        return
    with closing(open_part("sut", resolved, context)):
        yield
