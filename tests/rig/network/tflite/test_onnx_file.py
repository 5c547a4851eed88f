# SPDX-License-Identifier: Apache-2.0
"""ONNX files in the QDQ form: the bytes of tflite-micro for the same numbers, and a
plain word for what has no equal. Needs onnx (the extra `onnx`).
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tflite", reason="pip install 'neurorig[tflite]'")
pytest.importorskip("onnx", reason="pip install 'neurorig[onnx]'")

from onnx import TensorProto, external_data_helper, helper, numpy_helper

from rig.errors import DataError
from rig.interfaces.context import BenchContext
from rig.network.tflite import checks, interpreter, network, onnx_graph
from rig.network.tflite.inputs import to_inputs
from scenarios.tasks.tflite.task import TfliteTask
from tests.commands import rig
from tests.conftest import ROOT
from tests.length import length
from tests.rig.network.onnx_models import Qdq

VECTORS = ROOT / "tests" / "vectors" / "tflite"
NAMES = (
    *("depthwise", "dense_rows", "example", "extreme_factors", "mean_of_places"),
    *("pools", "shares", "steep_shares", "sums", "valid_kernels"),
)
MUTATIONS = 200


def made(name: str, folder: Path, *, unsigned: bool = False) -> Path:
    path = folder / f"{name}.onnx"
    model = Qdq(VECTORS / f"{name}.tflite", unsigned=unsigned)
    path.write_bytes(model.content())
    return path


def stored(name: str) -> tuple[Any, Any]:
    """Return inputs with channels in front, and the outputs of tflite-micro."""
    read = network.read(VECTORS / f"{name}.tflite")
    shape = read.tensors[read.input].shape
    with np.load(VECTORS / f"{name}.npz") as found:
        inputs, outputs = found["inputs"], found["outputs"]
    shape = shape[1:] if shape[0] == 1 else shape
    inputs = inputs.reshape(len(inputs), *shape)
    return (np.moveaxis(inputs, -1, 1) if len(shape) == 3 else inputs), outputs


@pytest.mark.parametrize("unsigned", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_every_output_has_the_bytes_of_tflite_micro(
    name: str, unsigned: bool, tmp_path: Path
) -> None:
    read = network.read(made(name, tmp_path, unsigned=unsigned))
    inputs, outputs = stored(name)
    found = interpreter.run(read, to_inputs(read, inputs)[0])
    assert np.array_equal(found.reshape(outputs.shape), outputs)


def test_images_are_turned_once_and_others_are_refused(tmp_path: Path) -> None:
    read = network.read(made("depthwise", tmp_path))
    inputs, _ = stored("depthwise")
    fitted, _ = to_inputs(read, inputs)
    assert fitted.shape[1:] == (10, 9, 3)
    assert np.array_equal(to_inputs(read, inputs[4])[0][0], fitted[4])
    with pytest.raises(DataError, match=r"the ONNX model takes \(1, 3, 10, 9\)"):
        to_inputs(read, np.moveaxis(inputs, 1, -1))


def test_the_commands_and_the_task_take_such_a_file(tmp_path: Path) -> None:
    path = made("example", tmp_path)
    inputs, outputs = stored("example")
    np.save(tmp_path / "inputs.npy", inputs)
    told = rig("model", "inspect", path, cwd=tmp_path)
    assert "DEPTHWISE_CONV_2D" in told.stdout
    assert rig("model", "check", path, cwd=tmp_path).returncode == 0
    words = ("model", "run", path, "inputs.npy", "--output", "out.npz")
    assert rig(*words, cwd=tmp_path).returncode == 0
    with np.load(tmp_path / "out.npz") as found:
        assert np.array_equal(found["outputs"].reshape(outputs.shape), outputs)
    settings = TfliteTask.Settings(model=str(path), inputs=str(tmp_path / "inputs.npy"))
    task = TfliteTask.open(settings, BenchContext())
    due = [output.tobytes() for output in outputs]
    assert [task.reference(task.payload(index)) for index in range(len(task))] == due
    for name, content in task.kept().items():
        (tmp_path / "task").mkdir(exist_ok=True)
        (tmp_path / "task" / name).write_bytes(content)
    again = TfliteTask.reopened(
        settings, task.provenance(), task.catalogue(), tmp_path / "task"
    )
    assert again.entries == task.catalogue()
    assert again.task is not None
    assert again.task.payload(3) == task.payload(3)


def test_an_output_that_is_an_image_is_a_doubt(tmp_path: Path) -> None:
    said = [each.what for each in checks.findings(made("sums", tmp_path))]
    assert any("values are (height, width, channels) here" in each for each in said)
    assert checks.findings(made("shares", tmp_path)) == []


# ---- refused files, and those that would do ----


class Small:
    """A model of one node between its quantised input and output."""

    def __init__(self, shape: tuple[int, ...], output: tuple[int, ...]) -> None:
        self.opset = 13
        self.constants: list[Any] = []
        self.nodes: list[Any] = []
        self.ends = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, size)
            for name, size in (("x", shape), ("y_r", output))
        ]
        self.unit("x", 0.1)

    def constant(self, name: str, numbers: Any) -> str:
        self.constants.append(numpy_helper.from_array(np.asarray(numbers), name))
        return name

    def unit(self, name: str, scale: float, point: int = 0) -> None:
        inputs = [
            self.constant(f"{name}_s", np.float32(scale)),
            self.constant(f"{name}_z", np.int8(point)),
        ]
        self.node("QuantizeLinear", [name, *inputs], f"{name}_q")
        self.node("DequantizeLinear", [f"{name}_q", *inputs], f"{name}_r")

    def weights(self, name: str, numbers: Any, scale: float = 0.01) -> str:
        inputs = [
            self.constant(f"{name}_w", numbers),
            self.constant(f"{name}_s", np.float32(scale)),
            self.constant(f"{name}_z", numbers.dtype.type(0)),
        ]
        self.node("DequantizeLinear", inputs, f"{name}_d")
        return f"{name}_d"

    def node(self, kind: str, inputs: list[str], output: str, **stated: Any) -> None:
        self.nodes.append(
            helper.make_node(kind, inputs, [output], name=output, **stated)
        )

    def saved(self, folder: Path) -> Path:
        graph = helper.make_graph(
            self.nodes, "g", [self.ends[0]], [self.ends[1]], self.constants
        )
        opset = [helper.make_opsetid("", self.opset)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=8)
        path = folder / "small.onnx"
        path.write_bytes(model.SerializeToString())
        return path

    def refused(self, folder: Path) -> str:
        path = self.saved(folder)
        with pytest.raises(DataError) as caught:
            network.read(path)
        assert caught.value.try_next
        return str(caught.value)


def ones(*shape: int) -> Any:
    return np.ones(shape, np.int8)


def convolution(shape: tuple[int, ...], weights: Any, **stated: Any) -> Small:
    net = Small((1, 4, 6, 6), shape)
    net.node("Conv", ["x_r", net.weights("w", weights)], "y", **stated)
    net.unit("y", 0.1)
    return net


def test_what_has_no_equal_is_named(tmp_path: Path) -> None:
    net = convolution((1, 4, 6, 6), ones(4, 2, 1, 1), group=2)
    assert "2 groups of 4 channels" in net.refused(tmp_path)
    net = convolution((1, 2, 2, 2), ones(2, 4, 3, 3), dilations=[2, 2])
    assert "dilated by 2 x 2" in net.refused(tmp_path)
    net = convolution((1, 2, 6, 6), ones(2, 4, 2, 2), auto_pad="SAME_LOWER")
    assert "SAME_LOWER" in net.refused(tmp_path)
    net = convolution((1, 2, 6, 6), np.ones((2, 4, 1, 1), np.uint8))
    assert "values of uint8" in net.refused(tmp_path)
    net = Small((1, 4), (1, 4))
    net.node("Sigmoid", ["x_r"], "y")
    net.unit("y", 0.1)
    assert "Sigmoid is not supported" in net.refused(tmp_path)


@pytest.mark.parametrize("kind", ["AveragePool", "MaxPool", "Conv"])
@pytest.mark.parametrize("pads", [[2, 0, 0, 0], [0, 0, 2, 0], [0, 2, 0, 0]])
def test_a_kernel_in_the_padding_alone_is_refused(
    kind: str, pads: list[int], tmp_path: Path
) -> None:
    sides = (6 + pads[0] + pads[2] - 1, 6 + pads[1] + pads[3] - 1)
    net = Small((1, 4, 6, 6), (1, 4, *sides))
    read = ["x_r"]
    if kind == "Conv":
        read.append(net.weights("w", ones(4, 4, 2, 2)))
    net.node(kind, read, "y", kernel_shape=[2, 2], pads=pads)
    net.unit("y", 0.1)
    assert "lies in the padding alone" in net.refused(tmp_path)


@pytest.mark.parametrize("side", [0, -3])
def test_a_side_below_one_is_not_known(side: int, tmp_path: Path) -> None:
    net = Small((1, side), (1, side))
    net.node("Softmax", ["x_r"], "y", axis=-1)
    net.unit("y", 1 / 256)
    assert "not known before a run" in net.refused(tmp_path)


def test_weights_in_another_file_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    net = Small((1, 4), (1, 2))
    net.node("Gemm", ["x_r", net.weights("w", ones(4, 2))], "y")
    net.unit("y", 0.1)
    (weights,) = (each for each in net.constants if each.name == "w_w")
    external_data_helper.set_external_data(weights, "weights.bin")
    (tmp_path / "weights.bin").write_bytes(weights.raw_data)
    weights.ClearField("raw_data")
    said = net.refused(tmp_path)
    assert "w_w lies in a file of its own" in said
    assert "save_as_external_data=False" in said


def test_weights_that_operators_share_are_not_turned_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_graph, "FILE_B", 10_000)
    net = Small((1, 40), (1, 40))
    weights = net.weights("w", ones(40, 40))
    before = "x_r"
    for number in range(7):
        name = "y" if number == 6 else f"h{number}"
        net.node("Gemm", [before, weights], name)
        net.unit(name, 0.1)
        before = f"{name}_r"
    assert "turned for each operator" in net.refused(tmp_path)


def test_what_turns_or_counts_otherwise_is_named(tmp_path: Path) -> None:
    net = Small((1, 4, 6, 6), (1, 4, 6, 6))
    window = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    net.node("AveragePool", ["x_r"], "y", count_include_pad=1, **window)
    net.unit("y", 0.1)
    assert "it counts the padding" in net.refused(tmp_path)
    net = Small((4, 1), (1, 2))
    net.node("Gemm", ["x_r", net.weights("w", ones(4, 2))], "y", transA=1)
    net.unit("y", 0.1)
    assert "it scales or turns its input" in net.refused(tmp_path)
    net = Small((1, 4), (1, 2))
    net.node("Gemm", ["x_r", net.weights("w", ones(4, 2))], "g")
    ends = [net.constant("low", np.float32(-1)), net.constant("high", np.float32(6))]
    net.node("Clip", ["g", *ends], "y")
    net.unit("y", 0.1)
    assert "Clip to [-1.0, 6.0]" in net.refused(tmp_path)


def test_scales_that_do_not_belong_together_are_named(tmp_path: Path) -> None:
    net = Small((1, 4, 6, 6), (1, 4, 6, 6))
    scales = net.constant("s", np.full(4, 0.01, np.float32))
    points = net.constant("z", np.zeros(4, np.int8))
    numbers = net.constant("w", ones(4, 4, 1, 1))
    net.node("DequantizeLinear", [numbers, scales, points], "w_d", axis=1)
    net.node("Conv", ["x_r", "w_d"], "y")
    net.unit("y", 0.1)
    assert "scales on another axis" in net.refused(tmp_path)
    net = Small((1, 4), (1, 4))
    other = [net.constant("o", np.float32(0.2)), "x_z"]
    net.node("DequantizeLinear", ["x_q", *other], "x_other")
    net.node("Add", ["x_r", "x_other"], "y")
    net.unit("y", 0.1)
    assert "is read by another scale" in net.refused(tmp_path)


def test_a_softmax_at_the_output_has_the_steps_of_tflite(tmp_path: Path) -> None:
    net = Small((1, 4), (1, 4))
    net.node("Softmax", ["x_r"], "y", axis=-1)
    net.unit("y", 1 / 255, -128)
    read = network.read(net.saved(tmp_path))
    assert read.tensors[read.output].scale == 1 / 256


def test_a_softmax_without_an_axis_is_that_of_the_files_operators(
    tmp_path: Path,
) -> None:
    """Before version 13 it is over all values from axis 1 on, since then over the last
    axis."""
    for shape, takes_old in (((1, 4), True), ((1, 4, 6), False)):
        net = Small(shape, shape)
        net.node("Softmax", ["x_r"], "y")
        net.unit("y", 1 / 256, -128)
        assert network.read(net.saved(tmp_path)).output
        net.opset = 12
        if takes_old:
            assert network.read(net.saved(tmp_path)).output
        else:
            assert "over another axis than the last" in net.refused(tmp_path)


def test_what_is_not_quantised_is_named_with_the_call_that_does_it(
    tmp_path: Path,
) -> None:
    net = Small((1, 4), (1, 4))
    net.node("Softmax", ["x_r"], "y_r", axis=-1)
    assert "y_r is not quantised to int8" in net.refused(tmp_path)
    assert "quantize_static" in net.refused(tmp_path)
    net = Small((1, 4), (1, 4))
    net.constant("c", np.float32([1, 2, 3, 4]))
    net.node("Add", ["x_r", "c"], "y")
    net.unit("y", 0.1)
    assert "it adds a constant" in net.refused(tmp_path)


def test_a_bias_of_another_scale_is_named(tmp_path: Path) -> None:
    net = Small((1, 4), (1, 2))
    bias = net.weights("b", np.ones(2, np.int32), 0.002)
    net.node("Gemm", ["x_r", net.weights("w", ones(4, 2)), bias], "y")
    net.unit("y", 0.1)
    assert "another scale than input x weights" in net.refused(tmp_path)


def test_an_image_in_a_row_goes_to_a_layer_with_weights_alone(tmp_path: Path) -> None:
    net = Small((1, 2, 2, 2), (1, 8))
    net.node("Flatten", ["x_r"], "f")
    net.unit("f", 0.1)
    net.node("Softmax", ["f_r"], "y", axis=-1)
    net.unit("y", 1 / 256)
    assert "an image whose values a Flatten put in a row" in net.refused(tmp_path)


def test_a_damaged_file_is_one_sentence(tmp_path: Path) -> None:
    content = made("example", tmp_path).read_bytes()
    draw = random.Random(3)
    path = tmp_path / "spoilt.onnx"
    refused = 0
    for _ in range(length(MUTATIONS, 40)):
        spoilt = bytearray(content)
        for _ in range(draw.randrange(1, 6)):
            spoilt[draw.randrange(len(spoilt))] = draw.randrange(256)
        path.write_bytes(bytes(spoilt[: draw.randrange(len(spoilt)) or 1]))
        if draw.random() < 0.5:
            path.write_bytes(spoilt)
        try:
            network.read(path)
        except DataError as error:
            refused += 1
            assert error.try_next
    assert refused > 10


def test_an_activation_that_no_operator_takes_is_named(tmp_path: Path) -> None:
    net = Small((1, 4), (1, 4))
    net.node("Relu", ["x_r"], "y")
    net.unit("y", 0.1)
    assert "Relu after QuantizeLinear" in net.refused(tmp_path)
    net = Small((1, 4, 3, 3), (1, 4, 1, 1))
    net.node("GlobalAveragePool", ["x_r"], "g")
    net.node("Relu", ["g"], "y")
    net.unit("y", 0.1)
    assert "Relu behind it" in net.refused(tmp_path)
