# SPDX-License-Identifier: Apache-2.0
"""Problems: what can be wrong with a trial."""

from __future__ import annotations

from dataclasses import dataclass, field

from rig.files import typed

#: What can be wrong with a trial. Each makes the trial invalid; none is ever corrected
#: silently.
PROBLEM_CODES = {
    "sync": "SYNC edges do not lie on one line with the device's ticks",
    "edges": "SYNC edges are missing or too many",
    "gap": "monitor samples were lost inside a measured window",
    "range": (
        "current or voltage of a window was beyond the ranges whose limits of error are"
        " known"
    ),
    "clock": (
        "device time, edge time, and the number of marks or of iterations disagree"
    ),
    "short": "a window is too short for the monitor or for the SYNC pulse",
    "power": "the measured power cannot be told from that of nothing wired",
    "link": "the UART was not silent inside a measured window",
    "restart": "the device restarted, and its timer with it",
    "stream": (
        "the signal and the device did not keep pace: windows came late, were lost, or"
        " have no answer"
    ),
    "cost": (
        "the device's vector is not what it claims: another length, or another cost"
    ),
    "answers": "interleaved trials have different answers to the same load of a sample",
    "rule": "a rule of the benchmark is not met",
}


#: Code of a problem -> the row of docs/how-to/TROUBLESHOOTING.md.
SEE = {
    "sync": "odd-edges",
    "edges": "odd-edges",
    "gap": "lost-samples",
    "range": "out-of-range",
    "clock": "clock-differs",
    "short": "window-too-short",
    "power": "power-too-low",
    "link": "line-not-silent",
    "restart": "restarts",
    "stream": "stream-late",
    "cost": "wrong-cost",
    "answers": "answers-differ",
    "rule": "rule-not-met",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A problem of a trial: a code of PROBLEM_CODES, the evidence, and its place as
    far as it is known.

    `rail`, `segment` and `step` are where it lies or begins; `start_s` to `stop_s` is
    its time in the trace of that rail and segment. `edge` is the number of a falling
    edge, from 1. `trial` is 0 where the problem is listed with its trial.
    """

    trial: int = typed.optional(0)
    code: str = field(kw_only=False)
    detail: str = field(kw_only=False)
    rail: str = typed.since(7, "", left_out=True)
    segment: int = typed.since(7, 1, left_out=True)
    step: int | None = typed.since(7, None, left_out=True)
    start_s: float | None = typed.since(7, None, left_out=True)
    stop_s: float | None = typed.since(7, None, left_out=True)
    edge: int | None = typed.since(7, None, left_out=True)
