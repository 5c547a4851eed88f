# SPDX-License-Identifier: Apache-2.0
"""Streams: scenes are played to a device that answers for a window of samples every hop
while it listens; docs/reference/PROTOCOL.md section 9.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import overload

from rig.errors import RemoteProtocolError
from rig.interfaces.sut import SutInfo
from rig.interfaces.task import SignalTask, Task
from rig.kinds.kind import StepKind
from rig.kinds.span import Span, Ticks, Timed, Windows
from rig.model.completion import DECIDED, END, STREAM, Completion, Mark
from rig.model.scores import Score
from rig.model.step_record import StepRecord
from rig.model.steps import Stream
from rig.model.trial import Hop, Measured, Sample, Streamed, Window
from rig.problems import Problem
from rig.units import plural

#: The name of the window that a stream is as a whole.
STREAMED = "stream"


class StreamKind(StepKind[Stream]):
    """A mark where its first sample is played, marks for each window that is answered,
    and one at the end.
    """

    step = Stream
    measured = True

    def describe(self, step: Stream) -> str:
        """Name its scenes, and count its windows."""
        return (
            f"play  {', '.join(scene.label for scene in step.scenes)}: {step.windows}"
            " windows"
        )

    def takes_s(self, step: Stream, rates_s: Mapping[str, float]) -> float | None:
        """Return its length, where no windows are loaded before it."""
        return None if step.preloaded else _length_s(step)

    def total(self, steps: Sequence[Stream]) -> str:
        """Count them, with their length; empty where there are none."""
        if not steps:
            return ""
        played_s = sum(map(_length_s, steps))
        return f"{plural(len(steps), 'stream')} ({played_s:g} s)"

    def lacks(self, info: SutInfo) -> str:
        """Name the ability to listen."""
        return "" if info.streams else "cannot listen to a stream"

    def payloads(self, task: Task, step: Stream) -> Sequence[bytes]:
        """Cut the payload of each window from the signal."""
        assert isinstance(task, SignalTask)
        width_b = task.sample_b
        scenes = []
        for scene in step.scenes:
            signal = b"".join(map(task.payload, scene.indices))
            stop = scene.skip + scene.samples
            scenes.append(signal[scene.skip * width_b : stop * width_b])
        return WindowPayloads(b"".join(scenes), step, width_b)

    def scored(
        self, task: Task, number: int, step: Stream, completion: Completion
    ) -> StepRecord:
        """Score the answer to each window by the scene with most of its newest hop."""
        return StepRecord(number, step, completion, each=scores(task, step, completion))

    def due(
        self, item: StepRecord, step: Stream, phases: Sequence[str]
    ) -> list[int] | None:
        """Require the phases of as many windows as were decided."""
        marks = item.completion.marks
        return [STREAM, *[*range(1, len(phases) + 1), DECIDED] * answered(marks), END]

    def spans(
        self, item: StepRecord, step: Stream, phases: Sequence[str]
    ) -> Iterator[Span]:
        """Yield the whole stream, and each window's phases."""
        marks = item.completion.marks
        each = len(phases) + 1
        yield Span(item, STREAMED, (marks[0].tick, marks[-1].tick), 1)
        for place, (begin, end) in enumerate(pairwise(marks[1:-1])):
            hop, phase = divmod(place, each)
            if phase < len(phases):
                yield Span(item, phases[phase], (begin.tick, end.tick), 1, hop)

    def link_is_silent(self, step: Stream) -> bool:
        """Require silence where it is preloaded: a stream from the host keeps the link
        busy.
        """
        return step.preloaded

    def problems(self, item: StepRecord, step: Stream) -> list[Problem]:
        """List faults that the backend reports, and windows without an answer."""
        completion = item.completion
        faults = [
            Problem("stream", f"step {item.number}: {fault}", step=item.number)
            for fault in completion.faults
        ]
        count = answered(completion.marks)
        if count != step.windows:
            detail = (
                f"step {item.number}: {count} of {step.windows} windows were answered"
            )
            faults.append(Problem("stream", detail, step=item.number))
        if completion.iterations not in (None, count):
            detail = (
                f"in step {item.number} the device counts {completion.iterations}"
                f" windows where {count} were marked"
            )
            faults.append(Problem("clock", detail, step=item.number))
        return faults

    def measure(
        self, item: StepRecord, step: Stream, windows: Windows, timed: Timed
    ) -> Measured:
        """Make the stream as a whole, and a sample for each window that was decided."""
        (span, whole), *_ = windows
        phases = [window for span, window in windows if span.hop is not None]
        of_hops = hops(
            number=item.number,
            step=step,
            marks=item.completion.marks,
            answers=item.each,
            phases=phases,
            timed=timed,
        )
        began = span.ticks[0]
        return Measured(
            tuple(of_hops),
            (),
            (streamed(item.number, step, began, whole, timed),),
        )


@dataclass(frozen=True, slots=True)
class WindowPayloads(Sequence[bytes]):
    """The payload of each window of a stream, cut from the signal `played` on demand:
    all of them may fill a memory.

    `width_b` is the length of a sample of the signal in bytes.
    """

    played: bytes
    step: Stream
    width_b: int

    def __len__(self) -> int:
        """Count the windows."""
        return self.step.windows

    @overload
    def __getitem__(self, window: int) -> bytes: ...

    @overload
    def __getitem__(self, window: slice) -> Sequence[bytes]: ...

    def __getitem__(self, window: int | slice) -> bytes | Sequence[bytes]:
        """Cut the payload of one window, or of several."""
        which = range(len(self))[window]
        return (
            self._cut(which) if isinstance(which, int) else list(map(self._cut, which))
        )

    def _cut(self, window: int) -> bytes:
        start = window * self.step.hop
        return self.played[
            start * self.width_b : (start + self.step.window) * self.width_b
        ]


@dataclass(frozen=True, slots=True)
class Answered:
    """One window in ticks: from its last sample, and from its scene's onset, to the
    mark of its decision; `scene` is the scene's number.
    """

    window: int
    scene: int
    response: Ticks
    since_onset: Ticks


def answered(marks: Sequence[Mark]) -> int:
    """Count the windows that were decided."""
    return sum(mark.phase == DECIDED for mark in marks)


def captured(began: int, sample: int, sample_hz: int, tick_hz: float) -> int:
    """Return the tick at which a sample of the signal was captured:
    docs/reference/PROTOCOL.md, STREAM.
    """
    # Whole numbers: in floating point a long stream would end a tick early or late.
    return began + (sample + 1) * round(tick_hz) // sample_hz


def windows(
    step: Stream, marks: Sequence[Mark], phases: int, tick_hz: float
) -> Iterator[Answered]:
    """Yield each window that was decided; the marks are valid."""
    began = marks[0].tick
    each = phases + 1
    for window in range(answered(marks)):
        scene = step.scene_of(window)
        last = window * step.hop + step.window - 1
        decided = marks[(window + 1) * each].tick
        complete = captured(began, last, step.sample_hz, tick_hz)
        onset = captured(began, step.onset(scene), step.sample_hz, tick_hz)
        yield Answered(window, scene, (complete, decided), (onset, decided))


def hops(
    number: int,
    step: Stream,
    marks: Sequence[Mark],
    answers: Sequence[Score],
    phases: Sequence[Window],
    timed: Timed,
) -> Iterator[Sample]:
    """Yield a sample for each window that was decided; `phases` are the phases of all
    of them, in order.
    """
    each = len(phases) // len(answers) if answers else 0
    for found, score in zip(
        windows(step, marks, each, timed.tick_hz), answers, strict=True
    ):
        response = timed.window("response", found.response)
        since_onset = timed.window("since_onset", found.since_onset)
        of_window = tuple(phases[found.window * each : (found.window + 1) * each])
        hop = Hop(found.window, found.scene, response, since_onset)
        yield Sample(
            step=number,
            indices=(),
            repeat=1,
            windows=of_window,
            label=score.label,
            answer=score.answer,
            correct=score.correct,
            hop=hop,
        )


def streamed(
    number: int, step: Stream, began: int, whole: Window, timed: Timed
) -> Streamed:
    """Describe the stream, with the onsets of its scenes in the time of the first
    monitor.
    """
    onsets = []
    for number_of_scene in range(len(step.scenes)):
        sample = step.onset(number_of_scene)
        onsets.append(captured(began, sample, step.sample_hz, timed.tick_hz))
    return Streamed(
        step=number,
        whole=whole,
        labels=tuple(scene.label for scene in step.scenes),
        onsets_s=tuple(map(timed.timebase.seconds, onsets)),
        due=step.windows,
        hop_s=step.hop / step.sample_hz,
        window_s=step.window / step.sample_hz,
        preloaded=step.preloaded,
        indices=tuple(scene.indices for scene in step.scenes),
    )


def scores(task: Task, step: Stream, completion: Completion) -> tuple[Score, ...]:
    """Score the answer to each window by the scene with most of its newest hop; the
    outputs are all of one length.
    """
    count = answered(completion.marks)
    output = completion.output
    length_b, rest_b = divmod(len(output), count) if count else (0, len(output))
    if rest_b or count > step.windows:
        raise RemoteProtocolError(
            f"{len(output)} bytes and {count} decisions are no answers of one length to"
            f" {step.windows} windows"
        )
    found = []
    for window in range(count):
        scene = step.scenes[step.scene_of(window)]
        of_window = output[window * length_b : (window + 1) * length_b]
        answer = task.score(scene.indices[0], of_window).answer
        found.append(Score(answer == scene.label, scene.label, answer))
    return tuple(found)


def _length_s(step: Stream) -> float:
    return sum(scene.samples for scene in step.scenes) / step.sample_hz
