# SPDX-License-Identifier: Apache-2.0
"""Searches that end at a target: time and energy until the device itself knew a
threshold reached, and how often it did. Pure.

QUBO.md, time to solution: "latency" from the loaded graph until the solver has detected
that a gap is reached, "energy" as average power since then times that latency; where it
is not reached, no result. The gaps of the rules are those to the official target;
results to the best known one have `best_known` in their names.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from rig.model.metric import Metric, Prominence, Repeatability, Statistic
from rig.model.trial import Sample
from rig.stats.summary import NORMAL_95, mean
from rig.stats.time_to_target import quantile, success, time_to_solution_s
from rig.units import quantity
from scenarios.common.cost_gap import KINDS, OFFICIAL
from scenarios.common.metrics import of_mean
from scenarios.optimization import overrun, wade
from scenarios.optimization.fixed_timeout import headline, prominence
from scenarios.optimization.runs import (
    Runs,
    crossing_of,
    gap_name,
    latency_s_of,
    runs,
    threshold_of,
    unasked,
)


def metrics(
    samples: Sequence[Sample],
    gaps: Sequence[float],
    curve: Sequence[float],
    repeatability: Repeatability = Repeatability.REPEATED,
) -> dict[str, Metric]:
    """Compute share of success, latency, energy and TTS99 to each of `gaps`, and WADE
    over the `curve`.

    `repeatability` is that of means; metrics that few attempts make coarse are never
    compared. Of all cells, latency and energy to the smallest gap, and WADE, are
    headlines.
    """
    all_metrics: dict[str, Metric] = {}
    coarse = max(repeatability, Repeatability.COARSE, key=list(Repeatability).index)
    overall: dict[str, dict[str, str]] = {"latency": {}, "energy": {}, "wade": {}}
    for group in runs(samples, gaps):
        if group.unasked or group.late:
            continue
        reached = [crossing is not None for crossing in group.crossings]
        shown = prominence(group.cell)
        success_name = group.name("success")
        all_metrics[success_name] = Metric.of_share(reached, True, shown, coarse)
        for what, mean_of in _means(group).items():
            name = group.name(what)
            all_metrics[name] = replace(
                mean_of, prominence=shown, repeatability=repeatability
            )
            overall[what] |= {} if group.cell else {group.kind: name}
        all_metrics |= _spread(group, coarse)
    for kind in KINDS:
        for cell, values in wades(samples, curve, kind).items():
            name = wade_name(kind, cell, curve)
            wade = of_mean(values, "1", prominence(cell), higher_is_better=True)
            all_metrics[name] = replace(wade, repeatability=repeatability, bounded=True)
            overall["wade"] |= {} if cell else {kind: name}
    for names in overall.values():
        all_metrics |= headline(all_metrics, names)
    return all_metrics


def _means(group: Runs) -> dict[str, Metric]:
    """Compute the mean latency and the mean energy to a gap, where they exist."""
    if group.why:
        return {}
    latencies_s = [latency_s_of(crossing) for crossing in group.reached]
    metrics_of_cell = {"latency": of_mean(latencies_s, "s")}
    if len(group.energies_j) == len(latencies_s):
        metrics_of_cell["energy"] = of_mean(group.energies_j, "J")
    return metrics_of_cell


def absent(
    samples: Sequence[Sample], gaps: Sequence[float], curve: Sequence[float]
) -> dict[str, str]:
    """Give the reason for each mean latency and energy that is missing; of searches
    that were too long, for all metrics."""
    reasons: dict[str, str] = {}
    for group in runs(samples, gaps):
        if group.late or group.unasked:
            reasons |= dict.fromkeys(
                map(group.name, ("success", "tts99")), group.late or group.unasked
            )
        if curve and (why := group.late or unasked(group.samples, group.kind, curve)):
            reasons[wade_name(group.kind, group.cell, curve)] = why
        if group.late:
            reasons |= dict.fromkeys(map(group.name, ("latency", "energy")), group.late)
        elif group.why:
            reasons |= dict.fromkeys(
                (group.name("latency"), group.name("energy")), group.why
            )
        elif len(group.energies_j) < len(group.reached):
            lost = len(group.reached) - len(group.energies_j)
            reasons[group.name("energy")] = (
                f"{lost} of {len(group.reached)} searches have no energy"
            )
    return reasons


def line(
    cell: str, samples: Sequence[Sample], gaps: Sequence[float], curve: Sequence[float]
) -> str:
    """Describe a cell: time and energy to each gap with the intervals of share and
    median, and its WADE."""
    parts = []
    for group in runs(samples, gaps):
        if group.cell == cell and (
            group.kind == OFFICIAL or (not group.unasked and _apart(group))
        ):
            parts.append(
                f"to {gap_name(group.gap)}{' of the best known' if group.kind else ''} "
                f"{_said(group)}"
            )
    own = wades(samples, curve, OFFICIAL).get(cell)
    title = (
        "WADE" if wade.is_as_published(curve) else f"WADE of {len(curve)} thresholds"
    )
    return f"{cell}: " + "; ".join(
        [*parts, *([f"{title} {mean(own):.4g}"] if own else [])]
    )


def _apart(group: Runs) -> bool:
    """Whether the thresholds of a group differ from those of the official targets."""
    for sample in group.samples:
        threshold = threshold_of(sample, group.gap, group.kind)
        if threshold != threshold_of(sample, group.gap, OFFICIAL):
            return True
    return False


def _said(group: Runs) -> str:
    if group.unasked:
        return group.unasked
    share = success(group.attempts)
    attempts = group.attempts
    low, high = share.interval()
    reached = f"{len(group.reached)} of {len(attempts)} ({low:.2g} to {high:.2g})"
    if group.late:
        return group.late
    if group.why:
        return f"{reached}: {group.why}"
    energy = quantity(mean(group.energies_j), "J") if group.energies_j else "no energy"
    reached += (
        f", {quantity(mean([attempt.time_s for attempt in attempts]), 's')}, {energy}"
    )
    reached += f" ({group.early})" if group.early else ""
    median = quantile(attempts, 0.5)
    if median.value_s is None or not math.isfinite(median.high_s) or not median.low_s:
        return reached
    ends = f"{quantity(median.low_s, 's')} to {quantity(median.high_s, 's')}"
    return f"{reached}, median {quantity(median.value_s, 's')} ({ends})"


def _spread(group: Runs, repeatability: Repeatability) -> dict[str, Metric]:
    """Compute the median time, infinite where half of the searches failed, and TTS99.

    TTS99 is the time after which searches, each ended and restarted at its limit, have
    succeeded with 99 %. It is no latency to a threshold, and exists also where some
    searches failed (Ronnow et al. 2014).
    """
    attempts = group.attempts
    metrics_of_cell = {}
    median = quantile(attempts, 0.5)
    error_s = None
    # Below six searches there is no interval of 95 % for a median.
    if median.value_s is not None and median.low_s and math.isfinite(median.high_s):
        error_s = (
            max(median.value_s - median.low_s, median.high_s - median.value_s)
            / NORMAL_95
        )
    value_s = math.inf if median.value_s is None else median.value_s
    metrics_of_cell[f"{group.name('latency')}_p50"] = Metric(
        value_s,
        "s",
        error_s,
        len(attempts),
        higher_is_better=False,
        statistic=Statistic.PERCENTILE,
        prominence=Prominence.DETAIL,
        repeatability=repeatability,
    )
    metrics_of_cell[group.name("tts99")] = Metric(
        time_to_solution_s(group.limit_s, success(attempts).value),
        "s",
        n=len(attempts),
        higher_is_better=False,
        statistic=Statistic.ESTIMATE,
        prominence=prominence(group.cell),
        repeatability=repeatability,
    )
    return metrics_of_cell


def wades(
    samples: Sequence[Sample], curve: Sequence[float], kind: str
) -> dict[str, list[float]]:
    """Compute the WADE of each search over the gaps of the `curve`, by cell; the empty
    name has all.

    It is missing where a threshold has no target of this `kind` or was not sent to a
    search, and where a search exceeded its limit.
    """
    by_cell: dict[str, list[Sample]] = {}
    for sample in samples if curve else ():
        if sample.solve is not None and sample.solve.target is not None:
            for cell in ("", sample.case):
                by_cell.setdefault(cell, []).append(sample)
    reported = {}
    for cell, own in by_cell.items():
        if not overrun.why(own) and not unasked(own, kind, curve):
            reported[cell] = _wades_of(own, curve, kind)
    return reported


def _wades_of(
    samples: Sequence[Sample], curve: Sequence[float], kind: str
) -> list[float]:
    return [wade_of(sample, curve, kind) for sample in samples]


def wade_of(sample: Sample, curve: Sequence[float], kind: str) -> float:
    """Compute the WADE of one search."""
    latencies_s = []
    for gap in curve:
        crossing = crossing_of(sample, gap, kind)
        latencies_s.append(None if crossing is None else latency_s_of(crossing))
    return wade.value(latencies_s, curve)


def wade_name(kind: str, cell: str, curve: Sequence[float]) -> str:
    """Name WADE: wade_250n_5pct, or wade for all cells; wade_of_4_... where the
    thresholds are not those of the paper."""
    return "_".join(filter(None, (wade.name(curve), kind, cell)))
