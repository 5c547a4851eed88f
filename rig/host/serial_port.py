# SPDX-License-Identifier: Apache-2.0
"""A serial port by its pyserial URL: a device, `socket://`, `rfc2217://`, a pty; or
`tls://` of a served device.
Foreign exceptions are translated here.

Shared by backends and drivers, which may not import each other.
"""

from __future__ import annotations

import errno
import os
import re
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import serial
from serial.tools import list_ports

from rig.errors import (
    ConfigError,
    DeadlineError,
    DeviceBusy,
    DeviceLost,
    DeviceNotFound,
    RigError,
)
from rig.host.ready import can_read, can_read_unless_stopped, ready
from rig.host.stop import look
from rig.host.tls_port import SCHEME, Trust, open_port

_FOREIGN: tuple[type[Exception], ...] = (OSError,)
if sys.platform != "win32":
    import termios

    _FOREIGN = (OSError, termios.error)

_AT_OPEN: tuple[type[Exception], ...] = (*_FOREIGN, ValueError)
_IN_USE: tuple[type[Exception], ...] = (
    *_AT_OPEN,
    TypeError,
)  # pyserial lets TypeError out once a port is closed
_PROC = Path("/proc")
_BLOCK_B = 65_536
_HEARD_B = 80
_POLL_S = 0.01  # of ports that cannot be waited for with select
_WRITE_TIMEOUT_S = 10.0
_BUSY = {errno.EAGAIN, errno.EWOULDBLOCK, errno.EBUSY}
_DENIED = {errno.EACCES, errno.EPERM}
_NO_PORT = {errno.ENOTTY, errno.EISDIR}


#: Lines of a serial port that a program drives.
ModemLine = Literal["rts", "dtr"]

DENIED_TRY = (
    "join the group that owns it (usually: sudo usermod -aG dialout $USER), then log in"
    " again"
)


@dataclass(frozen=True, slots=True)
class Use:
    """The part of the bench that uses a port: the section of its keys in the bench
    file, and the advice for a port that is gone or accepts no bytes.
    """

    section: str = "sut"
    gone: str = "look at the cable and at the DUT's supply"
    stuck: str = "reset the DUT or its bridge"


class SerialPort:
    """One open port, held exclusively where the system supports it; `wire` is called
    with every block.

    A port that `hears_stop` raises Stopped where the thread that uses it is asked to
    stop (rig/host/stop.py).
    """

    def __init__(
        self,
        port: Any,
        name: str,
        wire: Callable[[str, bytes], None],
        use: Use,
        hears_stop: bool,
    ) -> None:
        self.name = name
        self._hears_stop = hears_stop
        self._port = port
        self._wire = wire
        self._use = use
        self._heard = b""  # the last bytes: a peer may state why it closes the line
        self._fd = _descriptor(port)
        self._is_plain = self._fd is not None and _is_plain(name)
        if self._fd is not None:
            port.timeout = 0
            port.write_timeout = _WRITE_TIMEOUT_S
        if sys.platform == "linux":
            # An FTDI bridge then waits 1 ms instead of 16; others ignore it.
            with suppress(ValueError, AttributeError, NotImplementedError, *_FOREIGN):
                port.set_low_latency_mode(True)

    @classmethod
    def open(
        cls,
        url: str,
        baud: int,
        wire: Callable[[str, bytes], None] = lambda direction, block: None,
        use: Use | None = None,
        *,
        hears_stop: bool = False,
        trust: Trust | None = None,
    ) -> SerialPort:
        """Open `url` at `baud`; raise DeviceNotFound, DeviceBusy or ConfigError, and
        those of a port of `tls://`, which needs `trust`.
        """
        use = use or Use()
        if baud <= 0:
            raise ConfigError(
                f"a line rate is above 0 baud, not {baud}", path=f"{use.section}.baud"
            )
        if url.startswith(SCHEME):
            secured = open_port(url, baud, _POLL_S, trust or Trust())
            return cls(secured, url, wire, use, hears_stop)
        try:
            port = serial.serial_for_url(
                url, baudrate=baud, timeout=_POLL_S, exclusive=True
            )
            return cls(port, url, wire, use, hears_stop)
        except _AT_OPEN as error:
            raise _refusal(error, url, f"{use.section}.port") from error

    @property
    def baud(self) -> int:
        """The line rate in bits per second."""
        return int(self._port.baudrate)

    def read(self, timeout_s: float) -> bytes:
        """Return all bytes received, waiting up to `timeout_s` for the first one; empty
        when none came.
        """
        try:
            if self._fd is None:
                block = self._read_polled(timeout_s)
            else:
                block = self._read_ready(self._fd, timeout_s)
        except _IN_USE as error:
            raise self._failed("read", error) from error
        if block:
            self._heard = block[-_HEARD_B:]
            self._wire("rx", block)
        return block

    def write(self, block: bytes) -> None:
        """Send `block`; raise DeadlineError when the line accepts no bytes."""
        if self._hears_stop:
            look()
        # Logged first: another thread may read the answer before this one continues.
        self._wire("tx", block)
        try:
            if self._fd is not None and self._is_plain:
                _write(self._fd, block)
            else:
                self._port.write(block)
        except _IN_USE as error:
            raise self._failed("write", error) from error

    def set_baud(self, baud: int) -> None:
        """Change the line rate once everything written has left."""
        try:
            self._port.flush()
            self._port.baudrate = baud
        except _IN_USE as error:
            raise self._failed("change of the line rate", error) from error

    def drive(self, line: ModemLine, *, asserted: bool) -> None:
        """Assert or release RTS or DTR; returns when the system has done so."""
        try:
            setattr(self._port, line, asserted)
        except _IN_USE as error:
            raise self._failed(f"change of {line.upper()}", error) from error

    def close(self) -> None:
        """Close the port; closing twice is allowed."""
        # pyserial does not close a socket whose peer is gone.
        left_open = getattr(self._port, "_socket", None)
        if self._fd is not None:
            self._fd = -1  # its number may soon be that of another file
        with suppress(*_FOREIGN):
            self._port.close()
        if left_open is not None:
            left_open.close()

    def _read_ready(self, fd: int, timeout_s: float) -> bytes:
        wait = can_read_unless_stopped if self._hears_stop else can_read
        if not wait(fd, timeout_s):
            return b""
        return _read(fd) if self._is_plain else bytes(self._port.read(_BLOCK_B))

    def _read_polled(self, timeout_s: float) -> bytes:
        end_s = time.monotonic() + timeout_s
        while True:
            if self._hears_stop:
                look()
            first = bytes(self._port.read(1))
            if first:
                return first + bytes(self._port.read(self._port.in_waiting))
            if time.monotonic() >= end_s:
                return b""

    def _failed(self, what: str, error: Exception) -> RigError:
        if isinstance(error, serial.SerialTimeoutException):
            awaited = f"room to write on {self.name}"
            return DeadlineError(
                awaited,
                _WRITE_TIMEOUT_S,
                try_next=self._use.stuck,
                see="port-takes-no-byte",
            )
        evidence = f"{what}: {error}"
        if self._heard:
            evidence += f"; last heard {self._heard!r}"
        return DeviceLost(
            f"the port {self.name} is gone",
            evidence=evidence,
            try_next=self._use.gone,
            see="port-gone",
        )


def _descriptor(port: serial.Serial) -> int | None:
    try:
        return int(port.fileno())
    except (OSError, AttributeError):
        return None


def _is_plain(url: str) -> bool:
    """Check whether a port can be used by its descriptor alone, without the select()
    of pyserial, which fails from descriptor 1024 on.
    """
    return sys.platform != "win32" and ("://" not in url or url.startswith("socket://"))


def _read(fd: int) -> bytes:
    try:
        block = os.read(fd, _BLOCK_B)
    except BlockingIOError:
        return b""
    if not block:
        raise serial.SerialException(
            "it can be read, and there is no byte: the other end is gone"
        )
    return block


def _write(fd: int, block: bytes) -> None:
    left = memoryview(block)
    end_s = time.monotonic() + _WRITE_TIMEOUT_S
    while left:
        try:
            left = left[os.write(fd, left) :]
        except BlockingIOError:
            if not ready([], [fd], end_s - time.monotonic())[1]:
                cause = f"no room for {len(left)} bytes"
                raise serial.SerialTimeoutException(cause) from None


def _number(error: BaseException | None) -> int | None:
    while error is not None:
        number = error.args[0] if error.args else None
        if isinstance(error, _FOREIGN) and isinstance(number, int):
            return number
        error = error.__context__
    return None


def _refusal(error: Exception, url: str, path: str) -> RigError:
    number = _number(error)
    # pyserial puts its own words, with the same number, before those of the system.
    message = re.sub(r"^\[Errno \d+\] could not open port .*?: (?=\[)", "", str(error))
    if number in _BUSY:
        evidence = "; ".join([message, *users_of(url)])
        return DeviceBusy(
            f"the port {url} is in use",
            evidence=evidence,
            try_next="end the terminal or other rig that holds it",
            see="port-busy",
        )
    if number in _DENIED:
        return DeviceNotFound(
            f"the port {url} may not be opened",
            evidence=message,
            try_next=DENIED_TRY,
            see="port-denied",
        )
    if isinstance(error, ValueError):
        return ConfigError(f"{url!r} cannot be opened: {error}", path=path)
    if "://" in url:
        return DeviceNotFound(
            f"no device answers at {url}",
            evidence=message,
            try_next="start the bridge; look at host and port",
            see="nothing-at-the-address",
        )
    ports = [f"{port.device} ({port.description})" for port in list_ports.comports()]
    evidence = f"{message}; ports here: {', '.join(ports) or 'none'}"
    if number in _NO_PORT:
        return DeviceNotFound(
            f"{url} is no serial port",
            evidence=evidence,
            try_next="name one of these",
            see="port-missing",
        )
    return DeviceNotFound(
        f"there is no port {url}",
        evidence=evidence,
        try_next="plug it in, or name one of these",
        see="port-missing",
    )


def users_of(path: str) -> list[str]:
    """Return "open in process 4711 (minicom)" for each process that has the file open,
    as far as the system reports it.
    """
    device = Path(path).resolve()
    processes = []
    for process in sorted(_PROC.glob("[0-9]*"), key=lambda folder: int(folder.name)):
        with suppress(OSError):
            if any(_links_to(link, device) for link in (process / "fd").iterdir()):
                processes.append(
                    f"open in process {process.name}"
                    f" ({(process / 'comm').read_text().strip()})"
                )
    return processes


def _links_to(link: Path, device: Path) -> bool:
    try:
        return link.readlink() == device
    except OSError:
        return False  # closed meanwhile
