# SPDX-License-Identifier: Apache-2.0
"""A bridge from a TCP port with RFC 2217 to a serial port, by pyserial's own server side
of the protocol: one host at a time.

Run it: `python -m tests.stand_ins.rfc2217_bridge DEVICE`; it prints its TCP port.
"""

from __future__ import annotations

import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path

import serial
import serial.rfc2217

_BLOCK_B = 4096


class _Link:
    """The writing side that pyserial's port manager wants."""

    def __init__(self, host: socket.socket) -> None:
        self._host = host
        self._lock = threading.Lock()

    def write(self, block: bytes) -> None:
        """Send a block to the host."""
        with self._lock:
            self._host.sendall(block)


class _Line(serial.Serial):
    """A serial port without modem lines, as a pseudo-terminal has none."""

    cts = dsr = ri = cd = False
    rts = dtr = False


class Bridge:
    """An open bridge; `port` is its TCP port."""

    def __init__(self, device: str | Path, port: int = 0) -> None:
        self._device = str(device)
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port = self._listener.getsockname()[1]
        self._host: socket.socket | None = None
        self.hosts = 0

    def serve(self) -> None:
        """Serve hosts, one after the other, until the bridge is closed."""
        while True:
            try:
                host, _ = self._listener.accept()
            except OSError:
                return
            self._host = host
            self.hosts += 1
            with host, suppress(OSError, serial.SerialException):
                self._joined(host)

    def drop(self) -> None:
        """Hang up on the host, as a bridge that loses its power."""
        if self._host is not None:
            with suppress(OSError):
                self._host.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the bridge."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.drop()

    def _joined(self, host: socket.socket) -> None:
        with _Line(self._device, timeout=0.02) as line:
            link = _Link(host)
            manager = serial.rfc2217.PortManager(line, link)
            over = threading.Event()

            def up() -> None:
                while not over.is_set():
                    block = line.read(max(line.in_waiting, 1))
                    if block:
                        link.write(b"".join(manager.escape(block)))

            thread = threading.Thread(target=up, daemon=True)
            thread.start()
            try:
                while block := host.recv(_BLOCK_B):
                    line.write(b"".join(manager.filter(block)))
            finally:
                over.set()
                thread.join(2.0)


def main() -> int:
    """Serve one device."""
    bridge = Bridge(sys.argv[1])
    print(bridge.port, flush=True)
    bridge.serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
