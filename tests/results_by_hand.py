# SPDX-License-Identifier: Apache-2.0
"""Results made by hand."""

from __future__ import annotations

from rig.results.document import Results, SampleCounts, TrialResult, VerdictResult
from rig.results.labels import DataStatement


def trial(number: int) -> TrialResult:
    return TrialResult(
        number=number,
        seed=number,
        valid=True,
        samples=0,
        retransmissions=0,
        counts={},
        timebase=None,
        rails={},
        problems=(),
    )


RESULTS = Results(
    bench="by-hand",
    task="null",
    scenario="single_stream",
    sut="virtual",
    monitor="virtual",
    simulated=True,
    data=DataStatement((), "", "", False, None, ""),
    samples=SampleCounts((), ()),
    trials=(trial(1),),
    metrics={},
    absent={},
    replication=VerdictResult(False, "", "", "", 1, {}),
    resolution=(),
    problems=(),
    provenance={"task": {"phases": ["infer"]}},
)
