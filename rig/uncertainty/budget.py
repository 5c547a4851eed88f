# SPDX-License-Identifier: Apache-2.0
"""The uncertainty budget of every metric: what each component makes of it, and the
interval that holds the truth 95 times in 100.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rig.host.stop import look
from rig.model.effects import COMMON, OWN, TRIAL, Influence
from rig.model.metric import Metric, Statistic
from rig.model.trial import Measured, Trial
from rig.stats.coverage_factor import coverage_factor
from rig.stats.summary import NORMAL_95, mean, standard_error
from rig.uncertainty.propagation import (
    Moving,
    Summarise,
    correlated,
    independent,
    windows_of,
)

#: Errors of the converter at one current: at another it meets another part of a step.
_STEPS = "steps"
SCATTER = "scatter of trials"
SCATTER_IN_TRIAL = "scatter of samples"
IDLE = "idle subtraction"
#: What differs between trials, or between samples of the only one.
SCATTERS = (SCATTER, SCATTER_IN_TRIAL)
#: Five values whose scatter is below this share of what noise, edges and steps alone
#: must give agree by accident, or because each met the same step: then what is known of
#: these counts (by chance alone this happens once in a hundred times).
_TOO_GOOD = 0.3
#: What each window errs by moves a percentile of them to one side, in every trial:
#: where nothing else varies by up to a tick, and the 99th by 2.33 standard deviations
#: of noise. Times 1.96 this is a tick, and 2.45 standard deviations.
_RANKED = math.sqrt(6) / NORMAL_95
#: What cancels leaves a rounding error of this share.
_ROUNDING = 1e-13


@dataclass(frozen=True, slots=True)
class Part:
    """One line of a budget: a component, its standard uncertainty in the metric's unit,
    its type after the GUM, and whether it counts: what the scatter of trials contains
    already is shown, not added.
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

    The choice of samples is no part of it: it is what the same samples would give,
    measured again.
    """

    standard_uncertainty: float
    coverage_factor: float
    parts: tuple[Part, ...]

    @property
    def expanded(self) -> float:
        """Return the half-width of the interval that holds the truth with 95 %."""
        return self.coverage_factor * self.standard_uncertainty


def influences(
    measured: Measured, metrics: Mapping[str, Metric], summarise: Summarise
) -> dict[str, dict[str, Influence]]:
    """Return for each metric what each component does to it, by moving every window by
    that component's effect and summarising again.

    So it holds for any scenario, and what cancels in a difference (an offset in dynamic
    power, a clock in a power) cancels here. Effects that are independent from window to
    window, and steps, differ between queries, idle times and streams, so nothing of
    them cancels in a difference.
    """
    found: dict[str, dict[str, Influence]] = {name: {} for name in metrics}
    for component, (kind, shape) in _components(measured).items():
        look()
        steps = component.split(": ")[-1] == _STEPS
        groups = (
            (("samples",), ("idles",), ("streams",))
            if kind == OWN or steps
            else (("samples", "idles", "streams"),)
        )
        for group in groups:
            if len(group) == 1 and not getattr(measured, group[0]):
                continue
            deltas = (independent if kind == OWN else correlated)(
                Moving(measured, metrics, summarise, component, group)
            )
            for name, delta in deltas.items():
                if not abs(delta) <= _ROUNDING * abs(metrics[name].value):
                    # What noise, edges and ticks do to the idle windows is one line,
                    # wherever idle power is taken off.
                    title = (
                        component
                        if group != ("idles",)
                        else f"{component}, idle"
                        if steps
                        else IDLE
                    )
                    before = found[name][title].value if title in found[name] else 0.0
                    value = delta if "samples" in group else math.hypot(before, delta)
                    ranked = (
                        metrics[name].statistic is Statistic.PERCENTILE and kind == OWN
                    )
                    found[name][title] = (
                        Influence(COMMON, shape, _RANKED * value)
                        if ranked
                        else Influence(kind, shape, value)
                    )
    return found


def of_trial(metric: Metric, parts: Mapping[str, Influence]) -> float | None:
    """Return the standard uncertainty of one trial's metric: the instrument's, the time
    base's, and the scatter of its samples.

    None where the samples' choice is all of that scatter: of shares and areas, and of a
    percentile of too few.
    """
    if metric.unit == "1":
        return None
    own = math.hypot(*(part.value for part in parts.values() if part.kind == OWN))
    scatter = metric.standard_error
    if scatter is None and metric.statistic is Statistic.PERCENTILE:
        return None
    if scatter is None or scatter < _TOO_GOOD * own:
        scatter = own
    combined = math.hypot(
        scatter, *(part.value for part in parts.values() if part.kind != OWN)
    )
    return combined if math.isfinite(combined) else None


def of_metric(name: str, trials: Sequence[Trial]) -> Budget | None:
    """Return the budget of a metric; None where there is no value, or its uncertainty
    is not known.

    That of a percentile has no scatter: the values in order show it
    (rig/uncertainty/same_samples.py). A share has none at all, nor has a plain number
    of one trial, whose scatter is all choice of samples.
    """
    single = [trial.metrics[name] for trial in trials]
    if single[0].statistic is Statistic.SHARE or not _all_finite(single):
        return None
    if single[0].unit == "1" and len(trials) == 1:
        return None
    mine = [trial.influences.get(name, {}) for trial in trials]
    parts = [
        Part(
            component,
            abs(
                mean(
                    [row[component].value if component in row else 0.0 for row in mine]
                )
            ),
            "B",
            shape,
            True,
        )
        for component, shape in _named(mine, (COMMON,))
    ]
    random = {
        component: math.sqrt(
            math.fsum(row[component].value ** 2 for row in mine if component in row)
        )
        / len(trials)
        for component, _ in _named(mine, (TRIAL, OWN))
    }
    # The samples of one trial have one time base: what it errs by is not in their
    # scatter.
    held = {
        component
        for component, _ in _named(mine, (TRIAL, OWN) if len(trials) > 1 else (OWN,))
    }
    ranked = single[0].statistic is Statistic.PERCENTILE
    scatter, shape = (None, "") if ranked else _scatter(single)
    counts = scatter is None or scatter < _TOO_GOOD * math.hypot(
        *(random[component] for component in held)
    )
    parts += [
        Part(component, value, "B", "normal", counts or component not in held)
        for component, value in random.items()
    ]
    if scatter is not None:
        parts.append(
            Part(
                SCATTER if len(trials) > 1 else SCATTER_IN_TRIAL,
                scatter,
                "A",
                shape,
                not counts,
            )
        )
    parts.sort(
        key=lambda part: (-part.counted, -part.standard_uncertainty, part.component)
    )
    counted = [part for part in parts if part.counted]
    combined = math.sqrt(math.fsum(part.standard_uncertainty**2 for part in counted))
    if not math.isfinite(combined):
        return None
    return Budget(
        combined,
        coverage_factor([(part.standard_uncertainty, part.shape) for part in counted]),
        tuple(parts),
    )


def _all_finite(single: Sequence[Metric]) -> bool:
    return all(math.isfinite(metric.value) for metric in single)


def _scatter(single: Sequence[Metric]) -> tuple[float | None, str]:
    """Return the standard error of the mean as the trials show it, and the shape of its
    distribution.
    """
    if len(single) > 1:
        return standard_error(
            [metric.value for metric in single]
        ), f"t{len(single) - 1}"
    few = 1 < single[0].n <= 30
    return single[0].standard_error, f"t{single[0].n - 1}" if few else "normal"


def _named(
    rows: Sequence[Mapping[str, Influence]], kinds: Iterable[str]
) -> list[tuple[str, str]]:
    return list(
        {
            name: part.shape
            for row in rows
            for name, part in row.items()
            if part.kind in kinds
        }.items()
    )


def _components(measured: Measured) -> dict[str, tuple[str, str]]:
    windows = windows_of(measured, ("samples", "idles", "streams"))
    return {
        name: (effect.kind, effect.shape)
        for window in windows
        for name, effect in window.effects.of.items()
    }
