# SPDX-License-Identifier: Apache-2.0
"""The task as programs for this computer's processor: the integer model, which answers as a device
does, and the network in floating point.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rig.interfaces.cpu_program import Program, Routine
from rig.interfaces.network_task import NetworkWorkload
from rig.network import conventions, graph, interpreter
from rig.network.checks import require_sound
from rig.network.fixed.file import from_text, to_text
from rig.network.fixed.form import FixedNetwork, identity
from rig.network.fixed.interpreter import run
from rig.network.fixed.make import rule_of
from rig.network.fixed.quantise import membrane_of
from scenarios.tasks.network.codec import answer, open_codec, whole_numbers

NAME = "network"


def codec_arguments(fixed: FixedNetwork) -> dict[str, Any]:
    """Return what `open_codec` wants, as JSON has it."""
    output = fixed.node(fixed.outputs[0])
    source = fixed.membranes[0]
    shape = fixed.node(fixed.inputs[0]).shape_out
    return {
        "shape": list(map(int, shape)) if len(fixed.inputs) == 1 else [fixed.channels],
        "input_b": fixed.input_b,
        "input_scale": float(fixed.node(fixed.inputs[0]).scale),
        "sum_scale": float(output.scale),
        "last_scale": float(fixed.node(source).state_scale if source else output.scale),
    }


def workload(path: Path, fixed: FixedNetwork) -> NetworkWorkload:
    """Return the network that other backends may run, in floating point or their own numbers."""
    return NetworkWorkload(
        path=path,
        codec="scenarios.tasks.network.codec:open_codec",
        task=NAME,
        model=identity(to_text(fixed)),
        arguments=codec_arguments(fixed),
        dt_s=fixed.dt_s,
        rule=rule_of(fixed),
    )


def programs(path: Path, fixed: FixedNetwork) -> dict[str, Program]:
    """Return the programs of a network: its integer arithmetic, and its NIR graph in floating
    point.
    """
    text = to_text(fixed)
    model = identity(text)
    here = __name__
    about = {
        "path": str(path),
        "rule": rule_of(fixed),
        "dt_s": fixed.dt_s,
        "coding": codec_arguments(fixed),
    }
    return {
        "integer": Program(f"{here}:integer", NAME, model, {"text": text}),
        "nir": Program(f"{here}:interpreted", NAME, model, about),
    }


def integer(text: str) -> Routine:
    """Return the integer model: the firmware's bytes."""
    fixed = from_text(text, Path(NAME))
    kind = "<u1" if fixed.input_b == 1 else "<i2"

    def infer(inputs: Any) -> Any:
        return run(fixed, inputs[None]).answers(fixed)

    return Routine(
        load=lambda payload: whole_numbers(payload, kind, fixed.channels),
        phases=(infer,),
        output=lambda found: answer(found[0][0], found[1][0]),
    )


def interpreted(path: str, rule: str, dt_s: float, coding: dict[str, Any]) -> Routine:
    """Return the NIR graph's network in floating point, in the reference interpreter."""
    read = graph.read(Path(path))
    require_sound(read, dt_s)
    network = graph.network(read)
    codec = open_codec(**coding)
    how = conventions.PRESETS[rule]
    output = network.outputs[0]

    def infer(inputs: Any) -> Any:
        done = interpreter.run(network, inputs[None], dt_s, how)
        values = done.values[output][0]
        source = membrane_of(network, output)
        return values, np.asarray(done.membranes[source][0] if source else values[-1])

    return Routine(load=codec.load, phases=(infer,), output=lambda found: codec.output(*found))
