# SPDX-License-Identifier: Apache-2.0
"""Make harness.json beside this file with NeuroBench's public harness, which is no
dependency: its results for torch modules with the int8 weights of the networks in the
folder above.

    echo torch==2.13.0 > pins && pip install -c pins neurobench tflite
    PYTHONPATH=. python tests/vectors/tflite/complexity/make_vectors.py

A layer with weights is a Conv2d or a Linear that gets steps from the zero point, so
that 0 is 0; a ReLU follows one whose operator has RELU or RELU6. Rescaling and the
other operators are those of [sut.gpu], and every output must have the bytes that
tflite-micro gave. Where a file pads one side more, the zeros are put before the layer:
the harness then counts their products among the dense ones, and `dense` is left out.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from neurobench.benchmarks import Benchmark
from neurobench.metrics.static import ConnectionSparsity, Footprint
from neurobench.metrics.workload import ActivationSparsity, SynapticOperations
from neurobench.models import TorchModel
from torch.utils.data import DataLoader, TensorDataset

from rig.network.tflite import file, network
from rig.network.tflite.form import Depthwise, FullyConnected, IntegerConvolution
from sut_backends.gpu.integers import IntegerLayers
from sut_backends.gpu.neurons import TorchDevice

HERE = Path(__file__).parent
NAMES = (
    "borders",
    "dense_rows",
    "depthwise",
    "example",
    "padded_kernels",
    "sums",
    "valid_kernels",
)
#: RELU and RELU6 among the activations of a file.
RECTIFIED = (1, 3)
WEIGHTED = (IntegerConvolution, Depthwise, FullyConnected)


class Held(torch.nn.Module):
    """Numbers that count in the footprint as the file stores them: a weight is a byte, a
    bias four; products are formed in double precision.
    """

    def __init__(self, body: Any) -> None:
        super().__init__()
        self.register_buffer("weights", torch.from_numpy(np.array(body.weights)))
        self.register_buffer("biases", torch.from_numpy(body.biases.astype(np.int32)))


class Net(torch.nn.Module):
    """A network of a .tflite file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.read = network.read(path)
        board = TorchDevice(torch, torch.device("cpu"), torch.float64)
        self.own = IntegerLayers(board, self.read)
        self.layers = torch.nn.ModuleDict()
        self.rectifiers = torch.nn.ModuleDict()
        self.pads: dict[str, tuple[int, ...]] = {}
        stated = file.read(path).operators
        for number, operator in enumerate(self.read.operators):
            if isinstance(operator.body, WEIGHTED):
                self.layers[str(number)] = self.layer(str(number), operator)
            if stated[number].options.get("FusedActivationFunction") in RECTIFIED:
                self.rectifiers[str(number)] = torch.nn.ReLU()

    def layer(self, name: str, operator: Any) -> torch.nn.Module:
        body = operator.body
        weights = torch.from_numpy(body.weights.astype(np.float64))
        if isinstance(body, FullyConnected):
            made: Any = torch.nn.Linear(*weights.shape[::-1], bias=False)
            made.weight.data = weights
            return made
        window = body.window
        source = self.read.tensors[operator.inputs[0]].shape
        output = self.read.tensors[operator.output].shape
        tall = (output[1] - 1) * window.stride_height + window.height
        wide = (output[2] - 1) * window.stride_width + window.width
        below = max(tall - window.top - source[1], 0)
        right = max(wide - window.left - source[2], 0)
        groups = source[3] if isinstance(body, Depthwise) else 1
        pad = (window.top, window.left)
        if (below, right) != pad:
            self.pads[name] = (window.left, right, window.top, below)
            pad = (0, 0)
        made = torch.nn.Conv2d(
            source[3],
            output[3],
            (window.height, window.width),
            stride=(window.stride_height, window.stride_width),
            padding=pad,
            groups=groups,
            bias=False,
        )
        depthwise = isinstance(body, Depthwise)
        order = weights.permute(2, 0, 1)[:, None] if depthwise else None
        made.weight.data = weights.permute(0, 3, 1, 2) if order is None else order
        return made

    def forward(self, values: Any) -> Any:
        read = self.read
        result = {read.input: values.double()}
        for number, operator in enumerate(read.operators):
            name = str(number)
            entered = [result[tensor] for tensor in operator.inputs]
            output = read.tensors[operator.output]
            if name in self.layers:
                source = read.tensors[operator.inputs[0]]
                steps = entered[0] - source.zero_point
                sums = self.products(name, operator.body, steps, source.shape)
                made = self.own._rescaled(operator.body, output.zero_point)(sums)
            else:
                made = self.own._steps[number](entered)
            if name in self.rectifiers:
                steps = self.rectifiers[name](made - output.zero_point)
                made = steps + output.zero_point
            result[operator.output] = made.reshape(len(values), *output.shape)
        return result[read.output]

    def products(self, name: str, body: Any, steps: Any, shape: Any) -> Any:
        layer = self.layers[name]
        if isinstance(body, FullyConnected):
            return layer(steps.reshape(-1, layer.in_features))
        images = steps.reshape(-1, *shape[1:]).permute(0, 3, 1, 2)
        images = torch.nn.functional.pad(images, self.pads.get(name, (0, 0, 0, 0)))
        return layer(images).permute(0, 2, 3, 1)


def measured(path: Path, inputs: np.ndarray, outputs: np.ndarray) -> dict[str, Any]:
    """Return the harness's results for a network."""
    net = Net(path)
    net.requires_grad_(False)
    shape = net.read.tensors[net.read.input].shape
    values = torch.from_numpy(inputs.reshape(len(inputs), *shape).astype(np.float64))
    result = net(values).numpy().reshape(outputs.shape)
    assert np.array_equal(result, outputs), path
    data = DataLoader(TensorDataset(values, torch.zeros(len(values))), batch_size=8)
    metrics = [[ConnectionSparsity], [ActivationSparsity, SynapticOperations]]
    with torch.no_grad():
        reported = Benchmark(TorchModel(net), data, [], [], metrics).run(quiet=True)
    operations = reported.pop("SynapticOperations")
    if net.pads:
        operations.pop("Dense")
    held = torch.nn.ModuleList(
        Held(each.body)
        for each in net.read.operators
        if isinstance(each.body, WEIGHTED)
    )
    reported["Footprint"] = Footprint()(TorchModel(held))
    return {**{name: float(value) for name, value in reported.items()}, **operations}


def main() -> None:
    reported = {}
    for name in NAMES:
        with np.load(HERE.parent / f"{name}.npz") as stored:
            inputs, outputs = stored["inputs"], stored["outputs"]
        reported[name] = measured(HERE.parent / f"{name}.tflite", inputs, outputs)
        print(name, reported[name])
    (HERE / "harness.json").write_text(json.dumps(reported, indent=1) + "\n")
    names = ("neurobench", "torch", "numpy")
    (HERE / "VERSIONS").write_text(
        "".join(f"{name} {version(name)}\n" for name in names)
    )


if __name__ == "__main__":
    sys.exit(main())
