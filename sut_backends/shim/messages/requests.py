# SPDX-License-Identifier: Apache-2.0
"""Requests of the host: docs/reference/PROTOCOL.md, section 4. Lengths are in bytes."""

from __future__ import annotations

from typing import Annotated, ClassVar

from sut_backends.shim.messages.answers import CapsMessage
from sut_backends.shim.messages.kinds import PROTOCOL, THRESHOLDS_MAX, MessageKind
from sut_backends.shim.messages.payload import (
    I32,
    U8,
    U16,
    U32,
    Payload,
    Rest,
    RestNumbers,
    message,
)


@message(MessageKind.HELLO)
class HelloMessage(Payload):
    """Open a session."""

    nonce: U32
    version: U8 = PROTOCOL


@message(MessageKind.BAUD)
class BaudMessage(Payload):
    """Ask for another line rate."""

    baud: U32


@message(MessageKind.SELFTEST)
class SelfTestMessage(Payload):
    """Ask for a REPORT: read the timer `reads` times in a row, and time empty queries
    of `repeat` repetitions.
    """

    reads: U16
    repeat: U16


@message(MessageKind.LOAD)
class LoadMessage(Payload):
    """Open a slot for `length_b` bytes whose CRC is `crc32`."""

    slot: U16
    length_b: U32
    crc32: U32


@message(MessageKind.DATA)
class DataMessage(Payload):
    """Put `content` at `offset_b` of the opened slot."""

    offset_b: U32
    content: Rest


@message(MessageKind.COMMIT)
class CommitMessage(Payload):
    """Check the slot; only then may it be run."""

    slot: U16


@message(MessageKind.RUN)
class RunMessage(Payload):
    """Process a slot, each phase `repeat` times in a row."""

    slot: U16
    repeat: U32
    guard_us: U32
    hold_us: U16


@message(MessageKind.IDLE)
class IdleMessage(Payload):
    """Stay configured and ready for `duration_us`."""

    duration_us: U32
    guard_us: U32
    hold_us: U16


@message(MessageKind.SYNC)
class SyncMessage(Payload):
    """Give `count` pulses; the interval after pulse i is `period_us` times 1, 2, 1,
    4."""

    intervals: ClassVar[tuple[int, ...]] = (1, 2, 1, 4)
    count: U8
    period_us: U32
    guard_us: U32
    hold_us: U16


@message(MessageKind.RESULT)
class ResultMessage(Payload):
    """Ask for the last output from `offset_b` on."""

    offset_b: U32


@message(MessageKind.BATCH)
class BatchMessage(Payload):
    """Process `slots` one after the other in one window, `repeat` rounds over them."""

    repeat: U32
    guard_us: U32
    hold_us: U16
    slots: Annotated[tuple[int, ...], RestNumbers("H", at_least=1)]

    @classmethod
    def most(cls, max_payload_b: int) -> int:
        """Return how many slots a request can name."""
        return max(max_payload_b - cls.head.size, 0) // 2


@message(MessageKind.STREAM)
class StreamMessage(Payload):
    """Play `windows` windows of a signal at `sample_hz`; `hop` and `window` are in
    samples."""

    windows: U32
    hop: U32
    window: U32
    sample_hz: U32
    hold_us: U16


@message(MessageKind.TAKE)
class TakeMessage(Payload):
    """Ask for answers of a stream from window `next` on; those before it are
    acknowledged."""

    next: U32


@message(MessageKind.OPTIMIZE)
class OptimizeMessage(Payload):
    """Search a slot until a cost at or below `target` is found, or `timeout_us` are
    over; mark the `thresholds`.
    """

    no_target: ClassVar[int] = -(2**31)
    slot: U16
    seed: U32
    timeout_us: U32
    target: I32
    guard_us: U32
    hold_us: U16
    thresholds: Annotated[tuple[int, ...], RestNumbers("i")] = ()

    @classmethod
    def most(cls, caps: CapsMessage) -> int:
        """Return how many thresholds a request can name, and DONE can report."""
        fitting = (caps.max_payload_b - cls.head.size) // 4
        return max(min(fitting, caps.marks_max - 2, THRESHOLDS_MAX), 0)


@message(MessageKind.KNEW)
class KnewMessage(Payload):
    """Ask when the device knew each threshold of the last OPTIMIZE reached, from number
    `first` on.
    """

    first: U8
