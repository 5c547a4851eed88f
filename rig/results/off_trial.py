# SPDX-License-Identifier: Apache-2.0
"""The one trial that makes a verdict fail, where there is one. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rig.results.document import MetricResult, Results
from rig.results.replication import LIMIT, deviation
from rig.stats.summary import mean
from rig.units import share

#: So many metrics are named.
_NAMED = 3
#: Deviations are stored in decimal digits.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class OffTrial:
    """The number of a trial that deviates while the others agree; its deviation from
    the mean of all trials by metric, which the rule limits, the largest first; and the
    largest deviation of the others from their own mean.
    """

    number: int
    others: int
    away: dict[str, float]
    rest: float

    @property
    def lines(self) -> list[str]:
        """Its description in two lines."""
        named = [
            f"{name} {100 * self.away[name]:+.1f} %"
            for name in list(self.away)[:_NAMED]
        ]
        left = len(self.away) - len(named)
        more = f" and {left} more" if left else ""
        return [
            (
                f"trial {self.number} is off the mean: {', '.join(named)}{more}  (limit"
                f" {100 * LIMIT:.0f} %)"
            ),
            f"the other {self.others} agree within {share(self.rest)}",
        ]


def find(results: Results) -> OffTrial | None:
    """Find the one trial that is the farthest from the mean in every metric that fails,
    and without which each of these is within the limit; None where there is none, or a
    claim was tested.
    """
    if results.audit is not None:
        return None
    verdicts = results.replication.per_metric
    failed = {name: row for name, row in verdicts.items() if not row.ok}
    for trial in results.trials:
        away = {}
        rest = 0.0
        for name, row in failed.items():
            metric = results.metrics[name]
            own, others = _apart(metric, trial.number)
            if own is None or len(others) < 2:
                return None
            off = deviation(own, row.mean, metric.deviation)
            if not math.isclose(off, row.deviation, rel_tol=_ROUNDING):
                break
            away[name] = off
            middle = mean(others)
            for each in others:
                rest = max(rest, abs(deviation(each, middle, metric.deviation)))
        if failed and len(away) == len(failed) and rest <= LIMIT:
            order = sorted(away, key=lambda name: -abs(away[name]))
            ordered = {name: away[name] for name in order}
            return OffTrial(trial.number, len(results.trials) - 1, ordered, rest)
    return None


def _apart(metric: MetricResult, number: int) -> tuple[float | None, list[float]]:
    """Separate the value of one trial from those of the others."""
    own = next((one.value for one in metric.per_trial if one.trial == number), None)
    others = [
        one.value
        for one in metric.per_trial
        if one.trial != number and one.value is not None
    ]
    return own, others
