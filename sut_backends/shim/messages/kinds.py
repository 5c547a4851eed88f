# SPDX-License-Identifier: Apache-2.0
"""Numbers of the protocol: kinds of messages, flags, error codes, limits;
docs/reference/PROTOCOL.md.

firmware/core/nr_wire.h is made from them by firmware/wire_header.py.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

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
    GO = 0x25
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
    """Capability flags of CAPS: abilities of the DUT, and parts that its firmware was
    built without.
    """

    BAUD = 1
    SYNC_LINE = 2
    MARK_NONBLOCKING = 4
    BATCH = 8
    OPTIMIZE = 16
    STREAM = 32
    NO_SELF_TEST = 64
    NO_CLASSIC = 128


class More(IntFlag):
    """Further capability flags after the strings of CAPS; older firmware sends none."""

    KNEW = 1
    SIMULATED = 2
    GO = 4
    STATEFUL = 8


class StreamState(IntEnum):
    """State of a stream, as TAKEN reports it."""

    NONE = 0
    PLAYING = 1
    FINISHED = 2
    STARVED = 3
    OVERRUN = 4
    FAILED = 5


class ErrorCode(IntEnum):
    """Reason for a refusal, as ERROR reports it."""

    TYPE = 1  # so does older firmware answer a request that it does not know yet
    LENGTH = 2
    SLOT = 3
    TOO_LARGE = 4
    NOT_LOADED = 5
    CRC = 6
    WORKLOAD = 7
    ARGUMENT = 8
    UNSUPPORTED = 9


ERROR_MEANING: dict[int, str] = {
    ErrorCode.TYPE: "unknown message type",
    ErrorCode.LENGTH: "wrong message length",
    ErrorCode.SLOT: "no such slot",
    ErrorCode.TOO_LARGE: "too large for the slot",
    ErrorCode.NOT_LOADED: "slot not loaded",
    ErrorCode.CRC: "the CRC of the content differs",
    ErrorCode.WORKLOAD: "the workload failed",
    ErrorCode.ARGUMENT: "argument out of range",
    ErrorCode.UNSUPPORTED: "not supported",
}
