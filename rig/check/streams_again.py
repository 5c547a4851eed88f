# SPDX-License-Identifier: Apache-2.0
"""Answers to the windows of streams, made a second time by the task's own model, where
each answer depends on the windows before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from rig.interfaces.context import Listener
from rig.interfaces.task import Task
from rig.kinds import registry as kinds
from rig.kinds.stream import answered
from rig.model.step_record import StepRecord
from rig.model.steps import Query, Stream

#: Windows that are answered together.
_TOGETHER = 1024


@dataclass(frozen=True, slots=True)
class WindowAgain:
    """A window of a stream: the step and the number it has there, its output in the
    session, and the model's.
    """

    step: int
    window: int
    output: bytes
    right: bytes


@dataclass(frozen=True, slots=True)
class StreamsAgain:
    """A task's answers to its streams, of at most `most` windows in all; a stream that
    trials repeat is answered once.
    """

    task: Task
    most: int
    _right: dict[tuple[object, ...], list[bytes]] = field(default_factory=dict)

    def heard(self, records: Sequence[StepRecord]) -> Iterator[WindowAgain]:
        """Yield the windows of a trial's streams as far as `most` allows; raises
        RigError or ValueError where the task does not take them.
        """
        one_by_one: list[StepRecord] = []
        for item in records:
            if isinstance(item.step, Stream):
                yield from self._of_stream(item, item.step)
            if isinstance(item.step, Query) and item.step.window is not None:
                if item.step.window == 0:
                    yield from self._of_queries(one_by_one)
                    one_by_one = []
                one_by_one.append(item)
        yield from self._of_queries(one_by_one)

    def _of_stream(self, item: StepRecord, step: Stream) -> Iterator[WindowAgain]:
        count = answered(item.completion.marks)
        windows = kinds.of(step).payloads(self.task, step)
        right = self._answers((step.scenes, step.hop, count), windows[:count])
        length_b = len(item.completion.output) // count if count else 0
        for window, due in enumerate(right):
            own = item.completion.output[window * length_b : (window + 1) * length_b]
            yield WindowAgain(item.number, window, own, due)

    def _of_queries(self, records: Sequence[StepRecord]) -> Iterator[WindowAgain]:
        indices = []
        for item in records:
            assert isinstance(item.step, Query)
            indices.append(item.step.indices[0])
        windows = [self.task.payload(index) for index in indices]
        right = self._answers(tuple(indices), windows)
        for window, (item, due) in enumerate(zip(records, right, strict=False)):
            yield WindowAgain(item.number, window, item.completion.output, due)

    def _answers(
        self, which: tuple[object, ...], windows: Sequence[bytes]
    ) -> Sequence[bytes]:
        """Return the model's outputs, of the first windows where all are too many."""
        known = self._right.get(which)
        if known is None:
            done = sum(map(len, self._right.values()))
            some = windows[: max(self.most - done, 0)]
            known = self._right[which] = list(_answered(self._listening(), some))
        return known

    def _listening(self) -> Listener:
        begin = getattr(self.task, "listening", None)
        assert begin is not None
        listener: Listener = begin()
        return listener


def windows_in(records: Sequence[StepRecord]) -> int:
    """Count the windows of a trial's streams that were answered."""
    count = 0
    for item in records:
        if isinstance(item.step, Stream):
            count += answered(item.completion.marks)
        count += isinstance(item.step, Query) and item.step.window is not None
    return count


def _answered(listener: Listener, windows: Sequence[bytes]) -> Iterator[bytes]:
    rest = iter(windows)
    while some := list(islice(rest, _TOGETHER)):
        yield from listener(some)
