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
    """One implementation of a task's workload: where its code is. It runs in a process
    of its own.

    `entry` is "module:function"; called there with `arguments` (JSON-able), the
    function returns a Routine. `task` and `model` are what the SUT then says that it
    runs.
    """

    entry: str
    task: str
    model: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)


class Search(Protocol):
    """A search under way, for a vector of low cost."""

    @property
    def cost(self) -> int:
        """Return the cost of its best vector so far, by its own account."""

    def advance(self, left_s: float, until: int | None) -> bool:
        """Search on, in a piece of its own choice: at most until the cost is at or
        below `until`, or for `left_s`.

        Returns False where it can do no more in the time left.
        """

    def output(self, met: bool) -> bytes:
        """Return the task's output; `met`: it ended at its target. Untimed."""


@dataclass(frozen=True, slots=True)
class Routine:
    """A workload, ready to run: `load` is untimed, as is `output`; each of `phases` is
    timed, in the order of the task's.

    The first phase gets what `load` made of a payload, each further one what the phase
    before returned, `output` what the last returned. A phase may be run many times on
    the same value, so it must not change it. ValueError from `load` refuses a payload.
    A workload that is searched has no phases but `search`: it gets what `load` made and
    a seed, and begins a Search, in timed time. `batch` does all phases of many values
    at once, where that is quicker than one by one. `about` is what it says of itself,
    JSON-able; `end` is called once, behind everything else.
    """

    load: Callable[[bytes], Any]
    phases: tuple[Callable[[Any], Any], ...]
    output: Callable[[Any], bytes]
    search: Callable[[Any, int], Search] | None = None
    batch: Callable[[Sequence[Any]], Sequence[Any]] | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    end: Callable[[], None] | None = None

    def close(self) -> None:
        """Give back what it holds."""
        if self.end is not None:
            self.end()
