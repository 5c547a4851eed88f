# SPDX-License-Identifier: Apache-2.0
"""Recording and playback of the conversations with a bench's instruments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

#: Called with a direction, "tx" (host to instrument) or "rx", and every block that
#: passes.
Heard = Callable[[str, bytes], None]


@dataclass(frozen=True, slots=True)
class Conversation:
    """Description of a driver's conversation with its instrument, for its playback.

    `polls`: beginnings of commands that may come more or less often than they were
    recorded, with the answer that means "no new data"; `anew`: beginning of the command
    that discards data that were not fetched. `varies`: patterns of commands whose first
    group differs in each run; the answers repeat it. `versions`: of the libraries
    between driver and instrument.
    """

    kind: str
    transport: str
    address: str
    polls: Mapping[str, str] = field(default_factory=dict)
    anew: str = ""
    varies: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)


class Contact(Protocol):
    """Listener to the instruments of a bench, or their playback."""

    def tap(self, part: str, conversation: Conversation) -> Heard:
        """Return a listener to the conversation with the instrument of a section of the
        bench file: in bytes, or in a line of JSON for each call where the maker's
        library shows no bytes.
        """

    def played(self, part: str) -> str:
        """Return the TCP address of the playback, as 127.0.0.1:50000; empty where the
        instrument itself is used.
        """


class Direct:
    """Contact with the instruments themselves, without a listener."""

    def tap(self, part: str, conversation: Conversation) -> Heard:
        """Return a listener that discards all blocks."""
        return unheard

    def played(self, part: str) -> str:
        """Return no address."""
        return ""


def unheard(direction: str, block: bytes) -> None:
    """Discard a block."""
