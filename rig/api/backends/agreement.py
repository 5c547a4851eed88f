# SPDX-License-Identifier: Apache-2.0
"""Agreement of a session's answers with those of a reference: decisions, outputs and
their parts.

A session keeps the device's answer to each sample. Two answers are compared whole,
byte by byte, and part by part where the task tells the parts of an output; a sample
agrees where each trial's answer does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rig.api.sessions.session import Session
from rig.errors import DataError, RigError
from rig.interfaces.task import Task
from rig.kinds import registry as kinds
from rig.model.step_record import StepRecord
from rig.model.steps import Query
from rig.stats.binomial import Share
from rig.store.segments import counted
from rig.store.session_folder import SessionFolder

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a sample: the decision that the task makes of it, and its bytes."""

    decision: str
    output: bytes


#: The answers to each sample, by its index in the task; of a session one or more a
#: trial.
Answers = Mapping[int, Sequence[Answer]]


@dataclass(frozen=True, slots=True)
class Agreed:
    """Number of samples that agree in one respect; `largest` is the largest difference
    between numbers at the same position, None where bytes or words were compared, or
    their count differs. `told` is False where one side has zeros only, so that it does
    not report this part. `lag_steps`: equal so many time steps later. `unit` is that of
    the largest difference, where it is known.
    """

    what: str
    count: int
    samples: int
    largest: float | None = None
    told: bool = True
    lag_steps: int = 0
    unit: str = ""

    @property
    def share(self) -> Share:
        """The share of samples that agree."""
        return Share(self.count, self.samples)


@dataclass(frozen=True, slots=True)
class Agreement:
    """How a session's answers agree with a reference's: in decisions, in whole outputs,
    in parts of them; `differing` are the first samples whose decisions differ, as
    "index: theirs, not ours".
    """

    decisions: Agreed
    outputs: Agreed
    parts: tuple[Agreed, ...]
    differing: tuple[str, ...]


#: So many samples are named that differ.
_NAMED = 10


def answers(session: Session) -> dict[int, list[Answer]]:
    """Return the device's answers to each sample, in all finished trials, without
    warm-up; raises DataError.
    """
    folder = SessionFolder(session.path)
    by_sample: dict[int, list[Answer]] = defaultdict(list)
    for trial in session.results.trials:
        for steps in counted(folder.recorded(trial.number)):
            for done in steps:
                if done.trial not in (0, trial.number):
                    continue
                for index, answer in _of_step(done):
                    by_sample[index].append(answer)
    return dict(by_sample)


def _of_step(done: StepRecord) -> Iterator[tuple[int, Answer]]:
    """Yield the samples of a query and their answers; a batch's output is those of its
    samples."""
    step = done.step
    if not isinstance(step, Query) or not kinds.of(step).measured or step.warmup:
        return
    scores = done.each or ((done.score,) if done.score is not None else ())
    if len(scores) != len(step.indices) or not scores:
        return
    length = len(done.completion.output) // len(scores)
    for place, (index, score) in enumerate(zip(step.indices, scores, strict=True)):
        output = done.completion.output[place * length : (place + 1) * length]
        yield index, Answer(score.answer, output)


def of_task(task: Task, indices: Sequence[int]) -> dict[int, list[Answer]] | None:
    """Return the task's own answers to samples; None where it has none."""
    reference = getattr(task, "reference", None)
    if reference is None:
        return None
    payloads = [task.payload(index) for index in indices]
    outputs = [reference(payload) for payload in payloads]
    pairs = zip(indices, outputs, strict=True)
    return {
        index: [Answer(task.score(index, output).answer, output)]
        for index, output in pairs
    }


def agreement(theirs: Answers, reference: Answers, task: Task | None) -> Agreement:
    """Compare a session's answers with a reference's, over the samples of both; raises
    DataError where they have none in common.

    `task` tells the parts of an output, where it does that.
    """
    common = sorted(set(theirs) & set(reference))
    if not common:
        raise DataError("the sessions have no sample in common")
    ours = {index: reference[index][0] for index in common}
    decided = [_all(theirs[index], ours[index], "decision") for index in common]
    whole = [_all(theirs[index], ours[index], "output") for index in common]
    differing = []
    for index, same in zip(common, decided, strict=True):
        if not same:
            words = f"{_words(theirs[index])}, not {ours[index].decision}"
            differing.append(f"{index}: {words}")
    shared = {index: theirs[index] for index in common}
    decisions = Agreed("decisions", sum(decided), len(common))
    outputs = Agreed("outputs", sum(whole), len(common))
    parts = tuple(_parts(shared, ours, task))
    return Agreement(decisions, outputs, parts, tuple(differing[:_NAMED]))


def _all(theirs: Sequence[Answer], ours: Answer, what: str) -> bool:
    return all(getattr(answer, what) == getattr(ours, what) for answer in theirs)


def _words(theirs: Sequence[Answer]) -> str:
    return " or ".join(dict.fromkeys(answer.decision or "nothing" for answer in theirs))


def _parts(
    theirs: Answers, ours: Mapping[int, Answer], task: Task | None
) -> Iterator[Agreed]:
    """Yield the agreement of each part of an output that the task can tell."""
    if task is None:
        return
    read = {index: _numbers(task, answer.output) for index, answer in ours.items()}
    others = {}
    for index, answers in theirs.items():
        if index in ours:
            others[index] = _numbers_of_all(task, answers)
    for name in next(iter(read.values()), {}):
        equal = 0
        pairs = []
        distances = []
        for index, numbers in read.items():
            part = numbers.get(name)
            of_sample = [(other.get(name), part) for other in others[index]]
            away = [farthest(*pair) for pair in of_sample]
            equal += all(distance == 0 for distance in away)
            pairs += of_sample
            distances += away
        known = [each for each in distances if each is not None]
        whole = len(known) == len(distances)
        largest = max(known, default=0.0) if whole else None
        yield Agreed(name, equal, len(read), largest, _told(pairs))


def _numbers_of_all(
    task: Task, answers: Sequence[Answer]
) -> list[Mapping[str, Floats]]:
    return [_numbers(task, answer.output) for answer in answers]


def _numbers(task: Task, output: bytes) -> Mapping[str, Floats]:
    try:
        return {
            name: np.asarray(part, np.float64)
            for name, part in task.parts(output).items()
        }
    except (RigError, ValueError):
        return {}


def farthest(one: Floats | None, two: Floats | None) -> float | None:
    """Return the largest difference between numbers at one place; None where the two
    are not of one shape.
    """
    if one is None or two is None or one.shape != two.shape:
        return None
    return float(np.max(np.abs(one - two), initial=0.0))


def _told(pairs: Sequence[tuple[Floats | None, Floats | None]]) -> bool:
    return all(map(_any_told, zip(*pairs, strict=True)))


def _any_told(parts: Sequence[Floats | None]) -> bool:
    return any(part is not None and bool(part.any()) for part in parts)
