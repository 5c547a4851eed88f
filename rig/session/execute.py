# SPDX-License-Identifier: Apache-2.0
"""One step of a plan: what is asked of the device, and what its answer is worth."""

from __future__ import annotations

from rig.errors import LocalProtocolError, RemoteProtocolError, SutError
from rig.interfaces.sut import SystemUnderTest
from rig.interfaces.task import Optimized, Played, Task
from rig.measure import stream
from rig.measure.stream import Windows
from rig.model.completion import Completion
from rig.model.scores import Score
from rig.model.step_record import StepRecord
from rig.model.steps import Load, Query, Solve, Step, Stream


def do(sut: SystemUnderTest, task: Task, step: Step) -> Completion | None:
    """Let the device do a step; None for a load, but for one that it refused and may refuse."""
    match step:
        case Load():
            return _load(sut, task, step)
        case Solve() if not sut.info.solves:
            raise LocalProtocolError(f"{sut.info.name} cannot search by itself")
        case Stream() if not sut.info.streams:
            raise LocalProtocolError(f"{sut.info.name} cannot listen to a stream")
        case Stream():
            return sut.do(step, _windows(task, step))
        case _:
            return sut.do(step)


def _load(sut: SystemUnderTest, task: Task, step: Load) -> Completion | None:
    payload = task.payload(step.index)
    try:
        sut.do(step, [payload])
    except (SutError, LocalProtocolError) as error:
        # What a device says that it cannot hold, its backend may refuse already.
        if not step.optional:
            raise
        return Completion((), refusal=" ".join(filter(None, (error.cause, error.evidence))))
    return None


def _windows(task: Task, step: Stream) -> Windows:
    """Return the payload of each window of a stream: what is played, cut anew every hop."""
    assert isinstance(task, Played)
    width_b = task.sample_b
    scenes = (
        b"".join(task.payload(index) for index in scene.indices)[: scene.samples * width_b]
        for scene in step.scenes
    )
    return Windows(b"".join(scenes), step, width_b)


def done(task: Task, number: int, step: Step, completion: Completion) -> StepRecord:
    """Score what a query's samples, or a stream's windows, were answered; several outputs follow
    each other, all of one length.
    """
    if isinstance(step, Stream):
        return StepRecord(number, step, completion, each=stream.scores(task, step, completion))
    if isinstance(step, Solve):
        return StepRecord(number, step, completion, _searched(task, step, completion))
    if not isinstance(step, Query):
        return StepRecord(number, step, completion)
    if not step.batch:
        return StepRecord(number, step, completion, task.score(step.indices[0], completion.output))
    length_b, rest_b = divmod(len(completion.output), len(step.indices))
    if rest_b:
        raise RemoteProtocolError(
            f"{len(completion.output)} bytes are no outputs of one length for {len(step.indices)} "
            "samples"
        )
    outputs = [
        completion.output[at * length_b : (at + 1) * length_b] for at in range(len(step.indices))
    ]
    each = tuple(
        task.score(index, output) for index, output in zip(step.indices, outputs, strict=True)
    )
    return StepRecord(number, step, completion, each=each)


def _searched(task: Task, step: Solve, completion: Completion) -> Score:
    """Score what a search found; an answer of no use makes the trial a problem, and does not end
    the session.
    """
    try:
        return task.score(step.index, completion.output)
    except RemoteProtocolError as error:
        case = task.cell(step.index) if isinstance(task, Optimized) else ""
        return Score(False, "", "", case=case, fault=error.cause)
