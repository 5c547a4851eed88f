# SPDX-License-Identifier: Apache-2.0
"""Undo and redo of a state that is one frozen value."""

from __future__ import annotations

from typing import Generic, TypeVar

State = TypeVar("State")

#: So many steps back.
_DEPTH = 200


class History(Generic[State]):
    """The state at hand, those before it, and those that were undone."""

    def __init__(self, state: State) -> None:
        self.now = state
        self._before: list[State] = []
        self._undone: list[State] = []

    def do(self, state: State) -> None:
        """Take another state; undone states are dropped."""
        if state == self.now:
            return
        self._before.append(self.now)
        del self._before[:-_DEPTH]
        self._undone.clear()
        self.now = state

    def begin(self) -> None:
        """Begin a step of many changes, as a drag is: one undo goes back to here."""
        self._before.append(self.now)
        del self._before[:-_DEPTH]
        self._undone.clear()

    def revise(self, state: State) -> None:
        """Take another state in the place of this one, which is no step of its own."""
        self.now = state

    def undo(self) -> bool:
        """Go a step back; return whether there was one."""
        while self._before and self._before[-1] == self.now:
            self._before.pop()
        if not self._before:
            return False
        self._undone.append(self.now)
        self.now = self._before.pop()
        return True

    def redo(self) -> bool:
        """Take back an undo; return whether there was one."""
        if not self._undone:
            return False
        self._before.append(self.now)
        self.now = self._undone.pop()
        return True
