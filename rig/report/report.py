# SPDX-License-Identifier: Apache-2.0
"""The report page: one HTML file that states the measurements, how they were made, and
whether they hold; derived from the session folder.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import matplotlib.style
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from rig.bench import plugins
from rig.errors import ConfigError, DataError
from rig.files.plain_text import visible
from rig.model import comparison
from rig.model.metric import Prominence
from rig.model.picture import Picture
from rig.model.trial import Trial
from rig.network import complexity_text
from rig.problems import PROBLEM_CODES
from rig.report import known_pages, palette
from rig.report.distributions import distributions
from rig.report.pictures import of_scenario
from rig.report.power import open_trace, power, residual_limit_s, residuals
from rig.report.replication import away_from, dots
from rig.report.samples import TrialSamples
from rig.report.style import STYLE, Plot, svg
from rig.results import changed, complexity, origins, verdict
from rig.results.budget_table import table as budget_table
from rig.results.document import MetricResult, Results
from rig.results.labels import Label
from rig.results.replication import LIMIT
from rig.results.results import read
from rig.results.stated import stated
from rig.results.verdict import Outcome
from rig.store import event_file, session_folder, verified
from rig.store.session_folder import SessionFolder
from rig.timebase.edge_clock import EDGE_CLOCK
from rig.trace.trace import LOST_LIMIT, STEPPED, TRACE
from rig.units import not_known, quantity, share

_TEMPLATE = "report.html"
_NO_CURVE = (
    "Not drawn for several supplies: each rail has a clock of its own; rig measure"
    " shows each."
)


def write_report(
    folder: Path, hashed: bool = False, trials: Sequence[Trial] = ()
) -> Path:
    """Write report.html of a finished session and return its path; raises DataError for
    a session without results. `hashed` and `trials` as of `rendered`.
    """
    page = rendered(folder, hashed, trials)
    session = SessionFolder(folder)
    path = event_file.write_derived(session, session_folder.REPORT, page)
    if hashed and not verified.changes(session):
        known_pages.remember(session, page)
    return path


_BADGES = {
    Outcome.PASS: "✓ PASS",
    Outcome.FAIL: "✗ FAIL",
    Outcome.NOT_TESTED: "NOT TESTED",
    Outcome.INVALID: "✗ INVALID",
}
_BADGE_CLASSES = {
    Outcome.PASS: "good",
    Outcome.FAIL: "bad",
    Outcome.NOT_TESTED: "open",
    Outcome.INVALID: "bad",
}
_HOLDS = {
    Outcome.PASS: "holds",
    Outcome.FAIL: "does not hold",
    Outcome.NOT_TESTED: "was not tested",
    Outcome.INVALID: "cannot be applied",
}


def rendered(folder: Path, hashed: bool = False, trials: Sequence[Trial] = ()) -> str:
    """Return the content of report.html: of the same session, by the same versions,
    always the same bytes. `hashed`: the caller knows already that the traces are as
    they were recorded; `trials`: all of the session's, where they are at hand.
    """
    session = SessionFolder(folder)
    session.refuse_other()
    session.refuse_unfinished()
    results = changed.marked(read(session, trials), verified.changes(session))
    page = content(session, results)
    with matplotlib.style.context(["default", STYLE]):
        pictures = of_scenario(session)
        special = {
            f"scenario.{picture.name}": _plot(picture, results) for picture in pictures
        }
        plots = _plots(session, results, hashed) | special
    return (
        templates().get_template(_TEMPLATE).render(page, plots=plots, pictures=pictures)
    )


def labels_of(folder: Path, trials: Sequence[Trial] = ()) -> tuple[Label, ...]:
    """Return the labels that the report of a session shows."""
    session = SessionFolder(folder)
    return changed.marked(read(session, trials), verified.changes(session)).labels


@cache
def templates() -> Environment:
    """Return the templates of rig/report, which escape every value, and the filters of
    numbers.
    """
    loader = FunctionLoader(_source)
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_seen,
    )
    environment.filters |= {
        "quantity": quantity,
        "value": _value,
        "percent": _percent,
        "share": share,
        "known": _known,
    }
    return environment


def _source(name: str) -> str:
    return files("rig.report").joinpath(name).read_text(encoding="utf-8")


def _seen(value: object) -> object:
    """Return a value as it is written into the page: texts without invisible
    characters.
    """
    if isinstance(value, Markup):
        return Markup(visible(value))
    return visible(value) if isinstance(value, str) else value


def content(session: SessionFolder, results: Results) -> dict[str, Any]:
    """Collect all that the template of a report states, but for its figures."""
    main, further = _split(results)
    provenance = results.provenance.stored
    targets = results.targets or ()
    counted = complexity.of_facts(provenance)
    monitors = [
        {"rail": rail} | about for rail, about in provenance.get("monitors", {}).items()
    ]
    bench_toml = session.bench_text()
    settings = tomllib.loads(bench_toml).get("scenario", {}).get(results.scenario, {})
    problems = [
        (problem, PROBLEM_CODES.get(problem.code, "")) for problem in results.problems
    ]
    tiles = []
    for name in main:
        if results.metrics[name].prominence is Prominence.HEADLINE:
            tiles.append(name)
    return {
        "r": results,
        "palette": palette,
        "p": provenance,
        "limit": LIMIT,
        "bench_toml": bench_toml,
        "labels": results.labels,
        "network": complexity_text.sentence(counted) if counted else "",
        "origins": str(origins.of_facts(provenance)),
        "claims": results.audit is not None,
        "badge": _BADGES,
        "badge_class": _BADGE_CLASSES,
        "holds": _HOLDS,
        "not_tested": verdict.reasons(results.replication.not_tested),
        "residual_limit_s": residual_limit_s(results) if monitors else None,
        "monitors": monitors,
        "method": _method(results.scenario),
        "edge_clock": EDGE_CLOCK,
        "pulses": any(each.get("sync") != "clock" for each in monitors),
        "stepped": STEPPED,
        "lost_limit": LOST_LIMIT,
        "budget": budget_table(results),
        "resolution": results.resolution,
        "tiles": tiles,
        "main": [_row(name, results) for name in main],
        "further": [_row(name, results) for name in further],
        "methods": _methods(results),
        "targets": {
            "head": comparison.HEAD,
            "meaning": comparison.MEANING,
            "cells": [comparison.shown(row) for row in targets if not row.workload],
            "workloads": [comparison.shown(row) for row in targets if row.workload],
        },
        "problems": problems,
        "settings": settings,
        "hashes": [event for event in session.journal().measured if event.files],
        "head": session.journal().head,
    }


def _method(kind: str) -> str:
    """Return the sentences of a scenario on its windows; empty where it cannot be
    imported here.
    """
    try:
        method: str = plugins.find("scenario", kind).method
    except ConfigError:
        return ""
    return method


def metric_rows(results: Results) -> list[str]:
    """Return the metrics that have a row of their own."""
    return _split(results)[0]


def _split(results: Results) -> tuple[list[str], list[str]]:
    """Divide the metrics into rows and details; a metric that is claimed or beyond the
    limit is a row.
    """
    claims = results.audit is not None
    telling = set(results.replication.drawn)
    for name, row in results.replication.per_metric.items():
        if claims or not (row.ok or math.isnan(row.mean)):
            telling.add(name)
    main = []
    for name, metric in results.metrics.items():
        if metric.prominence is not Prominence.DETAIL or name in telling:
            main.append(name)
    return main, [name for name in results.metrics if name not in main]


def _row(name: str, results: Results) -> dict[str, Any]:
    metric = results.metrics[name]
    drawn = results.replication.drawn.get(name)
    compared = results.replication.per_metric.get(name)
    judged = compared or drawn
    shown = stated(metric)
    factor = shown.factor
    decimals = shown.decimals
    claimed = None
    if judged and results.audit:
        claimed = f"{judged.claimed * factor:.6g}"
    limited = compared is not None
    trials = [
        _cell(metric, single.value, factor, decimals, limited=limited)
        for single in metric.per_trial
    ]
    return {
        "name": name,
        "unit": shown.unit,
        "shown": shown,
        "same": metric.same_samples,
        "other": metric.other_samples,
        "value": _fixed(metric.value, factor, decimals),
        "binomial": metric.binomial,
        "verdict": judged,
        "drawn": drawn is not None,
        "claimed": claimed,
        "trials": trials,
    }


def _methods(results: Results) -> list[tuple[str, str, list[str]]]:
    """Return the method of each interval, or the reason why there is none, with the
    metrics it applies to.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for name, metric in results.metrics.items():
        for title, interval in (
            ("same samples", metric.same_samples),
            ("other samples", metric.other_samples),
        ):
            told = not_known(interval.reason) if interval.reason else interval.method
            found.setdefault((title, told), []).append(name)
    ordered = sorted(found.items(), key=lambda item: item[0][0], reverse=True)
    return [(title, told, names) for (title, told), names in ordered]


def _cell(
    metric: MetricResult,
    value: float | None,
    factor: float,
    decimals: int,
    *,
    limited: bool,
) -> dict[str, Any]:
    """Return the cell of a trial; `limited`: the rule compares it with the 5 %."""
    away = away_from(value, metric.value, metric.deviation)
    beyond = limited and abs(away) > LIMIT
    return {
        "value": _fixed(value, factor, decimals),
        "deviation": _percent(away),
        "beyond": beyond,
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
    """Check whether there is a number."""
    return value is not None and math.isfinite(value)


def _plots(session: SessionFolder, results: Results, hashed: bool) -> dict[str, Plot]:
    phases = results.provenance.task.phases
    trials = [
        TrialSamples.read(session, trial, len(phases)) for trial in results.trials
    ]
    measured = [trial for trial in trials if len(trial.latency_s)]
    plots = _of_one_trial(session, measured, results, hashed)
    plots |= {
        what: distributions(what, measured, results) for what in ("latency", "energy")
    }
    return plots | {"trials": dots(metric_rows(results), results)}


def _plot(picture: Picture, results: Results) -> Plot:
    figure = picture.figure
    drawn = Markup() if figure is None else svg(figure, picture.name, results.labels)
    return drawn, picture.caption


def _of_one_trial(
    session: SessionFolder, measured: list[TrialSamples], results: Results, hashed: bool
) -> dict[str, Plot]:
    """Draw what needs a trace: of the first valid trial that was attached to one, and
    recorded in one go.
    """
    if not results.provenance.monitors:
        return _undrawn("there is no energy monitor, so there is no trace.")
    tied = [trial.number for trial in results.trials if trial.timebase is not None]
    whole = [trial.number for trial in results.trials if trial.segments == 1]
    usable = [trial for trial in measured if trial.trial in tied]
    if not usable:
        return _undrawn(
            "no trial has a timed sample whose marks were tied to the monitor's edges."
        )
    usable = [trial for trial in usable if trial.trial in whole]
    if not usable:
        return _undrawn(
            "each trial was cut off and resumed, and has several traces; rig measure"
            " shows each."
        )
    chosen = next((trial for trial in usable if trial.valid), usable[0])
    rail = next(iter(results.provenance.monitors))
    name = f"{rail}/{TRACE}" if rail else TRACE
    try:
        trace = open_trace(session, chosen.trial, name, hashed)
        curve = (Markup(), _NO_CURVE) if rail else power(trace, chosen, results)
        return {
            "power": curve,
            "residuals": residuals(session, trace, chosen.trial, results),
        }
    except DataError:
        return _undrawn(
            f"trial-{chosen.trial}/{name} is missing, was changed, or cannot be read."
        )


def _undrawn(why: str) -> dict[str, Plot]:
    return dict.fromkeys(("power", "residuals"), (Markup(), f"Not drawn: {why}"))
