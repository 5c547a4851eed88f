# SPDX-License-Identifier: Apache-2.0
"""Which phase lies between two falls of SYNC, while a trial runs: the marks of the
steps, in order, are the falls of the line; no Qt.

Only for the picture: a fall that was missed shifts the names until the next trial. The
numbers come from the trial's own files afterwards, where each edge is paired with its
mark.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rig.model import completion
from rig.model.completion import Completion

#: So many edges are kept: more than a picture has columns.
KEPT = 2048
_NAMES = {
    completion.END: "",
    completion.BATCH: "batch",
    completion.STREAM: "stream",
    completion.DECIDED: "",
    completion.IDLE: "idle",
    completion.SYNC: "SYNC",
}


#: The name of a phase whose mark is not known yet.
UNKNOWN = "?"


@dataclass(frozen=True, slots=True)
class Strip:
    """Phases in a row: where each begins, in seconds of the trace, and its place among
    the names; each ends where the next begins, and the last one goes on.
    """

    starts_s: NDArray[np.float64]
    places: NDArray[np.int32]
    names: tuple[str, ...]

    def name(self, number: int) -> str:
        """Return the name of a phase, empty between measured ones."""
        return self.names[int(self.places[number])]


NO_STRIP = Strip(np.zeros(0), np.zeros(0, dtype=np.int32), ("",))


class PhaseTrack:
    """Pair the falls of a trial with the marks of its steps, both as they come in, from
    any thread; of both only the newest are kept.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._phases: tuple[str, ...] = ()
        self._falls: deque[float] = deque(maxlen=KEPT)
        self._codes: deque[int] = deque(maxlen=KEPT)
        self._falls_seen = 0
        self._marks_seen = 0
        self._falls_trace = 0
        self._marks_trace = 0

    def begin(self, phases: Sequence[str]) -> None:
        """Begin the marks of the next trace; the falls of one come with its number,
        perhaps later.
        """
        with self._lock:
            self._phases = tuple(phases)
            self._codes.clear()
            self._marks_seen = 0
            self._marks_trace += 1

    def saw(self, falls_s: Sequence[float], trace: int = 1) -> None:
        """Take falls of the line, in a trace by its number, from 1."""
        with self._lock:
            if trace != self._falls_trace:
                self._falls.clear()
                self._falls_seen = 0
                self._falls_trace = trace
            self._falls.extend(falls_s)
            self._falls_seen += len(falls_s)

    def done(self, step: Completion) -> None:
        """Take the marks of a step."""
        with self._lock:
            self._codes.extend(mark.phase for mark in step.marks)
            self._marks_seen += len(step.marks)

    def strip(self) -> Strip:
        """Return the phases that are kept; one whose mark is not known yet is
        UNKNOWN."""
        with self._lock:
            falls_s = np.fromiter(self._falls, np.float64, len(self._falls))
            same_trace = self._falls_trace == self._marks_trace
            codes = np.fromiter(
                self._codes if same_trace else (),
                np.int32,
                len(self._codes) * same_trace,
            )
            ahead = (self._falls_seen - len(falls_s)) - (self._marks_seen - len(codes))
            names = ("", UNKNOWN, *self._phases, *_NAMES.values(), "reached")
        marks = np.arange(len(falls_s)) + ahead
        known = (marks >= 0) & (marks < len(codes))
        places = np.ones(len(falls_s), dtype=np.int32)
        places[known] = self._places()[codes[marks[known]]]
        return Strip(falls_s, places, names)

    def _places(self) -> NDArray[np.int32]:
        """Return the place among the names of each code of a mark."""
        places = np.ones(256, dtype=np.int32)
        count = len(self._phases)
        places[1 : 1 + count] = np.arange(2, 2 + count)
        for number, (code, name) in enumerate(_NAMES.items()):
            places[code] = 2 + count + number if name else 0
        places[completion.REACHED :] = 2 + count + len(_NAMES)
        return places
