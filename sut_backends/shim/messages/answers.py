# SPDX-License-Identifier: Apache-2.0
"""Answers of the DUT: docs/reference/PROTOCOL.md, section 4. Lengths are in bytes."""

from __future__ import annotations

import struct
from typing import Annotated, ClassVar

from sut_backends.shim.messages.kinds import Flag, MessageKind, More, StreamState
from sut_backends.shim.messages.payload import (
    U8,
    U16,
    U32,
    U64,
    LateByte,
    Number,
    Payload,
    Rest,
    RestNumbers,
    RestText,
    Rows,
    String,
    message,
)

MARK = struct.Struct("<BQ")  # phase, tick
_UNKNOWN_U32 = 2**32 - 1
_NO_MORE = More(0)


@message(MessageKind.ACK)
class AckMessage(Payload):
    """Frames that the DUT has received: bit i of `received` is the number after the
    next expected one, plus i.
    """

    received: U32


@message(MessageKind.CAPS)
class CapsMessage(Payload):
    """Identity and capabilities of the DUT; the rate in hertz."""

    nonce: U32
    protocol: U8
    window: U8
    max_payload_b: U16
    slots: U16
    slot_b: U32
    output_b: U32
    marks_max: U16
    tick_hz: U32
    hold_min_us: U16
    phases: U8
    flags: Annotated[Flag, Number("B", Flag)]
    device: String = ""
    firmware: String = ""
    workload: String = ""
    model: String = ""
    build: String = ""
    sync_pin: String = ""
    more: Annotated[More, LateByte(More)] = _NO_MORE


@message(MessageKind.REPORT)
class ReportMessage(Payload):
    """Result of a DUT's self-test: docs/reference/PROTOCOL.md section 7. Received bytes
    and frames are counted since the previous REPORT.
    """

    unknown: ClassVar[int] = _UNKNOWN_U32
    level_unknown: ClassVar[int] = 0xFF
    tick: U64
    step_ticks: U32
    steps: U16
    steps_back: U16
    rx_b: U32
    rx_frames: U32
    rx_dropped: U32
    rx_lost_b: U32
    stack_b: U32
    stack_unused_b: U32
    rest_level: U8
    pulse_level: U8
    end_level: U8
    span_min_ticks: U32
    span_max_ticks: U32
    took_ticks: U32


@message(MessageKind.DONE)
class DoneMessage(Payload):
    """The end of a window: `marks` as (phase, tick), how often the last phase was
    completed, and as much of the output as fits.
    """

    rx_in_window_b: U16
    marks: Annotated[tuple[tuple[int, int], ...], Rows("H", MARK)]
    output_total_b: U32
    iterations: U32 = 0
    output: Rest = b""

    def check(self) -> None:
        """Raise ValueError where there is more output than announced."""
        if len(self.output) > self.output_total_b:
            raise ValueError(
                f"DONE carries {len(self.output)} bytes of an output of"
                f" {self.output_total_b}"
            )


@message(MessageKind.CHUNK)
class ChunkMessage(Payload):
    """A part of the last output."""

    offset_b: U32
    content: Rest


@message(MessageKind.TAKEN)
class TakenMessage(Payload):
    """Answers of a stream: `count` records from window `first` on. Of `late` windows
    `worst_window` was late most.
    """

    unequal: ClassVar[int] = (
        _UNKNOWN_U32  # in place of the workload's code: outputs differ in length
    )
    state: Annotated[StreamState, Number("B", StreamState)]
    room: U8
    start_tick: U64
    end_tick: U64
    done: U32
    late: U32
    worst_window: U32
    worst_ticks: U32
    code: U32
    first: U32
    count: U8
    records: Rest = b""

    def check(self) -> None:
        """Raise ValueError where the records cannot be of one length."""
        if len(self.records) % self.count if self.count else self.records:
            raise ValueError(
                f"TAKEN with {len(self.records)} bytes of {self.count} records of one"
                " length"
            )

    def split(self, marks: int) -> list[tuple[tuple[int, ...], bytes]]:
        """Return the records: the ticks of each window's marks, and its output; raise
        ValueError where they are too short.
        """
        size = len(self.records) // self.count if self.count else 0
        ticks = struct.Struct(f"<{marks}Q")
        if self.count and size < ticks.size:
            raise ValueError(
                f"records of {size} bytes, {marks} marks have {ticks.size}"
            )
        each = (self.records[at * size : (at + 1) * size] for at in range(self.count))
        return [(ticks.unpack_from(record), record[ticks.size :]) for record in each]


@message(MessageKind.KNOWN)
class KnownMessage(Payload):
    """Times, by the device's own timer, at which it knew thresholds reached: of
    `total`, those from number `first` on, as far as they fit.
    """

    total: U8
    first: U8
    ticks: Annotated[tuple[int, ...], RestNumbers("Q")] = ()

    def check(self) -> None:
        """Raise ValueError where there are more ticks than thresholds reached."""
        if self.first + len(self.ticks) > self.total:
            raise ValueError(
                f"KNOWN with {len(self.ticks)} ticks from number {self.first} on, "
                f"{self.total} in all expected"
            )


@message(MessageKind.ERROR)
class RefusalMessage(Payload):
    """An ERROR: the reason for a refusal."""

    code: U8
    detail: U32
    text: RestText = ""
