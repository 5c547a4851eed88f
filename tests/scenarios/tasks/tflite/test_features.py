# SPDX-License-Identifier: Apache-2.0
"""Models over features of sound through the rig: phases apart, on every backend that
runs them, and checked again from the session alone.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tflite", reason="pip install 'neurorig[tflite]'")

from examples import make_tflite
from lab.faults.forger import rehash
from rig.errors import ConfigError, DataError, RigError
from rig.interfaces.context import BenchContext
from rig.network.tflite import network
from rig.network.tflite.inputs import require_fit, to_payloads
from rig.network.tflite.payloads import PayloadForm
from rig.session.session import SessionResult, open_bench
from scenarios.tasks.tflite import sounds
from scenarios.tasks.tflite.task import EXAMPLE, KEYWORDS, TfliteTask
from sut_backends.gpu.integer_runner import open_codec
from tests.checking import check
from tests.commands import rig
from tests.conftest import ROOT

COUNT = 4


@pytest.fixture
def owned(tmp_path: Path) -> Path:
    """Return a folder with a model and sounds of its owner."""
    shutil.copy(KEYWORDS, tmp_path / "keywords.tflite")
    np.save(tmp_path / "sounds.npy", sounds.samples(COUNT, 5))
    return tmp_path


def opened(folder: Path = Path(), **others: Any) -> TfliteTask:
    fields: dict[str, Any] = {"features": "mfcc"} | others
    return TfliteTask.open(TfliteTask.Settings(**fields), BenchContext(folder=folder))


def run(folder: Path, sut: str, task: str) -> SessionResult:
    bench = folder / "bench.toml"
    bench.write_text(
        f"{sut}\n[monitor.virtual]\nsample_hz = 100_000\nclock_ppm = 0.0\n"
        f"[scenario.single_stream]\nidle_s = 0.1\n[task.tflite]\n{task}\n",
        encoding="utf-8",
    )
    with open_bench(bench, []) as opened_bench:
        return opened_bench.run(1, folder / "sessions")


OWNED = 'model = "keywords.tflite"\ninputs = "sounds.npy"\nfeatures = "mfcc"'


@pytest.mark.parametrize("backend", ["cpu", "virtual", "posix"])
def test_features_and_inference_are_measured_apart_and_checked_from_the_session(
    owned: Path, backend: str
) -> None:
    sut = f"[sut.{backend}]"
    if backend == "virtual":
        sut += "\npreprocess = { duration_s = 0.020, power_w = 0.050 }"
        sut += "\ninfer = { duration_s = 0.030, power_w = 0.080 }"
    if backend == "posix":
        board = owned / "board"
        words = ("--model", str(owned / "keywords.tflite"), "--target", "posix")
        done = rig("firmware", "build", str(board), *words, "--features", "mfcc")
        assert done.returncode == 0, done.stderr
        sut += f'\nprogram = "{board / "build" / "posix" / "tflite"}"'
    result = run(owned, sut, OWNED)
    metrics = result.content["metrics"]
    assert metrics["accuracy"]["value"] == 1.0
    for phase in ("preprocess", "infer"):
        for name in ("latency", "energy"):
            found = metrics[f"{name}_{phase}"]
            assert found["value"] > 0
            assert found["same_samples"]["expanded_uncertainty"] > 0
    if backend == "virtual":
        assert metrics["latency_preprocess"]["value"] == pytest.approx(0.02, rel=0.02)
        assert metrics["energy_infer"]["value"] == pytest.approx(0.0024, rel=0.02)
    facts = result.content["provenance"]["task"]
    assert facts["model"].endswith("-mfcc")
    assert facts["input_b"] == 32_000
    for name in ("keywords.tflite", "sounds.npy"):
        (owned / name).unlink()
    checked = check(result.folder)
    assert checked.ok, checked


def test_a_forged_sound_or_answer_is_found_by_check(owned: Path) -> None:
    session = run(owned, "[sut.cpu]", OWNED).folder
    kept = next(session.rglob("inputs.npy"))
    values = np.load(kept)
    values[1] = values[1][::-1]
    np.save(kept, values)
    rehash(session)
    assert not check(session).ok


def test_the_example_needs_no_files_and_no_device() -> None:
    task = opened(samples=6)
    assert task.phases == ("preprocess", "infer")
    assert task.provenance()["source"] == "generated sounds"
    assert len(task.payload(0)) == 32_000
    bench = ROOT / "benches" / "cpu-keywords-phases.toml"
    assert 'features = "mfcc"' in bench.read_text(encoding="utf-8")
    again = TfliteTask.regenerated(TfliteTask.Settings(features="mfcc", samples=6))
    assert again.facts == task.provenance()
    assert again.entries == task.catalogue()
    assert "NR_TFLITE_MFCC 1" in task.firmware_header()


def test_the_example_is_the_file_that_the_script_writes() -> None:
    assert make_tflite.keywords().content() == KEYWORDS.read_bytes()


def test_sounds_of_a_folder_for_each_class_are_taken(owned: Path) -> None:
    for label, sound in enumerate(sounds.samples(3, 9)):
        (owned / "classes" / str(label)).mkdir(parents=True)
        np.save(owned / "classes" / str(label) / "one.npy", sound)
    task = opened(owned, model="keywords.tflite", inputs="classes")
    assert [entry.label for entry in task.catalogue()] == ["0", "1", "2"]


def test_a_worker_of_a_gpu_makes_the_same_input() -> None:
    task = opened(samples=2)
    tensor = task.integers.network.tensors[task.integers.network.input]
    codec = open_codec("mfcc", 32_000, tensor.scale, tensor.zero_point)
    (made,) = codec.phases
    due = task.integers.inputs_of([task.payload(1)])[0]
    assert np.array_equal(made(codec.load(task.payload(1))), due)
    with pytest.raises(ValueError, match="31998 bytes"):
        codec.load(task.payload(1)[:-2])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.zeros((2, 15_999), np.int16), "sounds of the shape (2, 15999)"),
        (np.zeros((2, 16_001), np.int16), "sounds of the shape (2, 16001)"),
        (np.zeros(7, np.int16), "sounds of the shape (7,)"),
        (np.zeros((1, 2, 16_000), np.int16), "sounds of the shape (1, 2, 16000)"),
        (np.zeros((2, 16_000), np.float32), "sounds of float32"),
        (np.zeros((2, 16_000), np.uint16), "sounds of uint16"),
        (np.zeros((2, 16_000), ">i2"), "sounds of >i2"),
        (np.array(1, np.int16), "sounds of the shape ()"),
    ],
)
def test_sounds_of_another_size_or_type_are_refused_in_a_sentence(
    owned: Path, values: Any, said: str
) -> None:
    np.save(owned / "sounds.npy", values)
    with pytest.raises(ConfigError) as caught:
        opened(owned, model="keywords.tflite", inputs="sounds.npy")
    assert said in str(caught.value)
    assert "task.tflite.inputs" in str(caught.value)


def test_a_model_over_other_inputs_is_refused_in_a_sentence() -> None:
    with pytest.raises(DataError, match="the features mfcc are 49 x 10"):
        opened(model=str(EXAMPLE))
    with pytest.raises(ConfigError, match="takes sound, not real numbers"):
        opened(real_input=True)


def test_hostile_sounds_and_shapes_end_in_an_error_of_the_rig() -> None:
    read = network.read(KEYWORDS)
    rng = np.random.default_rng(4)
    kinds = ("i2", "u1", "f8", "c16", "?", "S3")
    refused = 0
    for _ in range(200):
        shape = rng.integers(0, 9, rng.integers(0, 4))
        if rng.random() < 0.2:
            shape = np.append(shape, rng.choice([15_999, 16_000]))
        values = np.zeros(shape, rng.choice(kinds))
        try:
            made, _ = to_payloads(read, PayloadForm.MFCC, values)
        except RigError:
            refused += 1
        else:
            assert made.shape[1:] == (16_000,)
            assert made.dtype == np.int16
    assert refused > 150
    with pytest.raises(DataError):
        require_fit(network.read(EXAMPLE), PayloadForm.MFCC)
