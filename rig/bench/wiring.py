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
from rig.bench.labgrid.loan import on_loan
from rig.bench.opening import Announcer, monitored
from rig.bench.probe import (
    asked_unsupplied,
    read_supply,
    recorded,
    supply_off,
    sync_edges,
)
from rig.bench.supply import Reading
from rig.bench.wire_rows import row_of, sync_rows, talk_rows
from rig.errors import RigError
from rig.host.stop import Stop
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import EnergyMonitor, MonitorInfo
from rig.interfaces.plugin_classes import Talks
from rig.interfaces.sut import SystemUnderTest
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
    announce = Announcer(subscribers, stop)
    yield from stop.heard_by(_rows(Path(path), overrides, announce))


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


def _rows(
    path: Path, overrides: Sequence[str], announce: Announcer
) -> Generator[WireFinding, None, None]:
    resolved = config.load(path, overrides)
    tested: set[tuple[WireName, str]] = set()
    reason = "nothing to test here"
    with (
        on_loan(resolved, announce.stop) as lent,
        monitored(lent, announce) as (context, monitors),
    ):
        proof = _Proof(lent, context, monitors, announce)
        with ExitStack() as stack:
            for row in proof.rows(stack):
                tested.add((row.wire, row.rail))
                yield row
                if row.ok is False:
                    reason = f"not tested: {row.title} comes first"
                    break
    for wire, rail in due(resolved):
        if (wire, rail) not in tested:
            yield WireFinding(wire, None, reason, rail=rail)


@dataclass(slots=True)
class _Proof:
    resolved: config.Config
    context: BenchContext
    monitors: dict[str, EnergyMonitor]
    announce: Announcer

    def rows(self, stack: ExitStack) -> Iterator[WireFinding]:
        """Yield a row a wire, up to the first that fails; the device is closed with
        `stack`."""
        yield from self._second_supplies()
        kind = plugins.find("sut", self.resolved.sut.kind)
        settings = self.resolved.sut.settings
        talker: object = kind
        if isinstance(talker, Talks) and _has_line(self.resolved):
            watching = _Watching(self.monitors)
            try:
                talk = talker.talk(
                    settings, self.context, self._power_on, watching.watch
                )
            except RigError as error:
                cause = "the line to the device does not open"
                yield _failed(WireName.TX, error, cause)
                return
            silent = not talk.heard_b and not talk.pulses
            yield from self._supplies(watching.readings if silent else {})
            yield from talk_rows(talk, bool(self.monitors))
            wire, cause = WireName.RX, "the device answers, and then no more"
        else:
            self._power_on()
            wire, cause = (
                WireName.SUPPLY,
                "no supply reaches the device, or it does not run",
            )
        self.announce(Opening("sut", self.resolved.sut.kind))
        refused: RigError | None = None
        try:
            sut = stack.enter_context(closing(kind.open(settings, self.context)))
        except RigError as error:
            refused = error
        if wire is WireName.SUPPLY:
            rows = list(self._supplies({}))
            yield from (row for row in rows if refused is None or row.ok is False)
        if refused is not None:
            rail = next(iter(self.monitors), "") if wire is WireName.SUPPLY else ""
            yield replace(_failed(wire, refused, cause), rail=rail)
            return
        self.announce(PartOpened("sut", self.resolved.sut.kind, sut.info))
        yield from self._pulsed(sut)

    def _power_on(self) -> None:
        for rail, monitor in self.monitors.items():
            monitor.power(True)
            self.announce(RailState(rail, True))

    def _second_supplies(self) -> Iterator[WireFinding]:
        """Yield for each supply that is off whether something else feeds the device."""
        for rail, monitor in self.monitors.items():
            if monitor.info.switches:
                finding = supply_off("", monitor, self.context)
                cause = "another cable feeds the device"
                row = row_of(WireName.SECOND_SUPPLY, finding, cause)
                blind = monitor.info.sync == "start" or not monitor.info.reads_voltage
                ok = None if blind and row.ok else row.ok
                yield replace(row, ok=ok, rail=rail)
        asked = asked_unsupplied(self.resolved, self.monitors, self.context)
        if asked is not None and not asked.ok:
            cause = "its UART or another cable feeds the device"
            yield row_of(WireName.SECOND_SUPPLY, asked, cause)

    def _supplies(self, silent: Mapping[str, Reading | None]) -> Iterator[WireFinding]:
        """Judge the readings with the supply on, before the device has answered;
        `silent` are readings of a device that did not answer.
        """
        for rail, monitor in self.monitors.items():
            info = monitor.info
            if info.sync == "start" or not info.switches:
                continue
            unanswered = silent.get(rail)
            reading = unanswered or read_supply(monitor, self.context)
            is_idle = unanswered is not None and unanswered.powerless
            yield replace(_supply_row(reading, info, is_idle=is_idle), rail=rail)

    def _pulsed(self, sut: SystemUnderTest) -> Iterator[WireFinding]:
        """Record a SYNC burst with each monitor; yield findings on line and current."""
        supplies: dict[str, tuple[Reading | None, MonitorInfo]] = {}
        for rail, monitor in self.monitors.items():
            info = monitor.info
            with recorded(monitor, lambda: sut.do(Sync())) as (completion, trace):
                supplies[rail] = Reading.of(trace, info.accuracy), info
                edges = sync_edges("", completion, sut.info, trace)
                for row in sync_rows(trace, completion, edges, info):
                    yield replace(row, rail=rail)
        cause = "another cable feeds the device past the monitor"
        findings = supply.on("", supplies)
        for rail, finding in zip(supplies, findings, strict=True):
            yield replace(row_of(WireName.CURRENT, finding, cause), rail=rail)


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


def _supply_row(
    reading: Reading | None, info: MonitorInfo, *, is_idle: bool
) -> WireFinding:
    """Judge a supply that is on; `is_idle`: the device is silent, without a current."""
    wire = WireName.SUPPLY
    if reading is None:
        return WireFinding(wire, None, "nothing could be read")
    said = supply.in_words(reading, info)
    if info.reads_voltage and abs(reading.voltage_v) <= reading.still_v:
        return WireFinding(
            wire,
            False,
            f"{said}: there is no voltage",
            "nothing feeds the monitor, or its output is short-circuited",
            "switch on what feeds the monitor; look at its input and at its fuse",
        )
    if is_idle:
        return WireFinding(
            wire,
            False,
            f"{said}: nothing is drawn, and the device is silent",
            "the wire from the monitor's output to the device's supply pin, or its"
            " ground, is open",
            "measure the voltage at the device's own pins; the right way round?",
        )
    volts = supply.in_volts(reading, info)
    if not info.reads_voltage:
        return WireFinding(wire, None, f"{volts}; the current is judged below")
    return WireFinding(wire, True, volts)


def _failed(wire: WireName, error: RigError, cause: str) -> WireFinding:
    return WireFinding(wire, False, error.with_evidence, cause, error.try_next)
