# SPDX-License-Identifier: Apache-2.0
"""Pseudo-terminals and pipes of simulated devices: what Linux and macOS have and
Windows lacks."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from rig.errors import ConfigError


@dataclass(frozen=True, slots=True)
class PseudoTerminal:
    """A raw pseudo-terminal: the descriptor of the device's end, which does not block,
    the one that keeps the other end there while hosts come and go, and the path that a
    host opens.
    """

    device_fd: int
    host_fd: int
    path: str


def open_terminal(what: str) -> PseudoTerminal:
    """Open a pseudo-terminal for `what`; ConfigError on Windows."""
    if sys.platform == "win32":
        raise posix_only(what)
    import tty

    device_fd, host_fd = os.openpty()
    # Else the line discipline would echo the device's words until a host opens the
    # port.
    tty.setraw(host_fd)
    os.set_blocking(device_fd, False)
    return PseudoTerminal(device_fd, host_fd, os.ttyname(host_fd))


def open_port(path: str, *, raw: bool) -> int:
    """Open the host's end of a terminal without waiting for bytes; ConfigError on
    Windows."""
    if sys.platform == "win32":
        raise posix_only(path)
    import tty

    port_fd = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    if raw:
        tty.setraw(port_fd)
    return port_fd


def unread_b(host_fd: int) -> int:
    """Return how many bytes a terminal holds for the host."""
    if sys.platform == "win32":
        raise posix_only("a terminal's count of bytes")
    import fcntl
    import termios

    return int.from_bytes(
        fcntl.ioctl(host_fd, termios.FIONREAD, bytes(4)), sys.byteorder
    )


def do_not_block(fd: int) -> None:
    """Let reads and writes of a pipe return at once; ConfigError on Windows."""
    if sys.platform == "win32":
        raise posix_only("a pipe to a process")
    os.set_blocking(fd, False)


def refuse_windows(what: str) -> None:
    """Raise ConfigError on Windows."""
    if sys.platform == "win32":
        raise posix_only(what)


def posix_only(what: str) -> ConfigError:
    """Return the error of a part that Windows cannot run."""
    return ConfigError(
        f"{what} runs on Linux and macOS only",
        evidence=f"this system is {sys.platform}",
        try_next="use one of them, or a device on a serial port ([sut.uart])",
        see="not-on-windows",
    )
