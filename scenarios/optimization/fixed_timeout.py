# SPDX-License-Identifier: Apache-2.0
"""Searches that end at a time-out: gaps to both target costs, and average power, for
each cell and time-out; of a problem from a file also the mean value of its vectors in
the file's own numbers, such as `cut_G1_1s`. Pure.

QUBO.md, fixed time-out: "BKS-gap" and "average power over the run-time", averaged over
the seeds of a workload; "no timing metric". The gap of the rules is that to the
official target, `gap_...`; that to the best known one is `gap_best_known_...`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rig.model.metric import Deviation, Metric, Prominence, Repeatability
from rig.model.scores import MEASURES
from rig.model.trial import Sample
from rig.stats.share_mean import ShareRange
from rig.stats.summary import mean
from rig.units import quantity
from scenarios.common import metrics as metrics_of
from scenarios.common.cost_gap import BEST_KNOWN, KINDS, OFFICIAL, CostGap, target_of
from scenarios.optimization import overrun

Groups = Mapping[tuple[str, float], Sequence[Sample]]


def timeout_name(timeout_s: float) -> str:
    """Name a time-out in a metric's name: 1s, 10ms, 1500us."""
    for factor, unit in ((1, "s"), (1_000, "ms")):
        if (
            abs(timeout_s * factor - round(timeout_s * factor))
            < 1e-9 * factor * timeout_s
        ):
            return f"{round(timeout_s * factor)}{unit}"
    return f"{round(timeout_s * 1_000_000)}us"


def groups(samples: Sequence[Sample]) -> Groups:
    """Group searches by cell and time-out; the empty cell has those of all cells."""
    by_timeout: dict[tuple[str, float], list[Sample]] = {}
    for sample in samples:
        if sample.solve is not None and sample.solve.target is None:
            for cell in ("", sample.case):
                by_timeout.setdefault((cell, sample.solve.timeout_s), []).append(sample)
    return by_timeout


def metric_name(what: str, cell: str, timeout_s: float) -> str:
    """Name a metric: gap_250n_5pct_10ms, or gap_10ms for all cells."""
    return "_".join(filter(None, (what, cell, timeout_name(timeout_s))))


def metrics(
    samples: Sequence[Sample], repeatability: Repeatability = Repeatability.REPEATED
) -> dict[str, Metric]:
    """Compute the mean gap and the average power of each cell and time-out;
    `repeatability` is that of the gaps. The gap of all cells at the last time-out is
    the headline, and of problems from files each one's value there, with its gap where
    there are several."""
    all_metrics: dict[str, Metric] = {}
    overall: dict[str, str] = {}
    of_problems: dict[str, list[str]] = {}
    for (cell, timeout_s), group in groups(samples).items():
        if overrun.why(group):
            continue
        for kind in KINDS:
            gaps = _gaps(group, kind)
            if not _why_no_gap(group, kind):
                name = gap_name(kind, cell, timeout_s)
                gap = metrics_of.of_mean(gaps, "1", prominence(cell))
                all_metrics[name] = replace(
                    gap, repeatability=repeatability, deviation=Deviation.COST
                )
                overall |= {} if cell else {kind: name}
        if cell and (word := measure_of(group)):
            name = metric_name(word, cell, timeout_s)
            all_metrics[name] = replace(mean_value(group), repeatability=repeatability)
            gaps_of_cell = [gap_name(kind, cell, timeout_s) for kind in KINDS]
            of_problems[cell] = [name, *gaps_of_cell]
        all_metrics[metric_name("power", cell, timeout_s)] = replace(
            power(group), prominence=prominence(cell)
        )
    return (
        all_metrics
        | headline(all_metrics, overall)
        | _headlines_of_problems(all_metrics, of_problems)
    )


def _headlines_of_problems(
    all_metrics: Mapping[str, Metric], of_problems: Mapping[str, Sequence[str]]
) -> dict[str, Metric]:
    """Mark the headlines of each problem, whose value is named before its gaps; the gap
    of one that stands alone is that of all cells.
    """
    marked = {}
    for value, *gaps in of_problems.values():
        for name in [value, *gaps] if len(of_problems) > 1 else [value]:
            if name in all_metrics:
                metric = all_metrics[name]
                marked[name] = replace(metric, prominence=Prominence.HEADLINE)
    return marked


def measure_of(samples: Sequence[Sample]) -> str:
    """Return the word for the values of one problem in the numbers of its file; empty
    where costs are all, or a search gave no vector.
    """
    words = {sample.costs.measure if sample.costs else "" for sample in samples}
    return words.pop() if len(words) == 1 else ""


def mean_value(samples: Sequence[Sample]) -> Metric:
    """Average the values of the vectors of one problem."""
    values = [value_of(sample) for sample in samples]
    more_is_better = MEASURES[measure_of(samples)]
    return metrics_of.of_mean(values, "1", higher_is_better=more_is_better)


def value_of(sample: Sample) -> float:
    """Return the value of the vector of one search."""
    assert sample.costs is not None and sample.costs.value is not None
    return sample.costs.value


def prominence(cell: str) -> Prominence:
    """Choose where a metric of a cell is shown; the empty cell is the metric of all
    cells."""
    return Prominence.DETAIL if cell else Prominence.MAIN


def headline(
    all_metrics: Mapping[str, Metric], overall: Mapping[str, str]
) -> dict[str, Metric]:
    """Mark the headline: of names by kind of target the official one's, or else the
    best known one's."""
    name = next((overall[kind] for kind in KINDS if kind in overall), None)
    return (
        {}
        if name is None
        else {name: replace(all_metrics[name], prominence=Prominence.HEADLINE)}
    )


def absent(samples: Sequence[Sample]) -> dict[str, str]:
    """Give the reason for each gap and power that is missing."""
    gaps: dict[str, str] = {}
    powers: dict[str, str] = {}
    for key, group in groups(samples).items():
        late = overrun.why(group)
        powers[metric_name("power", *key)] = late
        for kind in KINDS:
            gaps[gap_name(kind, *key)] = late or _why_no_gap(group, kind)
    return {name: why for name, why in (gaps | powers).items() if why}


def line(cell: str, samples: Sequence[Sample]) -> str:
    """Describe a cell at each time-out: the gaps, the official one by the printed
    formula in brackets, and the power."""
    parts = []
    for (name, timeout_s), group in groups(samples).items():
        if name == cell and (late := overrun.why(group)):
            parts.append(f"{timeout_name(timeout_s)} {late}")
        elif name == cell:
            gaps = _gaps(group, OFFICIAL)
            printed = _printed(group)
            gap = (
                f"gap {mean(gaps):.4g} ({mean(printed):.4g})"
                if not _why_no_gap(group, OFFICIAL)
                else "no gap"
            )
            if not _why_no_gap(group, BEST_KNOWN):
                gap += f", to the best known {mean(_gaps(group, BEST_KNOWN)):.4g}"
            if word := measure_of(group):
                gap = f"{_values(word, group)}, {gap}"
            average = power(group)
            drawn = quantity(average.value, "W") if average.n else "no power"
            parts.append(f"{timeout_name(timeout_s)} {gap}, {drawn}")
    return f"{cell}: " + "; ".join(parts)


def _values(word: str, samples: Sequence[Sample]) -> str:
    values = [value_of(sample) for sample in samples]
    return f"{word} {mean(values):.10g} ({min(values):.10g} to {max(values):.10g})"


def power(samples: Sequence[Sample]) -> Metric:
    """Average the power over the time of all searches; those whose energy is lost are
    left out."""
    windows = [sample.windows[0] for sample in samples]
    return metrics_of.power([one for one in windows if one.energy_j is not None])


def gap_of(sample: Sample, kind: str) -> float | None:
    """Return the gap of one search to its target of a `kind`; None without a vector, a
    target, or where that is 0 and not met.
    """
    gaps = _gaps([sample], kind)
    return gaps[0] if gaps else None


def gap_range(sample: Sample, kind: str) -> ShareRange | None:
    """Bound the gaps of a workload: that of the best known cost, and that of a vector
    of zeros, which costs 0; None where there is no best known cost."""
    costs = sample.costs
    target = None if costs is None else target_of(costs, kind)
    if costs is None or target is None or costs.best_known is None:
        return None
    if target == 0:
        return ShareRange(0.0, math.inf)
    least = CostGap(min(costs.best_known, target), target).gap
    most = CostGap(0, target).gap
    assert least is not None and most is not None
    return ShareRange(least, most)


def gap_name(kind: str, cell: str, timeout_s: float) -> str:
    """Name a gap: gap_250n_5pct_10ms, or gap_best_known_250n_5pct_10ms."""
    return metric_name("_".join(filter(None, ("gap", kind))), cell, timeout_s)


def _of(samples: Sequence[Sample], kind: str) -> list[CostGap]:
    """Return the gaps of those samples that have a vector and a target of this kind."""
    gaps = []
    for sample in samples:
        if sample.costs:
            target = target_of(sample.costs, kind)
            if target is not None:
                gaps.append(CostGap(sample.costs.cost, target))
    return gaps


def _gaps(samples: Sequence[Sample], kind: str) -> list[float]:
    return [one.gap for one in _of(samples, kind) if one.gap is not None]


def _printed(samples: Sequence[Sample]) -> list[float]:
    return [one.printed for one in _of(samples, OFFICIAL) if one.printed is not None]


def _why_no_gap(samples: Sequence[Sample], kind: str) -> str:
    useless = sum(sample.costs is None for sample in samples)
    if useless:
        return f"{useless} of {len(samples)} searches gave no vector of their workload"
    if (without := len(samples) - len(_of(samples, kind))) > 0:
        return (
            f"{without} of {len(samples)} searches are of a workload without "
            f"{'a best known' if kind else 'an official'} target"
        )
    missing = len(samples) - len(_gaps(samples, kind))
    return (
        f"{missing} of {len(samples)} workloads have a target of 0, which was not met"
        if missing
        else ""
    )
