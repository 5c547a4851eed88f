# SPDX-License-Identifier: Apache-2.0
"""A line that loses, doubles and changes bytes on purpose, repeatably: to see what the rig says of
a bad cable.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from rig.errors import ConfigError
from sut_backends.lines.line import Line


@dataclass(frozen=True, slots=True)
class LineFaults:
    """Probabilities per byte, in each direction; `flip` changes one bit."""

    drop: float = 0.0
    duplicate: float = 0.0
    flip: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("drop", "duplicate", "flip"):
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise ConfigError(
                    f"a probability is 0 to 1, not {value}", path=f"sut.faults.{name}"
                )

    @property
    def any(self) -> bool:
        """Return True where anything would go wrong."""
        return self.drop > 0 or self.duplicate > 0 or self.flip > 0


@dataclass(slots=True)
class Injected:
    """What was done so far, in bytes."""

    dropped_b: int = 0
    duplicated_b: int = 0
    flipped_b: int = 0


class FaultyLink:
    """Stand between a client and its line. Each direction has its own random numbers, so that block
    sizes change nothing.
    """

    def __init__(self, line: Line, faults: LineFaults) -> None:
        self._line = line
        self._faults = faults
        self.injected = {"tx": Injected(), "rx": Injected()}
        self._random = {
            direction: Random(f"{faults.seed}:{direction}") for direction in self.injected
        }

    @property
    def name(self) -> str:
        """Return the name of the line."""
        return self._line.name

    @property
    def baud(self) -> int:
        """Return the line rate in bits per second."""
        return self._line.baud

    def read(self, timeout_s: float) -> bytes:
        """Return what the faults leave of what has come."""
        return self._spoil("rx", self._line.read(timeout_s))

    def write(self, block: bytes) -> None:
        """Send what the faults leave of `block`."""
        self._line.write(self._spoil("tx", block))

    def set_baud(self, baud: int) -> None:
        """Change the line rate."""
        self._line.set_baud(baud)

    def close(self) -> None:
        """Close the line."""
        self._line.close()

    def _spoil(self, direction: str, block: bytes) -> bytes:
        faults = self._faults
        injected = self.injected[direction]
        random = self._random[direction].random
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
