# SPDX-License-Identifier: Apache-2.0
"""The report page: one HTML file that says what was measured, how, and whether it holds. Derived: it can be deleted and made again."""

from __future__ import annotations

import io
import math
import re
import tomllib
from collections.abc import Iterator, Sequence
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

from rig.align import RESIDUAL_LIMIT_PERIODS
from rig.clock import Timebase
from rig.errors import DataError
from rig.replication import LIMIT, relative
from rig.results import SCHEMA
from rig.store import (
    BENCH,
    PROVENANCE,
    REPORT,
    RESULTS,
    SAMPLES,
    SessionFolder,
    read_completions,
    read_json,
    read_lines,
    write_text,
)
from rig.trace import TRACE, Trace
from rig.trial import PROBLEM_CODES

#: What report.md of NeuroBench asks for and no instrument can know: key of [metadata] -> heading.
STATED = {
    "architecture": "System architecture",
    "algorithm": "Algorithm (model, training, tuning)",
    "workflow": "Workflow",
    "power_tap": "Where power is measured (external tap, on-board instrument, wall)",
    "components_included": "Components and power domains included",
    "components_omitted": "Components and power domains omitted",
}
#: Shown first, and large, where they were measured.
HEADLINES = ("accuracy", "latency_total", "power_active", "energy_total", "energy_dynamic")

_PREFIXES = {-4: "p", -3: "n", -2: "µ", -1: "m", 0: "", 1: "k", 2: "M", 3: "G"}
_PREFIXED = ("s", "W", "J", "A", "V", "Hz")
#: More samples than this are drawn as columns of their mean, smallest and largest.
_COLUMNS = 1200
#: More samples than this are not held in memory: columns of their mean only.
_HELD = 4_000_000
_DENSE = 2000
_SHOWN_DEVIATION = 0.20

# Okabe and Ito's palette, told apart also by the colour-blind. In the page each is a CSS variable, which dark mode changes.
_INK, _FAINT, _BAD, _GOOD = "#1a1a1b", "#8a8a8b", "#d55e01", "#009e74"
_SERIES = ("#0072b3", "#e69f01", "#56b4ea", "#cc79a8", "#b8a901", "#7a5195")
_VARIABLES = {_INK: "ink", _FAINT: "faint", _BAD: "bad", _GOOD: "good"} | {colour: f"c{i}" for i, colour in enumerate(_SERIES)}
_STYLE: dict[str, Any] = {
    "svg.fonttype": "none", "svg.hashsalt": "neurorig", "text.parse_math": False, "font.family": ["DejaVu Sans"], "font.size": 8.5,
    "text.color": _INK, "axes.labelcolor": _INK, "axes.edgecolor": _FAINT, "xtick.color": _INK, "ytick.color": _INK,
    "xtick.labelsize": 8, "ytick.labelsize": 8, "axes.titlesize": 9, "axes.titleweight": "bold", "axes.linewidth": 0.7,
    "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False, "legend.fontsize": 8, "hatch.color": _BAD,
    "hatch.linewidth": 0.5, "path.simplify": True,
}  # fmt: skip

Array = NDArray[np.float64]


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
        lines = [line for line in read_lines(folder.trial(trial["number"]) / SAMPLES) if "windows" in line]
        keys = ("start_s", "stop_s", "latency_s", "energy_j")
        table = np.array([[[window[key] for key in keys] for window in line["windows"]] for line in lines], dtype=np.float64)
        columns = table.reshape(len(lines), phases, len(keys))
        repeat = max((line["repeat"] for line in lines), default=1)
        return cls(trial["number"], trial["valid"], repeat, *(columns[:, :, place] for place in range(len(keys))))


@dataclass(frozen=True, slots=True)
class Plot:
    """A drawing and what it shows; `svg` is empty where there was nothing to draw, and `caption` says why."""

    svg: Markup
    caption: str


def write_report(folder: Path) -> Path:
    """Write report.html of a finished session and return its path; raises DataError for a session without results."""
    session = SessionFolder(folder)
    if not (folder / RESULTS).exists():
        raise DataError(f"{folder} has no {RESULTS}: its session did not finish", try_next=f"rig check {folder}")
    content = read_json(folder / RESULTS)
    if content.get("schema") != SCHEMA:
        raise DataError(
            f"{folder / RESULTS} is not {SCHEMA}", evidence=f"schema {content.get('schema')!r}", try_next=f"rig check {folder}"
        )
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"quantity": quantity, "value": _value}
    template = environment.from_string((files("rig") / "report.html").read_text(encoding="utf-8"))
    with matplotlib.style.context(["default", _STYLE]):
        plots = _plots(session, content)
    write_text(folder / REPORT, template.render(_page(session, content, plots)))
    return folder / REPORT


def _page(session: SessionFolder, content: dict[str, Any], plots: dict[str, Plot]) -> dict[str, Any]:
    main, further = _split(content)
    provenance = content["provenance"]
    metadata = provenance.get("metadata", {})
    bench_toml = (session.path / BENCH).read_text(encoding="utf-8")
    return {
        "r": content, "p": provenance, "plots": plots, "folder": session.path.name, "limit": LIMIT, "stated": STATED, "metadata": metadata,
        "main": [_row(name, content) for name in main],
        "further": [_row(name, content) for name in further],
        "headlines": [_row(name, content) for name in HEADLINES if name in content["metrics"]],
        "problems": [problem | {"meaning": PROBLEM_CODES.get(problem["code"], "")} for problem in content["problems"]],
        "other_metadata": {key: value for key, value in metadata.items() if key not in STATED},
        "bench_toml": bench_toml,
        "settings": tomllib.loads(bench_toml).get("scenario", {}).get(content["scenario"], {}),
        "timebases": [_timebase_row(trial, provenance["sut"]["tick_hz"]) for trial in content["trials"]],
        "residual_limit": RESIDUAL_LIMIT_PERIODS,
        "hashes": [event for event in session.events() if event.get("event") == "trial_finished"],
        "provenance_file": PROVENANCE,
    }  # fmt: skip


# --- numbers -------------------------------------------------------------------------------------------------------------------------


def prefix(value: float | None, unit: str) -> tuple[float, str]:
    """Return the factor and the unit that show a value as a number from 1 to 999: 0.018 s -> (1000, "ms")."""
    if unit not in _PREFIXED or not value or not math.isfinite(value):
        return 1.0, "" if unit == "1" else unit
    # Rounded first, so that 999.99 mW is already 1 W.
    power = min(max(math.floor(math.log10(abs(float(f"{value:.4g}")))) // 3, min(_PREFIXES)), max(_PREFIXES))
    return 10.0 ** (-3 * power), _PREFIXES[power] + unit


def quantity(value: float | None, unit: str, digits: int = 4) -> str:
    """Return a value to `digits` significant digits with its prefix and unit."""
    if value is None or not math.isfinite(value):
        return "n/a"
    factor, shown = prefix(value, unit)
    return f"{value * factor:.{_decimals(value * factor, None, digits)}f} {shown}".rstrip()


def _decimals(value: float, error: float | None, digits: int = 5) -> int:
    """Count decimals: two digits of the error where there is one, else `digits` of the value; never more than 7 digits in all."""
    own = math.floor(math.log10(abs(value))) if value else 0
    wanted = 1 - math.floor(math.log10(error)) if error else digits - 1 - own
    return max(min(wanted, 6 - own, 9), 0)


def _split(content: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Part the metrics: what a reader looks for, claimed or beyond the limit first; percentiles and finer divisions behind."""
    phases = "|".join(re.escape(phase) for phase in content["provenance"]["task"]["phases"])
    finer = re.compile(rf".*_p\d+|power_({phases})|energy_({phases})_dynamic|energy_idle")
    judged = content["replication"]["per_metric"]
    claimed = judged if content["replication"]["rule"].startswith("replication") else {}
    failed = {name for name, row in judged.items() if not row["ok"]}
    main = [name for name in content["metrics"] if not finer.fullmatch(name) or name in claimed or name in failed]
    return main, [name for name in content["metrics"] if name not in main]


def _row(name: str, content: dict[str, Any]) -> dict[str, Any]:
    metric, verdict = content["metrics"][name], content["replication"]["per_metric"].get(name)
    factor, unit = prefix(metric["value"], metric["unit"])
    value, error = _scaled(metric["value"], factor), _scaled(metric["standard_error"], factor)
    decimals = _decimals(value or 0.0, error)
    claimed = verdict["claimed"] if verdict and content["replication"]["rule"].startswith("replication") else None
    return {
        "name": name, "unit": unit, "value": _fixed(value, decimals), "error": _fixed(error, decimals), "verdict": verdict,
        "claimed": None if claimed is None else _fixed(_scaled(claimed, factor), decimals),
        "trials": [_cell(single, metric["value"], factor, decimals) for single in metric["per_trial"]],
    }  # fmt: skip


def _cell(single: dict[str, Any], average: float | None, factor: float, decimals: int) -> dict[str, Any]:
    deviation = None if single["value"] is None or average is None else relative(single["value"], average)
    beyond = deviation is None or abs(deviation) > LIMIT
    return {"value": _fixed(_scaled(single["value"], factor), decimals), "deviation": deviation, "beyond": beyond, "n": single["n"]}


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _fixed(value: float | None, decimals: int) -> str:
    return "n/a" if value is None else f"{value:.{decimals}f}"


def _value(value: Any) -> str:
    """Show one value of a provenance table."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "not stated" if value in ("", None) else str(value)


def _timebase_row(trial: dict[str, Any], tick_hz: int) -> dict[str, Any]:
    fit = trial["timebase"]
    return trial | {"ppm": None if fit is None else (fit["s_per_tick"] * tick_hz - 1) * 1e6}


# --- plots ---------------------------------------------------------------------------------------------------------------------------


def _plots(session: SessionFolder, content: dict[str, Any]) -> dict[str, Plot]:
    phases = content["provenance"]["task"]["phases"]
    trials = [Samples.read(session, trial, len(phases)) for trial in content["trials"]]
    measured = [trial for trial in trials if len(trial.latency_s)]
    chosen = next((trial for trial in measured if trial.valid), measured[0] if measured else None)
    power = residuals = Plot(Markup(), "Not drawn: no trial has a timed sample.")
    if chosen is not None:
        try:
            trace = _open_trace(session.trial(chosen.trial) / TRACE)
            power = _power(trace, chosen, content)
            residuals = _residuals(session, trace, chosen.trial, content)
        except DataError:
            power = residuals = Plot(Markup(), f"Not drawn: trial-{chosen.trial}/{TRACE} is missing or unreadable.")
    latency = _distributions("latency", "s", phases, [(t, t.latency_s) for t in measured], content)
    energy = _distributions("energy", "J", phases, [(t, t.energy_j) for t in measured], content)
    return {"power": power, "residuals": residuals, "latency": latency, "energy": energy, "trials": _dots(content)}


def _open_trace(path: Path) -> Trace:
    if not path.exists():
        raise DataError(f"{path} is missing")
    return Trace.open(path)


def _svg(figure: Figure, name: str, content: dict[str, Any]) -> Markup:
    """Return a figure as inline SVG in the page's colours and font."""
    if content["simulated"]:
        figure.text(0.997, 0.995, "SIMULATED", ha="right", va="top", color=_BAD, weight="bold", size=9)
    text = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": f"neurorig-{name}"}):
        figure.savefig(text, format="svg", transparent=True, dpi=200, metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    svg = text.getvalue()
    svg = re.sub(
        r' id="[A-Za-z][A-Za-z0-9]*_\d+"', "", svg[svg.index("<svg") :]
    )  # the same in every figure, and nothing refers to them
    svg = re.sub(
        r'^<svg[^>]*?(viewBox="[^"]*")[^>]*>', rf'<svg xmlns="http://www.w3.org/2000/svg" \1 role="img" class="{name}">', svg
    )
    svg = svg.replace("xlink:href", "href").replace("'DejaVu Sans'", "var(--font, sans-serif)")
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, f"var(--{variable}, {colour})")
    return Markup(svg)


def _colour(place: int) -> str:
    return _SERIES[place % len(_SERIES)]


def _power(trace: Trace, trial: Samples, content: dict[str, Any]) -> Plot:
    """Draw the power over the sample nearest to the median latency, its phases, idle power and the SYNC line."""
    totals_s = trial.latency_s.sum(axis=1)
    place = int(np.argmin(np.abs(totals_s - np.median(totals_s))))
    start_s, stop_s = float(trial.start_s[place, 0]), float(trial.stop_s[place, -1])
    margin_s = 0.12 * (stop_s - start_s)
    view_s = max(start_s - margin_s, 0.0), min(stop_s + margin_s, trace.duration_s)
    figure = Figure(figsize=(10.4, 4.4), layout="constrained")
    axes, sync = figure.subplots(2, 1, sharex=True, height_ratios=[9, 1])
    factor, unit, how = _draw_power(axes, trace, view_s, start_s)
    _draw_phases((axes, sync), trial, place, content["provenance"]["task"]["phases"])
    _draw_gaps(axes, trace, view_s, start_s)
    idle_w = next(
        (s["value"] for s in content["metrics"].get("power_idle", {}).get("per_trial", ()) if s["trial"] == trial.trial), None
    )
    if idle_w is not None:
        axes.axhline(idle_w * factor, color=_INK, ls=(0, (5, 3)), lw=0.9, label=f"idle power {quantity(idle_w, 'W')}")
    axes.set_ylabel(f"power ({unit})")
    axes.set_ylim(0, axes.get_ylim()[1] * 1.12)
    _draw_sync(sync, trace, view_s, start_s)
    figure.legend(loc="outside upper left", ncols=len(axes.get_legend_handles_labels()[1]), handlelength=1.4, columnspacing=1.4)
    runs = f", {trial.repeat} runs of each phase in a row" if trial.repeat > 1 else ""
    caption = f"Trial {trial.trial}, sample {place + 1} of {len(totals_s)} (nearest to the median latency){runs}. {how} Dotted: SYNC marks."
    return Plot(_svg(figure, "power", content), caption)


def _draw_power(axes: Axes, trace: Trace, view_s: tuple[float, float], zero_s: float) -> tuple[float, str, str]:
    """Draw the samples, or columns of them, and return the factor and unit of the axis and how it was drawn."""
    per_column = math.ceil((view_s[1] - view_s[0]) * trace.sample_hz / _COLUMNS)
    if per_column * _COLUMNS > _HELD:
        edges_s = np.linspace(*view_s, _COLUMNS + 1)
        power_w = np.array(trace.energies_j(list(zip(edges_s.tolist(), edges_s[1:].tolist(), strict=False)))) / np.diff(edges_s)
        times_s = edges_s[:-1] + np.diff(edges_s) / 2
    else:
        times_s, power_w = trace.power_w(*view_s)
    factor, unit = prefix(float(np.max(np.abs(power_w))), "W")
    if len(power_w) <= _COLUMNS:
        axes.plot((times_s - zero_s) * 1e3, power_w * factor, color=_INK, lw=0.8, drawstyle="steps-mid")
        return (
            factor,
            unit,
            "The line joins single samples." if per_column == 1 else f"Each point is the mean of {per_column} samples.",
        )
    whole = len(power_w) // per_column * per_column
    columns = power_w[:whole].reshape(-1, per_column) * factor
    middles_ms = (times_s[:whole].reshape(-1, per_column).mean(axis=1) - zero_s) * 1e3
    axes.fill_between(middles_ms, columns.min(axis=1), columns.max(axis=1), color=_FAINT, alpha=0.45, lw=0)
    axes.plot(middles_ms, columns.mean(axis=1), color=_INK, lw=0.9)
    return factor, unit, f"Line: means of {per_column} samples each; grey: the smallest and largest of them."


def _draw_phases(both: Sequence[Axes], trial: Samples, place: int, phases: Sequence[str]) -> None:
    starts_ms, stops_ms = ((edge[place] - trial.start_s[place, 0]) * 1e3 for edge in (trial.start_s, trial.stop_s))
    for number, name in enumerate(phases):
        latency_s, energy_j = float(trial.latency_s[place, number]), float(trial.energy_j[place, number])
        label = f"{name}: {quantity(latency_s, 's')}, {quantity(energy_j / latency_s, 'W')}, {quantity(energy_j, 'J')}"
        both[0].axvspan(starts_ms[number], stops_ms[number], color=_colour(number), alpha=0.22, lw=0, label=label)
        if stops_ms[number] - starts_ms[number] > 0.08 * (stops_ms[-1] - starts_ms[0]):
            middle_ms = (starts_ms[number] + stops_ms[number]) / 2
            both[0].annotate(
                name, (middle_ms, 0.985), xycoords=("data", "axes fraction"), ha="center", va="top", weight="bold", size=9.5
            )
    for axes in both:
        for mark_ms in [*starts_ms, stops_ms[-1]]:
            axes.axvline(mark_ms, color=_INK, lw=0.7, ls=":")


def _draw_gaps(axes: Axes, trace: Trace, view_s: tuple[float, float], zero_s: float) -> None:
    for gap in trace.gaps:
        start_s, stop_s = gap.start / trace.sample_hz, gap.stop / trace.sample_hz
        if start_s < view_s[1] and stop_s > view_s[0]:
            axes.axvspan((start_s - zero_s) * 1e3, (stop_s - zero_s) * 1e3, facecolor="none", edgecolor=_BAD, hatch="////", lw=0)


def _draw_sync(axes: Axes, trace: Trace, view_s: tuple[float, float], zero_s: float) -> None:
    seen = sorted([(at, 0) for at in trace.falls_s.tolist()] + [(at, 1) for at in trace.rises_s.tolist()])
    inside = [(at, level) for at, level in seen if view_s[0] <= at <= view_s[1]]
    before = 1 - inside[0][1] if inside else 1
    points = [(view_s[0], before), *inside, (view_s[1], inside[-1][1] if inside else before)]
    axes.plot([(at - zero_s) * 1e3 for at, _ in points], [level for _, level in points], color=_INK, lw=0.9, drawstyle="steps-post")
    axes.set(ylim=(-0.25, 1.25), yticks=[], xlabel="time from the first mark (ms)", xlim=[(at - zero_s) * 1e3 for at in view_s])
    axes.set_ylabel("SYNC", rotation=0, ha="right", va="center")


def _distributions(
    what: str, unit: str, phases: Sequence[str], trials: list[tuple[Samples, Array]], content: dict[str, Any]
) -> Plot:
    """Draw a histogram a phase over all trials, and under it each trial by itself."""
    pooled = [np.concatenate([values[:, place] for _, values in trials]) if trials else np.zeros(0) for place in range(len(phases))]
    if not all(np.isfinite(values).any() for values in pooled):
        return Plot(Markup(), f"Not drawn: no sample has {'an energy' if what == 'energy' else 'a latency'}.")
    figure = Figure(figsize=(10.4, 3.1), layout="constrained")
    grid = figure.subplots(2, len(phases), sharex="col", height_ratios=[2.2, 1], squeeze=False)
    for place, name in enumerate(phases):
        values = pooled[place][np.isfinite(pooled[place])]
        factor, shown = prefix(float(np.median(values)), unit)
        _draw_histogram(grid[0, place], values * factor, _colour(place))
        grid[0, place].set_title(name)
        _draw_ranges(grid[1, place], [(trial, column[:, place] * factor) for trial, column in trials], _colour(place))
        grid[1, place].set_xlabel(f"{what} ({shown})")
    grid[0, 0].set_ylabel("samples")
    grid[1, 0].set_ylabel("trial")
    caption = "Top: all trials together, with median and 99th percentile. Below, a row a trial: 1st to 99th percentile, and the mean as a dot"
    return Plot(
        _svg(figure, what, content), caption + (" (hollow: invalid trial)." if any(not trial.valid for trial, _ in trials) else ".")
    )


def _draw_histogram(axes: Axes, values: Array, colour: str) -> None:
    low, high = float(values.min()), float(values.max())
    slack = max((high - low) * 0.02, abs(high) * 1e-6, 1e-9)
    width = 2 * (np.percentile(values, 75) - np.percentile(values, 25)) / len(values) ** (1 / 3)
    bins = min(max(math.ceil((high - low) / width), 8), 70) if width > 0 else 8
    counts, edges = np.histogram(values, bins, range=(low - slack, high + slack))
    axes.stairs(counts, edges, fill=True, color=colour, alpha=0.75)
    for percent, style in ((50, "-"), (99, "--")):
        at = float(np.percentile(values, percent))
        axes.axvline(at, color=_INK, lw=0.9, ls=style)
        axes.annotate(
            f" p{percent}", (at, 1.0), xycoords=("data", "axes fraction"), ha="left", va="top", size=7.5, bbox={"visible": False}
        )
    axes.set_ylim(0, float(counts.max()) * 1.15)


def _draw_ranges(axes: Axes, trials: list[tuple[Samples, Array]], colour: str) -> None:
    for row, (trial, values) in enumerate(trials):
        values = values[np.isfinite(values)]
        if len(values):
            axes.hlines(row, *np.percentile(values, (1, 99)), color=colour, lw=2.2, alpha=0.6)
            axes.plot(values.mean(), row, "o", ms=4, color=colour, mfc=colour if trial.valid else "none")
    axes.set(yticks=range(len(trials)), yticklabels=[str(trial.trial) for trial, _ in trials], ylim=(len(trials) - 0.4, -0.6))


def _dots(content: dict[str, Any]) -> Plot:
    """Draw each trial's deviation from the claimed value, or from the mean, against the limit."""
    main, _ = _split(content)
    rows = [(name, *_deviations(name, content)) for name in main if name in content["replication"]["per_metric"]]
    claim = content["replication"]["rule"].startswith("replication")
    if not rows:
        return Plot(Markup(), "Not drawn: nothing to compare.")
    largest = max((abs(d) for _, _, deviations in rows for _, d in deviations if math.isfinite(d)), default=0.0)
    shown = min(max(1.15 * largest, 1.4 * LIMIT), _SHOWN_DEVIATION)
    figure = Figure(figsize=(10.4, 0.75 + 0.36 * len(rows)), layout="constrained")
    axes = figure.subplots()
    axes.axvspan(-LIMIT * 100, LIMIT * 100, color=_GOOD, alpha=0.16, lw=0)
    axes.axvline(0, color=_FAINT, lw=0.9)
    for row, (_, average, deviations) in enumerate(rows):
        axes.axhline(row, color=_FAINT, lw=0.4, alpha=0.6)
        _draw_dots(axes, row, deviations, shown, {trial["number"]: trial["valid"] for trial in content["trials"]})
        if claim and math.isfinite(average) and abs(average) <= shown:
            axes.plot(average * 100, row, "D", ms=5.5, color=_INK, mfc="none", zorder=4)
    axes.set(
        yticks=range(len(rows)),
        yticklabels=[name for name, *_ in rows],
        ylim=(len(rows) - 0.4, -0.6),
        xlim=(-shown * 100, shown * 100),
    )
    axes.set_xlabel(
        f"deviation from {'the claimed value' if claim else 'the mean of the trials'} (%); shaded: the limit of ±{LIMIT:.0%}"
    )
    meaning = "the diamond is their mean, which the rule compares" if claim else "the rule compares each of them"
    caption = f"A dot is one trial, in order from the top of each row; {meaning}. Orange triangles lie beyond the scale, hollow dots are of invalid trials."
    return Plot(_svg(figure, "trials", content), caption)


def _deviations(name: str, content: dict[str, Any]) -> tuple[float, list[tuple[int, float]]]:
    """Return the deviation of the mean, and of each trial by number; NaN where nothing was measured."""
    reference = content["replication"]["per_metric"][name]["claimed"]
    metric = content["metrics"][name]
    values = [(single["trial"], single["value"]) for single in metric["per_trial"]]
    if reference is None:
        return math.nan, [(number, math.nan) for number, _ in values]
    each = [(number, math.nan if value is None else relative(value, reference)) for number, value in values]
    return (math.nan if metric["value"] is None else relative(metric["value"], reference)), each


def _draw_dots(axes: Axes, row: int, deviations: list[tuple[int, float]], shown: float, valid: dict[int, bool]) -> None:
    offsets = np.linspace(-0.26, 0.26, len(deviations)) if len(deviations) > 1 else np.zeros(1)
    for (number, deviation), offset in zip(deviations, offsets, strict=True):
        if math.isnan(deviation):
            continue
        beyond = abs(deviation) > shown
        at = math.copysign(min(abs(deviation), shown * 0.985), deviation) * 100
        marker = (">" if deviation > 0 else "<") if beyond else "o"
        colour = _BAD if abs(deviation) > LIMIT else _SERIES[0]
        axes.plot(at, row + offset, marker, ms=4.2, color=colour, mfc=colour if valid[number] else "none", zorder=3)


def _residuals(session: SessionFolder, trace: Trace, number: int, content: dict[str, Any]) -> Plot:
    """Draw the distance of every SYNC edge from the fitted line in one trial, and the worst of each trial."""
    fit = next(trial["timebase"] for trial in content["trials"] if trial["number"] == number)
    times_s, away_s = _edge_distances(session, trace, Timebase(**fit), number)
    limit_s = RESIDUAL_LIMIT_PERIODS / trace.edge_hz
    figure = Figure(figsize=(10.4, 2.7), layout="constrained")
    axes, each = figure.subplots(1, 2, width_ratios=[3, 1])
    axes.axhspan(-limit_s * 1e6, limit_s * 1e6, color=_GOOD, alpha=0.16, lw=0)
    axes.plot(times_s, away_s * 1e6, "o", ms=2.2, color=_SERIES[0], rasterized=len(times_s) > _DENSE)
    axes.set(title=f"trial {number}: every SYNC edge", xlabel="time in the trial (s)", ylabel="edge minus fitted line (µs)")
    _draw_worst(each, [trial for trial in content["trials"] if trial["timebase"]], limit_s)
    caption = f"Shaded: the limit, {RESIDUAL_LIMIT_PERIODS:.0f} samples of the SYNC input ({quantity(limit_s, 's')}). Right, a row a trial: rms (dot), largest (bar)."
    return Plot(_svg(figure, "residuals", content), caption)


def _edge_distances(session: SessionFolder, trace: Trace, timebase: Timebase, number: int) -> tuple[Array, Array]:
    """Return the time of each mark and how far the nearest falling edge lies from it; edges that pair with no mark are left out."""
    marks_s = np.array(
        [timebase.seconds(mark.tick) for done in read_completions(session.trial(number)) for mark in done.completion.marks]
    )
    if not len(marks_s) or not len(trace.falls_s):
        return np.zeros(0), np.zeros(0)
    after = np.clip(np.searchsorted(trace.falls_s, marks_s), 1, max(len(trace.falls_s) - 1, 1))
    around = np.stack([trace.falls_s[after - 1], trace.falls_s[np.minimum(after, len(trace.falls_s) - 1)]]) - marks_s
    nearest = np.where(np.abs(around[0]) <= np.abs(around[1]), around[0], around[1])
    paired = np.abs(nearest) <= timebase.residual_max_s * (1 + 1e-6) + 1e-12
    return marks_s[paired], nearest[paired]


def _draw_worst(axes: Axes, trials: list[dict[str, Any]], limit_s: float) -> None:
    axes.axvspan(0, limit_s * 1e6, color=_GOOD, alpha=0.16, lw=0)
    for row, trial in enumerate(trials):
        rms_us, largest_us = trial["timebase"]["residual_s"] * 1e6, trial["timebase"]["residual_max_s"] * 1e6
        colour = _BAD if largest_us > limit_s * 1e6 else _SERIES[0]
        axes.hlines(row, 0, largest_us, color=colour, lw=2.2, alpha=0.6)
        axes.plot(rms_us, row, "o", ms=4, color=colour)
    axes.set(
        title="each trial",
        xlabel="distance (µs)",
        yticks=range(len(trials)),
        yticklabels=[str(trial["number"]) for trial in trials],
    )
    axes.set(ylim=(len(trials) - 0.4, -0.6), xlim=(0, None), ylabel="trial")
