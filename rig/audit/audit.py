# SPDX-License-Identifier: Apache-2.0
"""The verdict of an audit: each claimed metric as claimed, computed again, and measured
again.

NeuroBench rules.md, "Audit Process": "the auditor will try a maximum of 5 times to
replicate the submitter's claimed results using the submitter's device and software. If
the averaged results are not within 95% of the claimed results, the submitter will be
required to either use the auditor's result as the official result, or generate a new
result which is at most 5% greater than the auditor's result."
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.audit import bench
from rig.audit.claimed import ClaimedSession, first_difference
from rig.audit.measuring import unlike
from rig.bench.config import Config
from rig.check.check import Read, check
from rig.model.metric import Prominence
from rig.results import document, replication, results, session_verdicts, stated
from rig.results.audit_file import (
    Audit,
    AuditedMetric,
    AuditedSession,
    AuditOutcome,
    AuditValue,
)
from rig.results.document import MetricResult, Results, VerdictResult
from rig.results.verdict import Outcome
from rig.store.session_folder import SessionFolder

POLICY = (
    "A try is a trial of the auditor's one session. The rule is applied in the"
    " direction that matters, so a better value confirms a claim. A claim that its own"
    " raw data do not give is not measured. A claimed metric that was not measured"
    f" again, or whose raw data are not there, is incomplete. {replication.POLICY}"
)


def audit(
    pairs: Sequence[tuple[ClaimedSession, Path | None]], folder: Path, read: Read
) -> Audit:
    """Judge claims by the auditor's sessions, which lie in `folder`; None without
    a measurement.
    """
    sessions = tuple(
        audited(claimed, session, folder, read) for claimed, session in pairs
    )
    return Audit(
        rule=replication.RULES[replication.AUDIT],
        policy=POLICY,
        sessions=sessions,
    )


def audited(
    claimed: ClaimedSession, session: Path | None, folder: Path, read: Read
) -> AuditedSession:
    """Judge one claim; the auditor's session is checked like any other."""
    measured: Results | None = None
    reason = "it was not measured again"
    chain = ""
    others: tuple[str, ...] = ()
    place = ""
    labels: tuple[str, ...] = ()
    trials = 0
    if session is not None:
        place = session.relative_to(folder).as_posix()
        checked = check(session, read)
        chain = checked.head
        fault = first_difference(session, checked)
        reason = f"the auditor's session is not found again: {fault}"
        if not fault:
            context = results.Context.of(SessionFolder(session))
            measured = document.finite(results.derive(context, checked.trials))
            others = _others(claimed, measured, context.config, chain)
            reason = others[0] if others else ""
            labels = _labels(measured)
            trials = len(measured.trials)
    if claimed.difference:
        reason = "the claim is not what its own raw data give"
    return AuditedSession(
        name=claimed.name,
        chain=claimed.chain,
        labels=claimed.labels,
        difference=claimed.difference,
        lacking=claimed.lacking,
        unlike=others,
        session=place,
        audit_chain=chain,
        audit_labels=labels,
        trials=trials,
        metrics=_metrics(claimed, measured, reason),
    )


def _others(
    claimed: ClaimedSession, measured: Results, own: Config, chain: str
) -> tuple[str, ...]:
    """List why a session that was found again does not measure a claim again."""
    found = unlike(claimed.stored.provenance, measured.provenance)
    if not claimed.difference:
        due = results.Context.of(claimed.folder).config
        found += bench.other_workload(own, due)
    if chain == claimed.chain:
        found = ("it is the claimed session itself", *found)
    return found


def _labels(measured: Results) -> tuple[str, ...]:
    return tuple(label.text for label in measured.labels)


def _metrics(
    claimed: ClaimedSession, measured: Results | None, reason: str
) -> dict[str, AuditedMetric]:
    """Judge each claimed metric; with a `reason` all are incomplete."""
    verdict = None
    if measured is not None and claimed.claim is not None:
        verdict = session_verdicts.claim_verdicts(claimed.claim, measured)["audit"]
        if verdict.judged in (Outcome.INVALID, Outcome.NOT_TESTED):
            reason = reason or verdict.reason
    if not reason and claimed.lacking:
        reason = f"the claim is not computed again: {claimed.lacking}"
    trials = claimed.stored.trials
    invalid = sum(not trial.valid for trial in trials)
    if not reason and invalid:
        reason = f"{invalid} of {len(trials)} trials of the claim are invalid"
    found = {}
    for name, metric in _claimed_metrics(claimed).items():
        judged = _Judged() if verdict is None else _judged(name, verdict, measured)
        if reason:
            judged = dataclasses.replace(judged, ok=None, reason=reason)
        found[name] = _metric(
            metric, _of(claimed.replayed, name), _of(measured, name), judged
        )
    return found


def _claimed_metrics(claimed: ClaimedSession) -> dict[str, MetricResult]:
    """Select the metrics that a published result claims."""
    stored = claimed.stored.metrics
    if claimed.claim is not None:
        return {name: stored[name] for name in claimed.claim.metrics}
    claimed_metrics = {}
    for name, metric in stored.items():
        if metric.prominence is not Prominence.DETAIL and metric.value is not None:
            claimed_metrics[name] = metric
    return claimed_metrics


def _of(found: Results | None, name: str) -> MetricResult | None:
    return None if found is None else found.metrics.get(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """The outcome of the rule for one metric; `ok` is None without one, for the
    `reason`. `mean` is the average that it compares.
    """

    ok: bool | None = None
    reason: str = ""
    deviation: float | None = None
    limit: float | None = None
    mean: float | None = None


def _judged(name: str, verdict: VerdictResult, measured: Results | None) -> _Judged:
    """Take the verdict on a metric from that of the rule on all."""
    absent = {} if measured is None else measured.absent
    if (test := verdict.drawn.get(name)) is not None:
        reason = f"chance {test.chance:.2g}, limit {test.limit:.2g}"
        higher = None if measured is None else measured.metrics[name].higher_is_better
        worse = -test.deviation if higher else test.deviation
        return _Judged(ok=test.ok, reason=reason, deviation=worse)
    if name in verdict.not_tested:
        return _Judged(reason=verdict.not_tested[name])
    row = verdict.per_metric.get(name)
    if row is None:
        return _Judged(reason=absent.get(name, "it was not measured again"))
    if not math.isfinite(row.mean):
        return _Judged(reason="it was not measured in every trial")
    return _Judged(ok=row.ok, deviation=row.deviation, limit=row.limit, mean=row.mean)


def _metric(
    claimed: MetricResult,
    replayed: MetricResult | None,
    audited: MetricResult | None,
    judged: _Judged,
) -> AuditedMetric:
    verdict = AuditOutcome.INCOMPLETE
    replacement = None
    if judged.ok is not None:
        verdict = AuditOutcome.CONFIRMED if judged.ok else AuditOutcome.AUDITOR
    if verdict is AuditOutcome.AUDITOR and judged.mean is not None:
        # The claim was better than the mean: so is the end of the band on its side.
        assert claimed.value is not None
        low, high = replication.band(judged.mean, claimed.deviation)
        replacement = high if claimed.value > judged.mean else low
    return AuditedMetric(
        unit=claimed.unit,
        higher_is_better=claimed.higher_is_better,
        claimed=_value(claimed),
        replayed=None if replayed is None else _value(replayed),
        audited=None if audited is None else _value(audited),
        deviation=judged.deviation,
        limit=judged.limit,
        verdict=verdict,
        reason=judged.reason,
        replacement=replacement,
    )


def _value(metric: MetricResult) -> AuditValue:
    interval = stated.shown_interval(metric)
    return AuditValue(
        value=metric.value,
        standard_uncertainty=interval.standard_uncertainty,
        expanded_uncertainty=interval.expanded_uncertainty,
        low=interval.low,
        high=interval.high,
    )
