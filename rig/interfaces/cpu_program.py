# SPDX-License-Identifier: Apache-2.0
"""Optional interface of a task whose workload this computer's processor can run: its
workload as a program.

A worker under any Python imports this file: it needs the standard library alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Program:
    """One implementation of a task's workload, which runs in a process of its own.

    `entry` is "module:function"; called there with `arguments` (JSON-able), the
    function returns a Routine. `task` and `model` are those that the SUT then reports.
    """

    entry: str
    task: str
    model: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)


class Search(Protocol):
    """A search under way, for a vector of low cost."""

    @property
    def cost(self) -> int:
        """Cost of its best vector so far, as it computes it."""

    def advance(self, left_s: float, until: int | None) -> bool:
        """Continue for a time of its own choice: at most until the cost is at or below
        `until`, or for `left_s`.

        Returns False where the time left is too short for another piece.
        """

    def output(self, met: bool) -> bytes:
        """Encode the task's output; `met`: it ended at its target. Untimed."""


@dataclass(frozen=True, slots=True)
class Routine:
    """A workload, ready to run: `load` is untimed, as is `output`; each of `phases` is
    timed, in the order of the task's.

    The value that `load` makes of a payload passes through the phases one after the
    other, and then through `output`. A phase may be run many times on the same value,
    so it must not change it. ValueError from `load` refuses a payload. A workload that
    is searched has `search` instead of phases: called with the loaded value and a seed,
    it begins a Search, in timed time. `batch` does all phases of many values at once,
    where that is quicker than one by one. `about` describes the routine, JSON-able;
    `end` is called once, as the last. A workload whose answers depend on the windows
    before has `begin`, which is called before each stream, untimed: it answers for
    windows of streams alone, and each phase runs once for a window.
    """

    load: Callable[[bytes], Any]
    phases: tuple[Callable[[Any], Any], ...]
    output: Callable[[Any], bytes]
    search: Callable[[Any, int], Search] | None = None
    batch: Callable[[Sequence[Any]], Sequence[Any]] | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    begin: Callable[[], None] | None = None
    end: Callable[[], None] | None = None

    def close(self) -> None:
        """Release its resources."""
        if self.end is not None:
            self.end()
