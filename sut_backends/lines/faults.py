# SPDX-License-Identifier: Apache-2.0
"""A line that loses, doubles and changes bytes on purpose, repeatably: a simulated bad
cable.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Annotated, Literal

from annotated_types import Interval, doc

from rig.settings.declare import Ratio, Seed
from sut_backends.lines.line import DutLine

#: The host's direction -> the DUT's pin.
_PINS = {"tx": "rx", "rx": "tx"}


@dataclass(frozen=True, slots=True)
class LineFaults:
    """Faults of bytes, in each direction, with these probabilities per byte."""

    drop: Annotated[Ratio, Interval(ge=0, le=1), doc("A byte is lost.")] = 0.0
    duplicate: Annotated[Ratio, Interval(ge=0, le=1), doc("A byte comes twice.")] = 0.0
    flip: Annotated[Ratio, Interval(ge=0, le=1), doc("A bit of a byte is changed.")] = (
        0.0
    )
    seed: Annotated[Seed, doc("Seed of the faults.")] = 0
    wire: Annotated[
        Literal["", "tx", "rx", "swapped", "ground"],
        doc(
            "A wire that is open, by the DUT's pin: all of it is lost, or without"
            " ground noise."
        ),
    ] = ""

    @property
    def any(self) -> bool:
        """True where anything would go wrong."""
        return self.drop > 0 or self.duplicate > 0 or self.flip > 0 or self.wire != ""


@dataclass(slots=True)
class Injected:
    """Counts of the bytes lost, doubled and changed so far."""

    dropped_b: int = 0
    duplicated_b: int = 0
    flipped_b: int = 0


class FaultyLink:
    """A line with faults. Each direction has its own random numbers, so that the faults
    are independent of block sizes.
    """

    def __init__(self, line: DutLine, faults: LineFaults) -> None:
        self._line = line
        self._faults = faults
        self.injected = {"tx": Injected(), "rx": Injected()}
        self._random = {
            direction: Random(f"{faults.seed}:{direction}")
            for direction in self.injected
        }

    @property
    def name(self) -> str:
        """The name of the line."""
        return self._line.name

    @property
    def baud(self) -> int:
        """The line rate in bits per second."""
        return self._line.baud

    def read(self, timeout_s: float) -> bytes:
        """Return the received bytes, with faults."""
        return self.spoil("rx", self._line.read(timeout_s))

    def write(self, block: bytes) -> None:
        """Send `block`, with faults."""
        self._line.write(self.spoil("tx", block))

    def set_baud(self, baud: int) -> None:
        """Change the line rate."""
        self._line.set_baud(baud)

    def close(self) -> None:
        """Close the line."""
        self._line.close()

    def spoil(self, direction: str, block: bytes) -> bytes:
        """Return a block with faults; `direction` is the host's, "tx" or "rx"."""
        faults = self._faults
        injected = self.injected[direction]
        random = self._random[direction].random
        if faults.wire == "swapped" or faults.wire == _PINS[direction]:
            injected.dropped_b += len(block)
            return b""
        if faults.wire == "ground":
            injected.flipped_b += len(block)
            # Without a common ground the levels are random.
            return bytes(int(random() * 256) for _ in block)
        out = bytearray()
        for byte in block:
            if random() < faults.drop:
                injected.dropped_b += 1
                continue
            if random() < faults.flip:
                byte ^= 1 << int(random() * 8)
                injected.flipped_b += 1
            out.append(byte)
            if random() < faults.duplicate:
                out.append(byte)
                injected.duplicated_b += 1
        return bytes(out)
