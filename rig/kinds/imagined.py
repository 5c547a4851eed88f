# SPDX-License-Identifier: Apache-2.0
"""A trial that never was: what a scenario is asked to reduce before anything is
measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rig.interfaces.task import Task
from rig.model.scores import Score
from rig.model.trial import Window

#: Imagined power of an idle device, and length of a window; any will do.
IDLE_W = 1.0
WINDOW_S = 1e-3


@dataclass(frozen=True, slots=True)
class ImaginedOutcome:
    """An imagined trial: every how many answers one is right (0: none), and what the
    device draws at work.
    """

    right_every: int
    active_w: float

    def right(self, number: int) -> bool:
        """Return whether answer `number` is right."""
        return bool(self.right_every) and number % self.right_every == 0


@dataclass(slots=True)
class ImaginedTrial:
    """Context that the steps of an imagined trial share: its task, its steps by their
    kind, the score that any answer has, how the trial goes, and how many samples it has
    so far.
    """

    task: Task
    steps: Mapping[str, Sequence[Any]]
    phases: Sequence[str]
    score: Score
    labels: Sequence[str]
    outcome: ImaginedOutcome
    samples: int = 0
    asked: Counter[Hashable] = field(default_factory=Counter)

    def windows(self) -> tuple[Window, ...]:
        """Return a window for each phase."""
        return tuple(
            window(phase, WINDOW_S, self.outcome.active_w) for phase in self.phases
        )


def window(phase: str, length_s: float, power_w: float) -> Window:
    """Return a window of a length and an average power."""
    return Window(phase, 0.0, length_s, length_s, length_s * power_w)
