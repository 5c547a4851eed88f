# SPDX-License-Identifier: Apache-2.0
"""Endpoints of a served device, each for one host at a time: a pseudo-terminal, a TCP
port, a serial port.
"""

from __future__ import annotations

import os
import socket
import ssl
import threading
import time
from contextlib import suppress
from functools import partial
from typing import Protocol

from rig.errors import DeadlineError, DeviceLost, DeviceNotFound, RigError
from rig.host.pseudo_terminal import open_terminal
from rig.host.ready import can_read, ready
from rig.host.serial_port import SerialPort, Use
from rig.host.stop import pause
from rig.host.tls_port import SCHEME
from sut_backends.served.admission import Admission

LOOPBACK = "127.0.0.1"
#: Sent to a second host before its connection is closed.
BUSY = b"e-[another host is connected to this device]\r\n"
_BLOCK_B = 65_536
#: A host that takes no byte for so long counts as gone.
_WRITE_S = 10.0
_GOODBYE_S = 0.5
_AGAIN_S = 0.5
#: A connection that broke without notice is closed after IDLE + INTERVAL x COUNT
#: seconds.
_KEEPALIVE = {"TCP_KEEPIDLE": 5, "TCP_KEEPINTVL": 2, "TCP_KEEPCNT": 3}


class Endpoint(Protocol):
    """Bytes from and to the connected host; a host that goes is no error."""

    @property
    def url(self) -> str:
        """The port that a host states in its bench file."""

    def read(self, timeout_s: float) -> bytes:
        """Return the bytes received, waiting up to `timeout_s`; empty where none
        came.
        """

    def write(self, block: bytes) -> None:
        """Send a block to the host; dropped where none is connected."""

    def close(self) -> None:
        """Let go; closing twice is allowed."""


class PtyEndpoint:
    """A pseudo-terminal of this computer, which a host opens as a serial port."""

    def __init__(self) -> None:
        # The other end is kept open, so that hosts may come and go.
        terminal = open_terminal("a served device without a port")
        self._fd, self._kept_fd = terminal.device_fd, terminal.host_fd
        self.url = terminal.path

    def read(self, timeout_s: float) -> bytes:
        """Return the bytes received."""
        if not can_read(self._fd, timeout_s):
            return b""
        return os.read(self._fd, _BLOCK_B)

    def write(self, block: bytes) -> None:
        """Send a block; unread bytes are dropped once the terminal is full."""
        left = memoryview(block)
        while left and ready([], [self._fd], _AGAIN_S)[1]:
            with suppress(BlockingIOError):
                left = left[os.write(self._fd, left) :]

    def close(self) -> None:
        """Close both ends."""
        for fd in (self._fd, self._kept_fd):
            if fd >= 0:
                os.close(fd)
        self._fd = self._kept_fd = -1


class TcpEndpoint:
    """A TCP port: the first host is served until it goes, a second one gets a message
    and is disconnected.
    """

    def __init__(
        self, address: str, port: int, admission: Admission | None = None
    ) -> None:
        self._admission = admission
        try:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            self._listener = socket.create_server((address, port), family=family)
        except (OSError, OverflowError) as error:
            raise DeviceNotFound(
                f"{address}, port {port} cannot be listened on",
                evidence=str(error),
                try_next=(
                    "another --tcp PORT (0: any that is free), or an address of this"
                    " computer"
                ),
            ) from error
        name, number = self._listener.getsockname()[:2]
        scheme = "socket://" if admission is None else SCHEME
        self.url = f"{scheme}{f'[{name}]' if ':' in name else name}:{number}"
        self._lock = threading.Lock()
        self._there = threading.Event()
        self._host: socket.socket | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._accept, name="hosts", daemon=True)
        self._thread.start()

    def read(self, timeout_s: float) -> bytes:
        """Return the bytes received from the host."""
        host = self._present(timeout_s)
        if host is None:
            return b""
        try:
            if not _pending(host) and not can_read(host, timeout_s):
                return b""
            host.settimeout(0.0)
            block = host.recv(_BLOCK_B)
        except (BlockingIOError, ssl.SSLWantReadError):
            return b""  # records of TLS itself
        except (OSError, ValueError):
            block = b""
        if not block:
            self._drop(host)
        return block

    def write(self, block: bytes) -> None:
        """Send a block to the host."""
        host = self._present(0.0)
        if host is None:
            return
        try:
            host.settimeout(_WRITE_S)
            host.sendall(block)
        except OSError:
            self._drop(host)

    def close(self) -> None:
        """Close the port and the connection."""
        self._closed = True
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(_WRITE_S)
        if self._host:
            self._drop(self._host)

    def _present(self, timeout_s: float) -> socket.socket | None:
        if self._host is None and timeout_s > 0:
            self._there.wait(timeout_s)
        return self._host

    def _drop(self, host: socket.socket) -> None:
        with self._lock:
            if self._host is host:
                self._host = None
                self._there.clear()
        host.close()

    def _accept(self) -> None:
        while not self._closed:
            try:
                host, _ = self._listener.accept()
            except OSError:
                return
            if self._admission is not None:
                admitted = self._admission.admitted(host)
                if isinstance(admitted, bytes):
                    if admitted:
                        _refuse(host, admitted)
                    continue
                host = admitted
            with self._lock:
                free = self._host is None or _gone(self._host)
                if free:
                    _set_up(host)
                    self._host = host
                    self._there.set()
            if not free:
                _refuse(host, BUSY)


class SerialEndpoint:
    """A serial port of this computer; one that disappears is opened again as soon as it
    is back.
    """

    def __init__(self, url: str, baud: int) -> None:
        self.url = url
        self._baud = baud
        self.port = SerialPort.open(url, baud, use=Use(section="--port"))
        self._lost = False

    def read(self, timeout_s: float) -> bytes:
        """Return the bytes received."""
        if self._lost and not self._again():
            pause(min(timeout_s, _AGAIN_S))
            return b""
        try:
            return self.port.read(timeout_s)
        except DeviceLost:
            self._lost = True
            return b""

    def write(self, block: bytes) -> None:
        """Send a block."""
        try:
            if not self._lost:
                self.port.write(block)
        except (DeviceLost, DeadlineError):
            self._lost = True

    def close(self) -> None:
        """Close the port."""
        self.port.close()

    def _again(self) -> bool:
        self.port.close()
        try:
            self.port = SerialPort.open(self.url, self._baud, use=Use(section="--port"))
        except RigError:
            return False
        self._lost = False
        return True


def _set_up(host: socket.socket) -> None:
    host.settimeout(_WRITE_S)
    host.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    host.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):
            host.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _gone(host: socket.socket) -> bool:
    """Check whether a host has closed its end, without taking its bytes."""
    try:
        # An SSLSocket's own recv has no flags.
        peeked = partial(socket.socket.recv, host, 1, socket.MSG_PEEK)
        return can_read(host, 0.0) and peeked() == b""
    except (OSError, ValueError):
        return True


def _pending(host: socket.socket) -> bool:
    """Check whether a connection has bytes that its socket does not show."""
    return isinstance(host, ssl.SSLSocket) and host.pending() > 0


def _refuse(host: socket.socket, why: bytes) -> None:
    """Answer each message of the host with the reason for a while, as hosts drop the
    first bytes they receive; then disconnect it.
    """
    end_s = time.monotonic() + _GOODBYE_S
    with host, suppress(OSError):
        while (left_s := end_s - time.monotonic()) > 0:
            host.settimeout(left_s)
            if not host.recv(_BLOCK_B):
                return
            host.sendall(why)
