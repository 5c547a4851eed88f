# SPDX-License-Identifier: Apache-2.0
"""The peer of the link benchmark: a download as the runner of MLPerf Tiny does it, in
the text layer.

Written after mlcommons/tiny, master at the revision of peer.py, benchmark/runner (read,
not copied): device_under_test.py sends 31 bytes a command and waits for its answer;
serial_device.py writes the command and its `%` apart, and reads byte by byte in a
thread that puts lines into a queue.
"""

from __future__ import annotations

import queue
import threading
from typing import Self

import serial

_STEP_B = 31
_READ_S = 0.1
_LINE_S = 5.0


class PeerDownload:
    """An open port and its reading thread."""

    def __init__(self, path: str, baud: int) -> None:
        self._port = serial.Serial(path, baud, timeout=_READ_S)
        self._lines: queue.Queue[str] = queue.Queue()
        self._running = True
        self._thread = threading.Thread(target=self._read, name="peer download")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._running = False
        self._thread.join()
        self._port.close()

    def load(self, content: bytes) -> None:
        """Bring `content` into the device."""
        self._command(f"db load {len(content)}")
        lines: list[str] = []
        for at in range(0, len(content), _STEP_B):
            lines = self._command(f"db {content[at : at + _STEP_B].hex()}")
        if "m-load-done" not in lines:
            raise RuntimeError(f"the device did not take the download: {lines}")

    def _command(self, words: str) -> list[str]:
        self._port.write(words.encode())
        self._port.write(b"%")
        lines = [self._lines.get(timeout=_LINE_S)]
        while "m-ready" not in lines[-1]:
            lines.append(self._lines.get(timeout=_LINE_S))
        return lines

    def _read(self) -> None:
        line = ""
        while self._running:
            char = self._port.read(1).decode(errors="replace")
            if char == "\n":
                self._lines.put(line)
                line = ""
            elif char not in "\r\0":
                line += char
