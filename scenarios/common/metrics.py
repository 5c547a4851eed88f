# SPDX-License-Identifier: Apache-2.0
"""Metrics of means, ratios and differences, with their standard errors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from rig.model.metric import Metric, Prominence, Statistic
from rig.model.trial import Measured, Sample, Window
from rig.stats.summary import mean, ratio, standard_error


def of_mean(
    values: Sequence[float],
    unit: str,
    prominence: Prominence = Prominence.MAIN,
    *,
    higher_is_better: bool = False,
) -> Metric:
    """Make the metric of a mean."""
    return Metric(
        value=mean(values),
        unit=unit,
        standard_error=standard_error(values),
        n=len(values),
        higher_is_better=higher_is_better,
        prominence=prominence,
    )


def of_ratio(
    above: Sequence[float],
    below: Sequence[float],
    unit: str,
    *,
    higher_is_better: bool = False,
) -> Metric:
    """Make the metric of a ratio of sums."""
    value, error = ratio(above, below)
    return Metric(
        value=value,
        unit=unit,
        standard_error=error,
        n=len(below),
        higher_is_better=higher_is_better,
        statistic=Statistic.RATIO,
    )


def difference(minuend: Metric, subtrahend: Metric) -> Metric:
    """Subtract a metric with an independent error."""
    errors = [metric.standard_error for metric in (minuend, subtrahend)]
    known = [error for error in errors if error is not None]
    value = minuend.value - subtrahend.value
    error = math.hypot(*known) if len(known) == 2 else None
    return replace(
        minuend,
        value=value,
        standard_error=error,
        statistic=Statistic.DIFFERENCE,
        prominence=Prominence.MAIN,
    )


def power(windows: Sequence[Window]) -> Metric:
    """Make the metric of energy over time, in W; a window without energy counts 0."""
    energies_j = [window.energy_j or 0.0 for window in windows]
    return of_ratio(energies_j, [window.latency_s for window in windows], "W")


def idle_power(measured: Measured) -> Metric:
    """Make the metric of the power of idle times, as far as their energy is known."""
    idles = [idle for idle in measured.idles if idle.energy_j is not None]
    return replace(power(idles), budget_shown=True)


def headline(metric: Metric) -> Metric:
    """Show a metric and its budget in the first place."""
    return replace(metric, prominence=Prominence.HEADLINE, budget_shown=True)


def have_energy(windows: Iterable[Window]) -> bool:
    """Whether every window has an energy."""
    return all(window.energy_j is not None for window in windows)


def samples_of(trials: Iterable[Measured]) -> list[Sample]:
    """Pool the samples of all trials, in their order."""
    samples: list[Sample] = []
    for measured in trials:
        samples += measured.samples
    return samples
