# SPDX-License-Identifier: Apache-2.0
"""The uncertainty budget of every metric: the contribution of each component, and the
95 % interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from rig.host.stop import look
from rig.model import component as components
from rig.model.effects import COMMON, OWN, TRIAL, Influence
from rig.model.metric import Metric, Statistic
from rig.model.trial import Measured, Trial
from rig.stats.coverage_factor import coverage_factor
from rig.stats.summary import NORMAL_95, mean, standard_error
from rig.uncertainty.propagation import (
    Movable,
    Moving,
    Summarise,
    correlated,
    independent,
    windows_of,
)

_WINDOWS = ("samples", "idles", "streams")
SCATTER = "scatter of trials"
SCATTER_IN_TRIAL = "scatter of samples"
IDLE = "idle subtraction"
#: Scatter between trials, or between the samples of a single trial.
SCATTERS = (SCATTER, SCATTER_IN_TRIAL)
#: Five values whose scatter is below this share of the scatter that noise, edges and
#: steps must cause agree by accident, or because each met the same step: the known
#: components are then counted instead (by chance this happens once in a hundred times).
_TOO_GOOD = 0.3
#: Independent errors of the windows move a percentile of them to one side, in every
#: trial: by up to a tick where the windows are otherwise equal, and the 99th by 2.33
#: standard deviations of noise. Times 1.96 this factor covers a tick, and 2.45 standard
#: deviations.
_RANKED = math.sqrt(6) / NORMAL_95
#: Relative rounding error that is left where effects cancel.
_ROUNDING = 1e-13


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One line of a budget: a component, its standard uncertainty in the metric's unit,
    its type after the GUM, and whether it is counted.

    A component that the scatter of the trials contains already is shown, not counted.
    """

    component: str
    standard_uncertainty: float
    type: str
    shape: str
    counted: bool


@dataclass(frozen=True, slots=True)
class Budget:
    """A metric's combined standard uncertainty, the factor for 95 %, and its parts,
    largest first.

    It is the repeatability with the same samples; the choice of samples is no part.
    """

    standard_uncertainty: float
    coverage_factor: float
    parts: tuple[Part, ...]

    @property
    def expanded(self) -> float:
        """The half-width of the interval that holds the truth with 95 %."""
        return self.coverage_factor * self.standard_uncertainty


def influences(
    measured: Measured, metrics: Mapping[str, Metric], summarise: Summarise
) -> dict[str, dict[str, Influence]]:
    """Compute the effect of each component on each metric.

    Every window is moved by the component's effect, and the metrics are summarised
    again. This holds for any scenario, and effects that cancel in a difference (an
    offset in dynamic power, a clock in a power) cancel here. Effects that are
    independent from window to window, and steps, differ between queries, idle times and
    streams, and do not cancel in a difference.
    """
    by_metric: dict[str, dict[str, Influence]] = {name: {} for name in metrics}
    columns = cache(lambda: measured.columns)
    movable = cache(lambda group: Movable.of(measured, group, columns))
    for component, (kind, shape) in _components(measured).items():
        look()
        for group in _moved_together(measured, component, kind):
            moving = Moving(movable(group), metrics, summarise, component)
            deltas = independent(moving) if kind == OWN else correlated(moving)
            title = _title(component, group)
            for name, delta in deltas.items():
                metric = metrics[name]
                if abs(delta) <= _ROUNDING * abs(metric.value):
                    continue
                influences_of = by_metric[name]
                value = delta
                if "samples" not in group:
                    before = influences_of.get(title)
                    value = math.hypot(before.value if before else 0.0, delta)
                influences_of[title] = _influence(metric, kind, shape, value)
    return by_metric


def _moved_together(
    measured: Measured, component: str, kind: str
) -> Iterator[tuple[str, ...]]:
    """Yield the groups of windows whose effects of a component do not cancel."""
    if kind != OWN and not _is_steps(component):
        yield _WINDOWS
        return
    for group in _WINDOWS:
        if getattr(measured, group):
            yield (group,)


def _is_steps(component: str) -> bool:
    return components.read(component).kind == components.STEPS


def _title(component: str, group: tuple[str, ...]) -> str:
    """Return the line of the budget: the effects of noise, edges and ticks on the idle
    windows are one line of every metric from which idle power is subtracted.
    """
    if group != ("idles",):
        return component
    return components.of_idle(component) if _is_steps(component) else IDLE


def _influence(metric: Metric, kind: str, shape: str, value: float) -> Influence:
    if metric.statistic is Statistic.PERCENTILE and kind == OWN:
        return Influence(COMMON, shape, _RANKED * value)
    return Influence(kind, shape, value)


def of_trial(metric: Metric, parts: Mapping[str, Influence]) -> float | None:
    """Return the standard uncertainty of one trial's metric: the instrument's, the time
    base's, and the scatter of its samples.

    None for shares, areas, and a percentile of too few values, whose scatter is all due
    to the choice of samples.
    """
    if metric.unit == "1":
        return None
    own_u = math.hypot(*(part.value for part in parts.values() if part.kind == OWN))
    scatter = metric.standard_error
    if scatter is None and metric.statistic is Statistic.PERCENTILE:
        return None
    if scatter is None or scatter < _TOO_GOOD * own_u:
        scatter = own_u
    combined = math.hypot(
        scatter, *(part.value for part in parts.values() if part.kind != OWN)
    )
    return combined if math.isfinite(combined) else None


def of_metric(name: str, trials: Sequence[Trial]) -> Budget | None:
    """Return the budget of a metric, or None if its uncertainty is not known.

    A percentile has no scatter here: the values in order show it
    (rig/uncertainty/same_samples.py). A share has no budget, and neither has a plain
    number of a single trial, as its scatter is all due to the choice of samples.
    """
    metrics = [trial.metrics[name] for trial in trials]
    several = len(trials) > 1
    if metrics[0].statistic is Statistic.SHARE or not _all_finite(metrics):
        return None
    if metrics[0].unit == "1" and not several:
        return None
    rows = [trial.influences.get(name, {}) for trial in trials]
    parts = _common_parts(rows)
    random = _random_components(rows)
    # The samples of a single trial share one time base, so that its error is not in
    # their scatter.
    in_scatter = {
        component for component, _ in _named(rows, (TRIAL, OWN) if several else (OWN,))
    }
    scatter, shape = None, ""
    if metrics[0].statistic is not Statistic.PERCENTILE:
        scatter, shape = _scatter(metrics)
    known = math.hypot(*(random[component] for component in in_scatter))
    count_known = scatter is None or scatter < _TOO_GOOD * known
    for component, value in random.items():
        counted = count_known or component not in in_scatter
        parts.append(_part(component, value, "normal", counted=counted))
    if scatter is not None:
        component = SCATTER if several else SCATTER_IN_TRIAL
        parts.append(
            _part(component, scatter, shape, type="A", counted=not count_known)
        )
    return combined(parts)


def combined(parts: Sequence[Part]) -> Budget | None:
    """Combine the parts of a budget that are counted; None where one is not finite."""
    parts = sorted(parts, key=_rank)
    counted_parts = [part for part in parts if part.counted]
    squares = [part.standard_uncertainty**2 for part in counted_parts]
    standard_uncertainty = math.sqrt(math.fsum(squares))
    if not math.isfinite(standard_uncertainty):
        return None
    factor = coverage_factor(
        [(part.standard_uncertainty, part.shape) for part in counted_parts]
    )
    return Budget(standard_uncertainty, factor, tuple(parts))


def _part(
    component: str, value: float, shape: str, *, counted: bool, type: str = "B"
) -> Part:
    return Part(
        component=component,
        standard_uncertainty=value,
        type=type,
        shape=shape,
        counted=counted,
    )


def _rank(part: Part) -> tuple[bool, float, str]:
    """Return a key that puts counted parts first, then the largest."""
    return not part.counted, -part.standard_uncertainty, part.component


def _common_parts(rows: Sequence[Mapping[str, Influence]]) -> list[Part]:
    """Return the parts that err by the same in all trials: their mean influences."""
    parts = []
    for component, shape in _named(rows, (COMMON,)):
        values = [row[component].value if component in row else 0.0 for row in rows]
        parts.append(_part(component, abs(mean(values)), shape, counted=True))
    return parts


def _random_components(rows: Sequence[Mapping[str, Influence]]) -> dict[str, float]:
    """Return the influence on the mean over trials of each component that is
    independent from trial to trial.
    """
    random = {}
    for component, _ in _named(rows, (TRIAL, OWN)):
        squares = [row[component].value ** 2 for row in rows if component in row]
        random[component] = math.sqrt(math.fsum(squares)) / len(rows)
    return random


def _all_finite(single: Sequence[Metric]) -> bool:
    return all(math.isfinite(metric.value) for metric in single)


def _scatter(metrics: Sequence[Metric]) -> tuple[float | None, str]:
    """Return the standard error of the mean by the scatter of trials, or of the samples
    of a single one, and the shape of its distribution.
    """
    if len(metrics) > 1:
        values = [metric.value for metric in metrics]
        return standard_error(values), f"t{len(metrics) - 1}"
    few = 1 < metrics[0].n <= 30
    return metrics[0].standard_error, f"t{metrics[0].n - 1}" if few else "normal"


def _named(
    rows: Sequence[Mapping[str, Influence]], kinds: Iterable[str]
) -> list[tuple[str, str]]:
    """Return each component of these kinds with its shape."""
    shapes = {}
    for row in rows:
        for name, influence in row.items():
            if influence.kind in kinds:
                shapes[name] = influence.shape
    return list(shapes.items())


def _components(measured: Measured) -> dict[str, tuple[str, str]]:
    """Return kind and shape of each component of any window."""
    components = {}
    for window in windows_of(measured, _WINDOWS):
        for name, effect in window.effects.of.items():
            components[name] = effect.kind, effect.shape
    return components
