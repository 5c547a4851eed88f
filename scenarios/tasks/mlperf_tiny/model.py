# SPDX-License-Identifier: Apache-2.0
"""A benchmark's own model, a .tflite file of int8, by the input conventions of its
reference firmware.

The conversions before and after the network are untimed, as the benchmark's rules say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rig.errors import ConfigError, DataError
from rig.interfaces.cpu_program import Program, Routine
from rig.network.tflite import distance, network
from rig.network.tflite.form import IntegerNetwork
from rig.network.tflite.real_input import REAL_B
from scenarios.tasks.mlperf_tiny.answer import Format
from scenarios.tasks.mlperf_tiny.benchmarks import BENCHMARKS, Benchmark, Values
from scenarios.tasks.tflite import programs as plain

#: The workload of the firmware that runs such models.
WORKLOAD = plain.NAME
#: Pixels are stored from 0, a model takes them from -128.
_SIGN_BIT = 0x80


@dataclass(frozen=True, slots=True)
class TinyModel:
    """The network of a file, and the kind of the benchmark's tensors."""

    path: Path
    network: IntegerNetwork
    values: Values

    @property
    def identity(self) -> str:
        """Return its name in a device's report."""
        if self.values == "reals":
            return distance.identity(self.network)
        return self.network.identity

    def facts(self) -> dict[str, str]:
        """Return what identifies it in a provenance."""
        return {
            "model": self.identity,
            "model_file_sha256": self.network.sha256,
            "values": self.values,
        }

    def payload(self, tensor: bytes) -> bytes:
        """Return the bytes that a device gets for those of a tensor."""
        if self.values != "pixels":
            return tensor
        content: bytes = (np.frombuffer(tensor, np.uint8) ^ _SIGN_BIT).tobytes()
        return content

    def answer(self, payload: bytes) -> bytes:
        """Return the output for a payload, by the interpreter."""
        made = routine(self.network, self.values)
        return made.output(made.phases[0](made.load(payload)))

    def programs(self) -> dict[str, Program]:
        """Return the programs of a processor."""
        path = str(self.path.resolve())
        arguments = {
            "path": path,
            "sha256": self.network.sha256,
            "values": self.values,
        }
        entry = f"{__name__}:integer"
        return {"integer": Program(entry, WORKLOAD, self.identity, arguments)}


def opened(path: Path, benchmark: str) -> TinyModel:
    """Read a model; raises ConfigError where the benchmark is none of those with
    tensors, DataError where the model is not for its tensors.
    """
    known = BENCHMARKS.get(benchmark)
    if known is None:
        raise ConfigError(
            "a model needs the benchmark whose tensors it takes",
            path="task.mlperf_tiny.benchmark",
            try_next=f"one of {', '.join(BENCHMARKS)}",
        )
    read = network.read(path)
    _refuse_other(path, read, known)
    return TinyModel(path, read, known.values)


def form_of(benchmark: Benchmark) -> Format:
    """Return how a device writes the answers of a benchmark's model."""
    return "float32" if benchmark.values == "reals" else "shares"


def integer(path: str, sha256: str, values: Values) -> Routine:
    """Return the interpreter of a file: the firmware's bytes."""
    read = network.read(Path(path))
    if read.sha256 != sha256:
        raise DataError(
            f"{path} is another file than when the bench was opened",
            try_next="start the run again",
        )
    return routine(read, values)


def routine(read: IntegerNetwork, values: Values) -> Routine:
    """Return what runs a network on payloads."""
    if values != "reals":
        return plain.routine(read)

    def load(payload: bytes) -> Any:
        return distance.reals_of(read, payload)

    def infer(reals: Any) -> Any:
        return distance.distances(read, reals[None])[0]

    def together(samples: Sequence[Any]) -> Sequence[Any]:
        return list(distance.distances(read, np.stack(samples)))

    return Routine(load, (infer,), output=lambda found: found.tobytes(), batch=together)


def _refuse_other(path: Path, read: IntegerNetwork, known: Benchmark) -> None:
    entry, last = read.tensors[read.input], read.tensors[read.output]
    due = known.tensor_b
    if known.values == "reals":
        due //= REAL_B
        distance.require_alike(read)
    if entry.size != due:
        raise DataError(
            f"{path} takes {entry.size:,} values, a tensor of the benchmark has"
            f" {due:,}",
            try_next="the benchmark that the model is of",
        )
    if known.values == "reals":
        return
    if last.size != known.outputs or (last.scale, last.zero_point) != (1 / 256, -128):
        raise DataError(
            f"{path} gives {last.size} values, {last.scale:g} a step about"
            f" {last.zero_point}: the benchmark's models give {known.outputs} shares",
            try_next="a model that ends in SOFTMAX",
        )
