# SPDX-License-Identifier: Apache-2.0
"""A device that pulses SYNC and reports no time: the edges that the monitor saw are its
clock. Pure.

Firmware of MLPerf Tiny that is built for energy mode is like that. Its marks carry the
host's microseconds, taken when the host heard of each: far too late and too rough for a
measurement, good enough to say whether the edges are the ones of the marks.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rig.problems import Problem

#: What stands in SutInfo.clock of such a device.
EDGE_CLOCK = "edges"
#: How far the time between two edges may differ from what the host saw: its scheduler,
#: a USB bridge and a slow UART, and the rates.
SLACK_S = 0.25
RATE_LIMIT = 1e-3


def ticks_of_edges(
    host_ticks: Sequence[int],
    host_hz: float,
    falls_s: NDArray[np.float64],
    edge_hz: float,
) -> tuple[int, ...] | Problem:
    """Return a tick for each mark, counted in periods of `edge_hz` from the start of
    the trace, or the problem where the edges cannot be assigned to the marks.

    Every mark needs its edge, and no edge may be left over: without a clock of the
    device nothing says which is missing.
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
