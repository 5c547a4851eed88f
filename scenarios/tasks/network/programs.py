# SPDX-License-Identifier: Apache-2.0
"""The task as what backends run in a process of its own: the integer model, which
answers as a device does, as a program for this computer's processor, and the network.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rig.interfaces.cpu_program import Program, Routine
from rig.interfaces.network_task import NetworkWorkload
from rig.network.fixed.file import from_text, to_text
from rig.network.fixed.form import FixedNetwork, identity
from rig.network.fixed.interpreter import run
from rig.network.fixed.make import rule_of
from scenarios.tasks.network.codec import answer, whole_numbers

NAME = "network"


def codec_arguments(fixed: FixedNetwork) -> dict[str, Any]:
    """Return what `open_codec` wants, as JSON has it."""
    output = fixed.node(fixed.outputs[0])
    first_input = fixed.node(fixed.inputs[0])
    shape = [fixed.channels]
    if len(fixed.inputs) == 1:
        shape = list(map(int, first_input.shape_out))
    return {
        "shape": shape,
        "input_b": fixed.input_b,
        "input_scale": float(first_input.scale),
        "sum_scale": float(output.scale),
        "last_scale": membrane_unit(fixed),
    }


def membrane_unit(fixed: FixedNetwork) -> float:
    """Return the value of a unit of an answer's membranes in the file."""
    source = fixed.membranes[0]
    if source:
        return float(fixed.node(source).state_scale)
    return float(fixed.node(fixed.outputs[0]).scale)


def workload(path: Path, fixed: FixedNetwork) -> NetworkWorkload:
    """Return the network that other backends may run, in floating point or their own
    numbers."""
    return NetworkWorkload(
        path=path,
        codec="scenarios.tasks.network.codec:open_codec",
        task=NAME,
        model=identity(to_text(fixed)),
        arguments=codec_arguments(fixed),
        dt_s=fixed.dt_s,
        rule=rule_of(fixed),
    )


def programs(fixed: FixedNetwork) -> dict[str, Program]:
    """Return the programs of a network: its integer arithmetic."""
    text = to_text(fixed)
    return {
        "integer": Program(f"{__name__}:integer", NAME, identity(text), {"text": text})
    }


def integer(text: str) -> Routine:
    """Return the integer model: the firmware's bytes."""
    fixed = from_text(text, Path(NAME))
    kind = "<u1" if fixed.input_b == 1 else "<i2"

    def load(payload: bytes) -> Any:
        return whole_numbers(payload, kind, fixed.channels)

    def infer(inputs: Any) -> Any:
        sums, last = run(fixed, inputs[None]).answers(fixed)
        return sums[0], last[0]

    def infer_all(inputs: Sequence[Any]) -> Sequence[Any]:
        if len({len(each) for each in inputs}) > 1:
            return list(map(infer, inputs))
        sums, last = run(fixed, np.stack(inputs)).answers(fixed)
        return list(zip(sums, last, strict=True))

    return Routine(load, (infer,), output=lambda found: answer(*found), batch=infer_all)
