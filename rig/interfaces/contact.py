# SPDX-License-Identifier: Apache-2.0
"""The way by which the conversations with a bench's instruments are recorded, or played
back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

#: Called with a direction, "tx" (host to instrument) or "rx", and every block that
#: passes.
Heard = Callable[[str, bytes], None]


@dataclass(frozen=True, slots=True)
class Conversation:
    """How a driver talks to its instrument, for whoever plays a recording of it back.

    `polls`: how commands begin that may come more or less often than they were
    recorded, with the answer that says "nothing new"; `anew`: how the command begins
    that forgets what they have not fetched. `varies`: patterns of commands whose first
    group is another one in each run; the answers say it again. `versions`: of the
    libraries in between.
    """

    kind: str
    transport: str
    address: str
    polls: Mapping[str, str] = field(default_factory=dict)
    anew: str = ""
    varies: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)


class Contact(Protocol):
    """Who listens to the instruments of a bench, or answers in their place."""

    def tap(self, part: str, conversation: Conversation) -> Heard:
        """Return who hears a conversation with the instrument of a section of the bench
        file, in bytes or, where the maker's library shows none, in lines of JSON that
        tell each call.
        """

    def played(self, part: str) -> str:
        """Return the TCP address, as 127.0.0.1:50000, at which the instrument is played
        back; empty where it is itself asked.
        """


class Direct:
    """Nobody listens, nothing is played."""

    def tap(self, part: str, conversation: Conversation) -> Heard:
        """Return who hears nothing."""
        return unheard

    def played(self, part: str) -> str:
        """Return that nothing is played."""
        return ""


def unheard(direction: str, block: bytes) -> None:
    """Hear nothing."""
