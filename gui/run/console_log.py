# SPDX-License-Identifier: Apache-2.0
"""What passes the shim's line, as lines with a time: a bounded memory, and a filter; no
Qt."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from rig.interfaces.console import WireLine

#: So many lines are kept; older ones are in the session's uart.log.
KEPT = 5000
#: Of a longer block only the beginning is shown.
SHOWN = 160


@dataclass(frozen=True, slots=True)
class ConsoleLine:
    """A line: its number from 1, seconds since the log began, "tx" (to the device) or
    "rx", and its text; `ok` is False for noise and refusals.
    """

    number: int
    at_s: float
    direction: str
    text: str
    ok: bool = True

    def shown(self) -> str:
        """Return the line as the console shows it."""
        arrow = "->" if self.direction == "tx" else "<-"
        return f"{self.at_s:9.3f} {arrow} {'' if self.ok else '! '}{self.text}"


@dataclass(frozen=True, slots=True)
class Filter:
    """Which lines are shown: of one direction or of both, with a text in them, in any
    case."""

    direction: str = ""
    text: str = ""

    def passes(self, line: ConsoleLine) -> bool:
        """Check whether a line is shown."""
        if self.direction and line.direction != self.direction:
            return False
        return not self.text or self.text.casefold() in line.text.casefold()


class ConsoleLog:
    """A log of the messages on the device's line, added from any thread."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._began_s = clock()
        self._lock = threading.Lock()
        self._lines: deque[ConsoleLine] = deque(maxlen=KEPT)
        self._count = 0

    @property
    def count(self) -> int:
        """Number of all lines, the forgotten ones included."""
        with self._lock:
            return self._count

    def add(self, line: WireLine) -> None:
        """Add a line, from any thread."""
        text = line.text if line.name == "text" else f"{line.name} {line.text}"
        if len(text) > SHOWN:
            text = f"{text[:SHOWN]}... ({len(text)} characters)"
        with self._lock:
            self._count += 1
            at_s = self._clock() - self._began_s
            self._lines.append(
                ConsoleLine(self._count, at_s, line.direction, text, line.ok)
            )

    def since(self, number: int, passing: Filter) -> list[ConsoleLine]:
        """Return the lines after a number that pass a filter, oldest first."""
        with self._lock:
            lines = list(self._lines)
        return [line for line in lines if line.number > number and passing.passes(line)]
