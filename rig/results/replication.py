# SPDX-License-Identifier: Apache-2.0
"""The five-trial rule and the audit rule: pure functions of numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rig.model.metric import Deviation
from rig.stats.summary import mean

#: NeuroBench rules.md: "average over 5 trials".
TRIALS = 5
#: NeuroBench rules.md: results must be "within 5 % of the reported results".
LIMIT = 0.05
#: 1.05 against 1 is within 5 %, although 1.05 - 1 is a little more than 0.05 in binary floating
#: point.
_ROUNDING = 1e-12
#: NeuroBench rules.md, audit: the auditor tries at most so many times.
AUDIT_TRIALS = 5
#: NeuroBench rules.md, audit: "within 95 % of the claimed results".
AUDIT_SHARE = 0.95

RULES = {
    "replication-5-percent": (
        "the average over exactly 5 trials is within 5 % of the reported result: |mean - claimed| "
        "/ |claimed| <= 0.05"
    ),
    "self-consistency-5-percent": (
        "no result was claimed: each of 5 or more trials is within 5 % of their mean, |trial - "
        "mean| / |mean| <= 0.05; "
        "stricter than the replication rule, which looks at the mean only"
    ),
    "audit-95-percent": (
        "the average over 1 to 5 trials is within 95 % of the claimed result, in the direction "
        "that matters: where higher is "
        "better >= 0.95 claimed, where lower is better <= claimed / 0.95; of a gap, the cost; "
        "within 5 % to both sides where a "
        "metric states no direction"
    ),
}

#: How many trials each rule is about, the least and the most; ours, without a claim, grows stricter
#: with each.
COUNTS: dict[str, tuple[int, float]] = {
    "replication-5-percent": (TRIALS, TRIALS),
    "self-consistency-5-percent": (TRIALS, math.inf),
    "audit-95-percent": (1, AUDIT_TRIALS),
}

#: The rules do not say what 5 % means for accuracy, for a gap near zero, or for a claim of zero,
#: nor what more than five trials mean. Our policy, in every report:
POLICY = (
    "Accuracy is compared relatively, like every other metric (5 % of 0.80 are 4 points). "
    "A gap is compared by the cost it stands for (5 % of the cost), as it may be 0. "
    "Another claimed value of 0 is met only by a mean of exactly 0. "
    "Of more than 5 trials a claim holds by neither rule, as nothing may be chosen out of them: "
    "claim and audit on 5."
)


@dataclass(frozen=True, slots=True)
class MetricVerdict:
    """The verdict of one metric: deviation and limit are relative; `ok` is deviation <= limit."""

    claimed: float
    mean: float
    deviation: float
    limit: float
    ok: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one rule over all its metrics; `reason` names the first thing that failed."""

    ok: bool
    rule: str
    trials: int
    per_metric: dict[str, MetricVerdict]
    reason: str = ""


def relative(value: float, reference: float) -> float:
    """Return (value - reference) / |reference|; 0 when both are 0, infinite when only the reference
    is.
    """
    if reference == 0.0:
        return 0.0 if value == 0.0 else math.copysign(math.inf, value)
    return (value - reference) / abs(reference)


def deviation(value: float, reference: float, how: Deviation = Deviation.RELATIVE) -> float:
    """Return how far a value lies from a reference, relatively; of a gap, how far the costs lie
    apart.
    """
    if how is Deviation.COST:
        return relative(1.0 - value, 1.0 - reference)
    return relative(value, reference)


def band(reference: float, how: Deviation = Deviation.RELATIVE) -> tuple[float, float]:
    """Return the values between which a mean is within 5 % of a reference."""
    half = LIMIT * abs(1.0 - reference if how is Deviation.COST else reference)
    return reference - half, reference + half


def passing(
    claimed: float, higher_is_better: bool | None, how: Deviation = Deviation.RELATIVE
) -> tuple[float, float]:
    """Return the means with which a claim passes its audit, from the least to the greatest; where
    the direction is known one end is infinite.
    """
    if higher_is_better is None:
        return band(claimed, how)
    if how is Deviation.COST:
        reached = abs(1.0 - claimed)
        if higher_is_better:
            return claimed - (1 / AUDIT_SHARE - 1) * reached, math.inf
        return -math.inf, claimed + (1 - AUDIT_SHARE) * reached
    if higher_is_better:
        return claimed - (1 - AUDIT_SHARE) * abs(claimed), math.inf
    return -math.inf, claimed + (1 / AUDIT_SHARE - 1) * abs(claimed)


def replication_check(
    claimed: Mapping[str, float],
    trials: Sequence[Mapping[str, float]],
    invalid: int = 0,
    deviations: Mapping[str, Deviation] | None = None,
) -> Verdict:
    """Apply the 5 % rule to the means of `trials` (metric -> value each); without a claim, to each
    trial about their mean. `deviations` says of which metrics they are not relative.
    """
    how = deviations or {}
    if claimed:
        rows = {
            name: _two_sided(value, [mean([trial[name] for trial in trials])], how.get(name))
            for name, value in claimed.items()
            if _all(trials, name)
        }
        return _verdict("replication-5-percent", claimed, rows, len(trials), invalid)
    names = list(trials[0]) if trials else []
    columns = {name: [trial[name] for trial in trials] for name in names}
    rows = {name: _two_sided(mean(own), own, how.get(name)) for name, own in columns.items()}
    return _verdict(
        "self-consistency-5-percent", dict.fromkeys(names, 0.0), rows, len(trials), invalid
    )


def audit_check(
    claimed: Mapping[str, float],
    trials: Sequence[Mapping[str, float]],
    invalid: int = 0,
    higher_is_better: Mapping[str, bool | None] | None = None,
    deviations: Mapping[str, Deviation] | None = None,
) -> Verdict:
    """Apply the audit's one-sided 95 % rule to the means of `trials`; two-sided where a metric
    states no direction.
    """
    directions = higher_is_better or {}
    how = deviations or {}
    rows = {
        name: _one_sided(
            value, mean([trial[name] for trial in trials]), directions.get(name), how.get(name)
        )
        for name, value in claimed.items()
        if _all(trials, name)
    }
    return _verdict("audit-95-percent", claimed, rows, len(trials), invalid)


def _all(trials: Sequence[Mapping[str, float]], name: str) -> bool:
    return bool(trials) and all(name in trial for trial in trials)


def _two_sided(
    reference: float, values: Sequence[float], how: Deviation | None = None
) -> MetricVerdict:
    away = max(
        (deviation(value, reference, how or Deviation.RELATIVE) for value in values),
        key=lambda d: math.inf if math.isnan(d) else abs(d),
    )
    return MetricVerdict(reference, mean(values), away, LIMIT, abs(away) <= LIMIT + _ROUNDING)


def _one_sided(
    claimed: float, average: float, higher_is_better: bool | None, how: Deviation | None = None
) -> MetricVerdict:
    if higher_is_better is None:
        return _two_sided(claimed, [average], how)
    away = deviation(average, claimed, how or Deviation.RELATIVE)
    # 1 - gap is the share of the target cost that was reached: the less the gap, the more of it.
    if higher_is_better is not (how is Deviation.COST):
        worse = -away
        limit = 1 - AUDIT_SHARE
    else:
        worse = away
        limit = 1 / AUDIT_SHARE - 1
    return MetricVerdict(claimed, average, worse, limit, worse <= limit + _ROUNDING)


def _verdict(
    rule: str,
    claimed: Mapping[str, float],
    rows: dict[str, MetricVerdict],
    trials: int,
    invalid: int,
) -> Verdict:
    reason, (least, most) = "", COUNTS[rule]
    missing = [name for name in claimed if name not in rows]
    unknown = [name for name, row in rows.items() if not math.isfinite(row.mean)]
    failed = [name for name, row in rows.items() if not row.ok]
    if invalid:
        reason = f"{invalid} of {trials} trials are invalid"
    elif trials < least:
        reason = f"{trials} trials of the {least} that the rule asks for"
    elif trials > most:
        reason = (
            f"{trials} trials, more than the {most:.0f} of the rule: nothing may be "
            "chosen out of them"
        )
    elif missing:
        reason = f"claimed but not measured: {', '.join(missing)}"
    elif not rows:
        reason = "nothing to compare"
    elif unknown:
        reason = f"not measured in every trial: {', '.join(unknown)}"
    elif failed:
        worst = max(failed, key=lambda name: abs(rows[name].deviation))
        reason = f"{worst} deviates by {rows[worst].deviation:+.1%} (limit {rows[worst].limit:.1%})"
    return Verdict(not reason, rule, trials, rows, reason)
