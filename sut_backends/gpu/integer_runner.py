# SPDX-License-Identifier: Apache-2.0
"""An integer network on torch, in the worker of a [sut.gpu], and the bytes around
it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rig.network.tflite.form import IntegerNetwork, IntegerTensor
from rig.network.tflite.plain import read_plain
from rig.network.tflite.real_input import quantised
from sut_backends.gpu.integers import IntegerLayers
from sut_backends.gpu.neurons import TorchDevice
from sut_backends.gpu.runner import TorchRunner, TorchSettings, open_board
from sut_backends.workers.inside.job import Job


def open_network(job: Job) -> IntegerRunner:
    """Return what runs the network of a job."""
    settings = job.settings_as(TorchSettings)
    if settings.arithmetic == "float":
        raise ValueError(
            'a network of int8 is run in whole numbers alone: arithmetic = "stated"'
        )
    board = open_board(settings.device, settings.dtype, settings.threads)
    return IntegerRunner(board, read_plain(Path(job.plain)))


def open_codec(
    size_b: int, scale: float | None = None, zero_point: int = 0
) -> IntegerCodec:
    """Return the codec of a network whose input has so many bytes; with a scale it is
    of real numbers, which a first phase quantises.
    """
    if scale is None:
        return IntegerCodec(size_b)
    tensor = IntegerTensor("", (), scale, zero_point)
    quantise = (lambda values: quantised(tensor, values)[0],)
    return IntegerCodec(size_b, "<f4", quantise)


class IntegerCodec:
    """Converts payloads to inputs, and outputs to bytes, an int8 for each value."""

    def __init__(
        self, size_b: int, kind: str = "i1", phases: tuple[Any, ...] = ()
    ) -> None:
        self._size_b = size_b
        self._kind = np.dtype(kind)
        self.phases = phases

    def load(self, payload: bytes) -> Any:
        """Return the input."""
        if len(payload) != self._size_b:
            raise ValueError(f"{len(payload)} bytes, the model takes {self._size_b}")
        return np.frombuffer(payload, self._kind)

    def output(self, values: Any, membranes: Any) -> bytes:
        """Return the output."""
        output: bytes = values.astype(np.int8).tobytes()
        return output


class IntegerRunner(TorchRunner):
    """An integer network."""

    def __init__(self, board: TorchDevice, network: IntegerNetwork) -> None:
        self._shape = network.tensors[network.input].shape
        layers = IntegerLayers(board, network)
        super().__init__(board, layers, (1, *self._shape))
        products = str(board.dtype).removeprefix("torch.")
        if layers.wide:
            products += f", of {len(layers.wide)} operators in float64"
        self.about |= {
            "arithmetic": (
                "whole numbers, the bytes of tflite-micro's reference kernels; sums of"
                f" products in {products}, where each is exact"
            ),
            "timed": (
                "copy of the input to the device, the operators, a synchronise of the"
                " device, copy of the output back"
            ),
        }

    def given(self, samples: Sequence[Any]) -> Any:
        """Stack inputs in one array (samples, *shape)."""
        return np.stack(samples).reshape(len(samples), *self._shape)
