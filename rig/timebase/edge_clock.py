# SPDX-License-Identifier: Apache-2.0
"""The clock of a device that pulses SYNC and reports no time: the edges that the
monitor saw. Pure.

Firmware of MLPerf Tiny built for energy mode is such a device. Its marks have the
host's time in microseconds, at which the host received each: too late and too coarse
for a measurement, precise enough to assign edges to marks.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from rig.arrays import Float64s
from rig.problems import Problem

#: Value of SutInfo.clock of such a device.
EDGE_CLOCK = "edges"
#: Largest difference of the time between two edges from the host's: its scheduler, a
#: USB bridge and a slow UART, and the rates.
SLACK_S = 0.25
RATE_LIMIT = 1e-3


def ticks_of_edges(
    host_ticks: Sequence[int],
    host_hz: float,
    falls_s: Float64s,
    edge_hz: float,
) -> tuple[int, ...] | Problem:
    """Return a tick for each mark, in periods of `edge_hz` from the start of the trace,
    or the problem if edges and marks cannot be assigned.

    Every mark needs an edge and every edge a mark: without a clock of the device, a
    missing one cannot be identified.
    """
    marks = len(host_ticks)
    edges = len(falls_s)
    if marks != edges:
        detail = (
            f"{marks} marks, {edges} falling edges, and the device tells no time that "
            "says which belong together"
        )
        detail += (
            ""
            if edges
            else (
                "; is SYNC wired to the monitor's input, and its reference voltage set?"
            )
        )
        return Problem("edges", detail)
    seen_s = [(later - earlier) / host_hz for earlier, later in pairwise(host_ticks)]
    apart_s = np.diff(falls_s).tolist()
    for number, (host_s, edge_s) in enumerate(
        zip(seen_s, apart_s, strict=True), start=1
    ):
        if abs(host_s - edge_s) > SLACK_S + RATE_LIMIT * max(host_s, edge_s):
            detail = (
                f"edges {number} and {number + 1} lie {edge_s:.3f} s apart, the host"
                f" saw {host_s:.3f} s between these marks"
            )
            return Problem(
                "edges",
                f"{detail}: an edge is missing and another one too many, or the"
                " monitor's clock is wrong",
                edge=number,
            )
    return tuple(round(fall_s * edge_hz) for fall_s in falls_s.tolist())
