# SPDX-License-Identifier: Apache-2.0
"""The verdicts of a session: the metrics that a rule compares, and the reasons why
others are left out.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rig.files import typed
from rig.model.metric import Repeatability, Statistic
from rig.results import replication
from rig.results.document import IntervalResult, MetricResult
from rig.results.verdict import DrawnVerdict, Verdict
from rig.stats import claimed_value
from rig.stats.claimed_value import Spread, Tested


@dataclass(frozen=True, slots=True)
class WhyNotTested:
    """Why the trials of a metric are not compared with each other: the reason, and its
    consequence.
    """

    reason: str
    consequence: str

    @property
    def text(self) -> str:
        """Both, as results.json has them."""
        return f"{self.reason}: {self.consequence}"


SEARCHES = WhyNotTested(
    "random searches make the scatter", "only a claim can be tested"
)
FEW_VALUES = WhyNotTested(
    "one or a few of many values decide", "trials agree by chance only"
)
NOT_CLAIMED = "it is not claimed"
NO_SCATTER = "its scatter is not known"
#: A claim so many times too good that would not be noticed says that the test has no
#: power.
FARTHEST = 10.0
_TOO_WIDE = f"a claim that is {FARTHEST:.0f} times too good would not be noticed"
_OWN_SCATTER = (
    "the claim states no uncertainty: that of the measurement is taken for it"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedMetric:
    """The claimed value of a metric, and its scatter as far as the claim states it.

    `same` is its spread if the same samples are measured again, `other` that for other
    samples; None where the claim does not state it. `count` is the number of single
    values of a share. `exact`: the value is proven and has no scatter.
    """

    value: float
    same: Spread | None = None
    other: Spread | None = None
    count: int | None = None
    exact: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """The subject of the rules: the metrics of all trials, the number of trials and of
    invalid ones.

    `outside` are metrics that no rule is about, each with the reason.
    """

    metrics: Mapping[str, MetricResult]
    trials: int
    invalid: int = 0
    outside: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The verdicts on a claim by all rules; `replacement` matters after an audit that
    failed."""

    replication: Verdict
    audit: Verdict
    replacement: Verdict

    @property
    def by_rule(self) -> dict[str, Verdict]:
        """The verdicts that a claim must pass, by the names of the rules."""
        return {"replication": self.replication, "audit": self.audit}


def of_trials(measured: Measurement) -> Verdict:
    """Judge whether the trials of a session agree with each other."""
    left_out = dict(measured.outside)
    for name, metric in measured.metrics.items():
        if name not in left_out and metric.repeatability is not Repeatability.REPEATED:
            left_out[name] = _reason(metric.repeatability)
    names = [name for name in measured.metrics if name not in left_out]
    trials = _values(measured, names)
    found = replication.self_consistency_check(
        trials,
        measured.invalid,
        {name: measured.metrics[name].deviation for name in names},
    )
    return dataclasses.replace(found, not_tested=_in_order(measured, left_out))


def of_claim(
    claimed: Mapping[str, ClaimedMetric],
    measured: Measurement,
    same_samples: bool = True,
) -> Verdicts:
    """Judge a claim; `same_samples`: it is of the samples that were measured."""
    left_out = {}
    for name in measured.metrics:
        if name not in claimed or name in measured.outside:
            left_out[name] = measured.outside.get(name, NOT_CLAIMED)
    values: dict[str, float] = {}
    tests: dict[str, _Test] = {}
    for name, one in claimed.items():
        if name in left_out:
            continue
        metric = measured.metrics.get(name)
        if metric is None or metric.repeatability is not Repeatability.DRAWN:
            values[name] = one.value
            continue
        test = _test(one, metric, same_samples)
        if isinstance(test, str):
            left_out[name] = test
        else:
            tests[name] = test
    drawn = _drawn(tests)
    trials = _values(measured, measured.metrics)
    directions = {name: one.higher_is_better for name, one in measured.metrics.items()}
    how = {name: one.deviation for name, one in measured.metrics.items()}
    invalid = measured.invalid
    replicated = replication.replication_check(values, trials, invalid, how, drawn)

    def one_sided(rule: str) -> Verdict:
        return replication.one_sided_check(
            rule,
            values,
            trials,
            invalid,
            higher_is_better=directions,
            deviations=how,
            drawn=drawn,
        )

    audited = one_sided(replication.AUDIT)
    replaced = one_sided(replication.REPLACEMENT)
    not_tested = _in_order(measured, left_out)
    audit = dataclasses.replace(audited, not_tested=not_tested)
    return Verdicts(
        dataclasses.replace(replicated, not_tested=not_tested),
        audit,
        dataclasses.replace(replaced, not_tested=not_tested),
    )


def spread(value: float, interval: IntervalResult) -> Spread | None:
    """Convert the interval of a value to its spread; None where it is not made of a
    standard uncertainty.
    """
    u = interval.standard_uncertainty
    if u is None or not u > 0:
        return None
    if interval.degrees_of_freedom is not None:
        return Spread(value, u, interval.degrees_of_freedom)
    if interval.coverage_factor is not None:
        return Spread(value, u, claimed_value.freedom_of(interval.coverage_factor))
    return None


@dataclass(frozen=True, slots=True)
class _Test:
    """A test of one claimed metric, before the common level of all tests is known."""

    claimed: ClaimedMetric
    claimed_u: float | None
    mean: float
    u: float | None
    tested: Tested
    assumed: str


def _test(
    claimed: ClaimedMetric, metric: MetricResult, same_samples: bool
) -> _Test | str:
    """Test a claimed metric that scatters, or return the reason why it cannot be
    tested.
    """
    value = metric.value
    if value is None or not math.isfinite(value):
        return "it was not measured in every trial"
    if metric.statistic is Statistic.SHARE:
        return _test_of_counts(claimed, metric, value)
    interval = metric.same_samples if same_samples else metric.other_samples
    ours = spread(value, interval)
    if ours is None:
        return f"{NO_SCATTER}: {interval.reason}" if interval.reason else NO_SCATTER
    theirs = claimed.same if same_samples else claimed.other
    assumed = ""
    if claimed.exact:
        theirs = Spread(claimed.value, 0.0, ours.freedom)
    elif theirs is None:
        assumed = _OWN_SCATTER
        share = abs(claimed.value / value) if value else 1.0
        theirs = Spread(claimed.value, ours.u * share, ours.freedom)
    bounded = metric.statistic is Statistic.AREA
    compare = claimed_value.compare_bounded if bounded else claimed_value.compare
    tested = compare(ours, theirs, metric.higher_is_better)
    power = tested.noticeable(claimed_value.ALPHA)
    if power is not None and power > FARTHEST:
        return _TOO_WIDE
    return _Test(
        claimed=claimed,
        claimed_u=theirs.u,
        mean=value,
        u=ours.u,
        tested=tested,
        assumed=assumed,
    )


def _test_of_counts(
    claimed: ClaimedMetric, metric: MetricResult, value: float
) -> _Test | str:
    """Test a claimed share of searches."""
    n = sum(trial.n for trial in metric.per_trial)
    if not n:
        return "it was not counted in any trial"
    claimed_n = claimed.count or n
    assumed = (
        ""
        if claimed.count
        else "the claim states no number: that of the measurement is"
    )
    measured = (round(value * n), n)
    tested = claimed_value.compare_counts(
        measured,
        (round(claimed.value * claimed_n), claimed_n),
        metric.higher_is_better,
    )
    return _Test(
        claimed=claimed,
        claimed_u=None,
        mean=value,
        u=None,
        tested=tested,
        assumed=assumed and f"{assumed} taken for it",
    )


def _drawn(tests: Mapping[str, _Test]) -> dict[str, DrawnVerdict]:
    """Judge all tests together (Holm)."""
    levels = claimed_value.holm(
        {name: test.tested.chance for name, test in tests.items()}
    )
    first = claimed_value.ALPHA / max(len(tests), 1)
    found = {}
    for name, test in tests.items():
        claimed = test.claimed.value
        chance = test.tested.chance
        found[name] = typed.like(
            DrawnVerdict,
            test,
            claimed=claimed,
            deviation=replication.relative(test.mean, claimed),
            chance=chance,
            limit=levels[name],
            noticeable=test.tested.noticeable(first),
            ok=not chance < levels[name],
        )
    return found


def noticeable(drawn: Mapping[str, DrawnVerdict]) -> float | None:
    """Find the least factor by which a claim must be too good to be noticed in one of
    the metrics that a statistical test compared; None where there is none.
    """
    known = [one.noticeable for one in drawn.values() if one.noticeable is not None]
    return min(known, default=None)


def _values(measured: Measurement, names: Iterable[str]) -> list[dict[str, float]]:
    """Collect the values of each trial by metric."""
    columns = {name: _numbers(measured.metrics[name]) for name in names}
    trials: list[dict[str, float]] = []
    for number in range(measured.trials):
        trials.append({name: values[number] for name, values in columns.items()})
    return trials


def _numbers(metric: MetricResult) -> Sequence[float]:
    return [math.nan if one.value is None else one.value for one in metric.per_trial]


def _reason(repeatability: Repeatability) -> str:
    why = SEARCHES if repeatability is Repeatability.DRAWN else FEW_VALUES
    return why.text


def reason_alone(stated: str) -> str:
    """Return a reason of results.json without its consequence, where it has one."""
    reasons = {why.text: why.reason for why in (SEARCHES, FEW_VALUES)}
    return reasons.get(stated, stated)


def _in_order(measured: Measurement, reasons: Mapping[str, str]) -> dict[str, str]:
    return {name: reasons[name] for name in measured.metrics if name in reasons}
