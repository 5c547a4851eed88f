# SPDX-License-Identifier: Apache-2.0
"""The firmware's networks of .tflite files against the interpreter and the recorded
answers of tflite-micro, byte for byte: any network on this host, the shipped one on the
emulated cores too.
"""

from __future__ import annotations

import ctypes
import shutil
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tflite", reason="pip install 'neurorig[tflite]'")

from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.make_tflite import NONE, RELU, RELU6, SAME, VALID, Layers, samples
from rig.cli.boards.firmware import firmware
from rig.errors import ConfigError, DataError, RigError, SutError
from rig.interfaces.context import BenchContext
from rig.model.steps import Load, Query
from rig.network.tflite import interpreter, network, sizes
from rig.network.tflite.c_header import header
from rig.network.tflite.form import IntegerNetwork
from rig.network.tflite.rows import row_by_row
from rig.network.tflite.tables import KINDS, OperatorRow, tables
from rig.session.session import open_bench
from sut_backends.hosted.posix import PosixSut
from sut_backends.hosted.qemu import QemuSut
from tests.boards import BOARDS, emulated, image
from tests.builds import FIRMWARE, built
from tests.conftest import ROOT
from tests.firmware.tflite_library import DeviceNetwork, opened
from tests.length import length
from tests.rig.network.tflite_models import MODELS, drawn_window

pytestmark = [
    pytest.mark.posix,
    pytest.mark.skipif(
        shutil.which("cc") is None or shutil.which("make") is None,
        reason="needs make and a C compiler",
    ),
]
VECTORS = ROOT / "tests" / "vectors" / "tflite"
FOLDER = FIRMWARE / "workloads" / "tflite"
#: An instruction of the emulated processor takes so long.
INSTRUCTION_S = 32e-9
#: The aim for portable C at -O2.
INSTRUCTIONS_A_PRODUCT = 5.5


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    return opened(built("tflite-library") / "tflite" / "library.so")


@pytest.mark.parametrize("name", MODELS)
def test_every_output_has_the_bytes_of_tflite_micro(
    library: ctypes.CDLL, name: str
) -> None:
    device = DeviceNetwork(library, tables(network.read(VECTORS / f"{name}.tflite")))
    with np.load(VECTORS / f"{name}.npz") as stored:
        inputs, outputs = stored["inputs"], stored["outputs"]
    for sample, answer in zip(inputs, outputs, strict=True):
        assert np.array_equal(device.answer(sample), answer.reshape(-1))


def test_the_vectors_reach_every_kind_of_operator() -> None:
    kinds = set()
    for name in MODELS:
        rows = tables(network.read(VECTORS / f"{name}.tflite")).operators
        kinds |= {row[0] for row in rows}
    assert kinds == {number for number, kind in enumerate(KINDS) if kind != "KEEP"}


def drawn(seed: int) -> Layers:
    """Return a random network of a few layers."""
    rng = np.random.default_rng(seed)
    shape = (1, *rng.integers(3, 9, 2).tolist(), int(rng.integers(1, 6)))
    net = Layers(shape, seed, float(rng.uniform(0.01, 1)), int(rng.integers(-128, 128)))
    for _ in range(int(rng.integers(1, 5))):
        kernel = tuple(min(int(rng.integers(1, 5)), side) for side in net.shape()[1:3])
        strides = tuple(rng.integers(1, 3, 2).tolist())
        how = (strides, int(rng.choice([SAME, VALID])))
        activation = int(rng.choice([NONE, RELU, RELU6]))
        match int(rng.integers(5)):
            case 0:
                channels = int(rng.integers(1, 11))
                net.convolution(channels, kernel, *how, activation)
            case 1:
                net.depthwise(kernel, *how, activation, each=int(rng.integers(1, 3)))
            case 2:
                name = str(rng.choice(["MAX_POOL_2D", "AVERAGE_POOL_2D"]))
                net.pool(name, kernel, *how, activation)
            case 3:
                first = net.last
                net.convolution(net.shape()[3], (1, 1), activation=activation)
                scale = net.unit()[0] * float(rng.uniform(0.5, 3))
                net.addition(first, scale, int(rng.integers(-128, 128)), activation)
            case _:
                borders = rng.integers(0, 3, (4, 2))
                borders[0] = 0
                net.pad([tuple(sides) for sides in borders.tolist()])
    if rng.random() < 0.5:
        scale = net.unit()[0] * float(rng.uniform(0.5, 1.5))
        net.mean((1, 2), scale, int(rng.integers(-128, 128)))
        net.dense(int(rng.integers(2, 12)))
        net.softmax()
    return net


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=length(100, 30), deadline=None)
def test_any_network_answers_as_the_interpreter(
    library: ctypes.CDLL, tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "drawn.tflite"
    path.write_bytes(drawn(seed).content())
    read = network.read(path)
    device = DeviceNetwork(library, tables(read))
    shape = read.tensors[read.input].shape
    inputs = np.random.default_rng(seed).integers(-128, 128, (3, *shape))
    inputs = inputs.astype(np.int8)
    for sample, answer in zip(inputs, interpreter.run(read, inputs), strict=True):
        assert np.array_equal(device.answer(sample), answer.reshape(-1))


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=length(60, 20), deadline=None)
def test_any_window_row_by_row_answers_as_the_interpreter_of_the_whole_window(
    library: ctypes.CDLL, tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "window.tflite"
    net = drawn_window(seed)
    path.write_bytes(net.content())
    read = network.read(path)
    shape = read.tensors[read.input].shape
    rows = max(shape[1:3])
    rng = np.random.default_rng(seed)
    signal = rng.integers(-128, 128, (2 * rows, np.prod(shape) // rows))
    signal = signal.astype(np.int8)
    first = np.repeat(signal[:1], rows - 1, axis=0)
    windows = np.lib.stride_tricks.sliding_window_view(
        np.concatenate([first, signal]), rows, axis=0
    )
    due = interpreter.run(read, np.moveaxis(windows, -1, 1).reshape(-1, *shape))
    device = DeviceNetwork(library, tables(row_by_row(read)))
    device.start(signal[0])
    for row, answer in zip(signal, due, strict=True):
        assert np.array_equal(device.answer(row), answer.reshape(-1))


def test_shares_of_many_equal_classes_are_none(
    library: ctypes.CDLL, tmp_path: Path
) -> None:
    net = Layers((1, 3000), 1)
    net.softmax()
    path = tmp_path / "flat.tflite"
    path.write_bytes(net.content())
    read = network.read(path)
    values = np.full((1, 1, 3000), 7, np.int8)
    answer = interpreter.run(read, values)
    assert set(answer.reshape(-1).tolist()) == {-128}
    result = DeviceNetwork(library, tables(read)).answer(values)
    assert np.array_equal(result, answer.reshape(-1))


def test_a_row_has_the_fields_of_the_struct_in_their_order() -> None:
    text = (FOLDER / "nr_tflite.h").read_text("utf-8")
    struct = text[text.index("struct nr_tflite_operator {") :]
    lines = struct[: struct.index("};")].splitlines()[1:]
    words = " ".join(line.partition("/*")[0] for line in lines)
    names = words.replace("int32_t", "").replace(";", ",").replace(" ", "")
    stated = [each.name.removesuffix("_at") for each in fields(OperatorRow)]
    result = [name.removesuffix("_at") for name in names.strip(",").split(",")]
    assert result == stated
    assert 4 * len(result) == sizes.ROW_B


def test_the_shipped_header_is_that_of_the_example() -> None:
    read = network.read(VECTORS / "example.tflite")
    # "python -m pytest" says when it is another: header() as here writes it.
    assert header(read) == (FOLDER / "nr_tflite_model.h").read_text("utf-8")


def opened_sut(port: str, program: Path) -> PosixSut | QemuSut:
    context = BenchContext(seed=1)
    context.world.supply_on = True
    if port == "posix":
        return PosixSut.open(PosixSut.Settings(program=str(program)), context)
    machine = BOARDS[port]
    return QemuSut.open(
        QemuSut.Settings(program=str(program), machine=machine), context
    )


@pytest.mark.parametrize("port", ["posix", *BOARDS])
def test_the_image_of_the_example_answers_as_tflite_micro(port: str) -> None:
    with np.load(VECTORS / "example.npz") as stored:
        inputs, outputs = stored["inputs"], stored["outputs"]
    program = (
        built("posix") / "posix" / "tflite"
        if port == "posix"
        else image(port, "tflite")
    )
    sut = opened_sut(port, program)
    try:
        assert sut.info.task == "tflite"
        assert sut.info.model == network.read(VECTORS / "example.tflite").identity
        for sample, answer in zip(inputs[:6], outputs, strict=False):
            sut.do(Load(0), [sample.tobytes()])
            assert sut.do(Query((0,), limit_s=60.0)).output == answer.tobytes()
        with pytest.raises(SutError):
            sut.do(Load(0), [inputs[0].tobytes()[:-1]])
    finally:
        sut.close()


# ---- rig firmware build --model ----


def invoke(*words: str | Path) -> str:
    done = CliRunner().invoke(
        firmware, [str(word) for word in words], standalone_mode=False
    )
    if done.exception is not None:
        raise done.exception
    return " ".join(done.output.split())


def usual() -> Layers:
    """Return a network of the usual layers, large enough for its time to be theirs."""
    net = Layers((1, 20, 10, 1), 5, zero_point=-128)
    net.convolution(32, (8, 4), (2, 2), zero_point=-128)
    for _ in range(2):
        net.depthwise((3, 3), zero_point=-128)
        net.convolution(32, (1, 1), zero_point=-128)
    net.convolution(16, (3, 3), zero_point=-128)
    net.pool("AVERAGE_POOL_2D", (10, 5), (10, 5))
    net.reshape(1, 16)
    net.dense(8, gain=3.0)
    net.softmax()
    return net


def written(folder: Path, net: Layers) -> tuple[Path, IntegerNetwork]:
    path = folder / "model.tflite"
    path.write_bytes(net.content())
    return path, network.read(path)


def test_a_built_model_answers_and_takes_few_instructions_a_product(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image("stm32f405", "null")  # where no tool is missing
    monkeypatch.chdir(tmp_path)
    path, read = written(tmp_path, usual())
    text = invoke("build", "--model", path, "--target", "stm32f405")
    assert "DEPTHWISE_CONV_2D 1 x 10 x 5 x 32" in text
    assert "of 131,072 B of RAM" in text
    program = (
        tmp_path / "model-stm32f405" / "build" / emulated("stm32f405") / "tflite.elf"
    )
    inputs = samples((20, 10, 1), 3)
    sut = opened_sut("stm32f405", program)
    try:
        assert sut.info.slots == 4
        for sample, answer in zip(inputs, interpreter.run(read, inputs), strict=True):
            sut.do(Load(0), [sample.tobytes()])
            done = sut.do(Query((0,), limit_s=60.0))
            assert done.output == answer.tobytes()
        ticks = done.marks[-1].tick - done.marks[-2].tick
        instructions = ticks / sut.info.tick_hz / INSTRUCTION_S
    finally:
        sut.close()
    assert instructions / sizes.sizes(read).macs < INSTRUCTIONS_A_PRODUCT
    bench = Path("model-stm32f405", "tflite-emulated.toml")
    assert text.index("is a new project") > text.index("DEPTHWISE_CONV_2D")
    assert f"next: rig run {bench}, in an emulator" in text
    with open_bench(bench, ["task.tflite.samples=2"]) as opened:
        result = opened.run(1, tmp_path / "sessions")
    assert result.content["metrics"]["accuracy"]["value"] == 1.0
    assert result.results.simulated


def test_a_model_is_built_for_a_process_and_then_another_one(tmp_path: Path) -> None:
    path, read = written(tmp_path, usual())
    folder = tmp_path / "here"
    inputs = samples((20, 10, 1), 4)
    np.save(tmp_path / "inputs.npy", inputs)
    words = ("build", folder, "--model", path, "--target", "posix")
    for more in ((), ("--input", tmp_path / "inputs.npy")):
        assert "build/posix/tflite" in invoke(*words, *more)
    assert (folder / "model.tflite").read_bytes() == path.read_bytes()
    with open_bench(folder / "tflite.toml", []) as bench:
        result = bench.run(1, tmp_path / "sessions")
    assert result.content["metrics"]["accuracy"]["value"] == 1.0
    lines = (result.folder / "catalogue.csv").read_text("utf-8").splitlines()
    assert len(lines) == 1 + 4
    np.save(tmp_path / "inputs.npy", inputs[:, :-1])
    with pytest.raises(DataError, match="inputs of the shape"):
        invoke(*words, "--input", tmp_path / "inputs.npy")
    sut = opened_sut("posix", folder / "build" / "posix" / "tflite")
    try:
        assert sut.info.model == read.identity
        for sample, answer in zip(inputs, interpreter.run(read, inputs), strict=True):
            sut.do(Load(0), [sample.tobytes()])
            assert sut.do(Query((0,), limit_s=60.0)).output == answer.tobytes()
    finally:
        sut.close()


def test_a_model_without_room_is_refused_and_leaves_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    net = Layers((1, 60, 60, 4), 5)
    net.convolution(32, (3, 3))
    net.convolution(4, (3, 3))
    net.mean((1, 2), 0.1, 0)
    path, _ = written(tmp_path, net)
    folder = tmp_path / "board"
    with pytest.raises(ConfigError) as caught:
        invoke("build", folder, "--model", path, "--target=stm32f405")
    output = str(caught.value)
    assert "RAM: about 153,592 B wanted, 131,072 there" in output
    assert "CONV_2D: 1,544 B of flash, 129,600 of RAM" in output
    assert not folder.exists()
    assert "is a new project" not in capsys.readouterr().out


def test_a_project_of_a_board_is_not_made_without_its_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = written(tmp_path, usual())
    folder = tmp_path / "board"
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RigError, match="make is not installed"):
        invoke("build", folder, "--model", path, "--target=stm32f405")
    assert not folder.exists()


def test_a_refused_model_leaves_the_project_of_another_as_it_was(
    tmp_path: Path,
) -> None:
    path, _ = written(tmp_path, usual())
    folder = tmp_path / "board"
    invoke("build", folder, "--model", path, "--target=posix")
    before = (folder / "workloads/tflite/nr_tflite_model.h").read_bytes()
    net = Layers((1, 8, 8, 1), 1)
    net.convolution(2, (3, 3), dilation=2)
    path, _ = tmp_path / "dilated.tflite", path.unlink()
    path.write_bytes(net.content())
    with pytest.raises(Exception, match="dilated by 2 x 2"):
        invoke("build", folder, "--model", path, "--target=posix")
    assert (folder / "workloads/tflite/nr_tflite_model.h").read_bytes() == before


def test_options_of_nir_files_are_refused(tmp_path: Path) -> None:
    path, _ = written(tmp_path, usual())
    for option in ("--dt", "--bits", "--steps"):
        with pytest.raises(ConfigError, match="no effect beside"):
            invoke("build", tmp_path / "b", "--model", path, f"{option}=4")
    assert not (tmp_path / "b").exists()


# ---- a device that quantises ----


@pytest.mark.parametrize("port", ["posix", "stm32f405", "mps2"])
def test_a_device_quantises_real_numbers_in_a_phase_of_its_own(
    tmp_path: Path, port: str
) -> None:
    if port != "posix":
        image(port, "null")  # where no tool is missing
    path, read = written(tmp_path, usual())
    tensor = read.tensors[read.input]
    folder = tmp_path / "board"
    words = ("build", folder, "--model", path, "--target", port, "--real-input")
    assert "beside an input of 800" in invoke(*words)
    assert "real_input = true" in (folder / "tflite.toml").read_text("utf-8")
    rng = np.random.default_rng(6)
    # Some values are beyond both ends.
    reals = rng.normal(0.0, 90 * tensor.scale, (3, *tensor.shape[1:]))
    reals = reals.astype(np.float32) - np.float32(tensor.zero_point * tensor.scale)
    values = np.float64(reals) / tensor.scale
    values = np.sign(values) * np.floor(np.abs(values) + 0.5) + tensor.zero_point
    inputs = np.clip(values, -128, 127).astype(np.int8)
    name = "tflite" if port == "posix" else "tflite.elf"
    sut = opened_sut(port, folder / "build" / emulated(port) / name)
    try:
        assert sut.info.model == f"{read.identity}-float32"
        for real, answer in zip(reals, interpreter.run(read, inputs), strict=True):
            sut.do(Load(0), [real.tobytes()])
            done = sut.do(Query((0,), limit_s=60.0))
            assert done.output == answer.tobytes()
            assert [mark.phase for mark in done.marks] == [1, 2, 0]
        first, second, end = (mark.tick for mark in done.marks)
        assert 0 < second - first < (end - second) / 2
        with pytest.raises(SutError, match="7"):
            sut.do(Load(0), [np.full_like(real, np.nan).tobytes()])
        with pytest.raises(SutError):
            sut.do(Load(0), [inputs[0].tobytes()])
    finally:
        sut.close()
