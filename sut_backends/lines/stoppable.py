# SPDX-License-Identifier: Apache-2.0
"""A line whose waits hear a request to stop."""

from __future__ import annotations

import time

from rig.host.stop import LOOK_S, look
from sut_backends.lines.line import Line


class StoppableLine:
    """Stand in front of a line, and wait on it in pieces: a search of minutes ends
    within one."""

    def __init__(self, line: Line) -> None:
        self._line = line

    @property
    def name(self) -> str:
        """Return what people call the line."""
        return self._line.name

    @property
    def baud(self) -> int:
        """Return the line rate in bits per second."""
        return self._line.baud

    def read(self, timeout_s: float) -> bytes:
        """Return all that has come, waiting up to `timeout_s` for the first byte; empty
        when none came.
        """
        end_s = time.monotonic() + timeout_s
        while True:
            look()
            left_s = end_s - time.monotonic()
            block = self._line.read(min(max(left_s, 0.0), LOOK_S))
            if block or left_s <= LOOK_S:
                return block

    def write(self, block: bytes) -> None:
        """Send `block`."""
        look()
        self._line.write(block)

    def set_baud(self, baud: int) -> None:
        """Change the line rate once everything written has left."""
        self._line.set_baud(baud)

    def close(self) -> None:
        """Let go; closing twice is allowed."""
        self._line.close()
