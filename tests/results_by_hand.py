# SPDX-License-Identifier: Apache-2.0
"""Results made by hand."""

from __future__ import annotations

from rig.interfaces.sut import SutInfo
from rig.model.trial import Counts
from rig.results.document import Results, SampleCounts, TrialResult, VerdictResult
from rig.results.labels import DataStatement
from rig.store.provenance_file import HostFacts, Provenance, TaskFacts


def trial(number: int) -> TrialResult:
    return TrialResult(
        number=number,
        seed=number,
        valid=True,
        samples=0,
        retransmissions=0,
        counts=Counts(),
        timebase=None,
        rails={},
        problems=(),
    )


PROVENANCE = Provenance(
    created_utc="2026-01-31T12:00:00Z",
    neurorig="",
    revision="",
    bench_sha256="",
    python="",
    packages={},
    host=HostFacts("", "", "", None),
    simulated=True,
    sut=SutInfo("virtual", "virtual", True, 1_000_000, "any"),
    monitors={},
    task=TaskFacts("null", ("infer",), 1),
    metadata={},
)
RESULTS = Results(
    bench="by-hand",
    task="null",
    scenario="single_stream",
    sut="virtual",
    monitor="virtual",
    simulated=True,
    data=DataStatement((), "", "", False, samples=None, subset=""),
    samples=SampleCounts((), ()),
    trials=(trial(1),),
    metrics={},
    absent={},
    replication=VerdictResult(
        ok=False, rule="", rule_text="", reason="", trials=1, per_metric={}
    ),
    resolution=(),
    problems=(),
    provenance=PROVENANCE,
)
