# SPDX-License-Identifier: Apache-2.0
"""The 95 % interval of a metric: its ends, the method behind it, and why it is missing where it is."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % interval, in the metric's unit.

    `low` may be -inf and `high` inf where the data give no bound on that side; both are NaN where no interval is stated, and
    then `reason` says why. `method` names the method with its source, `units` what counts as independent ("12 recordings").
    """

    low: float
    high: float
    method: str
    units: str = ""
    reason: str = ""

    @classmethod
    def missing(cls, reason: str, method: str = "") -> Interval:
        """Return the statement that there is no interval, and why."""
        return cls(math.nan, math.nan, method, reason=reason)

    @property
    def known(self) -> bool:
        """Say whether there is an interval."""
        return not (math.isnan(self.low) or math.isnan(self.high))


@dataclass(frozen=True, slots=True)
class Intervals:
    """The two intervals of a metric, which answer two questions.

    `same_samples`: where would the value lie if the same samples were measured again? `other_samples`: where would it lie for other
    samples of this kind (other recordings, other workloads), measured in the same way?
    """

    same_samples: Interval
    other_samples: Interval
