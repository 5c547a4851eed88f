# SPDX-License-Identifier: Apache-2.0
"""The report page: one HTML file that says what was measured, how, and whether it holds; derived
from the session folder.
"""

from __future__ import annotations

import math
import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import matplotlib.style
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from rig.errors import DataError
from rig.model import comparison
from rig.problems import PROBLEM_CODES
from rig.report import search, stream
from rig.report.distributions import distributions
from rig.report.power import open_trace, power, residual_limit_s, residuals
from rig.report.replication import away_from, dots
from rig.report.samples import TrialSamples
from rig.report.style import STYLE, Plot
from rig.report.throughput import throughput
from rig.results import document
from rig.results.budget_table import table as budget_table
from rig.results.document import Results
from rig.results.replication import LIMIT
from rig.results.stated import stated
from rig.store import session_folder
from rig.store.session_folder import SessionFolder
from rig.trace.trace import TRACE
from rig.units import quantity, share

#: What a reader looks for first, in tiles.
_TELLING = (
    "accuracy",
    "auc",
    "throughput",
    "latency_total",
    "latency_onset",
    "latency_response",
    "within_deadline",
    "power_active",
    "power_stream",
    "energy_total",
    "energy_dynamic",
)
#: A metric of one cell of a grid of searches: the pictures show these.
_OF_CELL = r".*_\d+n_[0-9p.]+pct.*"

_NO_CURVE = (
    "Not drawn for several supplies: each rail has a clock of its own; rig measure shows each."
)


def write_report(folder: Path) -> Path:
    """Write report.html of a finished session and return its path; raises DataError for a session
    without results.
    """
    page = rendered(folder)
    session_folder.write_text(folder / session_folder.REPORT, page)
    SessionFolder(folder).record_derived(session_folder.REPORT)
    return folder / session_folder.REPORT


def rendered(folder: Path) -> str:
    """Return the content of report.html: of the same session, by the same versions, always the same
    bytes.
    """
    session = SessionFolder(folder)
    session.refuse_other()
    if not (folder / session_folder.RESULTS).exists():
        raise DataError(
            f"{folder} has no {session_folder.RESULTS}: its session did not finish",
            try_next=f"rig check {folder}",
        )
    results = document.read(folder / session_folder.RESULTS)
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "quantity": quantity,
        "value": _value,
        "percent": _percent,
        "share": share,
        "known": _known,
    }
    template = environment.from_string(
        (files("rig.report") / "report.html").read_text(encoding="utf-8")
    )
    with matplotlib.style.context(["default", STYLE]):
        special = _special(session, results)
        plots = _plots(session, results) | {name: plot for name, _, plot in special}
    return template.render(
        _page(session, results), plots=plots, special=[(name, title) for name, title, _ in special]
    )


def _page(session: SessionFolder, results: Results) -> dict[str, Any]:
    main, further = _split(results)
    provenance = results.provenance.stored
    targets = results.targets or ()
    monitors = [{"rail": rail} | about for rail, about in provenance["monitors"].items()]
    bench_toml = (session.path / session_folder.BENCH).read_text(encoding="utf-8")
    return {
        "r": results,
        "p": provenance,
        "limit": LIMIT,
        "bench_toml": bench_toml,
        "labels": results.labels,
        "claims": results.audit is not None,
        "residual_limit_s": residual_limit_s(results) if monitors else None,
        "monitors": monitors,
        "budget": budget_table(results),
        "resolution": results.resolution,
        "tiles": _tiles(main),
        "main": [_row(name, results) for name in main],
        "further": [_row(name, results) for name in further],
        "methods": _methods(results),
        "targets": {
            "head": comparison.HEAD,
            "meaning": comparison.MEANING,
            "cells": [comparison.shown(row) for row in targets if not row.workload],
            "workloads": [comparison.shown(row) for row in targets if row.workload],
        },
        "problems": [
            (problem, PROBLEM_CODES.get(problem.code, "")) for problem in results.problems
        ],
        "settings": tomllib.loads(bench_toml).get("scenario", {}).get(results.scenario, {}),
        "hashes": [event for event in session.journal().measured if event.files],
        "head": session.journal().head,
    }


def _split(results: Results) -> tuple[list[str], list[str]]:
    """Part the metrics: what a reader looks for, claimed or beyond the limit first; percentiles and
    finer divisions behind.
    """
    phases = "|".join(re.escape(phase) for phase in results.provenance.task.phases)
    finer = re.compile(
        rf".*_p\d+(_early_stopping)?|power_({phases})|energy_({phases})_dynamic|energy_idle|{_OF_CELL}"
    )
    telling = {
        name
        for name, row in results.replication.per_metric.items()
        if results.audit is not None or not (row.ok or math.isnan(row.mean))
    }
    main = [name for name in results.metrics if not finer.fullmatch(name) or name in telling]
    return main, [name for name in results.metrics if name not in main]


def _tiles(main: list[str]) -> list[str]:
    """Choose what stands above all: of searches, the longest time-out and the nearest threshold."""
    chosen = [name for name in main if name in _TELLING]
    for own, other in (
        (r"gap_\d+[mu]?s", r"gap_best_known_\d+[mu]?s"),
        (r"latency_to_[0-9p]+pct", r"latency_to_[0-9p]+pct_best_known"),
        (r"energy_to_[0-9p]+pct", r"energy_to_[0-9p]+pct_best_known"),
        (r"wade(_of_\d+)?", r"wade(_of_\d+)?_best_known"),
    ):
        found = [[name for name in main if re.fullmatch(pattern, name)] for pattern in (own, other)]
        chosen += (found[0] or found[1])[-1:]
    return chosen


def _row(name: str, results: Results) -> dict[str, Any]:
    metric = results.metrics[name]
    verdict = results.replication.per_metric.get(name)
    shown = stated(metric)
    factor = shown.factor
    decimals = shown.decimals
    return {
        "name": name,
        "unit": shown.unit,
        "shown": shown,
        "same": metric.same_samples,
        "other": metric.other_samples,
        "value": _fixed(metric.value, factor, decimals),
        "binomial": metric.binomial,
        "verdict": verdict,
        "claimed": f"{verdict.claimed * factor:.6g}" if verdict and results.audit else None,
        "trials": [
            _cell(name, single.value, metric.value, factor, decimals) for single in metric.per_trial
        ],
    }


def _methods(results: Results) -> list[tuple[str, str, list[str]]]:
    """Return which interval was made how, or why it was not, and of which metrics that holds."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, metric in results.metrics.items():
        for title, interval in (
            ("same samples", metric.same_samples),
            ("other samples", metric.other_samples),
        ):
            told = f"none: {interval.reason}" if interval.reason else interval.method
            found.setdefault((title, told), []).append(name)
    return [
        (title, told, names)
        for (title, told), names in sorted(found.items(), key=lambda item: item[0][0], reverse=True)
    ]


def _cell(
    name: str, value: float | None, average: float | None, factor: float, decimals: int
) -> dict[str, Any]:
    away = away_from(name, value, average)
    return {
        "value": _fixed(value, factor, decimals),
        "deviation": _percent(away),
        "beyond": abs(away) > LIMIT,
    }


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


def _known(value: float | None) -> bool:
    """Say whether there is a number."""
    return value is not None and math.isfinite(value)


def _plots(session: SessionFolder, results: Results) -> dict[str, Plot]:
    phases = results.provenance.task.phases
    trials = [TrialSamples.read(session, trial, len(phases)) for trial in results.trials]
    measured = [trial for trial in trials if len(trial.latency_s)]
    plots = _of_one_trial(session, measured, results)
    plots |= {what: distributions(what, measured, results) for what in ("latency", "energy")}
    return plots | {"trials": dots(_split(results)[0], results)}


def _special(session: SessionFolder, results: Results) -> list[tuple[str, str, Plot]]:
    """Draw what only some scenarios have: the name of each picture, its title, and itself."""
    found = []
    if "throughput" in results.metrics:
        found.append(("throughput", "Throughput", throughput(results)))
    if results.scenario == "optimization":
        lines = search.searches(session, results)
        found.append(("searches", "Cost over time", search.over_time(lines, results)))
        found.append(("gaps", "Gaps by size and density", search.heat(lines, results)))
    if results.scenario == "real_time":
        settings = tomllib.loads((session.path / session_folder.BENCH).read_text(encoding="utf-8"))[
            "scenario"
        ]["real_time"]
        found.append(
            (
                "decisions",
                "Decisions and scenes",
                stream.decisions(session, results, settings["deadline_s"]),
            )
        )
    return found


def _of_one_trial(
    session: SessionFolder, measured: list[TrialSamples], results: Results
) -> dict[str, Plot]:
    """Draw what needs a trace: of the first valid trial that was tied to one, and recorded in one
    go.
    """
    if not results.provenance.monitors:
        return _undrawn("there is no energy monitor, so there is no trace.")
    tied = [trial.number for trial in results.trials if trial.timebase is not None]
    whole = [trial.number for trial in results.trials if trial.segments == 1]
    usable = [trial for trial in measured if trial.trial in tied]
    if not usable:
        return _undrawn("no trial has a timed sample whose marks were tied to the monitor's edges.")
    usable = [trial for trial in usable if trial.trial in whole]
    if not usable:
        return _undrawn(
            "each trial was cut off and resumed, and has several traces; rig measure shows each."
        )
    chosen = next((trial for trial in usable if trial.valid), usable[0])
    rail = next(iter(results.provenance.monitors))
    name = f"{rail}/{TRACE}" if rail else TRACE
    try:
        trace = open_trace(session, chosen.trial, name)
        curve = (Markup(), _NO_CURVE) if rail else power(trace, chosen, results)
        return {"power": curve, "residuals": residuals(session, trace, chosen.trial, results)}
    except DataError:
        return _undrawn(f"trial-{chosen.trial}/{name} is missing, was changed, or cannot be read.")


def _undrawn(why: str) -> dict[str, Plot]:
    return dict.fromkeys(("power", "residuals"), (Markup(), f"Not drawn: {why}"))
