# SPDX-License-Identifier: Apache-2.0
"""The bytes on the shim's line as lines for the console: text as it is, frames by their bytes; no
Qt.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable

#: What ends a line of the text layer: of an answer its line, of a command its last character.
_TEXT_END = re.compile(rb"(?<=%)|[\r\n]+")
_FRAME_END = b"\0"
#: An end that does not come is not waited for: so many bytes are a line.
_LONGEST = 4096
_HEX_SHOWN = 32
_NO_TEXT = re.compile(rb"[^\x20-\x7e\r\n\t]")


class WireLines:
    """Cut the blocks of each direction into lines, and hand these on."""

    def __init__(self, out: Callable[[str, str], None]) -> None:
        self._out = out
        self._lock = threading.Lock()
        self._open: dict[str, bytes] = {}

    def __call__(self, direction: str, block: bytes) -> None:
        """Take a block of bytes of a direction, "tx" or "rx"."""
        with self._lock:
            *frames, rest = (self._open.get(direction, b"") + block).split(_FRAME_END)
            for frame in frames:
                self._say(direction, frame, True)
            if len(rest) <= _LONGEST and not _printable(rest):
                self._open[direction] = rest
                return
            *lines, rest = _TEXT_END.split(rest)
            for line in lines:
                self._say(direction, line, False)
            if len(rest) > _LONGEST:
                self._say(direction, rest, False)
                rest = b""
            self._open[direction] = rest

    def flush(self) -> None:
        """Hand on what has no end yet."""
        with self._lock:
            for direction, rest in self._open.items():
                self._say(direction, rest, False)
            self._open.clear()

    def _say(self, direction: str, said: bytes, frame: bool) -> None:
        if not said:
            return
        if not frame and _printable(said):
            self._out(direction, said.decode("ascii").strip())
            return
        shown = said[:_HEX_SHOWN].hex(" ") + (" ..." if len(said) > _HEX_SHOWN else "")
        self._out(direction, f"{'frame' if frame else 'bytes'} {len(said)} B: {shown}")


def _printable(said: bytes) -> bool:
    return _NO_TEXT.search(said) is None
