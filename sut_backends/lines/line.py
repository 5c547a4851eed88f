# SPDX-License-Identifier: Apache-2.0
"""The line to a device under test: what a port, and whatever stands in front of one,
offers."""

from __future__ import annotations

from typing import Protocol


class DutLine(Protocol):
    """Bytes to and from the DUT; each method raises DeviceLost when the line is
    gone."""

    @property
    def name(self) -> str:
        """Return what people call the line."""

    @property
    def baud(self) -> int:
        """Return the line rate in bits per second."""

    def read(self, timeout_s: float) -> bytes:
        """Return all that has come, waiting up to `timeout_s` for the first byte; empty
        when none came.
        """

    def write(self, block: bytes) -> None:
        """Send `block`."""

    def set_baud(self, baud: int) -> None:
        """Change the line rate once everything written has left."""

    def close(self) -> None:
        """Let go; closing twice is allowed."""
