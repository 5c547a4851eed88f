# SPDX-License-Identifier: Apache-2.0
"""An integer network on torch, in the worker of a [sut.gpu], and the bytes around
it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rig.network.tflite.form import IntegerNetwork, IntegerTensor
from rig.network.tflite.payloads import PayloadForm
from rig.network.tflite.plain import read_plain
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
    payload: str, size_b: int, scale: float, zero_point: int
) -> IntegerCodec:
    """Return the codec of a network with such payloads of so many bytes; where they are
    not its input, a first phase makes it.
    """
    kind = PayloadForm(payload)
    tensor = IntegerTensor("", (), scale, zero_point)
    made = (lambda numbers: kind.inputs(tensor, numbers[None])[0],)
    return IntegerCodec(size_b, kind.dtype, made if kind.is_raw else ())


class IntegerCodec:
    """Converts payloads to inputs, and outputs to bytes, an int8 for each value."""

    def __init__(
        self, size_b: int, kind: np.dtype[Any], phases: tuple[Any, ...]
    ) -> None:
        self._size_b = size_b
        self._kind = kind
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
