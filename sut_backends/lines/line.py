# SPDX-License-Identifier: Apache-2.0
"""Interface of the line to a device under test."""

from __future__ import annotations

from typing import Protocol


class DutLine(Protocol):
    """Bytes to and from the DUT; each method raises DeviceLost when the line is
    gone.
    """

    @property
    def name(self) -> str:
        """The name of the line for messages."""

    @property
    def baud(self) -> int:
        """The line rate in bits per second."""

    def read(self, timeout_s: float) -> bytes:
        """Return all bytes received, waiting up to `timeout_s` for the first one; empty
        when none came.
        """

    def write(self, block: bytes) -> None:
        """Send `block`."""

    def set_baud(self, baud: int) -> None:
        """Change the line rate once everything written has left."""

    def close(self) -> None:
        """Close the line; closing twice is allowed."""
