# SPDX-License-Identifier: Apache-2.0
"""The task as a program for this computer's processor, in a process of its own: the
interpreter, which answers as a device does.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rig.errors import DataError
from rig.interfaces.cpu_program import Program, Routine
from rig.network.tflite import interpreter, network
from rig.network.tflite.form import IntegerNetwork
from rig.network.tflite.real_input import identity_of, quantised

NAME = "tflite"


def programs(
    path: Path, read: IntegerNetwork, *, real_input: bool = False
) -> dict[str, Program]:
    """Return the programs of a model: its integer arithmetic."""
    arguments = {"path": str(path.resolve()), "sha256": read.sha256}
    of_real = {"real_input": True} if real_input else {}
    entry = f"{__name__}:integer"
    model = identity_of(read, real_input)
    return {"integer": Program(entry, NAME, model, arguments | of_real)}


def integer(path: str, sha256: str, *, real_input: bool = False) -> Routine:
    """Return the interpreter of a file: the firmware's bytes."""
    read = network.read(Path(path))
    if read.sha256 != sha256:
        raise DataError(
            f"{path} is another file than when the bench was opened",
            try_next="start the run again",
        )
    return routine(read, real_input=real_input)


def routine(read: IntegerNetwork, *, real_input: bool = False) -> Routine:
    """Return what runs a network; with `real_input` it quantises first."""
    tensor = read.tensors[read.input]
    kind = np.dtype("<f4" if real_input else "i1")
    size = tensor.size * kind.itemsize

    def load(payload: bytes) -> Any:
        if len(payload) != size:
            raise ValueError(f"{len(payload)} bytes, the model takes {size}")
        return np.frombuffer(payload, kind)

    def preprocess(values: Any) -> Any:
        return quantised(tensor, values)[0]

    def infer(values: Any) -> Any:
        return interpreter.run(read, values[None])[0]

    def together(values: Sequence[Any]) -> Sequence[Any]:
        given = np.stack(values)
        return list(interpreter.run(read, preprocess(given) if real_input else given))

    return Routine(
        load=load,
        phases=(preprocess, infer) if real_input else (infer,),
        output=lambda found: found.tobytes(),
        batch=together,
    )
