# SPDX-License-Identifier: Apache-2.0
"""The console of a device: the messages on its line as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class WireLine:
    """One message, or one line of text, that passed the line to a device.

    `at_s` is the time of its last byte, by the decoder's clock. `direction` is "tx"
    (host to device) or "rx". `name` is that of the message, "text" for a line of text,
    "noise" for anything else; `text` has its fields in words, or the line itself. `ok`
    is False for noise and for a refusal.
    """

    at_s: float
    direction: str
    name: str
    text: str
    ok: bool = True


class Decoder(Protocol):
    """Decoder of any stream of bytes into lines, in bounded memory."""

    def feed(self, direction: str, block: bytes, at_s: float) -> list[WireLine]:
        """Decode a block into the lines that it completes."""


class Decoded:
    """A listener (BenchContext.listen) that passes decoded lines to `out`.

    `clock` gives the arrival time of a block.
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
    """The default decoder: a line a block, as hexadecimal numbers."""

    def feed(self, direction: str, block: bytes, at_s: float) -> list[WireLine]:
        """Decode a block into one line."""
        return [WireLine(at_s, direction, "bytes", hex_text(block))] if block else []


#: Bytes that are shown of a longer block.
_SHOWN_B = 32


def hex_text(block: bytes) -> str:
    """Format the length of a block and its first bytes."""
    more = " ..." if len(block) > _SHOWN_B else ""
    return f"{len(block)} B: {block[:_SHOWN_B].hex(' ')}{more}" if block else "0 B"
