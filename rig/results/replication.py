# SPDX-License-Identifier: Apache-2.0
"""The five-trial rule and the audit rule: pure functions of numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from rig.model.metric import Deviation
from rig.results.verdict import DrawnVerdict, MetricVerdict, Outcome, Verdict
from rig.stats.summary import mean

#: NeuroBench rules.md: "average over 5 trials".
TRIALS = 5
#: NeuroBench rules.md: results must be "within 5 % of the reported results".
LIMIT = 0.05
#: 1.05 against 1 is within 5 %, although 1.05 - 1 is a little more than 0.05 in binary
#: floating point.
_ROUNDING = 1e-12
#: NeuroBench rules.md, audit: the auditor tries at most so many times.
AUDIT_TRIALS = 5
#: NeuroBench rules.md, audit: "within 95 % of the claimed results".
AUDIT_SHARE = 0.95

#: Names of the rules, as results.json has them.
REPLICATION = "replication-5-percent"
SELF_CONSISTENCY = "self-consistency-5-percent"
AUDIT = "audit-95-percent"
REPLACEMENT = "replacement-5-percent"

RULES = {
    REPLICATION: (
        "the average over exactly 5 trials is within 5 % of the reported result: |mean"
        " - claimed| / |claimed| <= 0.05"
    ),
    SELF_CONSISTENCY: (
        "no result was claimed: each of 5 or more trials is within 5 % of their mean,"
        " |trial - mean| / |mean| <= 0.05; stricter than the replication rule, which"
        " looks at the mean only"
    ),
    AUDIT: (
        "the average over 1 to 5 trials is within 95 % of the claimed result, in the"
        " direction that matters: where higher is better >= 0.95 claimed, where lower"
        " is better <= claimed / 0.95; of a gap, the cost; within 5 % to both sides"
        " where a metric states no direction"
    ),
    REPLACEMENT: (
        "after an audit that failed, a replacement of the claim is at most 5 % better"
        " than the auditor's result, the average over 1 to 5 trials: where higher is"
        " better <= 1.05 of it, where lower is better >= 0.95 of it; of a gap, the"
        " cost; within 5 % to both sides where a metric states no direction"
    ),
}

#: A claimed metric that random searches scatter is compared by a statistical test in
#: all rules, as the 5 % would refuse every honest claim of it.
DRAWN_RULE = (
    "a metric that random searches scatter is refused where the claim is better than"
    " the measured value by more than both uncertainties explain: one-sided Student's t"
    " of the logarithm of the ratio, with the uncertainty and the degrees of freedom of"
    " both sides, at 5 % over all such metrics together (Holm 1979); shares of searches"
    " by Fisher's exact test"
)

#: How many trials each rule is about, the least and the most; ours, without a claim,
#: grows stricter with each.
COUNTS: dict[str, tuple[int, float]] = {
    REPLICATION: (TRIALS, TRIALS),
    SELF_CONSISTENCY: (TRIALS, math.inf),
    AUDIT: (1, AUDIT_TRIALS),
    REPLACEMENT: (1, AUDIT_TRIALS),
}

#: The rules do not say what 5 % means for accuracy, for a gap near zero, or for a claim
#: of zero, nor what more than five trials mean. Our policy, in every report:
POLICY = (
    "Accuracy is compared relatively, like every other metric (5 % of 0.80 are 4"
    " points). A gap that each trial repeats is compared by the cost it stands for (5 %"
    " of the cost), as it may be 0. Another claimed value of 0 is met only by a mean of"
    " exactly 0. Of more than 5 trials a claim holds by neither rule, as nothing may be"
    " chosen out of them: claim and audit on 5."
)


def outcome_of(ok: bool, rule: str, trials: int) -> Outcome:
    """Derive the outcome of a verdict that states only whether it holds."""
    if ok:
        return Outcome.PASS
    least, most = COUNTS.get(rule, (0, math.inf))
    return Outcome.FAIL if least <= trials <= most else Outcome.NOT_TESTED


def relative(value: float, reference: float) -> float:
    """Compute (value - reference) / |reference|; 0 when both are 0, infinite when only
    the reference is.
    """
    if reference == 0.0:
        return 0.0 if value == 0.0 else math.copysign(math.inf, value)
    return (value - reference) / abs(reference)


def deviation(
    value: float, reference: float, how: Deviation = Deviation.RELATIVE
) -> float:
    """Compute the relative distance of a value from a reference; of a gap, that of the
    costs.
    """
    if how is Deviation.COST:
        return relative(1.0 - value, 1.0 - reference)
    return relative(value, reference)


def band(reference: float, how: Deviation = Deviation.RELATIVE) -> tuple[float, float]:
    """Compute the limits between which a mean is within 5 % of a reference."""
    half = LIMIT * abs(1.0 - reference if how is Deviation.COST else reference)
    return reference - half, reference + half


def passing(
    claimed: float, higher_is_better: bool | None, how: Deviation = Deviation.RELATIVE
) -> tuple[float, float]:
    """Compute the least and the greatest mean with which a claim passes its audit;
    where the direction is known one end is infinite.
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
    drawn: Mapping[str, DrawnVerdict] | None = None,
) -> Verdict:
    """Apply the 5 % rule to the means of `trials` (metric -> value each). `deviations`
    are the measures of distance, relative by default; `drawn` are the claimed metrics
    that a statistical test has compared.
    """
    how = deviations or {}
    averages = _averages(claimed, trials)
    rows = {}
    for name, average in averages.items():
        rows[name] = _two_sided(claimed[name], [average], how.get(name))
    return _verdict(
        REPLICATION, claimed, rows, trials=len(trials), invalid=invalid, drawn=drawn
    )


def self_consistency_check(
    trials: Sequence[Mapping[str, float]],
    invalid: int = 0,
    deviations: Mapping[str, Deviation] | None = None,
) -> Verdict:
    """Apply the 5 % rule to each of `trials` about their mean."""
    how = deviations or {}
    names = list(trials[0]) if trials else []
    rows: dict[str, MetricVerdict] = {}
    for name in names:
        values = [trial[name] for trial in trials]
        rows[name] = _two_sided(mean(values), values, how.get(name))
    return _verdict(
        SELF_CONSISTENCY,
        dict.fromkeys(names, 0.0),
        rows,
        trials=len(trials),
        invalid=invalid,
    )


def one_sided_check(
    rule: str,
    claimed: Mapping[str, float],
    trials: Sequence[Mapping[str, float]],
    invalid: int = 0,
    *,
    higher_is_better: Mapping[str, bool | None] | None = None,
    deviations: Mapping[str, Deviation] | None = None,
    drawn: Mapping[str, DrawnVerdict] | None = None,
) -> Verdict:
    """Apply a one-sided rule to the means of `trials`: AUDIT, by which they are within
    95 % of the claim, or REPLACEMENT, by which a replaced claim is at most 5 % better
    than the auditor's `trials`. Both are two-sided where a metric states no direction.
    """
    directions = higher_is_better or {}
    how = deviations or {}
    rows = {}
    for name, average in _averages(claimed, trials).items():
        higher = directions.get(name)
        deviation = how.get(name, Deviation.RELATIVE)
        rows[name] = _one_sided(rule, claimed[name], average, higher, deviation)
    return _verdict(
        rule, claimed, rows, trials=len(trials), invalid=invalid, drawn=drawn
    )


def _averages(
    names: Iterable[str], trials: Sequence[Mapping[str, float]]
) -> dict[str, float]:
    """Compute the mean over trials of each metric that all of them have."""
    averages: dict[str, float] = {}
    for name in names:
        values = [trial[name] for trial in trials if name in trial]
        if values and len(values) == len(trials):
            averages[name] = mean(values)
    return averages


def _two_sided(
    reference: float, values: Sequence[float], how: Deviation | None = None
) -> MetricVerdict:
    kind = how or Deviation.RELATIVE
    all_away = [deviation(value, reference, kind) for value in values]
    away = max(all_away, key=lambda d: math.inf if math.isnan(d) else abs(d))
    within = abs(away) <= LIMIT + _ROUNDING
    return MetricVerdict(reference, mean(values), away, LIMIT, within)


def _one_sided(
    rule: str,
    claimed: float,
    average: float,
    higher_is_better: bool | None,
    how: Deviation,
) -> MetricVerdict:
    """Judge a mean by how much worse it is than the claim (AUDIT), or how much better
    the claim is than it (REPLACEMENT).
    """
    if rule == REPLACEMENT:
        away = deviation(claimed, average, how)
    else:
        away = deviation(average, claimed, how)
    if higher_is_better is None:
        ok = abs(away) <= LIMIT + _ROUNDING
        return MetricVerdict(claimed, average, away, LIMIT, ok)
    # 1 - gap is the share of the target cost that was reached: the less the gap, the
    # more of it.
    more_is_better = higher_is_better is not (how is Deviation.COST)
    if rule == REPLACEMENT:
        excess = away if more_is_better else -away
        limit = LIMIT
    elif more_is_better:
        excess = -away
        limit = 1 - AUDIT_SHARE
    else:
        excess = away
        limit = 1 / AUDIT_SHARE - 1
    return MetricVerdict(claimed, average, excess, limit, excess <= limit + _ROUNDING)


def _verdict(
    rule: str,
    claimed: Mapping[str, float],
    rows: dict[str, MetricVerdict],
    *,
    trials: int,
    invalid: int,
    drawn: Mapping[str, DrawnVerdict] | None = None,
) -> Verdict:
    tests = dict(drawn or {})
    outcome, reason = _not_applied(
        rule, trials, invalid, comparable=bool(claimed or tests)
    )
    if not reason:
        reason = _failed(claimed, rows, tests)
        outcome = Outcome.FAIL if reason else Outcome.PASS
    return Verdict(
        outcome=outcome,
        rule=rule,
        trials=trials,
        per_metric=rows,
        reason=reason,
        drawn=tests,
    )


def _not_applied(
    rule: str, trials: int, invalid: int, comparable: bool
) -> tuple[Outcome, str]:
    """Find why a rule cannot be applied, with its outcome then; no reason where it
    can.
    """
    least, most = COUNTS[rule]
    if invalid:
        return Outcome.INVALID, f"{invalid} of {trials} trials are invalid"
    if trials < least:
        plural = "s" if trials != 1 else ""
        return (
            Outcome.NOT_TESTED,
            f"{trials} trial{plural} of the {least} that the rule asks for",
        )
    if trials > most:
        return (
            Outcome.NOT_TESTED,
            (
                f"{trials} trials, more than the {most:.0f} of the rule: a choice among"
                " them is not allowed"
            ),
        )
    if not comparable:
        return Outcome.NOT_TESTED, "there is no metric that the rule can compare"
    return Outcome.PASS, ""


def _failed(
    claimed: Mapping[str, float],
    rows: Mapping[str, MetricVerdict],
    drawn: Mapping[str, DrawnVerdict],
) -> str:
    """Describe the first failure; empty where all metrics pass."""
    missing = [name for name in claimed if name not in rows]
    unknown = [name for name, row in rows.items() if not math.isfinite(row.mean)]
    failed = [name for name, row in rows.items() if not row.ok]
    refused = [name for name, row in drawn.items() if not row.ok]
    if missing:
        return f"claimed but not measured: {', '.join(missing)}"
    if unknown:
        return f"not measured in every trial: {', '.join(unknown)}"
    if failed:
        worst = max(failed, key=lambda name: abs(rows[name].deviation))
        more = f", and {len(failed) - 1} more metrics fail" if len(failed) > 1 else ""
        row = rows[worst]
        return f"{worst} deviates by {row.deviation:+.1%} (limit {row.limit:.1%}){more}"
    if refused:
        worst = min(refused, key=lambda name: drawn[name].chance)
        more = f", and {len(refused) - 1} more metrics fail" if len(refused) > 1 else ""
        test = drawn[worst]
        return (
            f"{worst} is claimed {factor(test)} better than measured: chance "
            f"{test.chance:.1g} (limit {test.limit:.1g}){more}"
        )
    return ""


def factor(test: DrawnVerdict) -> str:
    """Format the ratio of a claim to the measurement."""
    if test.claimed > 0 and test.mean > 0:
        times = max(test.mean / test.claimed, test.claimed / test.mean)
        return f"{times:.3g} times"
    return f"by {abs(test.mean - test.claimed):.3g}"
