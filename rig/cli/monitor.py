# SPDX-License-Identifier: Apache-2.0
"""`rig monitor`: check an energy monitor on its owner's bench; print which suits which
job.
"""

from __future__ import annotations

import datetime
import json
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import click

from rig.bench import config, plugins
from rig.bench.config import PluginChoice
from rig.bench.qualification import calibration_file
from rig.bench.qualification.check import (
    MOST_CLOCK_S,
    CheckPlan,
    CheckRow,
    MonitorCheck,
)
from rig.bench.qualification.load import (
    Hands,
    OutputLoad,
    SimulatedHands,
    heats,
    parse,
    percent,
)
from rig.bench.qualification.recording import Bare
from rig.cli.lazy import LazyGroup
from rig.cli.options import FILE, FiniteRange, bench_argument, json_option, set_option
from rig.cli.printed.labels import badge
from rig.cli.printed.terminal import Terminal, escape, say
from rig.errors import ConfigError
from rig.host.ready import ready
from rig.host.second_signal import stopped_by_signals
from rig.host.stop import Stop
from rig.results.labels import SIMULATED, Label
from rig.simulation.world import World
from rig.units import quantity

_MOST_V = 1000.0
#: Of a supply that the monitor only carries.
_USUAL_V = 3.3
_NAMES = {True: "[green]ok[/]     ", False: "[red]beyond[/] ", None: "       "}


@click.group(cls=LazyGroup)
def monitor() -> None:
    """Check an energy monitor against a resistor, and write its calibration."""


@monitor.command(short_help="Measure a monitor's errors; write a calibration file")
@bench_argument
@set_option
@click.option("--rail", metavar="NAME", default="", help="Rail of several supplies.")
@click.option(
    "--resistor",
    "resistors",
    metavar="OHM,PERCENT[,VOLT]",
    multiple=True,
    help="Resistor, its tolerance, its voltage: 1kohm,0.1%; one a range.",
)
@click.option(
    "--voltmeter",
    metavar="PERCENT",
    help="Limit of a voltmeter's error, as 0.05%; asks for its readings.",
)
@click.option(
    "--sync-step", is_flag=True, help="SYNC switches the first resistor: its delay."
)
@click.option(
    "--seconds",
    type=FiniteRange(0.2, 600),
    default=5.0,
    show_default=True,
    help="Length of each recording.",
)
@click.option(
    "--clock-seconds",
    type=FiniteRange(0, MOST_CLOCK_S),
    default=60.0,
    show_default=True,
    help="Length of the recording for the clock; 0: none.",
)
@click.option(
    "--host-clock-ppm",
    type=FiniteRange(0, 10_000),
    default=100.0,
    show_default=True,
    help="Limit of the error of this computer's clock.",
)
@click.option(
    "--drift", metavar="PERCENT", help="Limit of a gain's change in a year, as 0.1%."
)
@click.option("--out", metavar="FILE", type=FILE, help="Calibration file to write.")
@click.option(
    "--simulated-ohm",
    metavar="OHM",
    type=FiniteRange(min=1e-3),
    multiple=True,
    help="True value of a simulated monitor's resistor.",
)
@json_option
def check(
    bench: Path,
    overrides: tuple[str, ...],
    rail: str,
    resistors: tuple[str, ...],
    voltmeter: str | None,
    sync_step: bool,
    seconds: float,
    clock_seconds: float,
    host_clock_ppm: float,
    drift: str | None,
    out: Path | None,
    simulated_ohm: tuple[float, ...],
    as_json: bool,
) -> int:
    """Measure zero, noise, gain, SYNC delay and clock of a monitor, without a device,
    and write a calibration file that is valid for a year.
    """
    resolved = config.load(bench, overrides)
    choice = _choice(resolved.monitors, rail)
    plan = CheckPlan(
        resistors=tuple(parse(text) for text in resistors),
        voltmeter=percent(voltmeter, "--voltmeter") if voltmeter else 0.0,
        sync_step=sync_step,
        seconds=seconds,
        clock_seconds=clock_seconds,
        drift=percent(drift, "--drift") if drift else 0.0,
        host_ppm=host_clock_ppm,
    )
    if sync_step and not resistors:
        raise ConfigError(
            "SYNC switches a resistor, and none is given",
            path="--sync-step",
            try_next="--resistor with its value too",
        )
    file = out or Path(f"{bench.stem}-calibration.toml")
    calibration_file.refuse_existing(file)
    terminal = Terminal(stderr=as_json)
    kind = plugins.find("monitor", choice.kind)
    simulated = kind.simulates(choice.settings)
    supply_v = getattr(choice.settings, "supply_v", 0.0)
    hands: Hands = _Person(terminal, plan, supply_v)
    if simulated:
        hands = SimulatedHands(simulated_ohm, 0.0 if plan.voltmeter else None)
    stop = Stop()
    bare = Bare.of(rail, choice, resolved.folder)
    under_way = MonitorCheck(
        bare, plan, hands, stop, lambda text: say(terminal, f"[dim]{escape(text)}[/]")
    )
    rows: list[CheckRow] = []
    with stopped_by_signals(stop), closing(under_way.rows()) as found:
        for row in found:
            rows.append(row)
            _print(terminal, row)
    calibration_file.write(
        file, under_way.accuracy(datetime.datetime.now(datetime.UTC).date())
    )
    say(terminal, f"{escape(str(file))} is written")
    section = f"rail.{rail}.{choice.kind}" if rail else f"monitor.{choice.kind}"
    line = f'calibration = "{file.name}" in [{section}] of {bench}'
    say(terminal, escape(line), "next: ")
    if as_json:
        Terminal().out(json.dumps(_document(bench, file, rows), indent=1))
    return 0


def _choice(monitors: dict[str, PluginChoice], rail: str) -> PluginChoice:
    """Return the monitor of a rail; raises ConfigError."""
    if rail in monitors:
        return monitors[rail]
    names = ", ".join(monitors)
    raise ConfigError(
        f"there is no monitor of the rail {rail!r}" if rail else "no single monitor",
        path="--rail",
        try_next=f"one of {names}" if names else "a bench with a monitor",
    )


class _Person:
    """The hands of the person at the terminal; `supply_v`: of the monitor's output, 0
    where another supply gives it.
    """

    def __init__(self, terminal: Terminal, plan: CheckPlan, supply_v: float) -> None:
        self._terminal = terminal
        self._plan = plan
        self._supply_v = supply_v or _USUAL_V
        self._wired: OutputLoad | None = None

    def wire(self, load: OutputLoad) -> None:
        """Ask for the wiring, once for each load; the supply is off meanwhile."""
        if load == self._wired:
            return
        self._wired = load
        say(self._terminal, escape(_wish(load, self._supply_v)), "wire: ")
        self._ask("press Enter when that is done")

    def act(self, load: OutputLoad, world: World, duration_s: float) -> None:
        """Leave the load as it is."""

    def voltage_v(self, load: OutputLoad) -> float | None:
        """Ask for the voltmeter's reading, where there is one."""
        if not self._plan.voltmeter or load.resistor is None or load.resistor.volts:
            return None
        if load.switched:
            return None
        answer = self._ask("voltage over the resistor in V")
        try:
            volts = float(answer.strip().removesuffix("V"))
        except ValueError:
            volts = 0.0
        if not 0 < volts < _MOST_V:
            raise ConfigError(
                f"{answer.strip()!r:.40} is no voltage",
                path="--voltmeter",
                try_next="a number of volts, as 2.4871",
            )
        return volts

    def _ask(self, question: str) -> str:
        """Return a line that was typed; a signal ends the wait."""
        say(self._terminal, question, "next: ")
        with suppress(OSError, ValueError):
            ready([sys.stdin])
        answer = sys.stdin.readline()
        if not answer:
            raise ConfigError(
                "the standard input ended before an answer came",
                path="rig monitor check",
                try_next="run it in a terminal",
            )
        return answer


def _wish(load: OutputLoad, supply_v: float) -> str:
    if load.resistor is None:
        return "an open output of the monitor: disconnect the device and the cable"
    name = f"a resistor of {load.resistor.name} alone at the output"
    if load.switched:
        return f"{name}; SYNC low closes its circuit, and SYNC toggles now"
    at_v = load.resistor.volts or supply_v
    return f"{name}; at {at_v:g} V it takes {heats(load.resistor, at_v)}"


def _print(out: Terminal, row: CheckRow) -> None:
    label = f"{badge(Label(SIMULATED, ''))} " if row.simulated else ""
    range_ = f" to {quantity(row.range_a, 'A', digits=3)}" if row.range_a else ""
    say(
        out,
        f"{escape(row.name)}{range_}: {label}{escape(_value(row))}",
        _NAMES[row.within],
    )


def _value(row: CheckRow) -> str:
    if row.estimate is None:
        return row.why
    value, u95 = row.estimate.value, row.estimate.u95
    limit = "" if row.limit is None else f"; stated limit {_shown(row.limit, row.unit)}"
    return f"{_shown(value, row.unit, u95 or None)}{limit}{row.why}"


def _shown(value: float, unit: str, u95: float | None = None) -> str:
    if unit == "1":
        return quantity(value * 100, "%", u95 and u95 * 100)
    return quantity(value, unit, u95)


def _document(bench: Path, file: Path, rows: list[CheckRow]) -> dict[str, Any]:
    labels = [SIMULATED] if any(row.simulated for row in rows) else []
    trees = [_json(row) for row in rows]
    return {
        "bench": str(bench),
        "calibration": str(file),
        "labels": labels,
        "rows": trees,
    }


def _json(row: CheckRow) -> dict[str, Any]:
    estimate = row.estimate
    return {
        "name": row.name,
        "range_a": row.range_a,
        "unit": row.unit,
        "value": estimate and estimate.value,
        "u95": estimate and estimate.u95,
        "limit": row.limit,
        "within": row.within,
        "why": row.why,
        "budget": [
            {
                "component": part.component,
                "standard_uncertainty": part.standard_uncertainty,
                "type": part.type,
                "shape": part.shape,
            }
            for part in (estimate.budget.parts if estimate else ())
        ],
    }
