# SPDX-License-Identifier: Apache-2.0
"""The trials of a session in order of time: the odd one, and the metrics that drift, by
stated tests. Interleaved trials are in no such order, and do not drift.

A session has many metrics, and by chance one of them looks odd: a statement is made
only where its chance, times the number of metrics tested, is at most 1 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from rig.model.metric import Prominence, Repeatability, Statistic
from rig.results.document import MetricResult, Results
from rig.results.replication import deviation
from rig.stats.few_trials import ODD_LEAST, TREND_LEAST, Trend, odd_one, trend
from rig.uncertainty.budget import SCATTER

#: The chance, over all metrics of a session, of a false statement.
CHANCE = 0.01
#: A smaller deviation is shown as none.
SILENT = 5e-6
RULE_ODD = (
    "A trial is the odd one where its distance from the mean of the other valid"
    " trials, in standard deviations of the others (no less than the noise in the"
    f" budget), has a chance of at most {CHANCE:.0%}: Student's t with n - 2 degrees of"
    " freedom, two-sided, times trials times metrics tested (Grubbs 1969, Bonferroni);"
    f" of {ODD_LEAST} trials or more."
)
RULE_DRIFT = (
    "A metric drifts where the slope of a straight line through its valid trials, in"
    f" their order, has a chance of at most {CHANCE:.0%}: Student's t with n - 2"
    " degrees of freedom, residuals no less than the noise in the budget, two-sided,"
    " times metrics tested; the interval of a slope is its own, with 95 %; of"
    f" {TREND_LEAST} trials or more."
)
_ORDER = list(Prominence)


@dataclass(frozen=True, slots=True)
class OddTrial:
    """A trial that is not like the others in a metric: its distance from their mean
    relatively, and in their standard deviations; `chance` is over all trials and
    metrics tested.
    """

    trial: int
    metric: str
    deviation: float
    distance: float
    chance: float

    @property
    def found(self) -> bool:
        """Whether the rule points at it."""
        return self.chance <= CHANCE


@dataclass(frozen=True, slots=True)
class Drift:
    """The slope of a metric over the trials, in its unit a trial, with its 95 %
    interval and relative to its value; `chance` is over all metrics tested.
    """

    metric: str
    line: Trend
    relative: float
    low: float
    high: float
    chance: float

    @property
    def found(self) -> bool:
        """Whether the rule calls it a drift."""
        return self.chance <= CHANCE

    @property
    def sentence(self) -> str:
        """The drift in words."""
        return (
            f"{self.metric} drifts: {percent(self.relative)} a trial "
            f"({percent(self.low)} to {percent(self.high)})"
        )


@dataclass(frozen=True, slots=True)
class Drifts:
    """Results of the tests for each metric, and their conclusions: the trial with the
    least chance, by its main metric, and the metrics that drift.
    """

    tested: tuple[str, ...]
    odd: dict[str, OddTrial]
    drifts: dict[str, Drift]
    pointed: OddTrial | None

    @property
    def sentences(self) -> tuple[str, ...]:
        """The conclusions in words; empty where there are none."""
        lines: list[str] = []
        if self.pointed is not None:
            one = self.pointed
            mine = [
                row for row in self.odd.values() if row.found and row.trial == one.trial
            ]
            more = f", and odd in {len(mine) - 1} more metrics" if len(mine) > 1 else ""
            lines.append(
                f"Trial {one.trial} is the odd one: {percent(one.deviation)} in"
                f" {one.metric} against the mean of the others{more}."
            )
        drifting = [row for row in self.drifts.values() if row.found]
        if drifting:
            chief = max(drifting, key=lambda row: abs(row.relative))
            more = (
                f"; {len(drifting) - 1} more metrics drift" if len(drifting) > 1 else ""
            )
            lines.append(f"{chief.sentence}{more}.")
        return tuple(lines)


def drifts(results: Results) -> Drifts:
    """Test the metrics of a session that its trials are to repeat, that have an
    uncertainty and that stand in the main table.
    """
    valid = {trial.number for trial in results.trials if trial.valid}
    tested = {}
    for name, metric in results.metrics.items():
        if _tested(metric) and metric.value:
            tested[name] = metric
    odd: dict[str, OddTrial] = {}
    slopes: dict[str, Drift] = {}
    for name, metric in tested.items():
        numbers = []
        values = []
        for single in metric.per_trial:
            if single.trial in valid and single.value is not None:
                numbers.append(single.trial)
                values.append(single.value)
        noise = noise_of(metric)
        one = odd_one(values, noise)
        if one is not None:
            away = deviation(values[one.place], one.others, metric.deviation)
            chance = min(one.chance * len(tested), 1.0)
            odd[name] = OddTrial(numbers[one.place], name, away, one.distance, chance)
        line = trend([float(number) for number in numbers], values, noise)
        # Trials that took turns are in no order of time.
        if line is not None and not results.provenance.interleaved:
            size = abs(metric.value or math.nan)
            chance = min(line.chance * len(tested), 1.0)
            slopes[name] = Drift(
                metric=name,
                line=line,
                relative=line.slope / size,
                low=line.low / size,
                high=line.high / size,
                chance=chance,
            )
    return Drifts(tuple(tested), odd, slopes, _pointed(odd.values(), tested))


def noise_of(metric: MetricResult) -> float:
    """Return the standard deviation that the instrument's noise alone gives one trial,
    from the budget of the mean.

    It sums the lines that the scatter of trials contains; where the scatter is too
    small to count, all that are normally distributed.
    """
    scattered = any(
        part.component == SCATTER and part.counted for part in metric.budget
    )
    mine = []
    for part in metric.budget:
        is_noise = not part.counted if scattered else part.shape == "normal"
        if is_noise and part.component != SCATTER:
            mine.append(part.standard_uncertainty)
    return math.hypot(*mine) * math.sqrt(len(metric.per_trial))


def percent(share: float, signed: bool = True) -> str:
    """Return a deviation as "+7.0 %", with two digits or more, or its size without a
    sign; "0 %" below 5 ppm.
    """
    if not math.isfinite(share):
        return "-"
    if abs(share) < SILENT:
        return "0 %"
    size = abs(share) * 100
    decimals = 0 if size >= 10 else 1 if size >= 1 else 2 if size >= 0.1 else 3
    sign = "−" if share < 0 else "+"
    return f"{sign if signed else ''}{size:.{decimals}f} %"


def _tested(metric: MetricResult) -> bool:
    if metric.repeatability is not Repeatability.REPEATED or not metric.budget:
        return False
    is_detail = metric.prominence is Prominence.DETAIL
    return not is_detail and metric.statistic is not Statistic.SHARE


def _pointed(
    odd: Iterable[OddTrial], metrics: dict[str, MetricResult]
) -> OddTrial | None:
    """Return the trial with the least chance, shown by the most prominent metric that
    it is odd in, of several the one that it is farthest off in.
    """
    found = [one for one in odd if one.found]
    if not found:
        return None
    trial = min(found, key=lambda one: one.chance).trial
    mine = [one for one in found if one.trial == trial]

    def preference(one: OddTrial) -> tuple[int, float]:
        return _ORDER.index(metrics[one.metric].prominence), -abs(one.deviation)

    return min(mine, key=preference)
