# SPDX-License-Identifier: Apache-2.0
"""The trials of a session, metric by metric: values, claim, 5 % band, intervals,
verdicts, budget; and what another claim would come to.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rig.api.sessions.metric import SessionMetric
from rig.api.trials.drift import Drift, Drifts, OddTrial, drifts
from rig.errors import ConfigError, RigError
from rig.model.declaration import DeclaredMetric
from rig.model.metric import Deviation, Prominence, Statistic
from rig.results import changed, claim, document, judging, replication, session_verdicts
from rig.results import results as reduction
from rig.results.document import MetricResult, Results
from rig.results.judging import Verdicts
from rig.results.verdict import DrawnVerdict, MetricVerdict, Verdict
from rig.stats.summary import mean
from rig.store import session_folder
from rig.store.session_folder import RESULTS, SessionFolder
from rig.uncertainty.budget import SCATTERS

if TYPE_CHECKING:
    from rig.api.sessions.session import Session

REPLICATION = "replication"
AUDIT = "audit"
_BOUNDED = (Statistic.SHARE, Statistic.AREA)
#: The ends of the claims that hold are looked for within so many times the value.
_FARTHEST = 100.0
_HALVINGS = 60


@dataclass(frozen=True, slots=True)
class TrialDot:
    """A metric in one trial; `deviation` is its relative distance from the claim, or
    from the mean where there is no claim; NaN where it is not known. `limited`: a rule
    compares the metric with the 5 % band.
    """

    trial: int
    value: float
    standard_uncertainty: float | None
    deviation: float
    valid: bool
    limited: bool = True

    @property
    def beyond(self) -> bool:
        """Whether it lies beyond the 5 % band, where a rule asks for that."""
        return self.limited and not abs(self.deviation) <= replication.LIMIT * (
            1 + 1e-12
        )


@dataclass(frozen=True, slots=True)
class BudgetLine:
    """A component of a metric's uncertainty: its share of the variance, and the
    expanded uncertainty that would be left without it; both None where it does not
    count.
    """

    component: str
    type: str
    standard_uncertainty: float
    relative: float
    variance_share: float | None
    left_without: float | None


@dataclass(frozen=True, slots=True)
class MetricTrials:
    """A metric over the trials of a session; `claimed` is None without a claim on it,
    and a verdict is None where its rule does not compare it: `drawn` is then the
    outcome of a statistical test, or `not_tested` says why there is none.

    `reference` is the claim, or the mean of the trials: deviations and the 5 % `band`
    refer to it.
    """

    metric: SessionMetric
    row: MetricResult
    dots: tuple[TrialDot, ...]
    mean: float
    claimed: float | None
    reference: float
    band: tuple[float, float]
    replication: MetricVerdict | None
    audit: MetricVerdict | None
    odd: OddTrial | None
    drift: Drift | None
    budget: tuple[BudgetLine, ...]
    drawn: DrawnVerdict | None = None
    not_tested: str = ""

    @property
    def name(self) -> str:
        """The name of the metric."""
        return self.metric.name

    @property
    def detail(self) -> bool:
        """Whether the metric is a detail that no verdict moves to the main
        ones."""
        judged = (self.replication, self.audit, self.drawn)
        failed = any(one is not None and not one.ok for one in judged)
        return (
            self.row.prominence is Prominence.DETAIL
            and self.claimed is None
            and not failed
        )

    @property
    def improve_first(self) -> BudgetLine | None:
        """The component to improve first: the largest one that counts."""
        counted = [line for line in self.budget if line.variance_share is not None]
        return max(counted, key=lambda line: line.standard_uncertainty, default=None)

    @property
    def advice(self) -> str:
        """Return in words what to improve first, and what that would change at most."""
        line = self.improve_first
        expanded = self.metric.same_samples.expanded_uncertainty
        if line is None or line.left_without is None or not expanded:
            return ""
        what = (
            "more trials, or a calmer device"
            if line.component in SCATTERS
            else line.component
        )
        share = line.variance_share or 0.0
        left = 1.0 - line.left_without / expanded
        return (
            f"Improve first: {what} ({share * 100:.0f} % of the variance). "
            f"Without it the uncertainty is {left * 100:.0f} % less."
        )


@dataclass(frozen=True, slots=True)
class SessionTrials:
    """The trials of a session, metric by metric, with the rules and their outcomes."""

    results: Results
    metrics: tuple[MetricTrials, ...]
    replication: str
    audit: str
    drifts: Drifts
    #: Why numbers may be less than they could be; empty where they are not.
    note: str = ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return what stands out: the odd trial, drifts."""
        return self.drifts.sentences

    def of(self, name: str) -> MetricTrials:
        """Return a metric by name."""
        return next(metric for metric in self.metrics if metric.name == name)


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What both rules say of one claimed value, as `rig check --claim` does; `refused`
    says why no trial could ever meet it, and then there are no verdicts.
    """

    claimed: float
    replication: Verdict | None
    audit: Verdict | None
    refused: str = ""

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The verdicts by rule."""
        both = {REPLICATION: self.replication, AUDIT: self.audit}
        return {rule: verdict for rule, verdict in both.items() if verdict is not None}


def session_trials(session: Session) -> SessionTrials:
    """Return the trials of a session, finished or not; raises RigError where it cannot
    be read."""
    measured, note = _results(session)
    return of_results(changed.marked(measured, session.changed), note)


def of_results(measured: Results, note: str = "") -> SessionTrials:
    """Return the trials of results."""
    found = drifts(measured)
    metrics = tuple(_metric(name, measured, found) for name in measured.metrics)
    rule = measured.replication.rule
    audit = measured.audit
    audit_rule = audit.rule if audit is not None else replication.AUDIT
    return SessionTrials(
        results=measured,
        metrics=metrics,
        replication=rule,
        audit=audit_rule,
        drifts=found,
        note=note,
    )


def what_if(measured: Results, name: str, claimed: float) -> WhatIf:
    """Return what both rules say of a metric if this value is claimed."""
    metric = measured.metrics[name]
    is_bounded = metric.statistic in _BOUNDED
    is_signed = metric.unit in ("W", "J") or metric.deviation is Deviation.COST
    if any((single.value or 0.0) < 0 for single in metric.per_trial):
        is_signed = True
    known = DeclaredMetric(metric.unit, metric.higher_is_better, is_bounded, is_signed)
    try:
        claim.refuse_impossible(name, claimed, known, name)
    except ConfigError as error:
        hint = f": {error.try_next}" if error.try_next else ""
        return WhatIf(claimed, None, None, f"{error.cause}{hint}")
    found = _claimed(measured, name, claimed)
    return WhatIf(claimed, found.replication, found.audit)


def claims_that_hold(
    measured: Results, name: str, rule: str
) -> tuple[float, float] | None:
    """Return the least and the greatest claim of a metric that a rule lets pass;
    infinite where there is no end, None where none passes.

    The rule itself is asked, by halving, from the mean of the trials outwards.
    """
    centre = mean(
        [_number(single.value) for single in measured.metrics[name].per_trial]
    )

    def passes(value: float) -> bool:
        return _claimed(measured, name, value).by_rule[rule].ok

    if not math.isfinite(centre) or not passes(centre):
        return None
    cost = measured.metrics[name].deviation is Deviation.COST
    size = abs(1.0 - centre if cost else centre) or 1.0
    down = -size if cost or centre <= 0 else -size * (1 - 1e-12)
    return _end(passes, centre, down), _end(passes, centre, size)


def _claimed(measured: Results, name: str, value: float) -> Verdicts:
    """Return the outcomes of the rules for one claimed value."""
    alone = replace(
        session_verdicts.measurement(measured), metrics={name: measured.metrics[name]}
    )
    return judging.of_claim(claim.of_values({name: value}), alone)


def _end(passes: Callable[[float], bool], centre: float, step: float) -> float:
    """Return how far from the centre the claims hold in the direction of the step."""
    if passes(centre + step) and passes(centre + _FARTHEST * step):
        return math.copysign(math.inf, step)
    low, high = centre, centre + step
    for _ in range(_HALVINGS):
        half = (low + high) / 2
        low, high = (half, high) if passes(half) else (low, half)
    return low


def _results(session: Session) -> tuple[Results, str]:
    """Return the results; what those of an older schema do not say is reduced again
    from the raw files, and where these are not at hand a note says so.
    """
    if not (session.path / RESULTS).exists():
        return session.results, f"The session did not finish ({session.status})."
    stored = document.read(session.path / RESULTS)
    tree = session_folder.read_json(session.path / RESULTS)
    if document.schema_of(tree) >= reduction.STATED_SINCE:
        return stored, ""
    try:
        return reduction.read(SessionFolder(session.path)), ""
    except (RigError, OSError) as error:
        cause = error.cause if isinstance(error, RigError) else str(error)
        return (
            stored,
            "The session is of an older schema, and what it does not say of its metrics"
            f" could not be made again from the raw files: {cause}.",
        )


def _metric(name: str, measured: Results, found: Drifts) -> MetricTrials:
    row = measured.metrics[name]
    judged = measured.replication.per_metric.get(name)
    audited = (
        measured.audit.per_metric.get(name) if measured.audit is not None else None
    )
    test = measured.replication.drawn.get(name)
    compared = judged or test
    claimed = (
        compared.claimed
        if compared is not None and measured.audit is not None
        else None
    )
    values = [_number(single.value) for single in row.per_trial]
    average = mean(values)
    reference = average if claimed is None else claimed
    valid = {trial.number: trial.valid for trial in measured.trials}
    dots = []
    for single, value in zip(row.per_trial, values, strict=True):
        deviation = replication.deviation(value, reference, row.deviation)
        dot = TrialDot(
            trial=single.trial,
            value=value,
            standard_uncertainty=single.standard_uncertainty,
            deviation=deviation,
            valid=valid.get(single.trial, False),
            limited=judged is not None,
        )
        dots.append(dot)
    metric = SessionMetric.of(name, row, None if compared is None else compared.ok)
    return MetricTrials(
        metric=metric,
        row=row,
        dots=tuple(dots),
        mean=average,
        claimed=claimed,
        reference=reference,
        band=replication.band(reference, row.deviation),
        replication=judged,
        audit=audited,
        odd=found.odd.get(name),
        drift=found.drifts.get(name),
        budget=_budget(metric, row),
        drawn=test,
        not_tested=measured.replication.not_tested.get(name, ""),
    )


def _budget(metric: SessionMetric, row: MetricResult) -> tuple[BudgetLine, ...]:
    whole = math.fsum(
        part.standard_uncertainty**2 for part in row.budget if part.counted
    )
    factor = metric.same_samples.coverage_factor
    size = abs(metric.value)
    lines = []
    for part in row.budget:
        relative = part.standard_uncertainty / size if size else math.nan
        line = BudgetLine(
            component=part.component,
            type=part.type,
            standard_uncertainty=part.standard_uncertainty,
            relative=relative,
            variance_share=None,
            left_without=None,
        )
        if part.counted and whole:
            square = part.standard_uncertainty**2
            left = (
                None if factor is None else factor * math.sqrt(max(whole - square, 0.0))
            )
            line = replace(line, variance_share=square / whole, left_without=left)
        lines.append(line)
    return tuple(lines)


def _number(value: float | None) -> float:
    return math.nan if value is None else value
