# SPDX-License-Identifier: Apache-2.0
"""Progress of a running session, and the time that it has left: the estimate at first,
then the mean time of the steps of the same group that were done.

The memory is one row for each group of steps, for any number of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from rig.kinds import registry as kinds
from rig.model.steps import Step
from rig.session.estimate import Estimate


@dataclass(slots=True)
class _Group:
    """Steps of one group: `due` in a trial, `done` in this one; `seen` of them took
    `seen_s` in all.
    """

    due: int = 0
    each_s: float | None = None
    done: int = 0
    seen: int = 0
    seen_s: float = 0.0

    @property
    def next_s(self) -> float | None:
        """Expected time of the next one."""
        return self.seen_s / self.seen if self.seen else self.each_s


class TimeLeft:
    """Count the steps of a session by group, and tell the progress and the time left.

    Times are those of the caller's clock, in seconds. Of a device in virtual time only
    steps that were done count. Interleaved trials have one recording and count as one.
    """

    def __init__(self, estimate: Estimate) -> None:
        turns = estimate.trials if estimate.interleaved else 1
        self._groups: dict[str, _Group] = {}
        for row in estimate.rows:
            due = row.count * (1 if row.once else turns)
            each_s = None if estimate.virtual else row.each.expected_s
            self._groups[row.group] = _Group(due, each_s)
        self.trials = 1 if estimate.interleaved else estimate.trials
        self.finished = 0
        self._running: tuple[_Group, float] | None = None

    def trial(self, number: int) -> None:
        """Begin a trial, from 1; those before it are finished."""
        self.finished = number - 1
        self._running = None
        for group in self._groups.values():
            group.done = 0

    def finish(self) -> None:
        """End a trial."""
        self.trial(self.finished + 2)

    def begin(self, step: Step, at_s: float) -> None:
        """Begin a step; the one before it is over."""
        self.end(at_s)
        self._running = (self._group(step), at_s)

    def end(self, at_s: float) -> None:
        """End the running step, where there is one."""
        if self._running is None:
            return
        group, begun_s = self._running
        self._running = None
        group.done += 1
        group.seen += 1
        group.seen_s += at_s - begun_s

    def skip(self, step: Step) -> None:
        """Count a step that was done before, in an earlier part of a resumed trial."""
        self._group(step).done += 1

    def expected_s(self, step: Step) -> float | None:
        """Return the expected time of a step, None where it is not known."""
        return self._group(step).next_s

    @property
    def share(self) -> float:
        """Part of the session that is done, by time where that is known, else by
        steps.
        """
        if self.finished >= self.trials:
            return 1.0
        groups = [group for group in self._groups.values() if group.due]
        timed = all(group.next_s is not None for group in groups)
        trial = 0.0
        done = 0.0
        for group in groups:
            weight = (group.next_s or 0.0) if timed else 1.0
            trial += group.due * weight
            done += min(group.done, group.due) * weight
        return (self.finished + (done / trial if trial else 0.0)) / self.trials

    def left_s(self) -> float | None:
        """Return the seconds that are left, with all of the running step; None where
        only a limit is known of some steps.
        """
        trials_left = self.trials - self.finished
        if trials_left <= 0:
            return 0.0
        total_s = 0.0
        for group in self._groups.values():
            # A plan may turn out to be longer.
            in_trial = max(group.due - group.done, 0)
            count = in_trial + (trials_left - 1) * group.due
            if count and group.next_s is None:
                return None
            total_s += count * (group.next_s or 0.0)
        return total_s

    def _group(self, step: Step) -> _Group:
        return self._groups.setdefault(kinds.of(step).group(step), _Group())
