# SPDX-License-Identifier: Apache-2.0
"""Both intervals of the metrics of searches, from the searches of all trials together.
Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from rig.model.effects import Effect
from rig.model.trial import Crossing, Measured, Sample, Window
from rig.stats.interval import Intervals
from rig.stats.share_mean import ShareRange
from rig.stats.summary import ratio
from rig.stats.time_to_target import quantile
from scenarios.common.cost_gap import KINDS
from scenarios.common.metrics import samples_of
from scenarios.optimization import fixed_timeout, overrun, shares, time_to_solution
from scenarios.optimization import values as search_values
from scenarios.optimization.mean_interval import ValueKind
from scenarios.optimization.runs import Runs, runs, to_target
from scenarios.optimization.shares import TriedSearches
from scenarios.optimization.values import Value, effects_of

#: Times and energies; how long they may be is not known.
NOT_NEGATIVE = ShareRange(0.0, math.inf)


def intervals(
    trials: Sequence[Measured], gaps: Sequence[float], curve: Sequence[float]
) -> dict[str, Intervals]:
    """Return both intervals of gap and power at each time-out, of all on the way to
    each gap, and of WADE.
    """
    samples = samples_of(trials)
    of_trial: dict[int, int] = {}
    for number, measured in enumerate(trials):
        of_trial |= {id(sample): number for sample in measured.samples}
    by_metric: dict[str, Intervals] = {}
    for (cell, timeout_s), group in fixed_timeout.groups(samples).items():
        if not overrun.why(group):
            by_metric |= _at_time_out(cell, timeout_s, group, of_trial)
    for searches in runs(samples, gaps):
        if not searches.late and not searches.unasked:
            by_metric |= _to_gap(searches, of_trial)
    for kind in KINDS:
        for cell in time_to_solution.wades(samples, curve, kind):
            values = []
            for sample in to_target(samples):
                if cell in ("", sample.case):
                    wade = time_to_solution.wade_of(sample, curve, kind)
                    values.append(_value(sample, of_trial, wade))
            by_metric[time_to_solution.wade_name(kind, cell, curve)] = (
                search_values.of_mean(values, ValueKind.SHARE)
            )
    return by_metric


def pooled_metrics(
    trials: Sequence[Measured], gaps: Sequence[float]
) -> dict[str, float]:
    """Return the values of all searches together, and the mean over trials does not:
    TTS99, and the median time.
    """
    samples = samples_of(trials)
    pooled = {}
    for searches in runs(samples, gaps):
        if searches.unasked:
            continue
        tried = list(_tried(searches))
        pooled[searches.name("tts99")] = shares.tts99_s(tried, searches.limit_s)
        median = quantile(searches.attempts, 0.5)
        pooled[f"{searches.name('latency')}_p50"] = (
            math.inf if median.value_s is None else median.value_s
        )
    return pooled


def _at_time_out(
    cell: str, timeout_s: float, group: Sequence[Sample], of_trial: Mapping[int, int]
) -> dict[str, Intervals]:
    intervals_of_gaps = {}
    for kind in KINDS:
        values = []
        for sample in group:
            gap = fixed_timeout.gap_of(sample, kind)
            if gap is not None:
                limits = fixed_timeout.gap_range(sample, kind)
                values.append(_value(sample, of_trial, gap, limits=limits))
        if len(values) == len(group):
            intervals_of_gaps[fixed_timeout.gap_name(kind, cell, timeout_s)] = (
                search_values.of_mean(values, ValueKind.SKEWED)
            )
    if cell and (word := fixed_timeout.measure_of(group)):
        own = [
            _value(sample, of_trial, fixed_timeout.value_of(sample)) for sample in group
        ]
        intervals_of_gaps[fixed_timeout.metric_name(word, cell, timeout_s)] = (
            search_values.of_mean(own, ValueKind.ANY)
        )
    whole = []
    for sample in group:
        if sample.windows[0].energy_j is not None:
            whole.append((sample, sample.windows[0]))
    if whole:
        below = [window.latency_s for _, window in whole]
        at_w, _ = ratio(
            [window.energy_j or 0.0 for _, window in whole],
            below,
        )
        mean_s = math.fsum(window.latency_s for _, window in whole) / len(whole)
        powers = [
            _power(sample, window, of_trial, at_w, mean_s) for sample, window in whole
        ]
        intervals_of_gaps[fixed_timeout.metric_name("power", cell, timeout_s)] = (
            search_values.of_mean(powers, ValueKind.ANY)
        )
    return intervals_of_gaps


def _power(
    sample: Sample,
    window: Window,
    of_trial: Mapping[int, int],
    at_w: float,
    mean_s: float,
) -> Value:
    """Return what one search adds to energy over time of all: a ratio as a mean, by
    linearisation (Cochran 6.3).
    """
    value = at_w + ((window.energy_j or 0.0) - at_w * window.latency_s) / mean_s

    def change(effect: Effect) -> float:
        return (effect.energy_j - at_w * effect.latency_s) / mean_s

    return _value(sample, of_trial, value, effects=effects_of(window, change))


def _to_gap(runs: Runs, of_trial: Mapping[int, int]) -> dict[str, Intervals]:
    tried = list(_tried(runs))
    latencies = []
    energies = []
    for sample, crossing in _reached(runs):
        latencies.append(_latency(sample, crossing, of_trial))
        energies.append(_energy(sample, crossing, of_trial))
    found = {runs.name("success"): shares.of_success(tried)}
    found[runs.name("tts99")] = shares.of_tts99(tried, runs.limit_s)
    budget = search_values.systematic(latencies) if latencies else 0.0
    found[f"{runs.name('latency')}_p50"] = shares.of_median(tried, budget)
    if len(latencies) == len(tried):
        found[runs.name("latency")] = search_values.of_mean(latencies, ValueKind.SKEWED)
        known = [energy for energy in energies if energy is not None]
        if len(known) == len(tried):
            found[runs.name("energy")] = search_values.of_mean(known, ValueKind.SKEWED)
    return found


def _tried(runs: Runs) -> Iterator[TriedSearches]:
    for sample, attempt in zip(runs.samples, runs.attempts, strict=True):
        assert sample.solve is not None
        yield TriedSearches(
            sample.case,
            sample.solve.index,
            sample.solve.seed,
            attempt.time_s,
            attempt.reached,
        )


def _reached(runs: Runs) -> Iterator[tuple[Sample, Crossing]]:
    for sample, crossing in zip(runs.samples, runs.crossings, strict=True):
        if crossing is not None:
            yield sample, crossing


def _latency(sample: Sample, crossing: Crossing, of_trial: Mapping[int, int]) -> Value:
    assert crossing.window is not None
    at_s = crossing.window.latency_s
    low_s = at_s if crossing.least_s is None else min(crossing.least_s, at_s)
    effects = effects_of(crossing.window, lambda effect: effect.latency_s)
    return _value(
        sample,
        of_trial,
        at_s,
        bounds=(low_s, at_s),
        effects=effects,
        limits=NOT_NEGATIVE,
    )


def _energy(
    sample: Sample, crossing: Crossing, of_trial: Mapping[int, int]
) -> Value | None:
    window = crossing.window
    if window is None or window.energy_j is None:
        return None
    low_j, high_j = crossing.bounds_j or (window.energy_j, window.energy_j)
    bounds_j = min(low_j, window.energy_j), max(high_j, window.energy_j)
    effects = effects_of(window, lambda effect: effect.energy_j)
    return _value(
        sample,
        of_trial,
        window.energy_j,
        bounds=bounds_j,
        effects=effects,
        limits=NOT_NEGATIVE,
    )


def _value(
    sample: Sample,
    of_trial: Mapping[int, int],
    value: float,
    bounds: tuple[float, float] | None = None,
    effects: Mapping[str, tuple[Effect, float]] | None = None,
    limits: ShareRange | None = None,
) -> Value:
    assert sample.solve is not None
    low, high = bounds or (value, value)
    return Value(
        trial=of_trial[id(sample)],
        cell=sample.case,
        workload=sample.solve.index,
        seed=sample.solve.seed,
        value=value,
        low=low,
        high=high,
        effects=effects or {},
        bounds=limits,
    )
