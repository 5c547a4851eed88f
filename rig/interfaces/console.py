# SPDX-License-Identifier: Apache-2.0
"""The console of a device: what passes its line, in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class WireLine:
    """One message, or one line of text, that passed the line to a device.

    `at_s` is when its last byte did, by the clock of who decodes. `direction` is "tx"
    (host to device) or "rx". `name` is that of the message, "text" for a line of text,
    "noise" for what is neither; `text` has its fields in words, or the line itself.
    `ok` is False for noise and for a refusal.
    """

    at_s: float
    direction: str
    name: str
    text: str
    ok: bool = True


class Decoder(Protocol):
    """Make lines of blocks of bytes, as they come; of whatever comes, in bounded
    memory."""

    def feed(self, direction: str, block: bytes, at_s: float) -> list[WireLine]:
        """Return the lines that a block completes."""


class Decoded:
    """A listener (BenchContext.listen) that hands on lines, decoded by `decoder`.

    `clock` says when a block came.
    """

    def __init__(
        self,
        decoder: Decoder,
        out: Callable[[WireLine], None],
        clock: Callable[[], float],
    ) -> None:
        self._decoder = decoder
        self._out = out
        self._clock = clock

    def __call__(self, direction: str, block: bytes) -> None:
        """Decode a block."""
        for line in self._decoder.feed(direction, block, self._clock()):
            self._out(line)


class HexDecoder:
    """The decoder of a backend that offers none: a line a block, as numbers."""

    def feed(self, direction: str, block: bytes, at_s: float) -> list[WireLine]:
        """Return the block."""
        return [WireLine(at_s, direction, "bytes", hex_text(block))] if block else []


#: Bytes that are shown of a block; of more, how many there are.
_SHOWN_B = 32


def hex_text(block: bytes) -> str:
    """Return how many bytes there are, and the first of them as numbers."""
    more = " ..." if len(block) > _SHOWN_B else ""
    return f"{len(block)} B: {block[:_SHOWN_B].hex(' ')}{more}" if block else "0 B"
