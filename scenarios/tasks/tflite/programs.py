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

NAME = "tflite"


def programs(path: Path, read: IntegerNetwork) -> dict[str, Program]:
    """Return the programs of a model: its integer arithmetic."""
    arguments = {"path": str(path.resolve()), "sha256": read.sha256}
    entry = f"{__name__}:integer"
    return {"integer": Program(entry, NAME, read.identity, arguments)}


def integer(path: str, sha256: str) -> Routine:
    """Return the interpreter of a file: the firmware's bytes."""
    read = network.read(Path(path))
    if read.sha256 != sha256:
        raise DataError(
            f"{path} is another file than when the bench was opened",
            try_next="start the run again",
        )
    return routine(read)


def routine(read: IntegerNetwork) -> Routine:
    """Return what runs a network."""
    size = read.tensors[read.input].size

    def load(payload: bytes) -> Any:
        if len(payload) != size:
            raise ValueError(f"{len(payload)} bytes, the model takes {size}")
        return np.frombuffer(payload, np.int8)

    def infer(values: Any) -> Any:
        return interpreter.run(read, values[None])[0]

    def together(values: Sequence[Any]) -> Sequence[Any]:
        return list(interpreter.run(read, np.stack(values)))

    return Routine(
        load=load,
        phases=(infer,),
        output=lambda found: found.tobytes(),
        batch=together,
    )
