# SPDX-License-Identifier: Apache-2.0
"""Distance of a cost from its target. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from rig.errors import DataError
from rig.model.scores import Costs

#: The two targets, as parts of a metric's name: the result of the benchmark is that to
#: the official one.
OFFICIAL, BEST_KNOWN = KINDS = ("", "best_known")


@dataclass(frozen=True, slots=True)
class CostGap:
    """A cost against its target: `gap` with the sign that the rules intend, `printed`
    by their formula.

    "If the SUT beats the BKS the gap will be negative", says QUBO.md below its formula
    (c - c_target) / c_target. As costs are negative, the formula is positive for a
    better cost. The intended formula is (c - c_target) / |c_target|. Against a target
    of 0, both are 0 where it is met and None otherwise.
    """

    cost: int
    target: int

    @property
    def gap(self) -> float | None:
        """Return (c - c_target) / |c_target|: negative where the target is beaten."""
        if self.target == 0:
            return 0.0 if self.cost == 0 else None
        return (self.cost - self.target) / abs(self.target)

    @property
    def printed(self) -> float | None:
        """Return (c - c_target) / c_target, the literal formula, whose sign is the
        other one for negative targets.
        """
        if self.target == 0:
            return 0.0 if self.cost == 0 else None
        # Adding 0 makes -0 0.
        return (self.cost - self.target) / self.target + 0.0

    @property
    def beaten(self) -> bool:
        """Whether the cost is below the target: a better solution than any
        known, not an error.
        """
        return self.cost < self.target


def target_of(costs: Costs, kind: str) -> int | None:
    """Return the target of a kind, None where there is none."""
    return costs.best_known if kind == BEST_KNOWN else costs.official


def threshold_cost(target: int, gap: float) -> int:
    """Return the highest integer cost whose gap to a negative `target` is at most
    `gap`: where a threshold of the rules lies.
    """
    if target > 0 or gap < 0:
        raise DataError(
            "a threshold needs a target of 0 or less and a gap of 0 or more, not"
            f" {target} and {gap}"
        )
    # Integers, as 0.1 * 10 may be a little less than 1: thresholds are stated to six
    # decimals.
    return target + round(gap * 1_000_000) * -target // 1_000_000
