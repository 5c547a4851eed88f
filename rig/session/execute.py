# SPDX-License-Identifier: Apache-2.0
"""One step of a plan: it is done by the device, and its answer is scored."""

from __future__ import annotations

from rig.errors import LocalProtocolError, RigError, SutError
from rig.interfaces.sut import SutInfo, SystemUnderTest
from rig.interfaces.task import Task
from rig.kinds import registry as kinds
from rig.model.completion import Completion
from rig.model.step_record import StepRecord
from rig.model.steps import Step


def do(
    sut: SystemUnderTest, info: SutInfo, task: Task, step: Step
) -> Completion | None:
    """Let the device, described by `info`, do a step. Return None for a load, except
    for an optional one that it refused.
    """
    kind = kinds.of(step)
    if missing := kind.lacks(info):
        raise LocalProtocolError(f"{info.name} {missing}")
    payloads = kind.payloads(task, step)
    try:
        completion = sut.do(step, payloads)
    except (SutError, LocalProtocolError) as error:
        # The backend may refuse a payload beyond the device's stated room.
        if not kind.may_be_refused(step):
            raise
        return Completion((), refusal=_refusal(error, task, step))
    return None if kind.loads else completion


def _refusal(error: RigError, task: Task, step: Step) -> str:
    """Return why the device refused a sample, and the memory that it would need."""
    refusal = error.joined(": ")
    for index in step.samples_named:
        memory_b = task.memory_b(index)
        if memory_b is not None:
            refusal += f"; a device needs {memory_b} bytes for it"
    return refusal


def done(task: Task, number: int, step: Step, completion: Completion) -> StepRecord:
    """Make the step record, with the score of the answer."""
    return kinds.of(step).scored(task, number, step, completion)
