# SPDX-License-Identifier: Apache-2.0
"""CMSIS-NN in place of the firmware's own products: the same bytes, the memory that was
counted before the build, fewer instructions; refused where there is no such code.
"""

from __future__ import annotations

import ctypes
import shutil
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tflite", reason="pip install 'neurorig[tflite]'")

from hypothesis import given, settings
from hypothesis import strategies as st

from examples.make_tflite import Layers, samples
from rig.errors import ConfigError
from rig.firmware import cmsis_nn
from rig.model.steps import Load, Query
from rig.network.tflite import interpreter, network, sizes
from rig.network.tflite.form import Depthwise, IntegerConvolution, IntegerNetwork
from rig.network.tflite.kernels import Kernels
from rig.network.tflite.tables import tables
from tests.boards import emulated, image
from tests.conftest import ROOT
from tests.firmware import cmsis_nn_library
from tests.firmware.test_tflite import (
    INSTRUCTION_S,
    drawn,
    invoke,
    opened_sut,
    usual,
    written,
)
from tests.firmware.tflite_library import DeviceNetwork
from tests.length import length
from tests.rig.network.tflite_models import MODELS

pytestmark = [
    pytest.mark.posix,
    pytest.mark.skipif(
        shutil.which("cc") is None or shutil.which("make") is None,
        reason="needs make and a C compiler",
    ),
]
VECTORS = ROOT / "tests" / "vectors" / "tflite"
EXAMPLE = VECTORS / "example.tflite"
#: The aims with and without DSP instructions. Where every read of four bytes is a call,
#: a product takes 9 and more.
INSTRUCTIONS_A_PRODUCT = {"stm32f405": 3.3, "mps2": 4.5}
_CHOSEN = ("--kernels", "cmsis-nn")


class _Dims(ctypes.Structure):
    """cmsis_nn_dims."""

    _fields_ = tuple((name, ctypes.c_int32) for name in "nhwc")


class _Parameters(ctypes.Structure):
    """cmsis_nn_conv_params, or cmsis_nn_dw_conv_params with `multiple`."""

    _fields_ = tuple((f"number_{at}", ctypes.c_int32) for at in range(11))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return cmsis_nn_library.library(tmp_path_factory.mktemp("cmsis-nn"))


@pytest.mark.parametrize("name", MODELS)
def test_every_output_has_the_bytes_of_tflite_micro(
    library: ctypes.CDLL, name: str
) -> None:
    read = network.read(VECTORS / f"{name}.tflite")
    device = DeviceNetwork(library, tables(read, Kernels.CMSIS_NN))
    with np.load(VECTORS / f"{name}.npz") as stored:
        inputs, outputs = stored["inputs"], stored["outputs"]
    for sample, answer in zip(inputs, outputs, strict=True):
        assert np.array_equal(device.answer(sample), answer.reshape(-1))


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=length(200, 40), deadline=None)
def test_any_network_has_its_bytes_in_the_counted_memory(
    library: ctypes.CDLL, tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "drawn-for-cmsis-nn.tflite"
    path.write_bytes(drawn(seed).content())
    read = network.read(path)
    made = tables(read, Kernels.CMSIS_NN)
    device = DeviceNetwork(library, made)
    shape = read.tensors[read.input].shape
    inputs = np.random.default_rng(seed).integers(-128, 128, (2, *shape))
    inputs = inputs.astype(np.int8)
    for sample, answer in zip(inputs, interpreter.run(read, inputs), strict=True):
        assert np.array_equal(device.answer(sample), answer.reshape(-1))
    assert 2 * made.patch == max(2, asked_b(library, read))


def asked_b(library: ctypes.CDLL, read: IntegerNetwork) -> int:
    """Return the most memory that the library itself asks for, on a core with DSP
    instructions or without."""
    result = [0]
    for operator in read.operators:
        body = operator.body
        if not isinstance(body, IntegerConvolution | Depthwise):
            continue
        from_, to = read.tensors[operator.inputs[0]], read.tensors[operator.output]
        window = body.window
        name, last = "arm_convolve_wrapper_s8", from_.shape[-1]
        head: tuple[int, ...] = (0, 0)
        if isinstance(body, Depthwise):
            name, last = "arm_depthwise_conv_wrapper_s8", to.shape[-1]
            head = (0, 0, body.each)
        strides = (window.stride_width, window.stride_height)
        how = _Parameters(*head, *strides, window.left, window.top, 1, 1)
        kernel = _Dims(to.shape[-1], window.height, window.width, last)
        stated = (how, _Dims(*from_.shape), kernel, _Dims(*to.shape))
        for suffix in ("", "_dsp"):
            asked = getattr(library, f"{name}_get_buffer_size{suffix}")
            result.append(asked(*(ctypes.byref(each) for each in stated)))
    return max(result)


@pytest.mark.parametrize("port", INSTRUCTIONS_A_PRODUCT)
def test_an_image_answers_alike_with_few_instructions_a_product(
    tmp_path: Path, port: str
) -> None:
    folder = cmsis_nn_library.folder()
    image(port, "null")  # where no tool is missing
    path, read = written(tmp_path, usual())
    board = tmp_path / "board"
    counted = sizes.sizes(read, Kernels.CMSIS_NN)
    words = ("build", board, "--model", path, "--target", port, *_CHOSEN)
    text = invoke(*words, "--cmsis-nn", folder)
    assert f"with a patch {counted.memory_b:,}" in text
    inputs = samples((20, 10, 1), 4)
    sut = opened_sut(port, board / "build" / emulated(port) / "tflite.elf")
    try:
        assert f" {cmsis_nn.read(folder).name}" in sut.info.firmware
        for sample, answer in zip(inputs, interpreter.run(read, inputs), strict=True):
            sut.do(Load(0), [sample.tobytes()])
            done = sut.do(Query((0,), limit_s=60.0))
            assert done.output == answer.tobytes()
        ticks = done.marks[-1].tick - done.marks[-2].tick
        instructions = ticks / sut.info.tick_hz / INSTRUCTION_S
    finally:
        sut.close()
    assert instructions / counted.macs < INSTRUCTIONS_A_PRODUCT[port]


def test_kernels_are_part_of_what_the_device_says_and_of_the_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(cmsis_nn_library.VARIABLE, str(cmsis_nn_library.folder()))
    board = tmp_path / "board"
    text = []
    for choice in (_CHOSEN, ()):
        invoke("build", board, "--model", EXAMPLE, "--target", "posix", *choice)
        sut = opened_sut("posix", board / "build" / "posix" / "tflite")
        try:
            text.append(sut.info.firmware.partition(", ")[0].split())
            with np.load(VECTORS / "example.npz") as stored:
                inputs, outputs = stored["inputs"], stored["outputs"]
            sut.do(Load(0), [inputs[0].tobytes()])
            assert sut.do(Query((0,))).output == outputs[0].tobytes()
        finally:
            sut.close()
    (version, build, name), portable = text
    assert portable[:1] == [version]
    assert len(portable) == 2
    assert portable[1] != build
    assert name == cmsis_nn.read(cmsis_nn_library.folder()).name


# ---- without the library's folder ----


def a_folder(tmp_path: Path) -> Path:
    """Return a folder with files of the names that are read."""
    folder = tmp_path / "CMSIS-NN"
    for name in cmsis_nn.SOURCES:
        path = folder / "Source" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('#include "arm_nnfunctions.h"\n', "utf-8")
    include = folder / "Include"
    (include / "Internal").mkdir(parents=True)
    (include / "arm_nnfunctions.h").write_text(
        '#include "Internal/arm_nn_compiler.h"\n#include <stdint.h>\n', "utf-8"
    )
    (include / "Internal" / "arm_nn_compiler.h").write_text(
        '#include "intrin.h"\nint one;\n', "utf-8"
    )
    return folder


def test_the_sources_become_one_header_with_each_of_its_own_once(
    tmp_path: Path,
) -> None:
    made = cmsis_nn.read(a_folder(tmp_path))
    assert made.text.count("int one;") == 1
    assert made.text.count("arm_nnfunctions.h") == 1
    assert "#include <stdint.h>" in made.text
    assert '#include "intrin.h"' in made.text
    for name in cmsis_nn.SOURCES:
        assert name in made.text
    first = made.name
    file = tmp_path / "CMSIS-NN" / "Source" / cmsis_nn.SOURCES[-1]
    file.write_text("int two;\n", "utf-8")
    assert cmsis_nn.read(tmp_path / "CMSIS-NN").name != first


def test_the_page_says_from_where_and_how() -> None:
    page = (ROOT / "docs" / "reference" / "MODELS.md").read_text("utf-8")
    assert f"{cmsis_nn.FETCH}\nrig firmware build" in page
    assert " ".join((*_CHOSEN, "--cmsis-nn CMSIS-NN")) in page
    assert f"The {len(cmsis_nn.SOURCES)}\nfiles" in page


def refused(folder: Path, *words: str | Path) -> str:
    path = folder / "model.tflite"
    net = Layers((1, 4, 4, 1), 1)
    net.convolution(2, (3, 3))
    path.write_bytes(net.content())
    with pytest.raises(ConfigError) as caught:
        invoke("build", folder / "board", "--model", path, *words)
    assert not (folder / "board").exists()
    return str(caught.value)


def test_another_folder_is_refused_and_says_how_to_get_one(tmp_path: Path) -> None:
    words = ("--target", "posix", *_CHOSEN, "--cmsis-nn", tmp_path)
    output = refused(tmp_path, *words)
    assert "is no CMSIS-NN" in output
    assert cmsis_nn.FETCH in output


def test_no_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(cmsis_nn_library.VARIABLE, raising=False)
    output = refused(tmp_path, "--target", "posix", *_CHOSEN)
    assert "wants the folder of its sources" in output


def test_a_port_for_any_processor_is_refused_by_name(tmp_path: Path) -> None:
    words = ("--target", "template", *_CHOSEN, "--cmsis-nn", a_folder(tmp_path))
    assert "a project of the port template" in refused(tmp_path, *words)


def test_a_folder_beside_portable_kernels_is_refused(tmp_path: Path) -> None:
    words = ("--target", "posix", "--cmsis-nn", a_folder(tmp_path))
    assert "no effect with --kernels portable" in refused(tmp_path, *words)
