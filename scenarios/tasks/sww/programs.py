# SPDX-License-Identifier: Apache-2.0
"""The task as a program for this computer's processor, in a process of its own: the
features in whole numbers and the interpreter, row by row, which answer as a device
does.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rig.errors import DataError
from rig.interfaces.cpu_program import Program, Routine
from rig.network.tflite.form import IntegerNetwork, Ints
from rig.network.tflite.interpreter import RowByRow
from rig.network.wake import c_header
from rig.network.wake.features import HOP, FeatureScale, FeatureStream

NAME = "sww"
_HOP_B = 2 * HOP


class WordListener:
    """A model from the beginning of a signal on, before which all is 0."""

    def __init__(self, network: IntegerNetwork) -> None:
        self._network = network
        self.begin()

    def begin(self) -> None:
        """Forget the signal."""
        scale = FeatureScale.of(self._network.tensors[self._network.input])
        self._features = FeatureStream(scale)
        self._rows = RowByRow(self._network)

    def rows(self, hops: Ints) -> Ints:
        """Return the features after each of the next hops (hops, 512)."""
        return self._features.rows(hops)

    def answers(self, rows: Ints) -> Ints:
        """Return the outputs after each of the next rows."""
        return self._rows.answers(rows)


def hop_of(payload: bytes) -> Ints:
    """Return the samples of a payload; raises ValueError for another size."""
    if len(payload) != _HOP_B:
        raise ValueError(f"{len(payload)} bytes, a hop has {_HOP_B}")
    return np.frombuffer(payload, "<i2")


def programs(path: Path, read: IntegerNetwork) -> dict[str, Program]:
    """Return the programs of a model: its integer arithmetic."""
    arguments = {"path": str(path.resolve()), "sha256": read.sha256}
    return {"integer": Program(f"{__name__}:integer", NAME, read.identity, arguments)}


def integer(path: str, sha256: str) -> Routine:
    """Return the interpreter of a file: the firmware's bytes."""
    read = c_header.read(Path(path))
    if read.sha256 != sha256:
        raise DataError(
            f"{path} is another file than when the bench was opened",
            try_next="start the run again",
        )
    heard = WordListener(read)

    def load(payload: bytes) -> Any:
        return hop_of(payload)[None]

    def output(answers: Ints) -> bytes:
        return answers.tobytes()

    phases = (heard.rows, heard.answers)
    return Routine(load, phases, output, begin=heard.begin)
