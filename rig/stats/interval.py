# SPDX-License-Identifier: Apache-2.0
"""The 95 % interval of a metric: its ends and its method, or the reason why there is
none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % interval, in the metric's unit.

    `low` may be -inf and `high` inf if the data give no bound on that side; both are
    NaN if no interval is stated, with the `reason`. `method` names the method and its
    source, `units` the independent units ("12 recordings"). A symmetric interval has a
    `standard_uncertainty` and the `coverage_factor` that multiplies it; others have
    None, or the standard uncertainty alone with its `degrees_of_freedom`.
    """

    low: float
    high: float
    method: str
    units: str = ""
    reason: str = ""
    standard_uncertainty: float | None = None
    coverage_factor: float | None = None
    degrees_of_freedom: float | None = None

    @classmethod
    def missing(cls, reason: str, method: str = "") -> Interval:
        """Make the statement that there is no interval, with the reason."""
        return cls(math.nan, math.nan, method, reason=reason)

    @classmethod
    def around(
        cls,
        value: float,
        standard_uncertainty: float,
        coverage_factor: float,
        method: str,
        units: str = "",
    ) -> Interval:
        """Make the symmetric interval of a value."""
        half = coverage_factor * standard_uncertainty
        return cls(
            low=value - half,
            high=value + half,
            method=method,
            units=units,
            standard_uncertainty=standard_uncertainty,
            coverage_factor=coverage_factor,
        )

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    @property
    def expanded_uncertainty(self) -> float | None:
        """Half-width of a symmetric interval, else None."""
        if self.standard_uncertainty is None or self.coverage_factor is None:
            return None
        return self.coverage_factor * self.standard_uncertainty


@dataclass(frozen=True, slots=True)
class Intervals:
    """The two intervals of a metric, which answer two questions.

    `same_samples`: where would the value lie if the same samples were measured again?
    `other_samples`: where would it lie for other samples of this kind (other
    recordings, other workloads), measured in the same way?
    """

    same_samples: Interval
    other_samples: Interval
