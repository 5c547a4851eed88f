# SPDX-License-Identifier: Apache-2.0
"""The line to an emulated DUT: one end of a pair of sockets."""

from __future__ import annotations

import socket
import struct
import sys
import time
from collections.abc import Callable

from rig.errors import DeadlineError, DeviceLost
from rig.host.ready import can_read_unless_stopped
from rig.host.stop import look

_BLOCK_B = 65_536
_WRITE_TIMEOUT_S = 10.0
_POLL_S = 0.001
_PIECE_B = 64  # short pieces show how far the emulator has read
_STUCK_S = 0.2


class SocketLine:
    """A DutLine on a connected socket, which it owns; `wire` is called with every
    block.

    The rate is a number only: the emulator reads as fast as it can, at times slower
    than the rate. Therefore a write waits until the bytes are read: time-outs that
    count from the end of a write then hold on an overloaded machine too. Reads and
    writes raise Stopped on a request to stop.
    """

    def __init__(
        self,
        connected: socket.socket,
        name: str,
        baud: int,
        wire: Callable[[str, bytes], None],
    ) -> None:
        self.name = name
        self.baud = baud
        self._socket = connected
        self._wire = wire
        self._socket.settimeout(_WRITE_TIMEOUT_S)

    def read(self, timeout_s: float) -> bytes:
        """Return all bytes received, waiting up to `timeout_s` for the first one; empty
        when none came.
        """
        try:
            there = can_read_unless_stopped(self._socket, timeout_s)
            block = self._socket.recv(_BLOCK_B) if there else b""
        except (OSError, ValueError) as error:
            raise self._lost(str(error)) from error
        if there and not block:
            raise self._lost("the other end is closed")
        if block:
            self._wire("rx", block)
        return block

    def write(self, block: bytes) -> None:
        """Send `block`; raise DeadlineError when the line accepts no bytes."""
        look()
        try:
            for at in range(0, len(block), _PIECE_B):
                self._socket.sendall(block[at : at + _PIECE_B])
            self._wait_while_it_is_taken()
        except TimeoutError as error:
            raise DeadlineError(
                f"room to write on {self.name}",
                _WRITE_TIMEOUT_S,
                try_next="look at the emulator",
            ) from error
        except OSError as error:
            raise self._lost(str(error)) from error
        self._wire("tx", block)

    def set_baud(self, baud: int) -> None:
        """Note another line rate."""
        self.baud = baud

    def close(self) -> None:
        """Close the line; closing twice is allowed."""
        self._socket.close()

    def _wait_while_it_is_taken(self) -> None:
        """Return when the other end has read all, or has stopped reading: the time-outs
        of the protocol handle that.
        """
        left = self._untaken()
        moved_s = time.monotonic()
        while left and time.monotonic() < moved_s + _STUCK_S:
            time.sleep(_POLL_S)
            before = left
            left = self._untaken()
            if left != before:
                moved_s = time.monotonic()

    def _untaken(self) -> int:
        """Return how much the other end has still to read, in a unit of the system; 0
        on a system without a call for it.
        """
        if sys.platform == "win32":
            return 0
        import fcntl
        import termios

        left: tuple[int] = struct.unpack(
            "i", fcntl.ioctl(self._socket, termios.TIOCOUTQ, bytes(4))
        )
        return left[0]

    def _lost(self, evidence: str) -> DeviceLost:
        return DeviceLost(
            f"the line {self.name} is gone",
            evidence=evidence,
            try_next="look at how the emulator ended",
        )
