# SPDX-License-Identifier: Apache-2.0
"""The verdicts of a session as results.json has them, and those on a claim."""

from __future__ import annotations

from collections.abc import Mapping

from rig.files import typed
from rig.results import claim, judging, labels, origins, replication
from rig.results.document import MetricResult, Results, VerdictResult
from rig.results.judging import Measurement
from rig.results.verdict import Verdict, scope
from rig.store.provenance_file import Provenance

#: Units of times, and of products with a time.
_OF_TIME = ("s", "1/s", "s/s", "J")
HOST_TIME = (
    "it comes from the running time of a simulator on this computer, not of the device"
)


def claim_verdicts(tested: claim.Claim, measured: Results) -> dict[str, VerdictResult]:
    """Judge a claim on a finished session by every rule: replication, audit, and
    replacement, which matters after an audit that failed.
    """
    same_samples = tested.is_of_samples(measured.provenance.task.stored)
    found = judging.of_claim(
        tested.metrics,
        measurement(measured),
        same_samples=same_samples,
    )
    order = measured.provenance.interleaved
    every = found.by_rule | {"replacement": found.replacement}
    return {
        name: verdict_result(one, measured.metrics, order)
        for name, one in every.items()
    }


def measurement(measured: Results) -> Measurement:
    """Collect the subject of the rules of a session."""
    return Measurement(
        metrics=measured.metrics,
        trials=len(measured.trials),
        invalid=sum(not trial.valid for trial in measured.trials),
        outside=outside(measured.provenance, measured.metrics),
    )


def outside(about: Provenance, metrics: Mapping[str, MetricResult]) -> dict[str, str]:
    """List the metrics that no verdict is about: times of a simulator that runs on this
    computer are no times of the device, and neither are energies over them.
    """
    if not origins.times_of_host_simulator(about.stored):
        return {}
    return {
        name: HOST_TIME for name, metric in metrics.items() if metric.unit in _OF_TIME
    }


def verdict_result(
    verdict: Verdict,
    metrics: Mapping[str, MetricResult],
    interleaved: bool,
    policy: str | None = None,
) -> VerdictResult:
    """Convert a verdict to its form in results.json, with the note on interleaved
    trials.
    """
    rule_text = replication.RULES[verdict.rule]
    if verdict.drawn:
        rule_text += f"; {replication.DRAWN_RULE}"
    units = {name: metric.unit for name, metric in metrics.items()}
    return typed.like(
        VerdictResult,
        verdict,
        rule_text=rule_text,
        scope=scope(verdict, units),
        policy=policy,
        interleaved=labels.INTERLEAVED_STATEMENT if interleaved else None,
    )
