# SPDX-License-Identifier: Apache-2.0
"""The marks of a stream -> its windows, in ticks: when each was ready, processed and decided. Pure;
docs/PROTOCOL.md section 9.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from rig.errors import RemoteProtocolError
from rig.interfaces.task import Task
from rig.measure.timed import Ticks, Timed
from rig.model.completion import DECIDED, END, STREAM, Completion, Mark
from rig.model.scores import Score
from rig.model.steps import Step, Stream
from rig.model.trial import Hop, Sample, Streamed, Window
from rig.problems import Problem


@dataclass(frozen=True, slots=True)
class Windows(Sequence[bytes]):
    """The payload of each window of a stream, cut from what is `played` when it is asked for: all
    of them may fill a memory.

    `width_b` is how many bytes a sample of the signal has.
    """

    played: bytes
    step: Stream
    width_b: int

    def __len__(self) -> int:
        """Return how many windows there are."""
        return self.step.windows

    @overload
    def __getitem__(self, window: int) -> bytes: ...

    @overload
    def __getitem__(self, window: slice) -> Sequence[bytes]: ...

    def __getitem__(self, window: int | slice) -> bytes | Sequence[bytes]:
        """Return the payload of one window, or of several."""
        which = range(len(self))[window]
        return self._cut(which) if isinstance(which, int) else list(map(self._cut, which))

    def _cut(self, window: int) -> bytes:
        start = window * self.step.hop
        return self.played[start * self.width_b : (start + self.step.window) * self.width_b]


@dataclass(frozen=True, slots=True)
class Answered:
    """One window in ticks: from ready, and from its scene's onset, to the mark behind it; `scene`
    is the scene's number.
    """

    window: int
    scene: int
    response: Ticks
    since_onset: Ticks


def answered(marks: Sequence[Mark]) -> int:
    """Return how many windows were decided."""
    return sum(mark.phase == DECIDED for mark in marks)


def due(marks: Sequence[Mark], phases: int) -> list[int]:
    """Return the phase codes that a stream of as many decided windows marks."""
    return [STREAM, *[*range(1, phases + 1), DECIDED] * answered(marks), END]


def captured(began: int, sample: int, sample_hz: int, tick_hz: float) -> int:
    """Return the tick at which a sample of the signal was captured: docs/PROTOCOL.md, STREAM."""
    # Whole numbers: in floating point a long stream would end a tick early or late.
    return began + (sample + 1) * round(tick_hz) // sample_hz


def windows(step: Stream, marks: Sequence[Mark], phases: int, tick_hz: float) -> Iterator[Answered]:
    """Yield each window that was decided; the marks are those that `due` says."""
    began = marks[0].tick
    each = phases + 1
    for window in range(answered(marks)):
        scene = step.scene_of(window)
        last = window * step.hop + step.window - 1
        decided = marks[(window + 1) * each].tick
        yield Answered(
            window,
            scene,
            (captured(began, last, step.sample_hz, tick_hz), decided),
            (captured(began, step.onset(scene), step.sample_hz, tick_hz), decided),
        )


def hops(
    number: int,
    step: Stream,
    marks: Sequence[Mark],
    answers: Sequence[Score],
    phases: Sequence[Window],
    timed: Timed,
) -> Iterator[Sample]:
    """Yield a sample for each window that was decided; `phases` are the phases of all of them, one
    behind the other.
    """
    each = len(phases) // len(answers) if answers else 0
    for found, score in zip(windows(step, marks, each, timed.tick_hz), answers, strict=True):
        response = timed.window("response", found.response)
        since_onset = timed.window("since_onset", found.since_onset)
        own = tuple(phases[found.window * each : (found.window + 1) * each])
        hop = Hop(found.window, found.scene, response, since_onset)
        yield Sample(number, (), 1, own, score.label, score.answer, score.correct, hop=hop)


def streamed(number: int, step: Stream, began: int, whole: Window, timed: Timed) -> Streamed:
    """Return what was played, and when each scene began in the time of the first monitor."""
    onsets = [
        captured(began, step.onset(scene), step.sample_hz, timed.tick_hz)
        for scene in range(len(step.scenes))
    ]
    return Streamed(
        number,
        whole,
        tuple(scene.label for scene in step.scenes),
        tuple(map(timed.timebase.seconds, onsets)),
        step.windows,
        step.hop / step.sample_hz,
        step.window / step.sample_hz,
        step.preloaded,
        tuple(scene.indices for scene in step.scenes),
    )


def scores(task: Task, step: Stream, completion: Completion) -> tuple[Score, ...]:
    """Score the answer to each window by the scene in which most of its newest hop lies; the
    outputs are all of one length.
    """
    count = answered(completion.marks)
    length_b, rest_b = (
        divmod(len(completion.output), count) if count else (0, len(completion.output))
    )
    if rest_b or count > step.windows:
        raise RemoteProtocolError(
            f"{len(completion.output)} bytes and {count} decisions are no answers of one length to "
            f"{step.windows} windows"
        )
    found = []
    for window in range(count):
        scene = step.scenes[step.scene_of(window)]
        answer = task.score(
            scene.indices[0], completion.output[window * length_b : (window + 1) * length_b]
        ).answer
        found.append(Score(answer == scene.label, scene.label, answer))
    return tuple(found)


def problems(number: int, step: Step | None, completion: Completion) -> list[Problem]:
    """Return what went wrong in a stream: what the device's backend says of it, and windows that
    have no answer.
    """
    if not isinstance(step, Stream):
        return []
    found = [Problem("stream", f"step {number}: {fault}") for fault in completion.faults]
    count = answered(completion.marks)
    if count != step.windows:
        found.append(
            Problem("stream", f"step {number}: {count} of {step.windows} windows were answered")
        )
    if completion.iterations not in (None, count):
        detail = (
            f"in step {number} the device counts {completion.iterations} windows where "
            f"{count} were marked"
        )
        found.append(Problem("clock", detail))
    return found
