# SPDX-License-Identifier: Apache-2.0
"""`rig model` for .tflite files."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tflite", reason="pip install 'neurorig[tflite]'")

from examples import make_tflite
from examples.make_tflite import Layers
from rig.errors import ConfigError, DataError
from tests.commands import rig
from tests.conftest import ROOT
from tests.rig.cli.models.test_model import invoke

VECTORS = ROOT / "tests" / "vectors" / "tflite"
EXAMPLE = VECTORS / "example.tflite"


def test_inspect_names_operators_and_what_they_take() -> None:
    code, text = invoke("inspect", EXAMPLE)
    words = " ".join(text.split())
    assert code == 0
    assert "int8 1 x 12 x 12 x 1, 0.02 a step about -128" in words
    assert "12,416 multiplications; 2,747 B of constants" in words
    assert "tensors in 864 B of RAM" in words
    assert "3 DEPTHWISE_CONV_2D 1 x 6 x 6 x 8 1 x 6 x 6 x 8 2,592 248 576" in words


def test_the_commands_of_the_page_work_in_their_order(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "reference" / "MODELS.md").read_text("utf-8")
    section = page[page.index("## TFLite models") : page.index("### Kernels of")]
    lines = [line.partition("#")[0].split() for line in section.splitlines()]
    made, *commands = [line for line in lines if line[:1] in (["python"], ["rig"])]
    assert made == ["python", "examples/make_tflite.py", "tflite"]
    make_tflite.main(tmp_path / "tflite")
    assert [words[1] for words in commands] == ["model", "model", "model", "firmware"]
    for words in commands:
        if words[1] == "firmware" and shutil.which("arm-none-eabi-gcc") is None:
            continue
        done = rig(*words[1:], cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "tflite" / "outputs.npz").exists()


def test_check_says_what_is_wrong_and_what_is_doubtful(tmp_path: Path) -> None:
    code, text = invoke("check", EXAMPLE)
    assert (code, text) == (0, "example.tflite: 0 wrong, 0 doubtful\n")
    code, text = invoke("check", VECTORS / "extreme_factors.tflite")
    assert code == 0
    assert "2 of 7 channels have a factor below 2^-32" in " ".join(text.split())
    net = Layers((1, 8, 8, 1), 1)
    net.convolution(2, (3, 3), dilation=3)
    path = tmp_path / "dilated.tflite"
    path.write_bytes(net.content())
    code, text = invoke("check", path)
    assert code == 1
    assert "dilated by 3 x 3" in text
    assert "1 wrong, 0 doubtful" in text


def test_run_gives_the_bytes_of_tflite_micro(tmp_path: Path) -> None:
    with np.load(EXAMPLE.with_suffix(".npz")) as stored:
        inputs, outputs = stored["inputs"], stored["outputs"]
    np.save(tmp_path / "in.npy", inputs)
    out = tmp_path / "out.npz"
    code, text = invoke("run", EXAMPLE, tmp_path / "in.npy", "--output", out)
    assert code == 0
    assert "24 samples" in text
    assert f"largest: {int(outputs[0].argmax())}" in text
    with np.load(out) as stored:
        assert np.array_equal(stored["outputs"], outputs)


def test_run_takes_real_numbers_by_the_scale_of_the_input(tmp_path: Path) -> None:
    with np.load(EXAMPLE.with_suffix(".npz")) as stored:
        inputs, outputs = stored["inputs"], stored["outputs"]
    real = 0.02 * (inputs.astype(np.float32) + 128)
    real[0, 0, 0, 0, 0] = 1e6
    np.save(tmp_path / "in.npy", real[:, 0, :, :, 0])
    out = tmp_path / "out.npz"
    code, text = invoke("run", EXAMPLE, tmp_path / "in.npy", "--output", out)
    assert code == 0
    assert "they did not fit: 1 value of the inputs" in text
    with np.load(out) as stored:
        assert np.array_equal(stored["outputs"][1:], outputs[1:])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.zeros((3, 143), np.int8), "inputs of the shape"),
        (np.zeros((0, 12, 12, 1), np.int8), "inputs of the shape"),
        (np.zeros((2, 12, 12), np.uint8), "uint8 - 128"),
        (np.full((2, 12, 12), np.nan), "not finite"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(
    tmp_path: Path, values: np.ndarray, said: str
) -> None:
    np.save(tmp_path / "in.npy", values)
    with pytest.raises(DataError) as caught:
        invoke("run", EXAMPLE, tmp_path / "in.npy")
    assert said in str(caught.value)


def test_options_and_commands_of_nir_files_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", np.zeros((1, 12, 12, 1), np.int8))
    source = tmp_path / "in.npy"
    for words in (
        ("inspect", EXAMPLE, "--dt", "0.001"),
        ("check", EXAMPLE, "--dt", "0.001"),
        ("run", EXAMPLE, source, "--fixed-point"),
    ):
        with pytest.raises(ConfigError, match="no effect beside"):
            invoke(*words)
    with pytest.raises(ConfigError, match="which is quantised already"):
        invoke("quantize", EXAMPLE, "-o", tmp_path / "q.nir")
    with pytest.raises(ConfigError, match="only networks in NIR files are mapped"):
        invoke("map", EXAMPLE, "--on", "loihi")
    with pytest.raises(ConfigError, match="only networks in NIR files are sensed"):
        invoke("sense", EXAMPLE, source, "--on", "loihi")


def test_a_name_in_capitals_is_that_of_a_model_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "MODEL.TFLITE"
    path.write_bytes(EXAMPLE.read_bytes())
    named, given = invoke("inspect", path), invoke("inspect", EXAMPLE)
    assert named[1].splitlines()[1:] == given[1].splitlines()[1:]


def test_a_model_without_a_suffix_is_refused_with_the_name_that_would_do(
    tmp_path: Path,
) -> None:
    path = tmp_path / "model"
    path.write_bytes(EXAMPLE.read_bytes())
    with pytest.raises(DataError, match="is not a NIR file") as unnamed:
        invoke("inspect", path)
    assert unnamed.value.evidence == "it begins as a .tflite file"
    assert unnamed.value.try_next == "the same file by the name model.tflite"


@pytest.mark.parametrize("name", ["model.tflite", "model.nir"])
def test_a_folder_in_place_of_a_model_is_refused_as_one(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(DataError, match="is a folder") as folder:
        invoke("inspect", tmp_path / name)
    assert folder.value.try_next == "the path of a regular file"
