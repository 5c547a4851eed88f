# SPDX-License-Identifier: Apache-2.0
"""Features of sound on the device: the bytes of the formula in whole numbers, on this
host and in images of a model of keyword spotting, as a process and on emulated cores.
"""

from __future__ import annotations

import ctypes
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tflite", reason="pip install 'neurorig[tflite]'")

from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.cli.boards.firmware import firmware
from rig.errors import ConfigError, DataError, RigError, SutError
from rig.interfaces.context import BenchContext
from rig.model.steps import Load, Query
from rig.network.sound import c_tables
from rig.network.sound.mfcc import POINTS, ROWS, SAMPLES, VALUES, MfccScale, mfcc
from rig.network.tflite import network
from rig.network.tflite.payloads import PayloadForm
from scenarios.tasks.tflite import sounds
from scenarios.tasks.tflite.programs import routine
from scenarios.tasks.tflite.task import EXAMPLE, KEYWORDS
from sut_backends.hosted.posix import PosixSut
from sut_backends.hosted.qemu import QemuSut
from tests.boards import BOARDS, emulated, image
from tests.builds import FIRMWARE, built
from tests.length import length

pytestmark = [
    pytest.mark.posix,
    pytest.mark.skipif(
        shutil.which("cc") is None or shutil.which("make") is None,
        reason="needs make and a C compiler",
    ),
]
#: An instruction of the emulated processor takes so long.
INSTRUCTION_S = 32e-9
#: A window of 480 samples takes no more.
INSTRUCTIONS_A_WINDOW = 160_000


class MfccStruct(ctypes.Structure):
    """struct nr_mfcc_scale."""

    _fields_ = (("gain", ctypes.c_int32), ("offset", ctypes.c_int32))


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    return ctypes.CDLL(str(built("sound-library") / "sound" / "library.so"))


def device_features(library: ctypes.CDLL, scale: MfccScale, sound: Any) -> Any:
    memory = np.full(8 * (POINTS // 2 + 1), 0x5A, np.uint8)
    payload = np.frombuffer(sound.astype("<i2").tobytes(), np.uint8).copy()
    found = np.zeros((ROWS, VALUES), np.int8)
    library.nr_mfcc_features(
        memory.ctypes.data_as(ctypes.c_void_p),
        ctypes.byref(MfccStruct(scale.gain, scale.offset)),
        payload.ctypes.data_as(ctypes.c_void_p),
        found.ctypes.data_as(ctypes.c_void_p),
    )
    return found


@given(
    seed=st.integers(0, 2**32 - 1),
    loud=st.sampled_from([0.0, 0.4, 30.0, 2000.0, 90000.0]),
    pitch=st.floats(0.001, 3.1),
    silent=st.integers(0, SAMPLES),
    sign=st.sampled_from([-1, 0, 1]),
    scale=st.sampled_from([0.5847029089927673, 0.002, 0.05, 40.0]),
    zero_point=st.sampled_from([-128, 0, 83, 127]),
)
@settings(max_examples=length(60, 15), deadline=None)
def test_features_have_the_bytes_of_the_formula_in_whole_numbers(
    library: ctypes.CDLL,
    seed: int,
    loud: float,
    pitch: float,
    silent: int,
    sign: int,
    scale: float,
    zero_point: int,
) -> None:
    rng = np.random.default_rng(seed)
    waves = loud * np.sin(np.arange(SAMPLES) * pitch) + rng.normal(0, loud, SAMPLES)
    waves[:silent] = 0.0
    if sign:
        waves = sign * np.abs(waves)
    sound = np.clip(np.rint(waves), -32768, 32767).astype(np.int16)
    stated = MfccScale.of(scale, zero_point)
    due = mfcc(stated, sound[None])[0]
    assert np.array_equal(device_features(library, stated, sound), due)


@pytest.mark.parametrize("extreme", ["loudest", "lowest", "edges", "bits"])
def test_no_sound_overflows(library: ctypes.CDLL, extreme: str) -> None:
    places = np.arange(SAMPLES)
    rng = np.random.default_rng(3)
    made = {
        "loudest": np.full(SAMPLES, 32767),
        "lowest": np.full(SAMPLES, -32768),
        "edges": np.where(places % 2, -32768, 32767),
        "bits": rng.integers(-32768, 32768, SAMPLES),
    }
    stated = MfccScale.of(0.002, -128)
    sound = made[extreme].astype(np.int16)
    due = mfcc(stated, sound[None])[0]
    assert np.array_equal(device_features(library, stated, sound), due)


@pytest.mark.parametrize("name", ["spectrum", "mfcc"])
def test_the_shipped_tables_are_those_of_the_formulas(name: str) -> None:
    path = FIRMWARE / "workloads" / "sound" / f"nr_{name}_tables.h"
    assert path.read_text("utf-8") == c_tables.text(name)


# ---- rig firmware build --model --features mfcc ----


def invoke(*words: str | Path) -> str:
    done = CliRunner().invoke(
        firmware, [str(word) for word in words], standalone_mode=False
    )
    if done.exception is not None:
        raise done.exception
    return " ".join(done.output.split())


def opened_sut(port: str, program: Path) -> PosixSut | QemuSut:
    context = BenchContext(seed=1)
    context.world.supply_on = True
    if port == "posix":
        return PosixSut.open(PosixSut.Settings(program=str(program)), context)
    return QemuSut.open(
        QemuSut.Settings(program=str(program), machine=BOARDS[port]), context
    )


@pytest.mark.parametrize("port", ["posix", "stm32f405", "mps2"])
def test_a_device_computes_features_in_a_phase_of_its_own(
    tmp_path: Path, port: str
) -> None:
    if port != "posix":
        image(port, "null")  # where no tool is missing
    folder = tmp_path / "board"
    words = ("build", folder, "--model", KEYWORDS, "--target", port)
    printed = invoke(*words, "--features", "mfcc")
    assert "beside an input of 32,000" in printed
    assert 'features = "mfcc"' in (folder / "tflite.toml").read_text("utf-8")
    read = network.read(KEYWORDS)
    due = routine(read, PayloadForm.MFCC)
    assert due.batch is not None
    made = sounds.samples(6)
    payloads = [sound.tobytes() for sound in made]
    answers = due.batch([due.load(payload) for payload in payloads])
    assert len({answer.tobytes() for answer in answers}) > 4
    name = "tflite" if port == "posix" else "tflite.elf"
    sut = opened_sut(port, folder / "build" / emulated(port) / name)
    took = []
    try:
        assert sut.info.model == f"{read.identity}-mfcc"
        for payload, answer in zip(payloads, answers, strict=True):
            sut.do(Load(0), [payload])
            done = sut.do(Query((0,), limit_s=60.0))
            assert done.output == answer.tobytes()
            assert [mark.phase for mark in done.marks] == [1, 2, 0]
            first, second, _ = (mark.tick for mark in done.marks)
            took.append((second - first) / sut.info.tick_hz)
        for wrong in (payloads[0][:-2], payloads[0][:490]):
            with pytest.raises(SutError):
                sut.do(Load(0), [wrong])
    finally:
        sut.close()
    if port != "posix":
        assert max(took) / INSTRUCTION_S / ROWS < INSTRUCTIONS_A_WINDOW


def refusal(*words: str | Path) -> str:
    with pytest.raises(RigError) as caught:
        invoke("build", *words)
    return str(caught.value)


def test_what_has_no_such_features_is_refused_in_a_sentence(tmp_path: Path) -> None:
    board = tmp_path / "board"
    words = (board, "--target", "posix", "--features", "mfcc")
    said = refusal(*words, "--model", EXAMPLE)
    assert "takes 1 x 12 x 12 x 1, the features mfcc are 49 x 10" in said
    of_keywords = (*words, "--model", KEYWORDS)
    np.save(tmp_path / "short.npy", np.zeros((3, SAMPLES - 1), np.int16))
    said = refusal(*of_keywords, "--input", tmp_path / "short.npy")
    assert "sounds of the shape (3, 15999)" in said
    np.save(tmp_path / "real.npy", np.zeros((3, SAMPLES)))
    said = refusal(*of_keywords, "--input", tmp_path / "real.npy")
    assert "sounds of float64" in said
    for option in ("--real-input", "--stream"):
        with pytest.raises((ConfigError, DataError)):
            invoke("build", *of_keywords, option)
    assert not board.exists()


def test_a_part_without_room_for_a_second_of_sound_is_refused(tmp_path: Path) -> None:
    image("microbit", "null")
    words = (tmp_path / "board", "--target", "microbit", "--features", "mfcc")
    said = refusal(*words, "--model", KEYWORDS)
    assert "has no room on this part" in said
    assert "an input is 32,000 B" in said
    assert not (tmp_path / "board").exists()
