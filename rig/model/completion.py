# SPDX-License-Identifier: Apache-2.0
"""A device's report of one step: marks, output, counts."""

from __future__ import annotations

from dataclasses import dataclass

END = 0x00

BATCH = 0x03

STREAM = 0x20

DECIDED = 0x21

IDLE = 0x40

SYNC = 0x50

#: Of a search: all its thresholds up to number 0, 1, ... are reached.
REACHED = 0x60


@dataclass(frozen=True, slots=True)
class Mark:
    """One SYNC pulse in the device's own time: the phase that begins, as
    docs/reference/PROTOCOL.md section 4 numbers it, and the tick.
    """

    phase: int
    tick: int


@dataclass(frozen=True, slots=True)
class Completion:
    """The device's report after a query, an idle time or a SYNC burst.

    `marks` are in device ticks; `output` is the task's; `retransmissions` counts frames
    repeated since the previous completion; `rx_in_window_b` are bytes that the device
    received while the line should have been silent. `iterations` is how many times it
    completed the last phase, over all samples of the query (0 after an idle time or a
    burst), by its own count; None where it does not report that. `restarts` counts how
    often the device restarted, and was brought back, since the previous completion.
    `faults` describe what failed in a stream. `known` are the ticks at which the device
    itself knew each of the first thresholds of a search reached, before their marks
    waited for SYNC; None where it does not report them. `refusal` is the reason why the
    device did not take an optional load; all other fields are then empty.
    """

    marks: tuple[Mark, ...]
    output: bytes = b""
    retransmissions: int = 0
    rx_in_window_b: int = 0
    iterations: int | None = None
    restarts: int = 0
    faults: tuple[str, ...] = ()
    refusal: str = ""
    known: tuple[int, ...] | None = None
