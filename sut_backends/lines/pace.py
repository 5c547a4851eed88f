# SPDX-License-Identifier: Apache-2.0
"""Computed times at which bytes leave a line of a given rate. No port, no clock."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from sut_backends.shim.timeouts import BITS_PER_BYTE

# bytes that a driver of a serial port buffers before a write waits
CAPACITY_B = 4096
INFINITE_S = float("inf")


@dataclass(slots=True)
class _Piece:
    """Bytes that leave one after the other, the first at `leaves_s`."""

    block: bytes
    leaves_s: float


class LinePace:
    """One direction of a line of `baud`, with an additional delay as of bridges and
    schedulers; times are the caller's, in seconds.

    A byte occupies the line from its arrival, or from the end of the byte before; it
    leaves `delay_s` after it was transferred. No byte is lost: `room_b` states how many
    may be put.
    """

    def __init__(self, baud: int, delay_s: float, capacity_b: int = CAPACITY_B) -> None:
        self._byte_s = BITS_PER_BYTE / baud
        self._delay_s = delay_s
        self._capacity_b = capacity_b
        self._pieces: deque[_Piece] = deque()
        self._free_s = 0.0
        self._held_b = 0

    @property
    def room_b(self) -> int:
        """Number of bytes that may be put now."""
        return max(self._capacity_b - self._held_b, 0)

    @property
    def first_s(self) -> float:
        """Return when the next byte leaves."""
        return self._pieces[0].leaves_s if self._pieces else INFINITE_S

    @property
    def last_s(self) -> float:
        """Return when the last byte leaves."""
        return self._free_s + self._delay_s if self._pieces else INFINITE_S

    def put(self, block: bytes, now_s: float) -> None:
        """Take bytes that arrive at `now_s`."""
        begin_s = max(self._free_s, now_s)
        self._free_s = begin_s + len(block) * self._byte_s
        self._held_b += len(block)
        self._pieces.append(_Piece(block, begin_s + self._byte_s + self._delay_s))

    def ready(self, now_s: float) -> bytes:
        """Return the bytes that leave up to `now_s` and have not been taken yet."""
        out = b""
        for piece in self._pieces:
            if piece.leaves_s > now_s:
                break
            count = int((now_s - piece.leaves_s) / self._byte_s + 1e-6) + 1
            out += piece.block[:count]
        return out

    def take(self, count_b: int) -> None:
        """Remove so many bytes, from the first on."""
        self._held_b -= count_b
        while count_b:
            piece = self._pieces[0]
            taken_b = min(count_b, len(piece.block))
            piece.block = piece.block[taken_b:]
            piece.leaves_s += taken_b * self._byte_s
            count_b -= taken_b
            if not piece.block:
                self._pieces.popleft()
