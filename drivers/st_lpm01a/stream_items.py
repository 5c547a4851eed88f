# SPDX-License-Identifier: Apache-2.0
"""Items of an acquisition's stream: samples, losses, stamps, words of the board."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class SampleBlock:
    """The next samples, in A or J."""

    values: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Lost:
    """The next `samples` samples did not come whole."""

    samples: int
    cause: str


@dataclass(frozen=True, slots=True)
class Tail:
    """The last samples, and edges among them: no time stamp says where they lie."""

    samples: int
    cause: str


@dataclass(frozen=True, slots=True)
class Suspect:
    """Samples start <= k < stop came, but an edge near them may not have."""

    start: int
    stop: int
    cause: str


@dataclass(frozen=True, slots=True)
class StreamEdge:
    """An edge was reported between samples at - 1 and `at`."""

    at: int
    number: int


@dataclass(frozen=True, slots=True)
class TimeStamp:
    """A good time stamp, and how full the board's buffer is."""

    time_ms: int
    load_percent: int


@dataclass(frozen=True, slots=True)
class Trouble:
    """The board says that something is wrong, or `off` that it has cut the target's
    supply."""

    text: str


@dataclass(frozen=True, slots=True)
class StreamNote:
    """Another message of the board."""

    text: str


@dataclass(frozen=True, slots=True)
class AcquisitionEnd:
    """The board has ended the acquisition."""


@dataclass(frozen=True, slots=True)
class Completed:
    """The board takes commands again."""


Item = (
    SampleBlock
    | Lost
    | Tail
    | Suspect
    | StreamEdge
    | TimeStamp
    | Trouble
    | StreamNote
    | AcquisitionEnd
    | Completed
)


class Parser(Protocol):
    """Parser of a stream block by block; the division into blocks has no effect."""

    def feed(self, block: bytes) -> list[Item]:
        """Take the next bytes; raise RemoteProtocolError where no position is certain
        any more."""

    def finish(self) -> list[Item]:
        """Return how much no time stamp has confirmed: the stream ends here."""
