# SPDX-License-Identifier: Apache-2.0
"""Numbers and payloads on the wire: docs/PROTOCOL.md, sections 2 to 4. All integers are unsigned
and little-endian.

Every message is a frozen value with `kind`, `pack()` and `unpack(payload)`; unpack raises
ValueError when the length is wrong.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import ClassVar, Self

from rig.errors import LocalProtocolError

PROTOCOL = 1
FRAME_OVERHEAD_B = 6  # type, seq, crc32
FIRST_MAX_PAYLOAD_B = 64  # the host's frames until CAPS
CAPS_MAX_PAYLOAD_B = 256
PARTIAL_TIMEOUT_S = 0.1  # the DUT drops a partial frame after this silence
BAUD_TIMEOUT_S = 0.5  # without a good frame the DUT returns to the old rate
TEXT_COMMAND_MAX = 80  # with its `%`
GUARD_RESTARTS_MAX = 8
THRESHOLDS_MAX = 16  # of OPTIMIZE


class MessageKind(IntEnum):
    """The type byte of a frame."""

    HELLO = 0x01
    PING = 0x02
    BAUD = 0x03
    TEXT = 0x04
    SELFTEST = 0x05
    LOAD = 0x10
    DATA = 0x11
    COMMIT = 0x12
    RUN = 0x20
    IDLE = 0x21
    SYNC = 0x22
    RESULT = 0x23
    BATCH = 0x24
    STREAM = 0x30
    TAKE = 0x31
    OPTIMIZE = 0x40
    KNEW = 0x41
    ACK = 0x80
    CAPS = 0x81
    PONG = 0x82
    STATUS = 0x83
    REPORT = 0x84
    DONE = 0x90
    CHUNK = 0x91
    TAKEN = 0x92
    KNOWN = 0x93
    ERROR = 0xFF


class Flag(IntFlag):
    """What CAPS says the DUT can do, and what its firmware was built without."""

    BAUD = 1
    SYNC_LINE = 2
    MARK_NONBLOCKING = 4
    BATCH = 8
    OPTIMIZE = 16
    STREAM = 32
    NO_SELF_TEST = 64
    NO_CLASSIC = 128


class More(IntFlag):
    """What CAPS says besides, behind its strings; firmware of before says nothing there."""

    KNEW = 1


_NO_MORE = More(0)
UNKNOWN_REQUEST = 1  # what a firmware of before a request answers it with
ERROR_MEANING = {
    1: "unknown message type",
    2: "wrong message length",
    3: "no such slot",
    4: "too large for the slot",
    5: "slot not loaded",
    6: "the CRC of the content differs",
    7: "the workload failed",
    8: "argument out of range",
    9: "not supported",
}


class _Numbers:
    """A payload of numbers only: the fields in their order, as `shape` says."""

    __slots__: ClassVar[tuple[str, ...]] = ()
    shape: ClassVar[struct.Struct]

    def pack(self) -> bytes:
        """Return the payload; raise LocalProtocolError where a number does not fit its field."""
        try:
            return self.shape.pack(*(getattr(self, name) for name in self.__slots__))
        except struct.error as error:
            raise LocalProtocolError(
                f"{self} does not fit its fields", evidence=str(error)
            ) from error

    @classmethod
    def unpack(cls, payload: bytes) -> Self:
        """Read a payload."""
        if len(payload) != cls.shape.size:
            raise ValueError(f"{cls.__name__} of {len(payload)} bytes, {cls.shape.size} expected")
        return cls(*cls.shape.unpack(payload))


def _split(payload: bytes, shape: struct.Struct, what: str) -> tuple[tuple[int, ...], bytes]:
    if len(payload) < shape.size:
        raise ValueError(f"{what} of {len(payload)} bytes, at least {shape.size} expected")
    return shape.unpack_from(payload), payload[shape.size :]


@dataclass(frozen=True, slots=True)
class HelloMessage(_Numbers):
    """Open a session."""

    kind: ClassVar[MessageKind] = MessageKind.HELLO
    shape: ClassVar[struct.Struct] = struct.Struct("<IB")
    nonce: int
    version: int = PROTOCOL


@dataclass(frozen=True, slots=True)
class BaudMessage(_Numbers):
    """Ask for another line rate."""

    kind: ClassVar[MessageKind] = MessageKind.BAUD
    shape: ClassVar[struct.Struct] = struct.Struct("<I")
    baud: int


@dataclass(frozen=True, slots=True)
class SelfTestMessage(_Numbers):
    """Ask for a REPORT: read the timer `reads` times in a row, and time empty queries of `repeat`
    repetitions.
    """

    kind: ClassVar[MessageKind] = MessageKind.SELFTEST
    shape: ClassVar[struct.Struct] = struct.Struct("<HH")
    reads: int
    repeat: int


@dataclass(frozen=True, slots=True)
class LoadMessage(_Numbers):
    """Open a slot for `length_b` bytes whose CRC is `crc32`."""

    kind: ClassVar[MessageKind] = MessageKind.LOAD
    shape: ClassVar[struct.Struct] = struct.Struct("<HII")
    slot: int
    length_b: int
    crc32: int


@dataclass(frozen=True, slots=True)
class DataMessage:
    """Put `content` at `offset_b` of the opened slot."""

    kind: ClassVar[MessageKind] = MessageKind.DATA
    shape: ClassVar[struct.Struct] = struct.Struct("<I")
    offset_b: int
    content: bytes

    def pack(self) -> bytes:
        """Return the payload."""
        return self.shape.pack(self.offset_b) + self.content

    @classmethod
    def unpack(cls, payload: bytes) -> DataMessage:
        """Read a payload."""
        (offset_b,), content = _split(payload, cls.shape, "DATA")
        return cls(offset_b, content)


@dataclass(frozen=True, slots=True)
class CommitMessage(_Numbers):
    """Check the slot; only then may it be run."""

    kind: ClassVar[MessageKind] = MessageKind.COMMIT
    shape: ClassVar[struct.Struct] = struct.Struct("<H")
    slot: int


@dataclass(frozen=True, slots=True)
class RunMessage(_Numbers):
    """Process a slot, each phase `repeat` times in a row."""

    kind: ClassVar[MessageKind] = MessageKind.RUN
    shape: ClassVar[struct.Struct] = struct.Struct("<HIIH")
    slot: int
    repeat: int
    guard_us: int
    hold_us: int


@dataclass(frozen=True, slots=True)
class BatchMessage:
    """Process `slots` one after the other in one window, `repeat` rounds over them."""

    kind: ClassVar[MessageKind] = MessageKind.BATCH
    shape: ClassVar[struct.Struct] = struct.Struct("<IIH")
    repeat: int
    guard_us: int
    hold_us: int
    slots: tuple[int, ...]

    def pack(self) -> bytes:
        """Return the payload; raise LocalProtocolError where a number does not fit its field."""
        try:
            return self.shape.pack(self.repeat, self.guard_us, self.hold_us) + struct.pack(
                f"<{len(self.slots)}H", *self.slots
            )
        except struct.error as error:
            raise LocalProtocolError(
                f"{self} does not fit its fields", evidence=str(error)
            ) from error

    @classmethod
    def unpack(cls, payload: bytes) -> BatchMessage:
        """Read a payload."""
        (repeat, guard_us, hold_us), rest = _split(payload, cls.shape, "BATCH")
        if not rest or len(rest) % 2:
            raise ValueError(f"BATCH with {len(rest)} bytes of slot numbers, 2 each expected")
        return cls(repeat, guard_us, hold_us, struct.unpack(f"<{len(rest) // 2}H", rest))

    @classmethod
    def most(cls, max_payload_b: int) -> int:
        """Return how many slots a request can name."""
        return max(max_payload_b - cls.shape.size, 0) // 2


@dataclass(frozen=True, slots=True)
class OptimizeMessage:
    """Search a slot until a cost at or below `target` is found, or `timeout_us` are over; mark the
    `thresholds`.
    """

    kind: ClassVar[MessageKind] = MessageKind.OPTIMIZE
    shape: ClassVar[struct.Struct] = struct.Struct("<HIIiIH")
    no_target: ClassVar[int] = -(2**31)
    slot: int
    seed: int
    timeout_us: int
    target: int
    guard_us: int
    hold_us: int
    thresholds: tuple[int, ...] = ()

    def pack(self) -> bytes:
        """Return the payload; raise LocalProtocolError where a number does not fit its field."""
        numbers = (self.slot, self.seed, self.timeout_us, self.target, self.guard_us, self.hold_us)
        try:
            return self.shape.pack(*numbers) + struct.pack(
                f"<{len(self.thresholds)}i", *self.thresholds
            )
        except struct.error as error:
            raise LocalProtocolError(
                f"{self} does not fit its fields", evidence=str(error)
            ) from error

    @classmethod
    def unpack(cls, payload: bytes) -> OptimizeMessage:
        """Read a payload."""
        (slot, seed, timeout_us, target, guard_us, hold_us), rest = _split(
            payload, cls.shape, "OPTIMIZE"
        )
        if len(rest) % 4:
            raise ValueError(f"OPTIMIZE with {len(rest)} bytes of thresholds, 4 each expected")
        thresholds = struct.unpack(f"<{len(rest) // 4}i", rest)
        return cls(slot, seed, timeout_us, target, guard_us, hold_us, thresholds)

    @classmethod
    def most(cls, caps: CapsMessage) -> int:
        """Return how many thresholds a request can name, and DONE can tell."""
        return max(
            min((caps.max_payload_b - cls.shape.size) // 4, caps.marks_max - 2, THRESHOLDS_MAX), 0
        )


@dataclass(frozen=True, slots=True)
class KnewMessage(_Numbers):
    """Ask when the device knew each threshold of the last OPTIMIZE reached, from number `first`
    on.
    """

    kind: ClassVar[MessageKind] = MessageKind.KNEW
    shape: ClassVar[struct.Struct] = struct.Struct("<B")
    first: int


@dataclass(frozen=True, slots=True)
class IdleMessage(_Numbers):
    """Stay configured and ready for `duration_us`."""

    kind: ClassVar[MessageKind] = MessageKind.IDLE
    shape: ClassVar[struct.Struct] = struct.Struct("<IIH")
    duration_us: int
    guard_us: int
    hold_us: int


@dataclass(frozen=True, slots=True)
class SyncMessage(_Numbers):
    """Give `count` pulses; the interval after pulse i is `period_us` times 1, 2, 1, 4."""

    kind: ClassVar[MessageKind] = MessageKind.SYNC
    shape: ClassVar[struct.Struct] = struct.Struct("<BIIH")
    intervals: ClassVar[tuple[int, ...]] = (1, 2, 1, 4)
    count: int
    period_us: int
    guard_us: int
    hold_us: int


@dataclass(frozen=True, slots=True)
class ResultMessage(_Numbers):
    """Ask for the last output from `offset_b` on."""

    kind: ClassVar[MessageKind] = MessageKind.RESULT
    shape: ClassVar[struct.Struct] = struct.Struct("<I")
    offset_b: int


@dataclass(frozen=True, slots=True)
class StreamMessage(_Numbers):
    """Play `windows` windows of a signal at `sample_hz`; `hop` and `window` are in samples."""

    kind: ClassVar[MessageKind] = MessageKind.STREAM
    shape: ClassVar[struct.Struct] = struct.Struct("<IIIIH")
    windows: int
    hop: int
    window: int
    sample_hz: int
    hold_us: int


@dataclass(frozen=True, slots=True)
class TakeMessage(_Numbers):
    """Ask for answers of a stream from window `next` on; those before it are acknowledged."""

    kind: ClassVar[MessageKind] = MessageKind.TAKE
    shape: ClassVar[struct.Struct] = struct.Struct("<I")
    next: int


class StreamState(IntEnum):
    """Where a stream is, as TAKEN says."""

    NONE = 0
    PLAYING = 1
    FINISHED = 2
    STARVED = 3
    OVERRUN = 4
    FAILED = 5


@dataclass(frozen=True, slots=True)
class AckMessage(_Numbers):
    """What the DUT has: bit i of `received` is the number after the next expected one, plus i."""

    kind: ClassVar[MessageKind] = MessageKind.ACK
    shape: ClassVar[struct.Struct] = struct.Struct("<I")
    received: int


@dataclass(frozen=True, slots=True)
class CapsMessage:
    """What the DUT is and can do; the lengths in bytes, the times in microseconds, the rate in
    hertz.
    """

    kind: ClassVar[MessageKind] = MessageKind.CAPS
    shape: ClassVar[struct.Struct] = struct.Struct("<IBBHHIIHIHBB")
    nonce: int
    protocol: int
    window: int
    max_payload_b: int
    slots: int
    slot_b: int
    output_b: int
    marks_max: int
    tick_hz: int
    hold_min_us: int
    phases: int
    flags: Flag
    device: str = ""
    firmware: str = ""
    workload: str = ""
    model: str = ""
    build: str = ""
    sync_pin: str = ""
    more: More = _NO_MORE

    def pack(self) -> bytes:
        """Return the payload."""
        sizes = (
            self.window,
            self.max_payload_b,
            self.slots,
            self.slot_b,
            self.output_b,
            self.marks_max,
        )
        head = self.shape.pack(
            self.nonce,
            self.protocol,
            *sizes,
            self.tick_hz,
            self.hold_min_us,
            self.phases,
            int(self.flags),
        )
        strings = (self.device, self.firmware, self.workload, self.model, self.build, self.sync_pin)
        told = b"".join(bytes([len(text)]) + text.encode("ascii") for text in strings)
        return head + told + (bytes([self.more]) if self.more else b"")

    @classmethod
    def unpack(cls, payload: bytes) -> CapsMessage:
        """Read a payload; bytes behind `more`, where that is there, are ignored: a later firmware
        may add to it.
        """
        numbers, rest = _split(payload, cls.shape, "CAPS")
        strings: list[str] = []
        for _ in range(6):
            if not rest or len(rest) < 1 + rest[0]:
                raise ValueError(f"CAPS ends after {len(strings)} of 6 strings")
            strings.append(rest[1 : 1 + rest[0]].decode("ascii", "backslashreplace"))
            rest = rest[1 + rest[0] :]
        (
            nonce,
            protocol,
            window,
            max_payload_b,
            slots,
            slot_b,
            output_b,
            marks_max,
            tick_hz,
            hold_min_us,
            phases,
            flags,
        ) = numbers
        sizes = (
            nonce,
            protocol,
            window,
            max_payload_b,
            slots,
            slot_b,
            output_b,
            marks_max,
            tick_hz,
            hold_min_us,
            phases,
        )
        device, firmware, workload, model, build, sync_pin = strings
        more = More(rest[0]) if rest else _NO_MORE
        return cls(*sizes, Flag(flags), device, firmware, workload, model, build, sync_pin, more)


@dataclass(frozen=True, slots=True)
class DoneMessage:
    """The end of a window: `marks` as (phase, tick), as much of the output as fits, and how often
    the last phase was completed.
    """

    kind: ClassVar[MessageKind] = MessageKind.DONE
    shape: ClassVar[struct.Struct] = struct.Struct("<HHII")
    mark: ClassVar[struct.Struct] = struct.Struct("<BQ")
    rx_in_window_b: int
    marks: tuple[tuple[int, int], ...]
    output_total_b: int
    output: bytes = b""
    iterations: int = 0

    def pack(self) -> bytes:
        """Return the payload."""
        head = self.shape.pack(
            self.rx_in_window_b, len(self.marks), self.output_total_b, self.iterations
        )
        return head + b"".join(self.mark.pack(*mark) for mark in self.marks) + self.output

    @classmethod
    def unpack(cls, payload: bytes) -> DoneMessage:
        """Read a payload."""
        (rx_in_window_b, count, total_b, iterations), rest = _split(payload, cls.shape, "DONE")
        size = count * cls.mark.size
        if len(rest) < size:
            raise ValueError(f"DONE announces {count} marks in {len(rest)} bytes")
        if len(rest) - size > total_b:
            raise ValueError(f"DONE carries {len(rest) - size} bytes of an output of {total_b}")
        marks = tuple((phase, tick) for phase, tick in cls.mark.iter_unpack(rest[:size]))
        return cls(rx_in_window_b, marks, total_b, rest[size:], iterations)


@dataclass(frozen=True, slots=True)
class KnownMessage:
    """When the device knew thresholds reached, by its own timer: of `total`, those from number
    `first` on, as far as they fit.
    """

    kind: ClassVar[MessageKind] = MessageKind.KNOWN
    shape: ClassVar[struct.Struct] = struct.Struct("<BB")
    total: int
    first: int
    ticks: tuple[int, ...] = ()

    def pack(self) -> bytes:
        """Return the payload."""
        return self.shape.pack(self.total, self.first) + struct.pack(
            f"<{len(self.ticks)}Q", *self.ticks
        )

    @classmethod
    def unpack(cls, payload: bytes) -> KnownMessage:
        """Read a payload."""
        (total, first), rest = _split(payload, cls.shape, "KNOWN")
        if len(rest) % 8 or first + len(rest) // 8 > total:
            raise ValueError(
                f"KNOWN with {len(rest)} bytes of ticks from {first} on, 8 each of {total} expected"
            )
        return cls(total, first, struct.unpack(f"<{len(rest) // 8}Q", rest))


@dataclass(frozen=True, slots=True)
class TakenMessage:
    """Answers of a stream: `count` records from window `first` on. Of `late` windows `worst_window`
    was late most.
    """

    kind: ClassVar[MessageKind] = MessageKind.TAKEN
    shape: ClassVar[struct.Struct] = struct.Struct("<BBQQIIIIIIB")
    unequal: ClassVar[int] = 2**32 - 1  # in place of the workload's code: outputs differ in length
    state: StreamState
    room: int
    start_tick: int
    end_tick: int
    done: int
    late: int
    worst_window: int
    worst_ticks: int
    code: int
    first: int
    count: int
    records: bytes = b""

    def pack(self) -> bytes:
        """Return the payload."""
        ticks = (self.start_tick, self.end_tick)
        numbers = (
            self.done,
            self.late,
            self.worst_window,
            self.worst_ticks,
            self.code,
            self.first,
            self.count,
        )
        return self.shape.pack(self.state, self.room, *ticks, *numbers) + self.records

    @classmethod
    def unpack(cls, payload: bytes) -> TakenMessage:
        """Read a payload."""
        numbers, records = _split(payload, cls.shape, "TAKEN")
        state, room, start, end, done, late, worst, ticks, code, first, count = numbers
        taken = cls(
            StreamState(state),
            room,
            start,
            end,
            done,
            late,
            worst,
            ticks,
            code,
            first,
            count,
            records,
        )
        if len(records) % taken.count if taken.count else records:
            raise ValueError(
                f"TAKEN with {len(records)} bytes of {taken.count} records of one length"
            )
        return taken

    def split(self, marks: int) -> list[tuple[tuple[int, ...], bytes]]:
        """Return the records: the ticks of each window's marks, and its output; raise ValueError
        where they are too short.
        """
        size = len(self.records) // self.count if self.count else 0
        ticks = struct.Struct(f"<{marks}Q")
        if self.count and size < ticks.size:
            raise ValueError(f"records of {size} bytes, {marks} marks have {ticks.size}")
        each = (self.records[at * size : (at + 1) * size] for at in range(self.count))
        return [(ticks.unpack_from(record), record[ticks.size :]) for record in each]


@dataclass(frozen=True, slots=True)
class ReportMessage(_Numbers):
    """What a DUT found out about itself: docs/PROTOCOL.md section 7. What is received is counted
    since the REPORT before.
    """

    kind: ClassVar[MessageKind] = MessageKind.REPORT
    shape: ClassVar[struct.Struct] = struct.Struct("<QIHHIIIIIIBBBIII")
    unknown: ClassVar[int] = 2**32 - 1
    level_unknown: ClassVar[int] = 0xFF
    tick: int
    step_ticks: int
    steps: int
    steps_back: int
    rx_b: int
    rx_frames: int
    rx_dropped: int
    rx_lost_b: int
    stack_b: int
    stack_unused_b: int
    rest_level: int
    pulse_level: int
    end_level: int
    span_min_ticks: int
    span_max_ticks: int
    took_ticks: int


@dataclass(frozen=True, slots=True)
class ChunkMessage:
    """A part of the last output."""

    kind: ClassVar[MessageKind] = MessageKind.CHUNK
    shape: ClassVar[struct.Struct] = struct.Struct("<I")
    offset_b: int
    content: bytes

    def pack(self) -> bytes:
        """Return the payload."""
        return self.shape.pack(self.offset_b) + self.content

    @classmethod
    def unpack(cls, payload: bytes) -> ChunkMessage:
        """Read a payload."""
        (offset_b,), content = _split(payload, cls.shape, "CHUNK")
        return cls(offset_b, content)


@dataclass(frozen=True, slots=True)
class RefusalMessage:
    """An ERROR: why the DUT refuses."""

    kind: ClassVar[MessageKind] = MessageKind.ERROR
    shape: ClassVar[struct.Struct] = struct.Struct("<BI")
    code: int
    detail: int
    text: str = ""

    def pack(self) -> bytes:
        """Return the payload."""
        return self.shape.pack(self.code, self.detail) + self.text.encode("ascii")

    @classmethod
    def unpack(cls, payload: bytes) -> RefusalMessage:
        """Read a payload."""
        (code, detail), text = _split(payload, cls.shape, "ERROR")
        return cls(code, detail, text.decode("ascii", "backslashreplace"))


Request = (
    HelloMessage
    | BaudMessage
    | SelfTestMessage
    | LoadMessage
    | DataMessage
    | CommitMessage
    | RunMessage
    | BatchMessage
    | OptimizeMessage
    | KnewMessage
    | StreamMessage
    | TakeMessage
    | IdleMessage
    | SyncMessage
    | ResultMessage
)
