# SPDX-License-Identifier: Apache-2.0
"""The complexity of a task's network, counted over some of its samples when a session
begins.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from rig.errors import RigError
from rig.interfaces.network_task import NetworkWorkload
from rig.interfaces.task import Task
from rig.network.complexity_text import Complexity
from rig.network.tflite.complexity import count as integer_count
from rig.results.complexity import KEY

#: So many samples are counted, evenly spaced among those of the task: the front end
#: takes longer than the network does.
_SAMPLES = 8


def facts(task: Task) -> dict[str, Any]:
    """Count the complexity of a task's network for its provenance; empty where it has
    no network, or one that the reference interpreter does not run.
    """
    if (task.network is None and task.integers is None) or not len(task):
        return {}
    count = min(_SAMPLES, len(task))
    indices = [len(task) * place // count for place in range(count)]
    payloads = [task.payload(index) for index in indices]
    try:
        if task.integers is not None:
            counts = integer_count(
                task.integers.network, task.integers.inputs_of(payloads)
            )
        else:
            assert task.network is not None
            counts = counted(task.network, payloads)
    except (RigError, ImportError, ValueError):
        return {}
    return {KEY: dataclasses.asdict(counts)}


def counted(workload: NetworkWorkload, payloads: Sequence[bytes]) -> Complexity:
    """Count the operations of a network over these payloads; those of another length
    than the first one are left out.
    """
    digest = hashlib.sha256(workload.path.read_bytes())
    for part in (repr(workload).encode(), *payloads):
        digest.update(hashlib.sha256(part).digest())
    return _Counting(digest.hexdigest(), workload, tuple(payloads)).result()


@dataclasses.dataclass(frozen=True)
class _Counting:
    """A count that is made once in a process: sessions of one bench begin with the same
    one.
    """

    digest: str
    workload: NetworkWorkload = dataclasses.field(compare=False)
    payloads: tuple[bytes, ...] = dataclasses.field(compare=False)

    def result(self) -> Complexity:
        return _count(self)


@lru_cache(maxsize=32)
def _count(counting: _Counting) -> Complexity:
    workload = counting.workload
    # Imported here, as they bring the library nir.
    from rig.network import complexity, conventions, graph
    from rig.network.checks import require_sound

    read = graph.read(workload.path)
    require_sound(read, workload.dt_s)
    nodes = graph.taken_apart(read)[0]
    how = conventions.of_rule(workload.rule, nodes)
    module, _, function = workload.codec.partition(":")
    codec = getattr(import_module(module), function)(**workload.arguments)
    inputs = []
    for payload in counting.payloads:
        value = codec.load(payload)
        for phase in codec.phases:
            value = phase(value)
        inputs.append(np.asarray(value))
    same = [each for each in inputs if each.shape == inputs[0].shape]
    return complexity.count(graph.network(read), np.stack(same), workload.dt_s, how)
