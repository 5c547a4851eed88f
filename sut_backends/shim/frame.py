# SPDX-License-Identifier: Apache-2.0
"""Frames on the wire: COBS with a CRC, docs/reference/PROTOCOL.md section 2. Bytes in,
frames out; no port, no clock.

COBS is from S. Cheshire and M. Baker, "Consistent overhead byte stuffing", IEEE/ACM
Trans. Networking 7(2), 1999; the library `cobs` implements it.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from cobs import cobs

from sut_backends.shim import messages

DELIMITER = b"\x00"
_GROUP_MAX = 254  # bytes without a zero after one code byte
_TAIL_MAX_B = 160  # dropped bytes that are kept as evidence


@dataclass(frozen=True, slots=True)
class Frame:
    """One message: its type byte, its sequence number and its payload."""

    kind: int
    seq: int
    payload: bytes = b""


def encode(frame: Frame) -> bytes:
    """Return the bytes of `frame` on the wire, delimiters on both sides."""
    body = bytes([frame.kind, frame.seq]) + frame.payload
    code: bytes = cobs.encode(body + zlib.crc32(body).to_bytes(4, "little"))
    return DELIMITER + code + DELIMITER


def decode(code: bytes) -> Frame:
    """Return the frame between two delimiters; raise ValueError where it is none."""
    try:
        content: bytes = cobs.decode(code)
    except cobs.DecodeError as error:
        raise ValueError(f"bad COBS code: {error}") from error
    body = content[:-4]
    crc = content[-4:]
    if len(content) < messages.FRAME_OVERHEAD_B:
        raise ValueError(f"frame of {len(content)} bytes")
    if zlib.crc32(body) != int.from_bytes(crc, "little"):
        raise ValueError("the CRC differs")
    return Frame(body[0], body[1], body[2:])


class FrameDecoder:
    """Find frames in a stream of arbitrary bytes. `max_payload_b` bounds the memory.

    `dropped` counts pieces between delimiters that are no frame; `dropped_tail` are
    their last bytes; `pending` are the bytes after the last delimiter.
    """

    def __init__(self, max_payload_b: int = messages.CAPS_MAX_PAYLOAD_B) -> None:
        self.max_payload_b = max_payload_b
        self.dropped = 0
        self.dropped_tail = b""
        self._pending = bytearray()

    @property
    def pending(self) -> bytes:
        """The bytes after the last delimiter."""
        return bytes(self._pending)

    def feed(self, block: bytes) -> list[Frame]:
        """Take received bytes; return the frames that they complete."""
        *closed, partial = block.split(DELIMITER)
        frames = []
        for piece in closed:
            frame = self._close(bytes(self._pending) + piece)
            self._pending.clear()
            if frame is not None:
                frames.append(frame)
        self._pending += partial
        # An overlong frame is kept just long enough to be recognised as such: memory
        # stays bounded on a line of noise.
        del self._pending[: max(len(self._pending) - 2 * self._code_max_b, 0)]
        return frames

    def forget(self) -> None:
        """Forget the dropped bytes and a partial frame; the count stays."""
        self._pending.clear()
        self.dropped_tail = b""

    @property
    def _code_max_b(self) -> int:
        decoded_b = self.max_payload_b + messages.FRAME_OVERHEAD_B
        return decoded_b + decoded_b // _GROUP_MAX + 1

    def _close(self, code: bytes) -> Frame | None:
        if not code:
            return None
        try:
            frame = decode(code) if len(code) <= self._code_max_b else None
        except ValueError:
            frame = None
        if frame is None or len(frame.payload) > self.max_payload_b:
            self._drop(code)
            return None
        return frame

    def _drop(self, code: bytes) -> None:
        self.dropped += 1
        self.dropped_tail = (self.dropped_tail + code)[-_TAIL_MAX_B:]
