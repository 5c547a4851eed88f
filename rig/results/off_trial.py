# SPDX-License-Identifier: Apache-2.0
"""The one trial that makes a verdict fail, where there is one. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rig.model.metric import Prominence
from rig.results.document import MetricResult, Results
from rig.results.replication import LIMIT, deviation
from rig.stats.summary import mean
from rig.units import share

#: So many metrics are named.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class OffTrial:
    """The number of a trial that deviates while the others agree; its deviation from
    the others' mean by metric, headlines and the farthest first, and the largest
    deviation among the others.
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
                f"trial {self.number} is off: {', '.join(named)}{more}  (limit"
                f" {100 * LIMIT:.0f} %)"
            ),
            f"the other {self.others} agree within {share(self.rest)}",
        ]


def find(results: Results) -> OffTrial | None:
    """Find the one trial without which every metric that fails is within the limit;
    None where there is none, or a claim was tested.
    """
    if results.audit is not None:
        return None
    verdicts = results.replication.per_metric
    failed = {
        name: results.metrics[name] for name, row in verdicts.items() if not row.ok
    }
    for trial in results.trials:
        away = {}
        rest = 0.0
        for name, metric in failed.items():
            own, others = _apart(metric, trial.number)
            if own is None or len(others) < 2:
                return None
            middle = mean(others)
            rest = max(
                rest, *(abs(deviation(one, middle, metric.deviation)) for one in others)
            )
            away[name] = deviation(own, middle, metric.deviation)
        if failed and rest <= LIMIT and all(map(math.isfinite, away.values())):
            order = sorted(
                away, key=lambda name: (_place(failed[name]), -abs(away[name]))
            )
            ordered = {name: away[name] for name in order}
            return OffTrial(trial.number, len(results.trials) - 1, ordered, rest)
    return None


def _place(metric: MetricResult) -> int:
    return list(Prominence).index(metric.prominence)


def _apart(metric: MetricResult, number: int) -> tuple[float | None, list[float]]:
    """Separate the value of one trial from those of the others."""
    own = next((one.value for one in metric.per_trial if one.trial == number), None)
    others = [
        one.value
        for one in metric.per_trial
        if one.trial != number and one.value is not None
    ]
    return own, others
