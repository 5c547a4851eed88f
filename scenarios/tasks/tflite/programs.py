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
from rig.network.tflite.payloads import PayloadForm

NAME = "tflite"


def programs(
    path: Path, read: IntegerNetwork, payload: PayloadForm = PayloadForm.VALUES
) -> dict[str, Program]:
    """Return the programs of a model: its integer arithmetic."""
    arguments = {
        "path": str(path.resolve()),
        "sha256": read.sha256,
        "payload": payload.value,
    }
    entry = f"{__name__}:integer"
    model = payload.identity(read)
    return {"integer": Program(entry, NAME, model, arguments)}


def integer(path: str, sha256: str, payload: str = "int8") -> Routine:
    """Return the interpreter of a file: the firmware's bytes."""
    read = network.read(Path(path))
    if read.sha256 != sha256:
        raise DataError(
            f"{path} is another file than when the bench was opened",
            try_next="start the run again",
        )
    return routine(read, PayloadForm(payload))


def routine(read: IntegerNetwork, payload: PayloadForm = PayloadForm.VALUES) -> Routine:
    """Return what runs a network, and makes its input of payloads first."""
    tensor = read.tensors[read.input]
    size_b = payload.size_b(tensor)

    def load(given: bytes) -> Any:
        if len(given) != size_b:
            raise ValueError(f"{len(given)} bytes, the device takes {size_b}")
        return np.frombuffer(given, payload.dtype)

    def preprocess(numbers: Any) -> Any:
        return payload.inputs(tensor, numbers[None])[0]

    def infer(values: Any) -> Any:
        return interpreter.run(read, values[None])[0]

    def together(values: Sequence[Any]) -> Sequence[Any]:
        inputs = payload.inputs(tensor, np.stack(values))
        return list(interpreter.run(read, inputs))

    phases = (preprocess, infer) if payload.is_raw else (infer,)
    return Routine(
        load=load,
        phases=phases,
        output=lambda found: found.tobytes(),
        batch=together,
    )
