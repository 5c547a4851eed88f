# SPDX-License-Identifier: Apache-2.0
"""A verdict: the outcome of a rule, and its scope: the metrics that it is about, and
the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Outcome(StrEnum):
    """Outcomes of a rule; in tables and texts in capitals."""

    PASS = "pass"
    FAIL = "fail"
    #: The rule could not be applied: too few trials, or no metric that it can test.
    NOT_TESTED = "not tested"
    #: A trial is no measurement: no rule applies.
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class MetricVerdict:
    """The verdict of one metric: deviation and limit are relative; `ok` is deviation <=
    limit."""

    claimed: float
    mean: float
    deviation: float
    limit: float
    ok: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnVerdict:
    """The verdict of a claimed metric that scatters by chance: a one-sided statistical
    test.

    `chance` is the probability of a measurement at least as much worse than the claim,
    if the claim is right; `limit` is the probability below which the claim is refused.
    `noticeable` is the factor by which a claim must be too good to be refused in 80 %
    of sessions; None where no factor describes it. `assumed` names an assumption made
    where the claim is silent.
    """

    claimed: float
    claimed_u: float | None
    mean: float
    u: float | None
    deviation: float
    chance: float
    limit: float
    noticeable: float | None
    assumed: str
    ok: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one rule, and its scope.

    `per_metric` are the metrics that the rule compares, `drawn` those that a
    statistical test compares, `not_tested` all others, each with the reason. `reason`
    names the first failure, or why the rule was not applied.
    """

    outcome: Outcome
    rule: str
    trials: int
    per_metric: dict[str, MetricVerdict]
    reason: str = ""
    drawn: dict[str, DrawnVerdict] = field(default_factory=dict)
    not_tested: dict[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether the rule was applied and holds."""
        return self.outcome is Outcome.PASS


#: Units, and what their metrics are called in the scope of a verdict.
_NOUNS = {
    "J": ("energy", "energies"),
    "W": ("power", "powers"),
    "C": ("charge", "charges"),
    "s": ("time", "times"),
    "1/s": ("rate", "rates"),
    "s/s": ("share of time", "shares of time"),
    "1": ("share", "shares"),
}
#: Their order in lists.
_ORDER = list(_NOUNS)


def scope(verdict: Verdict, units: Mapping[str, str]) -> str:
    """Summarise the scope in one sentence: "18 powers; 188 metrics not tested"."""
    tested = covered((*verdict.per_metric, *verdict.drawn), units)
    return "; ".join(filter(None, (tested, left_out(verdict.not_tested))))


def covered(names: Iterable[str], units: Mapping[str, str]) -> str:
    """Count metrics by unit: "18 powers, 2 times"."""
    counts: dict[str, int] = {}
    for name in names:
        unit = units.get(name, "")
        counts[unit] = counts.get(unit, 0) + 1
    known = sorted(counts, key=lambda unit: (unit not in _NOUNS, _place(unit), unit))
    return ", ".join(_counted(counts[unit], unit) for unit in known)


def left_out(not_tested: Mapping[str, str]) -> str:
    """Count the metrics that no rule is about; empty where there are none."""
    count = len(not_tested)
    return f"{count} metric{'s' * (count != 1)} not tested" if count else ""


def _place(unit: str) -> int:
    return _ORDER.index(unit) if unit in _NOUNS else len(_ORDER)


def _counted(count: int, unit: str) -> str:
    one, several = _NOUNS.get(unit, ("metric", "metrics"))
    return f"{count} {one if count == 1 else several}"


def reasons(not_tested: Mapping[str, str]) -> dict[str, list[str]]:
    """Group the metrics that were not tested by reason, the most frequent reason
    first.
    """
    found: dict[str, list[str]] = {}
    for name, reason in not_tested.items():
        found.setdefault(reason, []).append(name)
    ordered = sorted(found.items(), key=lambda pair: -len(pair[1]))
    return dict(ordered)
