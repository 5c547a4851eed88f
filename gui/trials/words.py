# SPDX-License-Identifier: Apache-2.0
"""A metric's trials, verdicts and budget in words, and where its dots lie. No Qt."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain

from rig.api.trials.drift import SILENT, percent
from rig.api.trials.replication import (
    AUDIT,
    REPLICATION,
    MetricTrials,
    SessionTrials,
    TrialDot,
    WhatIf,
)
from rig.results.replication import LIMIT, RULES
from rig.results.stated import Stated, beside, stated
from rig.results.verdict import DrawnVerdict, MetricVerdict, Outcome, Verdict
from rig.stats.few_trials import TREND_LEAST
from rig.units import quantity, scale

#: Deviations beyond this are drawn at the edge, as triangles.
SHOWN_MAX = 0.20
RULE_TITLES = {REPLICATION: "NeuroBench rule", AUDIT: "Audit rule"}
RULE_MEANINGS = {
    REPLICATION: "mean of 5 trials within 5 % of it",
    AUDIT: "mean not worse than 95 % of it",
}
_SELF = "self-consistency-5-percent"


@dataclass(frozen=True, slots=True)
class DotScale:
    """The scale of deviations in a drawing: from -shown to +shown."""

    shown: float

    @classmethod
    def of(cls, metrics: tuple[MetricTrials, ...]) -> DotScale:
        """Return the scale that shows the 5 % band and all dots, up to 20 %."""
        dots = chain.from_iterable(metric.dots for metric in metrics)
        away = [abs(dot.deviation) for dot in dots]
        largest = max(filter(math.isfinite, away), default=0.0)
        return cls(min(max(1.15 * largest, 1.4 * LIMIT), SHOWN_MAX))

    def place(self, deviation: float) -> float:
        """Return where a deviation lies: 0 is the left end, 1 the right one; clipped to
        both."""
        return min(max(0.5 + 0.5 * deviation / self.shown, 0.0), 1.0)

    def beyond(self, deviation: float) -> bool:
        """Check whether a deviation is off the scale."""
        return abs(deviation) > self.shown

    def ticks(self) -> tuple[float, ...]:
        """Return the deviations at which the scale has a number."""
        step = 0.1 if self.shown > 0.12 else 0.02 if self.shown < 0.05 else 0.025
        count = math.floor(self.shown / step + 1e-9)
        return tuple(step * number for number in range(-count, count + 1))


def value(metric: MetricTrials) -> str:
    """Return the value of a metric with its interval for the same samples, alone where
    that is not known."""
    row = metric.row
    texts = stated(row)
    interval = row.same_samples
    known = "" if interval.reason else beside(interval, row.value, texts.factor)
    if known and interval.expanded_uncertainty is not None:
        return quantity(row.value, row.unit, interval.expanded_uncertainty)
    return " ".join(filter(None, (quantity(row.value, row.unit), known)))


def statement(metric: MetricTrials) -> tuple[str, str]:
    """Return both intervals of a metric in words."""
    texts = stated(metric.row)
    same = _interval(texts.same_samples, texts, metric.row.same_samples.reason)
    other = _interval(texts.other_samples, texts, metric.row.other_samples.reason)
    return f"Same samples again: {same}", f"Other samples of the kind: {other}"


def _interval(text: str, texts: Stated, reason: str) -> str:
    return text if reason else f"{text} {texts.unit}".rstrip()


def verdict(metric: MetricTrials) -> str:
    """Return in a few words whether the trials of a metric replicate."""
    judged = metric.replication or metric.drawn
    if judged is None:
        return "not tested"
    return f"{mark(judged.ok)} {percent(judged.deviation)}"


def mark(ok: bool) -> str:
    """Return a sign that needs no colour."""
    return "✓" if ok else "✗"


def judged(metric: MetricTrials, rule: str) -> str:
    """Return the session's own verdict on a metric, and the rule."""
    replication = metric.replication
    if metric.drawn is not None:
        return drawn(metric.drawn, metric.metric.unit)
    if replication is None:
        reason = metric.not_tested or "the session's rule is not about it"
        return f"Not tested: {reason}."
    if rule == _SELF:
        what = "every trial is" if replication.ok else "not every trial is"
        return (
            f"{mark(replication.ok)} Nothing is claimed: {what} within"
            f" {replication.limit:.0%} of the mean"
            f" (farthest {percent(replication.deviation)})."
        )
    claimed = quantity(metric.claimed, metric.metric.unit)
    off = percent(replication.deviation)
    parts = [f"{mark(replication.ok)} claim {claimed}: the mean is {off} off"]
    if metric.audit is not None:
        parts.append(f"audit {mark(metric.audit.ok)}")
    return ", ".join(parts) + "."


def drawn(test: DrawnVerdict, unit: str) -> str:
    """Return the result of a statistical test of a claimed metric."""
    claimed = quantity(test.claimed, unit)
    measured = quantity(test.mean, unit)
    return (
        f"{mark(test.ok)} claim {claimed}: measured {measured}, chance"
        f" {test.chance:.2g} (limit {test.limit:.2g})."
    )


def is_odd(metric: MetricTrials, dot: TrialDot) -> bool:
    """Whether a trial is the odd one of a metric."""
    odd = metric.odd
    return odd is not None and odd.found and odd.trial == dot.trial


def marks_legend(metrics: tuple[MetricTrials, ...]) -> str:
    """Return the meaning of those signs of a dot that the metrics have."""
    scale_of_dots = DotScale.of(metrics)
    dots = list(chain.from_iterable(metric.dots for metric in metrics))
    odd = [metric.odd for metric in metrics]
    has_beyond = any(dot.beyond for dot in dots)
    has_odd = any(one and one.found for one in odd)
    has_invalid = any(not dot.valid for dot in dots)
    has_off_scale = any(scale_of_dots.beyond(dot.deviation) for dot in dots)
    meanings = {
        "Red: more than 5 % away.": has_beyond,
        "Ring with a number: the odd trial.": has_odd,
        "Hollow: invalid.": has_invalid,
        "Triangle: off the scale.": has_off_scale,
    }
    return "".join(f" {text}" for text, holds in meanings.items() if holds)


def headline(view: SessionTrials) -> str:
    """Return the verdict of a session in a line."""
    replication = view.results.replication
    if replication.judged is Outcome.PASS:
        about = f" for {replication.scope}" if replication.scope else ""
        return f"✓ PASS{about} ({replication.rule})."
    sign = "" if replication.judged is Outcome.NOT_TESTED else "✗ "
    word = replication.judged.upper()
    return f"{sign}{word}: {replication.reason} ({replication.rule})."


def outcome(what_if: WhatIf, rule: str, name: str) -> str:
    """Return the result of a rule for the claim."""
    if what_if.refused:
        return what_if.refused
    judged = what_if.verdicts[rule]
    if judged.outcome is Outcome.NOT_TESTED:
        return f"not tested: {judged.not_tested.get(name) or judged.reason}"
    test = judged.drawn.get(name)
    if test is not None and judged.ok is test.ok:
        word = "holds" if test.ok else "does not hold"
        return (
            f"{mark(test.ok)} {word}: chance {test.chance:.2g} (limit {test.limit:.2g})"
        )
    row = judged.per_metric.get(name)
    if row is not None and _of_the_metric(judged, row):
        if abs(row.deviation) < SILENT:
            return f"{mark(row.ok)} holds: the mean is what is claimed"
        side = "worse by" if rule == AUDIT and row.deviation >= 0 else "off by"
        size = row.deviation
        if rule == AUDIT and row.deviation < 0:
            return f"{mark(row.ok)} holds: better by {_unsigned(size)}"
        word = "holds" if row.ok else "does not hold"
        shown = percent(size) if rule == REPLICATION else _unsigned(size)
        return f"{mark(row.ok)} {word}: {side} {shown} (limit {row.limit * 100:.1f} %)"
    return f"✗ does not hold: {judged.reason}"


def _unsigned(share: float) -> str:
    return percent(abs(share), signed=False)


def _of_the_metric(judged: Verdict, row: MetricVerdict) -> bool:
    """Check whether the metric itself decides, and not the number or state of the
    trials."""
    return judged.ok or not row.ok


def holds(ends: tuple[float, float] | None, unit: str) -> str:
    """Return in words which claims hold."""
    if ends is None:
        return "no claim would hold"
    low, high = ends
    if math.isinf(low):
        return f"claims up to {quantity(high, unit)} hold"
    if math.isinf(high):
        return f"claims from {quantity(low, unit)} on hold"
    return f"claims from {quantity(low, unit)} to {quantity(high, unit)} hold"


def rule_text(rule: str, view: SessionTrials) -> str:
    """Return a rule in its full words."""
    return RULES["replication-5-percent" if rule == REPLICATION else view.audit]


def slope(metric: MetricTrials) -> str:
    """Return the slope of a metric over its trials with its interval; as a drift only
    where it is one.
    """
    drift = metric.drift
    if drift is None:
        few = sum(dot.valid for dot in metric.dots) < TREND_LEAST
        return (
            f"No slope: there are fewer than {TREND_LEAST} valid trials."
            if few
            else (
                "No slope is tested: only of main metrics that trials repeat, with a"
                " budget."
            )
        )
    ends = f"95 %: {percent(drift.low)} to {percent(drift.high)}"
    sentence = f"{drift.sentence}." if drift.found else ""
    return (
        sentence
        or f"Slope {percent(drift.relative)} a trial ({ends}): no significant drift."
    )


def shown_unit(metric: MetricTrials) -> tuple[float, str]:
    """Return factor and unit to show the numbers of a metric."""
    sizes = [abs(dot.value) for dot in metric.dots if math.isfinite(dot.value)]
    return scale(max(sizes, default=0.0), metric.metric.unit)
