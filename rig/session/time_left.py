# SPDX-License-Identifier: Apache-2.0
"""Progress of a running session, and the time that it has left: an estimate beforehand,
what its steps took so far behind that.

A step of a group that was done already is expected to take what those took on average;
of another group, what the estimate says. The memory is one row for each group of steps,
whatever their number.
"""

from __future__ import annotations

from dataclasses import dataclass

from rig.kinds import registry as kinds
from rig.model.steps import Step
from rig.session.estimate import Estimate


@dataclass(slots=True)
class _Group:
    """Steps of one group: in a trial, done in this one, and seconds of those that were
    seen."""

    due: int
    each_s: float | None
    most_s: float
    done: int = 0
    seen: int = 0
    seen_s: float = 0.0

    @property
    def next_s(self) -> float | None:
        """Return what the next one is expected to take."""
        return self.seen_s / self.seen if self.seen else self.each_s

    @property
    def left(self) -> int:
        """Return how many of this trial are to come; a plan may turn out to be
        longer."""
        return max(self.due - self.done, 0)


class TimeLeft:
    """Count the steps of a session by group, and tell how far it is and what is left.

    Times are those of the caller's clock, in seconds. Of a device in virtual time only
    what was seen counts. Interleaved trials have one recording and count as one.
    """

    def __init__(self, estimate: Estimate) -> None:
        turns = estimate.trials if estimate.interleaved else 1
        self._groups = {
            row.group: _Group(
                row.count * (1 if row.once else turns),
                None if estimate.virtual else row.each.expected_s,
                row.each.most_s,
            )
            for row in estimate.rows
        }
        self.trials = 1 if estimate.interleaved else estimate.trials
        self.finished = 0
        self._begun: tuple[str, float] | None = None

    def trial(self, number: int) -> None:
        """Begin a trial, from 1; those before it are finished."""
        self.finished = number - 1
        self._begun = None
        for group in self._groups.values():
            group.done = 0

    def begin(self, step: Step, at_s: float) -> None:
        """Begin a step; the one before it is over, also where nobody said so."""
        self.end(at_s)
        self._begun = (kinds.of(step).group(step), at_s)

    def end(self, at_s: float) -> None:
        """End the step at hand, where there is one."""
        if self._begun is None:
            return
        name, begun_s = self._begun
        self._begun = None
        group = self._groups.setdefault(name, _Group(0, None, 0.0))
        group.done += 1
        group.seen += 1
        group.seen_s += at_s - begun_s

    def skip(self, step: Step) -> None:
        """Count a step that was done before, in an earlier part of a resumed trial."""
        name = kinds.of(step).group(step)
        self._groups.setdefault(name, _Group(0, None, 0.0)).done += 1

    def finish(self) -> None:
        """End a trial."""
        self.finished += 1
        self._begun = None
        for group in self._groups.values():
            group.done = 0

    def expected_s(self, step: Step) -> float | None:
        """Return what a step is expected to take, None where that is not known."""
        group = self._groups.get(kinds.of(step).group(step))
        return None if group is None else group.next_s

    @property
    def share(self) -> float:
        """Return which part of the session is done, by time where that is known, else
        by steps."""
        if self.finished >= self.trials:
            return 1.0
        groups = self._groups.values()
        timed = all(group.next_s is not None for group in groups if group.due)
        weights = [(group, (group.next_s or 0.0) if timed else 1.0) for group in groups]
        trial = sum(group.due * weight for group, weight in weights)
        done = sum(min(group.done, group.due) * weight for group, weight in weights)
        return (self.finished + (done / trial if trial else 0.0)) / self.trials

    def left_s(self, now_s: float) -> float | None:
        """Return the seconds that are left, None where of some steps nothing but a
        limit is known.
        """
        rest = self.trials - self.finished
        if rest <= 0:
            return 0.0
        total_s = 0.0
        for group in self._groups.values():
            count = group.left + (rest - 1) * group.due
            if count and group.next_s is None:
                return None
            total_s += count * (group.next_s or 0.0)
        if self._begun is not None:
            name, begun_s = self._begun
            running = self._groups.get(name)
            if running is not None and running.left:
                total_s -= min(max(now_s - begun_s, 0.0), running.next_s or 0.0)
        return max(total_s, 0.0)
