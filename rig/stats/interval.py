# SPDX-License-Identifier: Apache-2.0
"""The 95 % interval of a metric: its ends, the method behind it, and why it is missing
where it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % interval, in the metric's unit.

    `low` may be -inf and `high` inf where the data give no bound on that side; both are
    NaN where no interval is stated, and then `reason` says why. `method` names the
    method with its source, `units` what counts as independent ("12 recordings"). An
    interval that is a value and as much to both sides has a `standard_uncertainty` and
    the `coverage_factor` by which that is multiplied; others have None, or the standard
    uncertainty alone with its `degrees_of_freedom`.
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
        """Return the statement that there is no interval, and why."""
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
        """Return the interval of a value that is as wide to both sides."""
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
        """Return whether there is an interval."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    @property
    def expanded_uncertainty(self) -> float | None:
        """Return the half-width of an interval that is as wide to both sides, else
        None."""
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
