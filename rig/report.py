# SPDX-License-Identifier: Apache-2.0
"""The report page: one HTML file that says what was measured, how, and whether it holds; derived from the session folder."""

from __future__ import annotations

import io
import math
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import matplotlib.style
import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from rig import store
from rig.align import RESIDUAL_LIMIT_PERIODS
from rig.budget import lopsided
from rig.budget import table as budget_table
from rig.clock import Timebase
from rig.edge_clock import EDGE_CLOCK
from rig.errors import DataError
from rig.quantity import quantity, scale, share
from rig.replication import LIMIT, deviation
from rig.results import SCHEMA
from rig.store import SessionFolder
from rig.trace import TRACE, Trace
from rig.trial import PROBLEM_CODES

#: More samples of the monitor than this are drawn as columns of their mean, smallest and largest; so many are held at a time.
_COLUMNS, _HELD = 1200, 4_000_000
#: More points than this become an image; larger deviations than this lie at the edge of the drawing.
_DENSE, _SHOWN_DEVIATION = 2000, 0.20

# Okabe and Ito's palette, told apart also by the colour-blind. In the page each is a CSS variable, which dark mode changes.
_INK, _FAINT, _BAD, _GOOD = "#1a1a1b", "#8a8a8b", "#d55e01", "#009e74"
_SERIES = ("#0072b3", "#e69f01", "#56b4ea", "#cc79a8", "#b8a901", "#7a5195")
_VARIABLES = {_INK: "ink", _FAINT: "faint", _BAD: "bad", _GOOD: "good"} | {colour: f"c{i}" for i, colour in enumerate(_SERIES)}
_STYLE: dict[str, Any] = {
    "svg.fonttype": "none", "text.parse_math": False, "font.family": ["DejaVu Sans"], "font.size": 8.5, "hatch.color": _BAD,
    "text.color": _INK, "axes.labelcolor": _INK, "axes.edgecolor": _FAINT, "xtick.color": _INK, "ytick.color": _INK,
    "xtick.labelsize": 8, "ytick.labelsize": 8, "axes.titlesize": 9, "axes.titleweight": "bold", "axes.linewidth": 0.7,
    "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False, "legend.fontsize": 8, "hatch.linewidth": 0.5,
}  # fmt: skip

_NO_CURVE = "Not drawn for several supplies: each rail has a clock of its own; rig measure shows each."

Array = NDArray[np.float64]
View = tuple[float, float]
#: A drawing, empty where there is nothing to draw, and a sentence about it.
Plot = tuple[Markup, str]


@dataclass(frozen=True, slots=True)
class Samples:
    """The timed queries of one trial: arrays of (sample, phase), in seconds and joules; energy is NaN where samples were lost."""

    trial: int
    valid: bool
    repeat: int
    start_s: Array
    stop_s: Array
    latency_s: Array
    energy_j: Array

    @classmethod
    def read(cls, folder: SessionFolder, trial: dict[str, Any], phases: int) -> Samples:
        """Read samples.jsonl of a trial of results.json."""
        lines = [line for line in store.read_lines(folder.trial(trial["number"]) / store.SAMPLES) if "windows" in line]
        keys = ("start_s", "stop_s", "latency_s", "energy_j")
        table = np.array([[[window[key] for key in keys] for window in line["windows"]] for line in lines], dtype=np.float64)
        columns = np.moveaxis(table.reshape(len(lines), phases, len(keys)), 2, 0)
        return cls(trial["number"], trial["valid"], max((line["repeat"] for line in lines), default=1), *columns)


def write_report(folder: Path) -> Path:
    """Write report.html of a finished session and return its path; raises DataError for a session without results."""
    session = SessionFolder(folder)
    if not (folder / store.RESULTS).exists():
        raise DataError(f"{folder} has no {store.RESULTS}: its session did not finish", try_next=f"rig check {folder}")
    content = store.read_json(folder / store.RESULTS)
    if content.get("schema") != SCHEMA:
        raise DataError(f"{folder / store.RESULTS} is not {SCHEMA}", evidence=f"schema {content.get('schema')!r}")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"quantity": quantity, "value": _value, "percent": _percent, "share": share}
    template = environment.from_string((files("rig") / "report.html").read_text(encoding="utf-8"))
    with matplotlib.style.context(["default", _STYLE]):
        plots = _plots(session, content)
    store.write_text(folder / store.REPORT, template.render(_page(session, content), plots=plots))
    return folder / store.REPORT


def _page(session: SessionFolder, content: dict[str, Any]) -> dict[str, Any]:
    (main, further), provenance = _split(content), content["provenance"]
    monitors = [{"rail": rail} | about for rail, about in provenance["monitors"].items()]
    bench_toml = (session.path / store.BENCH).read_text(encoding="utf-8")
    return {
        "r": content, "p": provenance, "folder": session.path.name, "limit": LIMIT, "bench_toml": bench_toml,
        "claims": "audit" in content, "residual_limit_s": _residual_limit_s(content), "monitors": monitors,
        "budget": budget_table(content), "resolution": content["resolution"],
        "main": [_row(name, content) for name in main],
        "further": [_row(name, content) for name in further],
        "problems": [problem | {"meaning": PROBLEM_CODES.get(problem["code"], "")} for problem in content["problems"]],
        "settings": tomllib.loads(bench_toml).get("scenario", {}).get(content["scenario"], {}),
        "hashes": [event for event in session.events() if "files" in event],
    }  # fmt: skip


def _residual_limit_s(content: dict[str, Any]) -> float:
    """Return how far an edge may lie off the line, as rig/align.py has it for the first monitor."""
    provenance = content["provenance"]
    edge_hz = next(iter(provenance["monitors"].values()))["edge_hz"]
    return float(RESIDUAL_LIMIT_PERIODS / edge_hz + 1 / provenance["sut"]["tick_hz"])


def _decimals(value: float, error: float) -> int:
    """Count decimals: two digits of the error where there is one, else five digits of the value; never more than seven in all."""
    own = math.floor(math.log10(abs(value))) if value else 0
    return max(min(1 - math.floor(math.log10(error)) if error else 4 - own, 6 - own, 9), 0)


def _split(content: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Part the metrics: what a reader looks for, claimed or beyond the limit first; percentiles and finer divisions behind."""
    phases = "|".join(re.escape(phase) for phase in content["provenance"]["task"]["phases"])
    finer = re.compile(rf".*_p\d+(_early_stopping)?|power_({phases})|energy_({phases})_dynamic|energy_idle")
    judged = content["replication"]["per_metric"]
    telling = {name for name, row in judged.items() if "audit" in content or not (row["ok"] or row["mean"] is None)}
    main = [name for name in content["metrics"] if not finer.fullmatch(name) or name in telling]
    return main, [name for name in content["metrics"] if name not in main]


def _row(name: str, content: dict[str, Any]) -> dict[str, Any]:
    metric, verdict = content["metrics"][name], content["replication"]["per_metric"].get(name)
    value, error = metric["value"], metric["expanded_uncertainty"]
    known = [single["value"] for single in (metric, *metric["per_trial"]) if single["value"] is not None]
    factor, unit = scale(known[0] if known else None, metric["unit"])
    decimals = _decimals((known[0] if known else 0.0) * factor, (error or 0.0) * factor)
    return {
        "name": name, "unit": unit, "value": _fixed(value, factor, decimals), "error": error and _fixed(error, factor, decimals),
        "interval": [_fixed(end, factor, max(decimals, 3)) for end in lopsided(metric) or ()],
        "verdict": verdict, "claimed": f"{verdict['claimed'] * factor:.6g}" if verdict and "audit" in content else None,
        "trials": [_cell(name, single["value"], value, factor, decimals) for single in metric["per_trial"]],
    }  # fmt: skip


def _cell(name: str, value: float | None, average: float | None, factor: float, decimals: int) -> dict[str, Any]:
    away = _away(name, value, average)
    return {"value": _fixed(value, factor, decimals), "deviation": _percent(away), "beyond": abs(away) > LIMIT}


def _away(name: str, value: float | None, reference: float | None) -> float:
    return math.nan if value is None or reference is None else deviation(name, value, reference)


def _fixed(value: float | None, factor: float, decimals: int) -> str:
    return "n/a" if value is None else f"{value * factor:.{decimals}f}"


def _percent(deviation: float | None) -> str:
    if deviation is None or math.isnan(deviation):
        return "n/a"
    text = f"{deviation * 100:+.2f}"
    return ("0.00" if text in ("+0.00", "-0.00") else text.replace("-", "−")) + " %"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "not stated" if value in ("", None) else str(value)


def _plots(session: SessionFolder, content: dict[str, Any]) -> dict[str, Plot]:
    phases = content["provenance"]["task"]["phases"]
    trials = [Samples.read(session, trial, len(phases)) for trial in content["trials"]]
    measured = [trial for trial in trials if len(trial.latency_s)]
    power = residuals = (Markup(), "Not drawn: no trial has a timed sample whose marks were tied to the monitor's edges.")
    tied_numbers = {trial["number"] for trial in content["trials"] if trial["timebase"] is not None}
    tied = [trial for trial in measured if trial.trial in tied_numbers]
    if tied:
        chosen = next((trial for trial in tied if trial.valid), tied[0])
        rail = next(iter(content["provenance"]["monitors"]))
        name = f"{rail}/{TRACE}" if rail else TRACE
        try:
            trace = _trace(session, chosen.trial, name)
            power = (Markup(), _NO_CURVE) if rail else _power(trace, chosen, content)
            residuals = _residuals(session, trace, chosen.trial, content)
        except DataError:
            power = residuals = (Markup(), f"Not drawn: trial-{chosen.trial}/{name} is missing, was changed, or cannot be read.")
    plots = {what: _distributions(what, measured, content) for what in ("latency", "energy")}
    return plots | {"power": power, "residuals": residuals, "trials": _dots(content)}


def _trace(session: SessionFolder, number: int, name: str) -> Trace:
    """Open a trace that is as it was recorded: the reader of a damaged one may crash the process."""
    path = session.trial(number) / name
    recorded = [event["files"].get(name) for event in session.events() if event.get("trial") == number and "files" in event]
    if not path.exists() or store.sha256(path) not in recorded:
        raise DataError(f"{path} is missing or was changed")
    return Trace.open(path)


def _svg(figure: Figure, name: str, content: dict[str, Any]) -> Markup:
    """Return a figure as inline SVG in the page's colours and font."""
    if content["simulated"]:
        figure.suptitle("SIMULATED", x=0.997, ha="right", color=_BAD, weight="bold", size=9)
    text = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": f"neurorig-{name}"}):
        figure.savefig(text, format="svg", transparent=True, dpi=200, metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    svg = text.getvalue()
    # Numbered ids are the same in every figure, and nothing refers to them.
    svg = re.sub(r' id="[A-Za-z][A-Za-z0-9.]*_\d+"', "", svg[svg.index("<svg") :])
    svg = re.sub(r'^<svg[^>]*?(viewBox="[^"]*")[^>]*>', rf'<svg xmlns="http://www.w3.org/2000/svg" \1 class="{name}">', svg)
    svg = svg.replace("xlink:href", "href").replace("'DejaVu Sans'", "var(--font, sans-serif)")
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, f"var(--{variable}, {colour})")
    return Markup(svg)


def _power(trace: Trace, trial: Samples, content: dict[str, Any]) -> Plot:
    """Draw the power over the sample nearest to the median latency, its phases, idle power and the SYNC line."""
    totals_s = trial.latency_s.sum(axis=1)
    place = int(np.argmin(np.abs(totals_s - np.median(totals_s))))
    zero_s = float(trial.start_s[place, 0])
    view_s = _view(trace, zero_s, float(trial.stop_s[place, -1]))
    figure = Figure(figsize=(10.4, 4.4), layout="constrained")
    axes, sync = figure.subplots(2, 1, sharex=True, height_ratios=[9, 1])
    factor, how = _draw_power(axes, trace, view_s, zero_s)
    _draw_phases((axes, sync), trial, place, content["provenance"]["task"]["phases"])
    _draw_gaps(axes, trace, view_s, zero_s)
    for idle in content["metrics"].get("power_idle", {}).get("per_trial", ()):
        if idle["trial"] == trial.trial and idle["value"] is not None:
            axes.axhline(
                idle["value"] * factor, color=_INK, ls=(0, (5, 3)), lw=0.9, label=f"idle power: {quantity(idle['value'], 'W')}"
            )
    axes.set_ylim(0, axes.get_ylim()[1] * 1.12)
    _draw_sync(sync, trace, view_s, zero_s)
    figure.legend(loc="outside upper left", ncols=3, handlelength=1.4, columnspacing=1.6)
    runs = f", {trial.repeat} runs of each phase in a row" if trial.repeat > 1 else ""
    which = f"Trial {trial.trial}, sample {place + 1} of {len(totals_s)}: the one nearest to the median latency{runs}."
    return _svg(figure, "power", content), f"{which} {how} Dotted: SYNC marks."


def _view(trace: Trace, start_s: float, stop_s: float) -> View:
    """Return a window with a bit of what comes before and after, up to the marks of the neighbours."""
    near_s = 4 / min(trace.edge_hz, trace.sample_hz)
    far_s = max(0.12 * (stop_s - start_s), near_s)
    before = trace.falls_s[trace.falls_s < start_s - near_s][-1:].tolist()
    after = trace.falls_s[trace.falls_s > stop_s + near_s][:1].tolist()
    return max(start_s - far_s, 0.0, *before), min(stop_s + far_s, trace.duration_s, *after)


def _draw_power(axes: Axes, trace: Trace, view_s: View, zero_s: float) -> tuple[float, str]:
    """Draw the samples, or columns of them, and return the factor of the axis and how it was drawn."""
    first, last = math.ceil(view_s[0] * trace.sample_hz), math.floor(view_s[1] * trace.sample_hz)
    per_column = math.ceil((last - first) / _COLUMNS)
    block, held = [], per_column * max(_HELD // per_column, 1)
    for at in range(first, last - per_column + 1, held):
        count = min(held, (last - at) // per_column * per_column)
        # From the middle of the first sample to the middle of the last: these are read whole.
        _, power_w = trace.power_w((at + 0.5) / trace.sample_hz, (at + count - 0.5) / trace.sample_hz)
        columns = power_w.reshape(-1, per_column)
        block.append([columns.min(axis=1), columns.mean(axis=1), columns.max(axis=1)])
    low_w, mean_w, high_w = np.concatenate(block, axis=1)
    factor, unit = scale(float(high_w.max()), "W")
    times_ms = ((first + per_column * (np.arange(len(mean_w)) + 0.5)) / trace.sample_hz - zero_s) * 1e3
    axes.fill_between(times_ms, low_w * factor, high_w * factor, color=_FAINT, alpha=0.45, lw=0)
    axes.plot(times_ms, mean_w * factor, color=_INK, lw=0.9, drawstyle="steps-mid")
    axes.set_ylabel(f"power ({unit})")
    return factor, "" if per_column == 1 else f"Line: means of {per_column} samples each; grey: the smallest and largest of them."


def _draw_phases(both: Sequence[Axes], trial: Samples, place: int, phases: Sequence[str]) -> None:
    starts_ms, stops_ms = ((edge[place] - trial.start_s[place, 0]) * 1e3 for edge in (trial.start_s, trial.stop_s))
    for number, name in enumerate(phases):
        latency_s, energy_j = float(trial.latency_s[place, number]), float(trial.energy_j[place, number])
        label = f"{name}: {quantity(latency_s, 's')}, {quantity(energy_j / latency_s, 'W')}, {quantity(energy_j, 'J')}"
        both[0].axvspan(starts_ms[number], stops_ms[number], color=_SERIES[number % len(_SERIES)], alpha=0.22, lw=0, label=label)
        if stops_ms[number] - starts_ms[number] > 0.08 * (stops_ms[-1] - starts_ms[0]):
            at = ((starts_ms[number] + stops_ms[number]) / 2, 0.985)
            both[0].annotate(name, at, xycoords=("data", "axes fraction"), ha="center", va="top", weight="bold", size=9.5)
    for axes in both:
        for mark_ms in [*starts_ms, stops_ms[-1]]:
            axes.axvline(mark_ms, color=_INK, lw=0.7, ls=":")


def _draw_gaps(axes: Axes, trace: Trace, view_s: View, zero_s: float) -> None:
    for gap in trace.gaps:
        start_s, stop_s = gap.start / trace.sample_hz, gap.stop / trace.sample_hz
        if start_s < view_s[1] and stop_s > view_s[0]:
            axes.axvspan((start_s - zero_s) * 1e3, (stop_s - zero_s) * 1e3, facecolor="none", edgecolor=_BAD, hatch="////", lw=0)


def _draw_sync(axes: Axes, trace: Trace, view_s: View, zero_s: float) -> None:
    edges = sorted([(at, 0) for at in trace.falls_s.tolist()] + [(at, 1) for at in trace.rises_s.tolist()])
    inside = [(at, level) for at, level in edges if view_s[0] <= at <= view_s[1]]
    before = 1 - inside[0][1] if inside else 1
    points = [(view_s[0], before), *inside, (view_s[1], inside[-1][1] if inside else before)]
    axes.plot([(at - zero_s) * 1e3 for at, _ in points], [level for _, level in points], color=_INK, lw=0.9, drawstyle="steps-post")
    axes.set(ylim=(-0.25, 1.25), yticks=[], xlabel="time from the first mark (ms)", xlim=[(at - zero_s) * 1e3 for at in view_s])
    axes.set_ylabel("SYNC", rotation=0, ha="right", va="center")


def _distributions(what: str, trials: Sequence[Samples], content: dict[str, Any]) -> Plot:
    """Draw a histogram a phase over all trials, and under it each trial by itself."""
    phases, unit = content["provenance"]["task"]["phases"], "J" if what == "energy" else "s"
    values = [trial.energy_j if what == "energy" else trial.latency_s for trial in trials]
    pooled = np.concatenate([np.zeros((0, len(phases))), *values])
    if not np.isfinite(pooled).any(axis=0).all():
        return Markup(), f"Not drawn: no sample has its {what}."
    figure = Figure(figsize=(10.4, 3.1), layout="constrained")
    grid = figure.subplots(2, len(phases), sharex="col", height_ratios=[2.2, 1], squeeze=False)
    for place, name in enumerate(phases):
        factor, shown = scale(float(np.nanmedian(pooled[:, place])), unit)
        _draw_histogram(grid[0, place], pooled[:, place][np.isfinite(pooled[:, place])] * factor, _SERIES[place % len(_SERIES)])
        _draw_ranges(grid[1, place], trials, [each[:, place] * factor for each in values], _SERIES[place % len(_SERIES)])
        grid[0, place].set_title(name)
        grid[1, place].set_xlabel(f"{what} ({shown})")
    grid[0, 0].set_ylabel("samples")
    grid[1, 0].set_ylabel("trial")
    caption = (
        "Top: all trials together, with median and 99th percentile. Below, a row a trial: 1st to 99th percentile, the mean as a dot"
    )
    return (_svg(figure, what, content), f"{caption}{'' if all(trial.valid for trial in trials) else ', hollow where invalid'}.")


def _draw_histogram(axes: Axes, values: Array, colour: str) -> None:
    low, high = float(values.min()), float(values.max())
    slack = max((high - low) * 0.02, abs(high) * 1e-6, 1e-9)
    # The rule of Freedman and Diaconis, within bounds.
    width = 2 * float(np.subtract(*np.percentile(values, (75, 25)))) / len(values) ** (1 / 3)
    bins = min(max(math.ceil((high - low) / width), 8), 70) if width > 0 else 8
    counts, edges = np.histogram(values, bins, range=(low - slack, high + slack))
    axes.stairs(counts, edges, fill=True, color=colour, alpha=0.75)
    for percent, style in ((50, "-"), (99, "--")):
        at = float(np.percentile(values, percent))
        axes.axvline(at, color=_INK, lw=0.9, ls=style)
        axes.text(at, 1.0, f"\u00a0p{percent}", transform=axes.get_xaxis_transform(), va="top", size=7.5)
    axes.set_ylim(0, float(counts.max()) * 1.15)
    axes.locator_params(axis="y", integer=True)


def _draw_ranges(axes: Axes, trials: Sequence[Samples], values: Sequence[Array], colour: str) -> None:
    for row, (trial, each) in enumerate(zip(trials, values, strict=True)):
        known = each[np.isfinite(each)]
        if len(known):
            axes.hlines(row, *np.percentile(known, (1, 99)), color=colour, lw=2.2, alpha=0.6)
            axes.plot(known.mean(), row, "o", ms=4, color=colour, mfc=colour if trial.valid else "none")
    axes.set(yticks=range(len(trials)), yticklabels=[str(trial.trial) for trial in trials], ylim=(len(trials) - 0.4, -0.6))


def _dots(content: dict[str, Any]) -> Plot:
    """Draw each trial's deviation from the claimed value, or from the mean, against the limit."""
    judged, metrics, claims = content["replication"]["per_metric"], content["metrics"], "audit" in content
    names = [name for name in _split(content)[0] if name in judged and judged[name]["mean"] is not None]
    if not names:
        return Markup(), "Not drawn: nothing to compare."
    away = [[_away(name, one["value"], judged[name]["claimed"]) for one in metrics[name]["per_trial"]] for name in names]
    largest = max((abs(one) for row in away for one in row if math.isfinite(one)), default=0.0)
    shown = min(max(1.15 * largest, 1.4 * LIMIT), _SHOWN_DEVIATION)
    figure = Figure(figsize=(10.4, 0.8 + 0.36 * len(names)), layout="constrained")
    axes = figure.subplots()
    axes.axvspan(-LIMIT * 100, LIMIT * 100, color=_GOOD, alpha=0.16, lw=0)
    axes.axvline(0, color=_FAINT, lw=0.9)
    for row, name in enumerate(names):
        axes.axhline(row, color=_FAINT, lw=0.4, alpha=0.6)
        _draw_dots(axes, row, away[row], shown, [trial["valid"] for trial in content["trials"]])
        if claims:
            average = float(np.clip(_away(name, metrics[name]["value"], judged[name]["claimed"]), -shown, shown))
            axes.plot(average * 100, row, "D", ms=6, color=_INK, mfc="none", zorder=4, clip_on=False)
    axes.set(yticks=range(len(names)), yticklabels=names, ylim=(len(names) - 0.4, -0.6), xlim=(-shown * 100, shown * 100))
    reference, compared = ("claimed value", "their mean (diamond)") if claims else ("mean of the trials", "each")
    axes.set_xlabel(f"deviation from the {reference} (%); shaded: the limit of ±{LIMIT * 100:.0f} %")
    caption = f"Dots are trials, from the top of each row down; the rule compares {compared}."
    return _svg(figure, "trials", content), caption + " Triangles lie beyond the scale; hollow dots are of invalid trials."


def _draw_dots(axes: Axes, row: int, away: Sequence[float], shown: float, valid: Sequence[bool]) -> None:
    for distance, counts, offset in zip(
        away, valid, np.linspace(-0.26, 0.26, len(away)) if len(away) > 1 else (0.0,), strict=True
    ):
        beyond, colour = abs(distance) > shown, _BAD if abs(distance) > LIMIT else _SERIES[0]
        marker = ("<" if distance < 0 else ">") if beyond else "o"
        at = math.copysign(0.985 * shown, distance) if beyond else distance
        axes.plot(at * 100, row + offset, marker, ms=4.2, color=colour, mfc=colour if counts else "none", zorder=3)


def _residuals(session: SessionFolder, trace: Trace, number: int, content: dict[str, Any]) -> Plot:
    """Draw the distance of the SYNC edges of one trial from the fitted line; edges that pair with no mark are left out."""
    timebase = Timebase(**next(trial["timebase"] for trial in content["trials"] if trial["number"] == number))
    if content["provenance"]["sut"].get("clock") == EDGE_CLOCK:
        return Markup(), "Not drawn: the device tells no time, and the edges themselves are the times of its marks."
    if timebase.on_trust:
        return (
            Markup(),
            "Not drawn: no line is fitted, as marks and trace are tied at one instant, and clocks are taken at their word.",
        )
    completions = store.read_completions(session.trial(number))
    marks_s = np.array([timebase.seconds(mark.tick) for done in completions for mark in done.completion.marks])
    nearest_s = trace.falls_s[np.searchsorted((trace.falls_s[1:] + trace.falls_s[:-1]) / 2, marks_s)]
    away_us = (nearest_s - marks_s) * 1e6
    paired = np.abs(away_us) <= timebase.residual_max_s * 1e6 + 1e-6
    limit_s, rail = _residual_limit_s(content), next(iter(content["provenance"]["monitors"]))
    figure = Figure(figsize=(10.4, 2.5), layout="constrained")
    axes = figure.subplots()
    axes.axhspan(-limit_s * 1e6, limit_s * 1e6, color=_GOOD, alpha=0.16, lw=0)
    axes.plot(marks_s[paired], away_us[paired], "o", ms=2.2, color=_SERIES[0], rasterized=len(marks_s) > _DENSE)
    axes.set(xlabel=f"time in trial {number} (s)", ylabel="edge minus fitted line (µs)")
    whose = f" of rail {rail}" if rail else ""
    caption = (
        f"Trial {number}, every paired SYNC edge{whose}. Shaded: the limit, {RESIDUAL_LIMIT_PERIODS:.0f} samples of the SYNC input"
    )
    caption += " and a tick of the device."
    return _svg(figure, "residuals", content), caption
