# SPDX-License-Identifier: Apache-2.0
"""Power the device and talk to it: findings, faults and remedies."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from rig.bench import config, plugins, supply
from rig.bench.compatibility import refuse_mismatch
from rig.bench.config import PluginChoice
from rig.bench.contact_file import ContactWriter
from rig.bench.contact_player import ContactPlayer
from rig.bench.labgrid.loan import on_loan
from rig.bench.opening import Announcer, opened_monitors
from rig.bench.parts import open_task
from rig.bench.supply import Reading
from rig.bench.supply_watchdog import SupplyWatchdog, switching
from rig.errors import RigError
from rig.host.stop import Stop, pause
from rig.interfaces.context import BenchContext, Wire
from rig.interfaces.monitor import EnergyMonitor, MonitorInfo
from rig.interfaces.plugin_classes import Backend
from rig.interfaces.sut import SutInfo, SystemUnderTest
from rig.interfaces.task import Task
from rig.live.block import Observer
from rig.live.observers import Observers
from rig.model.completion import Completion
from rig.model.finding import Finding, FindingKind
from rig.model.steps import Sync
from rig.problems import Problem
from rig.simulation.world import NS_PER_S
from rig.store.events import Opening, PartOpened, RailState, Subscriber
from rig.timebase.attach import attach
from rig.timebase.edge_clock import EDGE_CLOCK, ticks_of_edges
from rig.trace.tap import MakeTap, tapped
from rig.trace.trace import TRACE, Trace
from rig.units import quantity

_DoneT = TypeVar("_DoneT")
#: Time for which a supply is read.
_READ_S = 0.25
_NO_CLOCK = (
    "firmware built for performance mode; or a monitor that sees edges (rig list)"
)
_WIRE = (
    "wire SYNC to the monitor's input, and ground to ground; a virtual monitor sees"
    " only simulated devices"
)


def probe(
    path: Path | str,
    overrides: Sequence[str] = (),
    subscribers: Sequence[Subscriber] = (),
    stop: Stop | None = None,
    *,
    observers: Sequence[Observer] = (),
    listeners: Sequence[Wire] = (),
    contact: ContactWriter | ContactPlayer | None = None,
) -> Generator[Finding, None, None]:
    """Power the device and talk to it, one finding a step; a backend with its own
    `probe` adds findings.

    `subscribers` get Opening, PartOpened and RailState, `observers` live blocks of the
    recording, `listeners` the bytes of the line to the device; `stop` ends it from
    another thread. `contact` records the conversations with the instruments, or plays
    them; it is closed at the end.
    """
    announce = Announcer(subscribers, stop or Stop())
    with contact or nullcontext():
        findings = _findings(
            path=Path(path),
            overrides=overrides,
            announce=announce,
            observers=observers,
            listeners=listeners,
            contact=contact,
        )
        with closing(announce.stop.heard_by(findings)) as heard:
            for finding in heard:
                if contact is not None:
                    contact.found(finding)
                yield finding


def _findings(
    path: Path,
    overrides: Sequence[str],
    announce: Announcer,
    observers: Sequence[Observer],
    listeners: Sequence[Wire],
    contact: ContactWriter | ContactPlayer | None,
) -> Generator[Finding, None, None]:
    plays = contact is not None and contact.plays
    stop = announce.stop
    resolved = config.load(path, overrides)
    if contact is not None:
        contact.begin(resolved.toml())
        listeners = (*listeners, contact.line(f"sut.{resolved.sut.kind}"))
    yield _of_file(resolved)
    if plays:
        resolved = replace(resolved, labgrid=None)
    with (
        on_loan(resolved, stop) as resolved,
        SupplyWatchdog() as watchdog,
        ExitStack() as stack,
    ):
        watching = Observers(observers)
        stack.callback(watching.close)
        announce(Opening("task", resolved.task.kind))
        task, context = open_task(
            resolved, probing=True, stop=stop, listeners=listeners, contact=contact
        )
        announce(PartOpened("task", resolved.task.kind))
        detail = f"{task.name}, {len(task)} samples of {len(task.payload(0))} bytes"
        yield Finding("task", True, detail)
        monitors: dict[str, EnergyMonitor] = {}
        if resolved.no_monitor is not None:
            yield _no_monitor(resolved.no_monitor)
        for rail, monitor in opened_monitors(resolved, context, stack, announce):
            monitors[rail] = monitor
            yield _of_monitor(rail, monitor)
        watchdog.watch(resolved, [] if plays else switching(monitors), stop)
        yield from _unsupplied(resolved, monitors, context, plays)
        for rail, monitor in monitors.items():
            monitor.power(True)
            announce(RailState(rail, True))
        kind = plugins.find("sut", resolved.sut.kind)
        if plays:
            if not kind.simulates(resolved.sut.settings):
                yield from _played(monitors)
                return
            context.world.supply_on = True
        if not (yield from _asked(kind, resolved.sut, context)):
            yield from _unanswered(monitors, context)
            return
        announce(Opening("sut", resolved.sut.kind))
        with closing(kind.open(resolved.sut.settings, context)) as sut:
            announce(PartOpened("sut", resolved.sut.kind, sut.info))
            yield from _of_device(sut, task, monitors)
            yield from _pulsed(monitors, sut, watching)


def _of_file(resolved: config.Config) -> Finding:
    return Finding(
        "bench file",
        True,
        f"{resolved.sut.kind} and {_kinds(resolved.monitors) or 'no monitor'}, "
        f"{resolved.scenario.kind} of {resolved.task.kind}",
    )


def _unsupplied(
    resolved: config.Config,
    monitors: Mapping[str, EnergyMonitor],
    context: BenchContext,
    plays: bool,
) -> Iterator[Finding]:
    """Yield what there is of each supply while it is off, and whether the device
    answers."""
    for rail, monitor in monitors.items():
        if monitor.info.switches:
            yield supply_off(_of("supply off", rail), monitor, context)
    if not plays and (finding := asked_unsupplied(resolved, monitors, context)):
        yield finding


def _of_monitor(rail: str, monitor: EnergyMonitor) -> Finding:
    info = monitor.info
    detail = f"{info.name}, {quantity(info.sample_hz, 'Hz')}"
    return Finding(_of("monitor", rail), True, detail, simulated=info.simulated)


def _asked(
    kind: type[Backend], choice: PluginChoice, context: BenchContext
) -> Generator[Finding, None, bool]:
    """Yield the findings of a backend's own probe; return whether all are good."""
    well = True
    for finding in kind.probe(choice.settings, context):
        yield finding
        well = well and finding.ok
    return well


def _of_device(
    sut: SystemUnderTest, task: Task, monitors: Mapping[str, EnergyMonitor]
) -> Iterator[Finding]:
    """Yield the device's description of itself."""
    yield Finding("device", True, about(sut.info), simulated=sut.info.simulated)
    yield _workload(sut.info, task)
    if not monitors and sut.info.clock == EDGE_CLOCK:
        yield Finding(
            "clock",
            False,
            "the device reports no time, and there is no monitor to see its pulses",
            _NO_CLOCK,
            see="device-tells-no-time",
        )


def _pulsed(
    monitors: Mapping[str, EnergyMonitor], sut: SystemUnderTest, watching: Observers
) -> Iterator[Finding]:
    """Record a SYNC burst with each monitor; yield whether it saw the edges, and the
    supply."""
    supplies: dict[str, tuple[Reading | None, MonitorInfo]] = {}
    for rail, monitor in monitors.items():
        tap = partial(watching.tap, rail)
        with recorded(monitor, lambda: sut.do(Sync()), tap) as (completion, trace):
            supplies[rail] = _reading(trace, monitor)
        yield sync_edges(_of("SYNC wire", rail), completion, sut.info, trace)
    yield from supply.on("supply on", supplies)


def _no_monitor(choice: PluginChoice) -> Finding:
    limit = f"within {choice.settings.clock_ppm:g} ppm ({choice.settings.clock_source})"
    return Finding(
        "monitor",
        True,
        f"none: the device's own time stamps are the clock, {limit}; there is no"
        " energy",
    )


@contextmanager
def recorded(
    monitor: EnergyMonitor, action: Callable[[], _DoneT], tap: MakeTap | None = None
) -> Iterator[tuple[_DoneT, Trace]]:
    """Record with a monitor while an action runs; yield its result and the trace, which
    is gone when the context is left.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with tapped(folder, tap) if tap else nullcontext(), monitor.record(folder):
            done = action()
        yield done, Trace.open(folder / TRACE)


def _reading(
    trace: Trace, monitor: EnergyMonitor
) -> tuple[Reading | None, MonitorInfo]:
    return Reading.of(trace, monitor.info.accuracy), monitor.info


def read_supply(monitor: EnergyMonitor, context: BenchContext) -> Reading | None:
    """Read a supply for a moment."""

    def wait() -> None:
        # A simulated instrument lives in the bench's time, a real one in ours.
        if monitor.info.simulated:
            context.world.wait(round(_READ_S * NS_PER_S))
        else:
            pause(_READ_S)

    with recorded(monitor, wait) as (_, trace):
        return Reading.of(trace, monitor.info.accuracy)


def supply_off(name: str, monitor: EnergyMonitor, context: BenchContext) -> Finding:
    """Read a supply while it is off; a monitor that waits for the device's edges
    cannot."""
    if monitor.info.sync == "start":
        detail = "this monitor records from the first edge of SYNC on"
        return Finding(name, True, detail, tested=False)
    return supply.off(name, read_supply(monitor, context), monitor.info)


def asked_unsupplied(
    resolved: config.Config,
    monitors: Mapping[str, EnergyMonitor],
    context: BenchContext,
) -> Finding | None:
    """Ask the device while all of its supplies are off; None where that proves no more:
    a monitor switches no supply, or a simulated one that of a real device.
    """
    kind = plugins.find("sut", resolved.sut.kind)
    settings = resolved.sut.settings
    is_simulated = kind.simulates(settings) is True
    infos = [monitor.info for monitor in monitors.values()]
    if not infos:
        return None
    if any(info.simulated is not is_simulated or not info.switches for info in infos):
        return None
    # A port that does not open has a row of its own.
    with suppress(RigError):
        if (answer := kind.overhears(settings, context)) is not None:
            return supply.unanswered("supply off, UART", answer)
    return None


def _unanswered(
    monitors: Mapping[str, EnergyMonitor], context: BenchContext
) -> Iterator[Finding]:
    """Read the supplies of a device that did not answer; a simulated one is not there
    by then."""
    supplies = {}
    for rail, monitor in monitors.items():
        if not monitor.info.simulated and monitor.info.sync != "start":
            supplies[rail] = read_supply(monitor, context), monitor.info
    yield from supply.on("supply on", supplies)


def _played(monitors: Mapping[str, EnergyMonitor]) -> Iterator[Finding]:
    """Yield what instruments that are played recorded of a device that is not."""
    detail = "not asked: its line is recorded, and not played"
    yield Finding("device", True, detail, tested=False)
    supplies = {}
    for rail, monitor in monitors.items():
        if monitor.info.sync == "start":
            continue
        # All that was recorded comes, also to a recording of no time.
        with recorded(monitor, lambda: None) as (_, trace):
            supplies[rail] = _reading(trace, monitor)
            edges = (
                f"{len(trace.falls_s)} edges at the monitor, and no marks to compare"
                " them with"
            )
        yield _sync_wire(_of("SYNC wire", rail), edges)
    yield from supply.on("supply on", supplies)


def _kinds(monitors: Mapping[str, PluginChoice]) -> str:
    return " + ".join(choice.kind for choice in monitors.values())


def _of(name: str, rail: str) -> str:
    return f"{name} of {rail}" if rail else name


def _workload(info: SutInfo, task: Task) -> Finding:
    try:
        refuse_mismatch(info, task)
    except RigError as error:
        return Finding("workload", False, error.cause, error.try_next, see=error.see)
    return Finding(
        "workload",
        True,
        f"{info.model or info.task or 'unknown to the device'}, as the bench asks for"
        f" {task.name}",
    )


def sync_edges(
    name: str, completion: Completion, info: SutInfo, trace: Trace
) -> Finding:
    """Compare the marks of a burst with the edges that the monitor saw: the SYNC
    wire."""
    ticks = [mark.tick for mark in completion.marks]
    if info.clock == EDGE_CLOCK:
        expected = ticks_of_edges(ticks, info.tick_hz, trace.falls_s, trace.edge_hz)
        if isinstance(expected, Problem):
            wrong = f"{expected.code}: {expected.detail}"
            return _sync_wire(name, wrong, see="no-edges")
        detail = (
            f"{len(expected)} pulses of the device, as many edges at the monitor: they"
            " are its only clock"
        )
        return _sync_wire(name, detail)
    alignment = attach(trace, ticks, info.tick_hz, info.sync_hold_s, info.clock)
    detail = (
        f"{alignment.marks} marks of the device, {alignment.edges} edges at the monitor"
    )
    if trace.sync == "clock":
        detail = (
            f"{alignment.marks} marks of the device, by the clock that the monitor"
            " reads: there is no wire"
        )
    wrong = "; ".join(
        f"{problem.code}: {problem.detail}" for problem in alignment.problems
    )
    if not wrong:
        return _sync_wire(name, detail)
    see = "odd-edges" if alignment.edges else "no-edges"
    return _sync_wire(name, wrong, see=see)


def _sync_wire(name: str, detail: str, *, see: str = "") -> Finding:
    """Return the finding of the SYNC wire; `see` names its fault, where it has one."""
    return Finding(
        name,
        not see,
        detail,
        try_next=_WIRE if see else "",
        see=see,
        kind=FindingKind.SYNC_WIRE,
    )


def about(info: SutInfo) -> str:
    """Return a device's description of itself in one line."""
    time = (
        "reports no time"
        if info.clock == EDGE_CLOCK
        else f"{info.tick_hz} ticks per second"
    )
    facts = [
        info.name,
        info.firmware,
        f"runs {info.model or info.task}",
        time,
        info.link,
    ]
    return ", ".join(filter(None, facts))
