# SPDX-License-Identifier: Apache-2.0
"""Networks in .tflite files: read, refused, and run to the bytes of tflite-micro."""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.programs import captured

pytest.importorskip("tflite", reason="pip install 'neurorig[tflite]'")

from examples import make_tflite
from examples.make_tflite import Layers
from rig.errors import DataError
from rig.network.tflite import arithmetic, interpreter, network, sizes
from rig.network.tflite.form import IntegerConvolution, Reshape
from tests.conftest import ROOT
from tests.length import length
from tests.rig.network.tflite_models import MODELS

VECTORS = ROOT / "tests" / "vectors" / "tflite"
MUTATIONS = 500


def saved(tmp_path: Path, net: Layers) -> Path:
    path = tmp_path / "model.tflite"
    path.write_bytes(net.content())
    return path


def refused(tmp_path: Path, net: Layers) -> str:
    with pytest.raises(DataError) as caught:
        network.read(saved(tmp_path, net))
    assert caught.value.try_next
    return str(caught.value)


@pytest.mark.parametrize("name", MODELS)
def test_every_output_has_the_bytes_of_tflite_micro(name: str) -> None:
    read = network.read(VECTORS / f"{name}.tflite")
    with np.load(VECTORS / f"{name}.npz") as stored:
        inputs, outputs = stored["inputs"], stored["outputs"]
    assert np.array_equal(interpreter.run(read, inputs), outputs)
    assert len(np.unique(outputs)) > 3


def test_the_vectors_reach_every_operator_and_every_kind_of_factor() -> None:
    operators = set()
    shifts = []
    multipliers = []
    for name in MODELS:
        for operator in network.read(VECTORS / f"{name}.tflite").operators:
            operators.add(operator.name)
            if isinstance(operator.body, IntegerConvolution):
                shifts += operator.body.shifts.tolist()
                multipliers += operator.body.multipliers.tolist()
    assert operators == set(make_tflite._OPTIONS)
    assert max(shifts) > 0
    assert min(shifts) < -20
    assert 0 in multipliers


def test_a_sample_alone_answers_as_among_others() -> None:
    read = network.read(VECTORS / "padded_kernels.tflite")
    with np.load(VECTORS / "padded_kernels.npz") as stored:
        inputs = stored["inputs"]
    many = interpreter.run(read, inputs)
    for number in (0, len(inputs) - 1):
        item = interpreter.run(read, inputs[number : number + 1])
        assert np.array_equal(item[0], many[number])


def test_inputs_of_another_type_or_size_are_refused() -> None:
    read = network.read(VECTORS / "shares.tflite")
    for inputs in (np.zeros((2, 4, 12)), np.zeros((2, 4, 11), np.int8)):
        with pytest.raises(DataError, match="the model takes int8"):
            interpreter.run(read, inputs)


def test_an_exponential_is_that_of_real_numbers_within_its_last_bits() -> None:
    result = arithmetic.exponentials(1.0, 0.05) / 2**31
    assert result[0] == pytest.approx(1.0, abs=1e-9)
    assert result == pytest.approx(np.exp(-0.05 * np.arange(256)), abs=1e-6)
    steep = arithmetic.exponentials(3.0, 2.0)
    assert steep[6:].max() == 0


def test_a_factor_below_its_range_is_none() -> None:
    assert arithmetic.factor(2.0**-33).multiplier == 0
    assert arithmetic.factor(2.0**-32).shift == -31
    assert arithmetic.factor(1 - 2.0**-40).multiplier == 1 << 30
    assert arithmetic.factor(1 - 2.0**-40).shift == 1


# ---- refusals, and their remedies ----


def test_other_operators_are_named(tmp_path: Path) -> None:
    net = Layers((1, 4), 1)
    net.dense(3)
    net.add("LOGISTIC", [net.last], net.tensor((1, 3), 1 / 256, -128))
    net.add("TANH", [net.last], net.tensor((1, 3), 1 / 128, 0))
    text = refused(tmp_path, net)
    assert "LOGISTIC, TANH are not supported" in text
    assert "CONV_2D" in text


def test_a_model_with_floats_at_its_border_says_how_to_convert_it(
    tmp_path: Path,
) -> None:
    net = Layers((1, 4), 1)
    net.add("QUANTIZE", [net.last], net.tensor((1, 4), 0.1, 0))
    net.dense(3)
    assert "inference_output_type = tf.int8" in refused(tmp_path, net)


def dilated(net: Layers) -> None:
    net.convolution(4, (3, 3), dilation=2)


def with_zero_points(net: Layers) -> None:
    net.convolution(4, (3, 3))
    net.tensors[1]["points"] = np.full_like(net.tensors[1]["points"], 3)


def with_half_the_scales(net: Layers) -> None:
    net.convolution(4, (3, 3))
    for key in ("scales", "points"):
        net.tensors[1][key] = net.tensors[1][key][:2]


def without_zero_points(net: Layers) -> None:
    net.convolution(4, (3, 3))
    net.tensors[1]["points"] = np.zeros(0, np.int64)


def in_groups(net: Layers) -> None:
    net.tensors[0]["shape"] = (1, 8, 8, 4)
    net.convolution(4, (3, 3))
    net.tensors[0]["shape"] = (1, 8, 8, 8)


def of_many_images(net: Layers) -> None:
    net.tensors[0]["shape"] = (2, 8, 8, 3)
    net.convolution(4, (3, 3))


def of_no_fixed_shape(net: Layers) -> None:
    net.convolution(4, (3, 3))
    net.tensors[0]["shape"] = (1, 0, 8, 3)


def of_floats(net: Layers) -> None:
    net.convolution(4, (3, 3))
    net.tensors[0]["kind"] = 0


def with_a_scale_of_almost_none(net: Layers) -> None:
    net.convolution(4, (3, 3), activation=make_tflite.RELU6)
    net.tensors[-1]["scales"] = np.float32([1e-40])


def with_tanh(net: Layers) -> None:
    net.convolution(4, (3, 3), activation=4)


def adding_other_shapes(net: Layers) -> None:
    first = net.convolution(4, (3, 3))
    net.convolution(4, (1, 1), (2, 2))
    net.addition(first, 0.1, 0)


def with_a_pool_that_rescales(net: Layers) -> None:
    net.pool("MAX_POOL_2D", (2, 2), (2, 2))
    net.tensors[-1]["scales"] = np.float32([0.4])


def with_a_mean_of_rows_and_channels(net: Layers) -> None:
    net.mean((1, 3), 0.1, 0)


def with_other_shares(net: Layers) -> None:
    net.softmax()
    net.tensors[-1]["scales"] = np.float32([1 / 128])


def with_large_sums(net: Layers) -> None:
    net.convolution(4, (3, 3), gain=1e9)


def in_a_circle(net: Layers) -> None:
    net.convolution(3, (1, 1))
    net.convolution(3, (1, 1))
    net.operators[0][1][0] = net.last


def of_tensors_that_are_not_there(net: Layers) -> None:
    net.convolution(4, (3, 3))
    net.operators[0][1][1] = 99


def without_operators(net: Layers) -> None:
    net.reshape(1, 8, 24)


def of_a_large_kernel(net: Layers) -> None:
    net.tensors[0]["shape"] = (1, 4000, 1000, 3)
    net.convolution(4, (30, 30))


def of_wide_gaps(net: Layers) -> None:
    net.tensors[0]["shape"] = (1, 1, 1 << 22, 3)
    net.convolution(4, (4096, 1), (1, 4096))


def of_endless_work(net: Layers) -> None:
    net.tensors[0]["shape"] = (1, 260, 260, 1)
    for _ in range(180):
        net.pool("MAX_POOL_2D", (30, 30), (1, 1), padding=0)


REFUSED: list[tuple[Callable[[Layers], None], str]] = [
    (dilated, "operator 0, CONV_2D: its kernel is dilated by 2 x 2"),
    (with_zero_points, "have a zero point"),
    (with_half_the_scales, "2 scales for 4 channels"),
    (without_zero_points, "4 scales and 0 zero points"),
    (in_groups, "weights for 4 channels of 8"),
    (of_many_images, "one sample at a time"),
    (of_no_fixed_shape, "not known before a run"),
    (of_floats, "is of FLOAT32"),
    (with_a_scale_of_almost_none, "too fine for its activation"),
    (with_tanh, "the activation TANH"),
    (adding_other_shapes, "two tensors of one shape"),
    (with_a_pool_that_rescales, "another scale than its input"),
    (with_a_mean_of_rows_and_channels, "no neighbours"),
    (with_other_shares, "1/256 about -128"),
    (with_large_sums, "may leave 32 bits"),
    (in_a_circle, "no operator before it gives"),
    (of_tensors_that_are_not_there, "tensor 99, which is not there"),
    (without_operators, "no operator computes its output"),
    (of_a_large_kernel, "more than 67,108,864 values in memory"),
    (of_wide_gaps, "more than 67,108,864 values in memory"),
    (of_endless_work, "more than 1e+10 products"),
]


@pytest.mark.parametrize(
    ("spoil", "said"), REFUSED, ids=lambda each: getattr(each, "__name__", each)
)
def test_what_is_not_supported_is_refused_by_its_operator(
    tmp_path: Path, spoil: Callable[[Layers], None], said: str
) -> None:
    net = Layers((1, 8, 8, 3), 2)
    spoil(net)
    assert said in refused(tmp_path, net)


def test_options_of_another_kind_of_operator_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = Layers((1, 8, 8, 3), 2)
    net.convolution(4, (3, 3))
    assert network.read(saved(tmp_path, net))
    monkeypatch.setattr(make_tflite.tflite.BuiltinOptions, "Conv2DOptions", 40)
    content = net.content()
    monkeypatch.undo()
    path = tmp_path / "other.tflite"
    path.write_bytes(content)
    with pytest.raises(DataError, match="its kernel and strides are"):
        network.read(path)


def test_the_larger_of_two_codes_names_an_operator_as_to_tflite_micro(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = Layers((1, 4), 1)
    net.dense(3)
    add_code = make_tflite.tflite.OperatorCodeAddBuiltinCode
    greater = make_tflite.tflite.BuiltinOperator.GREATER
    monkeypatch.setattr(
        make_tflite.tflite,
        "OperatorCodeAddBuiltinCode",
        lambda builder, code: add_code(builder, greater),
    )
    assert "GREATER are not supported" in refused(tmp_path, net)


def test_several_subgraphs_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tflite: Any = importlib.import_module("tflite")
    monkeypatch.setattr(tflite.Model, "SubgraphsLength", lambda model: 3)
    assert "3 subgraphs" in refused(tmp_path, MODELS["shares"]())


def test_without_the_package_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise ImportError(f"No module named {name!r}")

    path = saved(tmp_path, MODELS["shares"]())
    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(DataError, match="pip install 'neurorig\\[tflite\\]'"):
        network.read(path)


# ---- files that are none ----


@pytest.mark.parametrize(
    "content",
    [b"", b"TFL3", bytes(8) + b"TFL3" * 9, b"\xff" * 4 + b"TFL3" + b"\xff" * 400],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "none.tflite"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"is not a \.tflite file"):
        network.read(path)


def test_a_file_that_was_cut_off_says_so(tmp_path: Path) -> None:
    content = (VECTORS / "example.tflite").read_bytes()
    path = tmp_path / "cut.tflite"
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match=r"is not a \.tflite file") as caught:
        network.read(path)
    assert caught.value.evidence == (
        f"offsets lead beyond its {len(content) // 2:,} bytes: was it cut off?"
    )


def test_an_input_that_is_no_file_or_larger_than_any_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"missing.tflite does not exist"):
        network.read(tmp_path / "missing.tflite")
    with pytest.raises(DataError, match=r"folder"):
        network.read(tmp_path)
    os.mkfifo(tmp_path / "pipe.tflite")
    with pytest.raises(DataError, match="pipe"):
        network.read(tmp_path / "pipe.tflite")
    large = tmp_path / "large.tflite"
    with large.open("wb") as stream:
        stream.write(bytes(4) + b"TFL3")
        stream.truncate(1 << 27)
    with pytest.raises(DataError, match="more than 67,108,864 bytes"):
        network.read(large)


def test_a_vector_that_tables_share_is_not_read_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = make_tflite._numbers
    shared: list[int] = []

    def written_once(builder: Any, stated: Any) -> int:
        if np.asarray(stated).dtype != np.float32 or np.size(stated) != 1:
            return numbers(builder, stated)
        if not shared:
            shared.append(numbers(builder, np.ones(1000, np.float32)))
        return shared[0]

    monkeypatch.setattr(make_tflite, "_numbers", written_once)
    net = Layers((1, 4), 1)
    net.dense(3)
    for _ in range(100):
        net.tensor((1, 3), 0.1, 0)
    path = saved(tmp_path, net)
    assert path.stat().st_size < 100 * 1000
    with pytest.raises(DataError, match="more entries than the file has bytes"):
        network.read(path)


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """Return a file cut off, or with some bytes or words changed."""
    spoilt = bytearray(content)
    if rng.random() < 0.2:
        return bytes(spoilt[: int(rng.integers(8, len(spoilt)))])
    for _ in range(int(rng.integers(1, 5))):
        position = int(rng.integers(8, len(spoilt) - 4))
        if rng.random() < 0.5:
            spoilt[position] = int(rng.integers(256))
        else:
            words = (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, int(rng.integers(2**32)))
            word = words[int(rng.integers(len(words)))]
            spoilt[position : position + 4] = word.to_bytes(4, "little")
    return bytes(spoilt)


def test_a_damaged_file_ends_in_a_sentence_or_is_a_network(tmp_path: Path) -> None:
    path = tmp_path / "spoilt.tflite"
    rng = np.random.default_rng(23)
    contents = [(VECTORS / f"{name}.tflite").read_bytes() for name in MODELS]
    count = refusals = 0
    began_s = time.monotonic()
    for number in range(length(2 * MUTATIONS, MUTATIONS)):
        path.write_bytes(mutated(contents[number % len(contents)], rng))
        count += 1
        try:
            read = network.read(path)
        except DataError as error:
            refusals += 1
            assert "\n" not in error.cause
            continue
        if sizes.sizes(read).macs < 100_000:
            shape = read.tensors[read.input].shape
            outputs = interpreter.run(read, np.full((1, *shape), 5, np.int8))
            assert outputs.size == read.tensors[read.output].size
    assert refusals > count // 4
    assert time.monotonic() - began_s < 60


# ---- sizes ----


def test_no_two_tensors_that_are_needed_together_share_a_byte() -> None:
    for name in MODELS:
        read = network.read(VECTORS / f"{name}.tflite")
        at = sizes.arena(read).at
        owner = np.full(sizes.arena(read).size_b, -1)
        for operator in read.operators:
            for tensor in operator.inputs:
                if tensor in at:
                    position = slice(at[tensor], at[tensor] + read.tensors[tensor].size)
                    # No operator since has written over it.
                    assert set(owner[position]) == {sizes.root_of(read, tensor)}
            if isinstance(operator.body, Reshape):
                continue
            begin, size = at[operator.output], read.tensors[operator.output].size
            assert begin % 4 == 0
            spans = [
                (at[tensor], at[tensor] + read.tensors[tensor].size)
                for tensor in operator.inputs
                if tensor in at
            ]
            assert all(end <= begin or begin + size <= start for start, end in spans)
            owner[begin : begin + size] = operator.output
        assert read.input not in at


def test_products_constants_and_patches_are_counted() -> None:
    result = sizes.sizes(network.read(VECTORS / "example.tflite"))
    assert [each.macs for each in result.operators] == [
        *(6 * 6 * 8 * 9, 6 * 6 * 8 * 9, 6 * 6 * 8 * 8),
        *(6 * 6 * 8 * 9, 6 * 6 * 8 * 8, 0, 0, 0, 8 * 4, 0),
    ]
    assert result.operators[0].constant_b == 104 + 8 * 9 + 8 * (4 + 4 + 1)
    assert result.operators[-1].constant_b == 104 + 256 * 4
    assert result.patch_b == 2 * 9
    assert (result.input_b, result.output_b) == (144, 4)
    # Three tensors of 6 x 6 x 8 are needed at a time: a sum reads two and writes one.
    assert result.arena.size_b == 3 * 6 * 6 * 8


@pytest.mark.skipif(
    "TFLITE_MICRO_PYTHON" not in os.environ, reason="make peers runs tflite-micro"
)
def test_tflite_micro_itself_gives_these_bytes() -> None:
    python = os.environ["TFLITE_MICRO_PYTHON"]
    done = captured([python, str(VECTORS / "make_vectors.py"), "--compare"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("equal") == len(MODELS)


def test_the_package_that_reads_a_file_is_named_where_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package, suffix in (("tflite", ".tflite"), ("onnx", ".onnx")):
        monkeypatch.setitem(sys.modules, package, None)
        path = tmp_path / f"model{suffix}"
        path.write_bytes((VECTORS / "example.tflite").read_bytes())
        with pytest.raises(DataError, match=f"the package {package}") as caught:
            network.read(path)
        assert f"neurorig[{package}]" in caught.value.try_next
