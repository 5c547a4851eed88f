# SPDX-License-Identifier: Apache-2.0
"""A .tflite file on several backends, through the command: every answer has the bytes
of the interpreter.
"""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tflite", reason="pip install 'neurorig[tflite]'")

from examples import make_tflite
from rig.network.tflite import interpreter, network
from tests.builds import built
from tests.commands import rig

pytestmark = [pytest.mark.posix, pytest.mark.long]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a network that is not the one of the images in the tree, and its inputs."""
    folder = tmp_path_factory.mktemp("compared")
    net = make_tflite.Layers((1, 6, 5, 2), 21)
    net.convolution(4, (3, 3))
    net.pool("AVERAGE_POOL_2D", (2, 2), (2, 2))
    net.reshape(1, int(np.prod(net.shape())))
    net.dense(3)
    (folder / "own.tflite").write_bytes(net.content())
    inputs = np.random.default_rng(2).integers(-128, 128, (5, 6, 5, 2))
    np.save(folder / "inputs.npy", inputs.astype(np.int8))
    return folder / "own.tflite"


def test_every_backend_answers_by_the_same_bytes(model: Path) -> None:
    built("posix")
    folder = model.parent
    read = network.read(model)
    inputs = np.load(folder / "inputs.npy")
    answers = interpreter.run(read, inputs).reshape(len(inputs), -1).argmax(axis=1)
    # One label is wrong, so that accuracy and agreement are not the same number.
    answers[0] = (answers[0] + 1) % 3
    np.save(folder / "labels.npy", answers)
    suts = ["posix", "cpu", "virtual"]
    emulator = all(map(shutil.which, ("arm-none-eabi-gcc", "qemu-system-arm")))
    suts += ["mps2"] if emulator else []
    words = ["compare", model, "--suts", ",".join([*suts, "loihi"])]
    words += ["--inputs", folder / "inputs.npy", "--labels", folder / "labels.npy"]
    reported = rig(*words, "--trials", "1", "--output", "out", cwd=folder)
    assert reported.returncode == 1, reported.stderr
    assert "reference: the task's own answers, tflite-" in reported.stdout
    assert "loihi did not run" in reported.stdout
    result = json.loads((folder / "out" / "comparison.json").read_text("utf-8"))
    rows = {row["name"]: row for row in result["rows"]}
    for name in suts:
        agreement = rows[name]["agreement"]
        assert agreement["decisions"]["count"] == len(inputs)
        assert agreement["outputs"]["count"] == len(inputs)
        assert "SIMULATED" in rows[name]["labels"]
        figures = {each["metric"]: each for each in rows[name]["figures"]}
        assert figures["accuracy"]["value"] == 0.8
        assert figures["latency_total"]["value"] > 0
    without = [name for name in suts if rows[name]["monitor"] == "no energy monitor"]
    assert ("mps2" in without) == emulator, rows
    unmetered = f"no energy, as the session has no monitor: {', '.join(without)}"
    assert (unmetered in result["notes"]) == bool(without), result["notes"]
    text = (folder / "out" / "comparison.csv").read_text("utf-8")
    origins = {row["backend"]: row for row in csv.DictReader(text.splitlines())}
    assert origins["posix"]["energy_origin"] == "simulated"
    assert origins["cpu"]["time_origin"] == "measured"
    kept = list((folder / "sessions").glob("*-posix/task/model.tflite"))
    assert [path.read_bytes() for path in kept] == [model.read_bytes()]


def test_a_file_that_is_no_model_is_one_mistake(tmp_path: Path) -> None:
    (tmp_path / "model.tflite").write_bytes(b"nothing")
    reported = rig("compare", "model.tflite", "--suts", "cpu,virtual", cwd=tmp_path)
    assert reported.returncode == 2
    assert reported.stderr.count("is not a .tflite file") == 1
    assert "did not run" not in reported.stdout + reported.stderr
