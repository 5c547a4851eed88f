# SPDX-License-Identifier: Apache-2.0
"""Prove the wiring of a bench: one row a wire, tested one after the other, so that the
first row that fails names the wire.

What tells the wires apart: the supply is read off and on; the device speaks unasked at
power-up, for which its Tx is enough; it pulses SYNC when it is asked, which the monitor
sees though its Tx may be broken; the line of SYNC has a level at rest.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path

from rig.bench import config, plugins, supply
from rig.bench.opening import Announcer, opened_monitors
from rig.bench.parts import open_task
from rig.bench.probe import read_supply, supply_off, sync_edges
from rig.bench.supply import Reading
from rig.bench.supply_watchdog import SupplyWatchdog, switching
from rig.bench.wire_rows import (
    current_row,
    level_row,
    polarity_row,
    seen_row,
    talk_rows,
)
from rig.errors import RigError
from rig.host.stop import Stop
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import EnergyMonitor
from rig.interfaces.plugin_classes import Talks
from rig.interfaces.sut import SystemUnderTest
from rig.model.finding import Finding
from rig.model.steps import Sync
from rig.model.wiring import WireFinding, WireName
from rig.store.events import Opening, PartOpened, RailState, Subscriber
from rig.trace.trace import TRACE, Trace

_SEES_NO_PULSES = ("none", "clock", "start")
_LINE = (WireName.TX, WireName.GROUND, WireName.RX)
_SYNC = (WireName.LEVEL, WireName.SYNC, WireName.POLARITY)


def prove_wiring(
    path: Path | str,
    overrides: Sequence[str] = (),
    subscribers: Sequence[Subscriber] = (),
    stop: Stop | None = None,
) -> Generator[WireFinding, None, None]:
    """Test the wires of a bench, one finding each; after a failure the wires that need
    the failed one are not tested. The supply is off at the end in every case. Raises
    the errors of opening a monitor.

    `subscribers` get Opening, PartOpened and RailState; `stop` ends it from another
    thread.
    """
    stop = stop or Stop()
    proof = _Proof(Path(path), overrides, Announcer(subscribers, stop))
    # A generator runs in pieces: a request is heard while one of them runs.
    with closing(proof.rows()) as rows:
        while True:
            with stop.heard():
                try:
                    row = next(rows)
                except StopIteration:
                    return
            yield row


def expected(
    path: Path | str, overrides: Sequence[str] = ()
) -> list[tuple[WireName, str]]:
    """Return the rows of a proof of this bench, by wire and rail; raises
    ConfigError."""
    return due(config.load(Path(path), overrides))


def due(resolved: config.Config) -> list[tuple[WireName, str]]:
    """Return the rows of a proof of a bench, by wire and rail."""
    talks = isinstance(plugins.find("sut", resolved.sut.kind), Talks)
    rails = list(resolved.monitors)
    rows = [(WireName.SECOND_SUPPLY, rail) for rail in rails]
    rows += [(WireName.SUPPLY, rail) for rail in rails]
    rows += [(name, "") for name in _LINE if talks and _has_line(resolved)]
    for rail in rails:
        rows += [(name, rail) for name in _SYNC]
    return rows + [(WireName.CURRENT, rail) for rail in rails]


def _has_line(resolved: config.Config) -> bool:
    kind = plugins.find("sut", resolved.sut.kind)
    return bool(kind.wires(resolved.sut.settings))


@dataclass(slots=True)
class _Proof:
    path: Path
    overrides: Sequence[str]
    announce: Announcer

    def rows(self) -> Generator[WireFinding, None, None]:
        resolved = config.load(self.path, self.overrides)
        rows = due(resolved)
        told: set[tuple[WireName, str]] = set()
        reason = ""
        with SupplyWatchdog() as watchdog, ExitStack() as stack:
            _, context = open_task(resolved, probing=True, stop=self.announce.stop)
            monitors = dict(opened_monitors(resolved, context, stack, self.announce))
            watchdog.watch(resolved, switching(monitors), self.announce.stop)
            for row in self._tested(resolved, context, monitors, stack):
                told.add((row.wire, row.rail))
                yield row
                if row.ok is False:
                    reason = row.title
                    break
        for wire, rail in rows:
            if (wire, rail) not in told:
                why = (
                    f"not tested: {reason} comes first"
                    if reason
                    else "nothing to test here"
                )
                yield WireFinding(wire, None, why, rail=rail)

    def _tested(
        self,
        resolved: config.Config,
        context: BenchContext,
        monitors: dict[str, EnergyMonitor],
        stack: ExitStack,
    ) -> Iterator[WireFinding]:
        yield from _second_supplies(monitors, context)

        def power_on() -> None:
            for rail, monitor in monitors.items():
                monitor.power(True)
                self.announce(RailState(rail, True))

        kind = plugins.find("sut", resolved.sut.kind)
        talker: object = kind
        if isinstance(talker, Talks) and _has_line(resolved):
            watching = _Watching(monitors)
            try:
                talk = talker.talk(
                    resolved.sut.settings, context, power_on, watching.watch
                )
            except RigError as error:
                yield _failed(
                    WireName.TX, error, "the line to the device does not open"
                )
                return
            silent = not talk.heard_b and not talk.pulses
            yield from self._supplies(
                monitors, context, watching.readings if silent else {}
            )
            yield from talk_rows(talk, bool(monitors))
            wire, cause = WireName.RX, "the device answers, and then no more"
        else:
            power_on()
            wire, cause = (
                WireName.SUPPLY,
                "no supply reaches the device, or it does not run",
            )
        self.announce(Opening("sut", resolved.sut.kind))
        refused: RigError | None = None
        try:
            sut = stack.enter_context(
                closing(kind.open(resolved.sut.settings, context))
            )
        except RigError as error:
            refused = error
        if wire is WireName.SUPPLY:
            rows = list(self._supplies(monitors, context, {}))
            yield from (row for row in rows if refused is None or row.ok is False)
        if refused is not None:
            rail = next(iter(monitors), "") if wire is WireName.SUPPLY else ""
            yield _failed(wire, refused, cause, rail)
            return
        self.announce(PartOpened("sut", resolved.sut.kind, sut.info))
        yield from _pulsed(monitors, sut)

    def _supplies(
        self,
        monitors: dict[str, EnergyMonitor],
        context: BenchContext,
        silent: Mapping[str, Reading | None],
    ) -> Iterator[WireFinding]:
        """Judge the readings with the supply on, before the device has answered;
        `silent` are readings of a device that did not answer.
        """
        for rail, monitor in monitors.items():
            info = monitor.info
            if info.sync == "start" or not info.switches:
                continue
            reading = silent.get(rail) or read_supply(monitor, context)
            if reading is None:
                yield WireFinding(
                    WireName.SUPPLY, None, "nothing could be read", rail=rail
                )
                continue
            said = supply.in_words(reading, info)
            if info.reads_voltage and abs(reading.voltage_v) <= reading.still_v:
                yield WireFinding(
                    wire=WireName.SUPPLY,
                    ok=False,
                    detail=f"{said}: there is no voltage",
                    cause="nothing feeds the monitor, or its output is short-circuited",
                    try_next=(
                        "switch on what feeds the monitor; look at its input and at"
                        " its fuse"
                    ),
                    rail=rail,
                )
            elif silent.get(rail) is not None and reading.powerless:
                yield WireFinding(
                    wire=WireName.SUPPLY,
                    ok=False,
                    detail=f"{said}: nothing is drawn, and the device is silent",
                    cause=(
                        "the wire from the monitor's output to the device's supply"
                        " pin, or its ground, is open"
                    ),
                    try_next=(
                        "measure the voltage at the device's own pins; the right way"
                        " round?"
                    ),
                    rail=rail,
                )
            elif not info.reads_voltage:
                why = f"{supply.in_volts(reading, info)}; the current is judged below"
                yield WireFinding(WireName.SUPPLY, None, why, rail=rail)
            else:
                said = supply.in_volts(reading, info)
                yield WireFinding(WireName.SUPPLY, True, said, rail=rail)


class _Watching:
    """Records what all monitors see while a device is asked for pulses."""

    def __init__(self, monitors: Mapping[str, EnergyMonitor]) -> None:
        self._monitors = monitors
        self.readings: dict[str, Reading | None] = {}

    def watch(self, action: Callable[[], None]) -> int | None:
        """Run an action; return the number of pulses during it, None if no monitor sees
        pulses.
        """
        seen: int | None = None
        with ExitStack() as stack:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            recorded = {}
            with ExitStack() as recordings:
                for number, (rail, monitor) in enumerate(self._monitors.items()):
                    if monitor.info.sync != "start":
                        recorded[rail] = scratch / str(number)
                        recorded[rail].mkdir()
                        recordings.enter_context(monitor.record(recorded[rail]))
                action()
            for rail, folder in recorded.items():
                trace = Trace.open(folder / TRACE)
                info = self._monitors[rail].info
                self.readings[rail] = Reading.of(trace, info.accuracy)
                if info.sync not in _SEES_NO_PULSES:
                    seen = max(seen or 0, len(trace.falls_s))
        return seen


def _row(wire: WireName, rail: str, found: Finding, cause: str = "") -> WireFinding:
    return WireFinding(
        wire=wire,
        ok=found.ok,
        detail=found.detail,
        cause=cause,
        try_next=found.try_next,
        rail=rail,
    )


def _failed(wire: WireName, error: RigError, cause: str, rail: str = "") -> WireFinding:
    detail = f"{error.cause} ({error.evidence})" if error.evidence else error.cause
    return WireFinding(
        wire=wire,
        ok=False,
        detail=detail,
        cause=cause,
        try_next=error.try_next,
        rail=rail,
    )


def _second_supplies(
    monitors: Mapping[str, EnergyMonitor], context: BenchContext
) -> Iterator[WireFinding]:
    """Yield for each supply that is off whether something else feeds the device."""
    for rail, monitor in monitors.items():
        if monitor.info.switches:
            found = supply_off("", monitor, context)
            cause = "" if found.ok else "another cable feeds the device"
            row = _row(WireName.SECOND_SUPPLY, rail, found, cause)
            blind = monitor.info.sync == "start" or not monitor.info.reads_voltage
            yield replace(row, ok=None) if blind and row.ok else row


def _pulsed(
    monitors: Mapping[str, EnergyMonitor], sut: SystemUnderTest
) -> Iterator[WireFinding]:
    """Record a SYNC burst with each monitor; yield findings on line and current."""
    readings: dict[str, Reading | None] = {}
    for rail, monitor in monitors.items():
        with tempfile.TemporaryDirectory() as scratch:
            with monitor.record(Path(scratch)):
                completion = sut.do(Sync())
            trace = Trace.open(Path(scratch) / TRACE)
            readings[rail] = Reading.of(trace, monitor.info.accuracy)
            levels = trace.line.levels()
            yield level_row(trace, levels, monitor.info, rail)
            edges = sync_edges("", completion, sut.info, trace)
            yield seen_row(trace, completion, edges, rail)
            yield polarity_row(trace, levels, edges, rail)
    infos = {rail: monitor.info for rail, monitor in monitors.items()}
    for (rail, _), found in zip(
        readings.items(), supply.on("", readings, infos), strict=True
    ):
        yield current_row(rail, found)
