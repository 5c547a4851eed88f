# SPDX-License-Identifier: Apache-2.0
"""`rig firmware build --model`: from a NIR file to an image that answers as the integer
model does, and a plain word where a part has no room.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from examples import make_networks
from rig.cli.boards.firmware import firmware
from rig.cli.models.quantize import quantize
from rig.errors import ConfigError, DataError
from rig.firmware import project as projects
from rig.firmware.part import part
from rig.interfaces.context import BenchContext
from rig.model.steps import Load, Query
from rig.network.fixed import file
from rig.network.fixed.interpreter import run
from sut_backends.hosted.qemu import QemuSut
from tests.boards import BOARDS, image
from tests.builds import FIRMWARE

SHIPPED = (FIRMWARE / "workloads" / "network" / "nr_network_model.h").read_text(
    encoding="utf-8"
)


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("networks")
    make_networks.write(folder, count=4)
    return folder


def build(*words: str | Path) -> str:
    done = CliRunner().invoke(
        firmware, ["build", *map(str, words)], standalone_mode=False
    )
    if done.exception is not None:
        raise done.exception
    return done.output


def test_a_network_of_another_form_is_built_for_a_board_and_answers_bit_for_bit(
    networks: Path, tmp_path: Path
) -> None:
    image("mps2", "null")  # skips where a tool is missing
    folder = tmp_path / "board"
    inputs = networks / "convolutional-inputs.npy"
    words = (
        "--model",
        networks / "convolutional.nir",
        "--dt",
        "0.001",
        "--input",
        inputs,
    )
    text = build(folder, *words, "--target", "mps2").replace("\n", " ")
    assert "samples decided as in floating point" in text
    assert "of 4,194,304 B of flash" in text
    report = json.loads((folder / "network-report.json").read_text(encoding="utf-8"))
    assert report["samples"] == 4
    fixed = file.read(folder / "network.nir")
    program = folder / "build" / "mps2" / "network.elf"
    context = BenchContext(seed=1)
    context.world.supply_on = True
    settings = QemuSut.Settings(program=str(program), machine=BOARDS["mps2"])
    sut = QemuSut.open(settings, context)
    # Some of the steps: the line is slow.
    values = (
        np.load(inputs).reshape(4, make_networks.STEPS, -1)[:, :15].astype(np.int64)
    )
    sums, last = run(fixed, values).answers(fixed)
    answers = set()
    try:
        for number in range(3):
            sut.do(Load(0), [values[number].astype(np.uint8).tobytes()])
            output = sut.do(Query((0,), limit_s=60.0)).output
            due = np.concatenate([sums[number], last[number]]).astype("<i4").tobytes()
            assert output == due
            answers.add(output)
    finally:
        sut.close()
    assert len(answers) == 3


def test_a_part_without_room_is_refused_with_its_largest_nodes_and_leaves_no_project(
    networks: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "board"
    words = (
        "--model",
        networks / "convolutional.nir",
        "--dt",
        "0.001",
        "--target",
        "microbit",
    )
    with pytest.raises(ConfigError, match="no room on this part") as caught:
        build(folder, *words, "--steps", "40")
    assert "RAM" in caught.value.evidence
    assert "if2 (IF)" in caught.value.evidence
    assert "fewer --steps" in caught.value.try_next
    assert not folder.exists()
    CliRunner().invoke(firmware, ["new", str(folder), "--board", "microbit"])
    with pytest.raises(ConfigError, match="no room on this part"):
        build(folder, *words, "--steps", "40")
    header = folder / "workloads" / "network" / "nr_network_model.h"
    assert header.read_text(encoding="utf-8") == SHIPPED
    assert not (folder / "network.nir").exists()
    with pytest.raises(ConfigError, match="project of another board"):
        build(folder, *words[:-1], "mps2")
    with pytest.raises(ConfigError, match="--steps has no effect without --model"):
        build(folder, "--steps", "4")


def test_inputs_of_another_shape_are_refused_and_leave_no_project(
    networks: Path, tmp_path: Path
) -> None:
    np.save(tmp_path / "flat.npy", np.zeros(9))
    words = ("--model", networks / "convolutional.nir", "--target", "microbit")
    with pytest.raises(DataError, match=r"inputs of the shape \(9,\)") as caught:
        build(tmp_path / "board", *words, "--input", tmp_path / "flat.npy")
    assert "the network takes (samples, steps, " in caught.value.evidence
    assert not (tmp_path / "board").exists()


def test_a_quantised_file_is_taken_as_it_is(networks: Path, tmp_path: Path) -> None:
    folder = tmp_path / "board"
    read = make_networks.recurrent(nested=True)
    made = file.read(_quantised(networks, tmp_path))
    with pytest.raises(ConfigError, match="is quantised"):
        model = tmp_path / "q.nir"
        build(folder, "--target=template", "--model", model, "--dt=0.001")
    assert made.channels == read.nodes["fc1"].weight.shape[1]


def _quantised(networks: Path, folder: Path) -> Path:
    path = folder / "q.nir"
    words = [networks / "recurrent-nested.nir", "-o", path, "--dt", "0.001"]
    done = CliRunner().invoke(
        quantize, [str(word) for word in words], standalone_mode=False
    )
    assert done.exception is None
    return path


@pytest.mark.parametrize(
    ("port", "flash_b", "ram_b"),
    [
        ("mps2", 4 << 20, 4 << 20),
        ("stm32f405", 1 << 20, 128 << 10),
        ("microbit", 256 << 10, 32 << 10),
        ("nucleo_g071rb", 128 << 10, 36 << 10),
        ("pico", (2 << 20) - 512, 264 << 10),
        ("posix", None, None),
    ],
)
def test_the_memory_of_a_part_is_that_of_its_linker_script(
    tmp_path: Path, port: str, flash_b: int | None, ram_b: int | None
) -> None:
    projects.create(tmp_path / port, port, FIRMWARE)
    result = part(tmp_path / port)
    assert (result and result.flash_b, result and result.ram_b) == (flash_b, ram_b)
    assert (result is not None and result.is_copied) == (port == "pico")
