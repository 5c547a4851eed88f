# SPDX-License-Identifier: Apache-2.0
"""The reference of a comparison of networks: the NIR file, run by the reference
interpreter in floating point, over the samples of a task.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rig.api.backends.agreement import Agreed, Agreement, Answer, Answers
from rig.api.backends.trains import Trains
from rig.interfaces.task import Task
from rig.network import conventions, graph, interpreter

Floats = NDArray[np.float64]
#: Name of the comparison in tables, and of that part of an output in tasks.
MEMBRANES = "membranes"
#: Membranes that are nearer are equal, as a share of the largest one.
_ROUNDING = 1e-5


@dataclass(frozen=True, slots=True)
class FileRun:
    """Outcome of a file in floating point, by the index of the sample: answers in the
    task's form, values (steps, outputs), the last membranes (outputs,) in the file's
    units; and its conventions.
    """

    answers: Answers
    trains: Trains
    membranes: Mapping[int, Floats]
    rule: str


def of_file(task: Task, indices: Sequence[int]) -> FileRun | None:
    """Run the network of a task in floating point over samples; None where the task has
    none."""
    workload = task.network
    if workload is None:
        return None
    read = graph.read(workload.path)
    network = graph.network(read)
    how = conventions.of_rule(workload.rule, graph.taken_apart(read)[0])
    module, _, function = workload.codec.partition(":")
    codec = getattr(import_module(module), function)(**workload.arguments)
    together: dict[tuple[int, ...], dict[int, Any]] = defaultdict(dict)
    for index in indices:
        value = codec.load(task.payload(index))
        for phase in codec.phases:
            value = phase(value)
        together[np.shape(value)][index] = np.asarray(value)
    answers: dict[int, list[Answer]] = {}
    trains: dict[int, Floats] = {}
    membranes: dict[int, Floats] = {}
    source = graph.membrane_of(network, network.outputs[0])
    for group in together.values():
        done = interpreter.run(
            network, np.stack(list(group.values())), workload.dt_s, how
        )
        values = done.values[network.outputs[0]]
        last = done.membranes[source] if source else values[:, -1]
        for index, value, membrane in zip(group, values, last, strict=True):
            output = codec.output(value, membrane)
            answers[index] = [Answer(task.score(index, output).answer, output)]
            trains[index] = value.reshape(len(value), -1)
            membranes[index] = membrane.reshape(-1)
    return FileRun(answers, trains, membranes, conventions.text_of(how))


def with_membranes(
    agreement: Agreement, answered: Answers, file: FileRun, task: Task | None
) -> Agreement:
    """Return an agreement whose membranes are compared in the file's units, where the
    task tells them so.
    """
    if task is None or task.membrane_unit is None:
        return agreement
    common = sorted(set(answered) & set(file.membranes))
    unit = float(np.max(task.membrane_unit))
    there = False
    equal = 0
    largest = 0.0
    for index in common:
        theirs = [
            np.asarray(task.membranes(answer.output)) for answer in answered[index]
        ]
        there |= any(bool(one.any()) for one in theirs)
        away = max(float(np.max(np.abs(one - file.membranes[index]))) for one in theirs)
        # A device answers in whole units, half of one is lost in writing; float32 has 7
        # digits.
        room = max(
            0.51 * unit, _ROUNDING * float(np.max(np.abs(file.membranes[index])))
        )
        equal += away <= room
        largest = max(largest, away)
    mine = Agreed(
        MEMBRANES, equal, len(common), largest, told=there, unit="the file's units"
    )
    others = [part for part in agreement.parts if part.what != MEMBRANES]
    return replace(agreement, parts=(*others, mine))
