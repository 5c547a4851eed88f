# SPDX-License-Identifier: Apache-2.0
"""Progress of a running session, and the time that it has left: unknown until the first
trial, then the number of steps that are left times the measured mean time of their
kind.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from rig.model.steps import Step
from rig.session.estimate import Estimate


class TimeLeft:
    """Count the steps of a session by kind, and compute the progress and the time left.

    Times are those of the caller's clock, in seconds. Interleaved trials have one
    recording and count as one.
    """

    def __init__(self, estimate: Estimate) -> None:
        self._turns = estimate.trials if estimate.interleaved else 1
        self.trials = 1 if estimate.interleaved else estimate.trials
        self.finished = 0
        self._due: Counter[str] = Counter()
        for row in estimate.rows:
            self._due[row.kind] = row.count * (1 if row.once else self._turns)
        self._done: Counter[str] = Counter()
        self._seen: Counter[str] = Counter()
        self._seen_s: defaultdict[str, float] = defaultdict(float)
        self._has_ended = False
        self._running: tuple[str, float] | None = None

    def trial(self, number: int) -> None:
        """Begin a trial, from 1; those before it are finished."""
        self.finished = number - 1
        self._running = None
        self._done.clear()

    def finish(self) -> None:
        """End a trial; the next ones have as many steps."""
        self._due = self._done.copy()
        self._has_ended = True
        self.trial(self.finished + 2)

    def begin(self, step: Step, at_s: float) -> None:
        """Begin a step; the one before it is over."""
        self.end(at_s)
        self._running = (step.kind, at_s)

    def end(self, at_s: float) -> None:
        """End the running step, where there is one."""
        if self._running is None:
            return
        kind, begun_s = self._running
        self._running = None
        self._done[kind] += 1
        self._seen[kind] += 1
        self._seen_s[kind] += at_s - begun_s

    def skip(self, step: Step) -> None:
        """Count a step that was done before, in an earlier part of a resumed trial."""
        self._done[step.kind] += 1

    @property
    def is_known(self) -> bool:
        """Whether a trial was measured, or as many steps of interleaved ones."""
        part_is_done = self._done.total() * self._turns >= self._due.total()
        has_trial = self._has_ended or (self._turns > 1 and part_is_done)
        return has_trial and all(self._seen[kind] for kind in self._due)

    @property
    def share(self) -> float:
        """Part of the session that is done, by time where that is known, else by
        steps.
        """
        if self.finished >= self.trials:
            return 1.0
        # A plan may turn out to be longer.
        due = self._sum(self._due)
        part = self._sum(self._done & self._due) / due if due else 0.0
        return (self.finished + part) / self.trials

    def left_s(self) -> float | None:
        """Return the seconds that are left, with all of the running step; None until
        they are known.
        """
        if not self.is_known:
            return None
        trials_left = self.trials - self.finished
        return trials_left * self._sum(self._due) - self._sum(self._done & self._due)

    def _sum(self, steps: Counter[str]) -> float:
        """Add up the mean times of steps; count them until those are known."""
        if not self.is_known:
            return steps.total()
        return sum(
            count * self._seen_s[kind] / self._seen[kind]
            for kind, count in steps.items()
        )
