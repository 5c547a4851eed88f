# SPDX-License-Identifier: Apache-2.0
"""The task as programs for this computer's processor: what [sut.cpu] runs, in a process of its own.

Both share the front end, which is integer arithmetic by definition (docs/ASC.md section 2); they
differ in the network. Both are numpy: the same model in C is the firmware on the host, [sut.posix]
with host_clock.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rig.interfaces.cpu_program import Program, Routine
from rig.interfaces.network_task import NetworkWorkload
from rig.network import conventions, graph, interpreter
from rig.network.checks import require_sound
from scenarios.tasks.asc.codec import AscCodec, answer
from scenarios.tasks.asc.codec import arguments as codec_arguments
from scenarios.tasks.asc.integer import infer, spike_counts
from scenarios.tasks.asc.model import AscModel
from scenarios.tasks.asc.nirfile import read_model


def programs(path: Path, model: AscModel) -> dict[str, Program]:
    """Return the programs of a model: its integer arithmetic, and its NIR graph in floating
    point.
    """
    entries = {"integer": integer, "nir": interpreted}
    return {
        name: Program(
            f"{function.__module__}:{function.__name__}", "asc", model.identity, {"path": str(path)}
        )
        for name, function in entries.items()
    }


def network(path: Path, model: AscModel) -> NetworkWorkload:
    """Return the network that other backends may run, behind the task's front end."""
    return NetworkWorkload(
        path=path,
        codec="scenarios.tasks.asc.codec:open_codec",
        task="asc",
        model=model.identity,
        arguments=codec_arguments(model.bank),
    )


def integer(path: str) -> Routine:
    """Return the integer model: the firmware's bytes."""
    model = read_model(Path(path))
    return Routine(
        load=AscCodec(model.bank).load,
        phases=(lambda audio: spike_counts(model.bank, audio), lambda counts: infer(model, counts)),
        output=lambda result: answer(result[0][0], result[1][0]),
    )


def interpreted(path: str) -> Routine:
    """Return the NIR graph's network in floating point behind the same front end."""
    codec = AscCodec(read_model(Path(path)).bank)
    model = graph.read(Path(path))
    require_sound(model)
    network = graph.network(model)
    how = conventions.stated(model.nodes)
    last = graph.neurons(network)[-1].name

    def infer_floats(counts: Any) -> tuple[Any, Any]:
        run = interpreter.run(network, counts[None], how=how)
        return run.values[network.outputs[0]][0], run.membranes[last][0]

    return Routine(
        load=codec.load,
        phases=(*codec.phases, infer_floats),
        output=lambda result: codec.output(*result),
    )
