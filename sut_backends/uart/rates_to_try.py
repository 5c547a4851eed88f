# SPDX-License-Identifier: Apache-2.0
"""Line rates to try at a port, and the ports that have no line rate."""

from __future__ import annotations

import re
from pathlib import Path

USUAL_BAUDS = (
    9600,
    19_200,
    38_400,
    57_600,
    115_200,
    230_400,
    460_800,
    921_600,
    1_000_000,
)
_PSEUDO_TERMINAL = re.compile(r"/dev/(pts/|ttys)\d+")
_USB_CDC = re.compile(r"/dev/(ttyACM|(cu|tty)\.usbmodem)\w+")


def no_rate(port: str) -> str:
    """Return why another line rate has no effect at a port; empty where it has one."""
    if port.startswith(("socket://", "tls://")):
        return "a socket has no line rate: it is set where the socket ends"
    if _PSEUDO_TERMINAL.fullmatch(_real(port)):
        return "a pseudo terminal has no line rate"
    return ""


def others(port: str, baud: int) -> str:
    """Return the rates to try other than `baud`, in words, or why none helps."""
    if why := no_rate(port):
        return why
    rates = ", ".join(str(rate) for rate in USUAL_BAUDS if rate != baud)
    if _USB_CDC.fullmatch(_real(port)):
        return (
            "a microcontroller's own USB port has no line rate, a debugger's or"
            f" bridge's has; other line rates there: {rates}"
        )
    return f"other line rates: {rates}"


def _real(port: str) -> str:
    return str(Path(port).resolve())
