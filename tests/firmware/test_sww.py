# SPDX-License-Identifier: Apache-2.0
"""The firmware's streaming wake word against the task's own answers, byte for byte: the
features on this host, the images as a process and on the emulated cores.
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

from examples.make_tflite import Layers
from rig.cli.boards.firmware import firmware
from rig.errors import ConfigError, DataError, SutError
from rig.interfaces.context import BenchContext
from rig.model.steps import Load, Query, Scene, Stream
from rig.network.sound.mel import BANDS, SAMPLE_HZ
from rig.network.tflite.form import IntegerTensor
from rig.network.wake import c_header, c_tables
from rig.network.wake.features import HOP, FeatureScale, FeatureStream
from rig.session.session import open_bench
from scenarios.tasks.sww.task import EXAMPLE, SwwTask
from sut_backends.hosted.posix import PosixSut
from sut_backends.hosted.qemu import QemuSut
from tests.boards import BOARDS, image
from tests.builds import FIRMWARE, built
from tests.length import length

pytestmark = [
    pytest.mark.posix,
    pytest.mark.skipif(
        shutil.which("cc") is None or shutil.which("make") is None,
        reason="needs make and a C compiler",
    ),
]
FOLDER = FIRMWARE / "workloads" / "sww"


class Scale(ctypes.Structure):
    """struct nr_sww_scale."""

    _fields_ = tuple((name, ctypes.c_int32) for name in ("gain", "offset", "least"))


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    return ctypes.CDLL(str(built("sound-library") / "sound" / "library.so"))


def device_rows(library: ctypes.CDLL, scale: FeatureScale, hops: Any) -> Any:
    memory = np.full(4 * HOP + 8 * (HOP + 1) + 64, 0x5A, np.uint8)
    memory[: 2 * (2 * HOP + 1)] = 0x5A  # rubbish before its start
    library.nr_sww_features_start(memory.ctypes.data_as(ctypes.c_void_p))
    stated = Scale(scale.gain, scale.offset, scale.least)
    found = np.zeros((len(hops), BANDS), np.int8)
    for hop, row in zip(hops, found, strict=True):
        payload = np.frombuffer(hop.astype("<i2").tobytes(), np.uint8).copy()
        library.nr_sww_features_row(
            memory.ctypes.data_as(ctypes.c_void_p),
            ctypes.byref(stated),
            payload.ctypes.data_as(ctypes.c_void_p),
            row.ctypes.data_as(ctypes.c_void_p),
        )
    return found


@given(
    seed=st.integers(0, 2**32 - 1),
    loud=st.sampled_from([0.6, 30.0, 2000.0, 60000.0]),
    scale=st.sampled_from([0.003701042616739869, 1 / 255, 0.02]),
    zero_point=st.sampled_from([-128, -7, 90]),
)
@settings(max_examples=length(40, 12), deadline=None)
def test_features_have_the_bytes_of_the_formula_in_whole_numbers(
    library: ctypes.CDLL, seed: int, loud: float, scale: float, zero_point: int
) -> None:
    rng = np.random.default_rng(seed)
    samples = rng.normal(0, loud, 4 * HOP) + loud * np.sin(np.arange(4 * HOP) * 0.3)
    hops = np.clip(samples, -32768, 32767).astype(np.int16).reshape(-1, HOP)
    row = FeatureScale.of(IntegerTensor("row", (1, 1, 1, 40), scale, zero_point))
    due = FeatureStream(row).rows(hops)
    assert np.array_equal(device_rows(library, row, hops), due)


def test_the_shipped_headers_are_those_of_the_formulas_and_of_the_example() -> None:
    assert (FOLDER / "nr_sww_tables.h").read_text("utf-8") == c_tables.text()
    model = c_header.header(c_header.read(EXAMPLE))
    assert (FOLDER / "nr_sww_model.h").read_text("utf-8") == model


def opened_sut(port: str) -> PosixSut | QemuSut:
    context = BenchContext(seed=1)
    context.world.supply_on = True
    if port == "posix":
        program = built("posix") / "posix" / "sww"
        return PosixSut.open(PosixSut.Settings(program=str(program)), context)
    return QemuSut.open(
        QemuSut.Settings(program=str(image(port, "sww")), machine=BOARDS[port]), context
    )


@pytest.mark.parametrize(("port", "hops"), [("posix", 16), ("stm32f405", 60)])
def test_a_stream_begins_anew_and_gives_the_tasks_bytes(port: str, hops: int) -> None:
    task = SwwTask.open(SwwTask.Settings(length_s=3.0), BenchContext())
    windows = [task.payload(index) for index in range(hops)]
    due = b"".join(task.listening()(windows))
    scene = Scene("none", tuple(range(hops)), hops * HOP)
    step = Stream((scene,), HOP, HOP, SAMPLE_HZ, preloaded=True, limit_s=60.0)
    sut = opened_sut(port)
    try:
        assert sut.info.task == "sww"
        assert sut.info.details["stateful"] is True
        for _ in range(2):
            done = sut.do(step, windows)
            assert done.faults == ()
            assert done.output == due
        sut.do(Load(0), [windows[0]])
        with pytest.raises(SutError, match="not supported"):
            sut.do(Query((0,), limit_s=5.0))
        with pytest.raises(SutError):
            sut.do(Load(0), [windows[0][:-1]])
    finally:
        sut.close()
    if port == "stm32f405":
        assert len(set(due[::3])) > 4
        starts = [mark.tick for mark in done.marks if mark.phase == 1]
        ends = [mark.tick for mark in done.marks if mark.phase == 0x21]
        took = [end - start for start, end in zip(starts, ends, strict=True)]
        assert max(took) / sut.info.tick_hz < HOP / SAMPLE_HZ / 3


# ---- rig firmware build --model --stream ----


def invoke(*words: str | Path) -> str:
    done = CliRunner().invoke(
        firmware, [str(word) for word in words], standalone_mode=False
    )
    if done.exception is not None:
        raise done.exception
    return " ".join(done.output.split())


def test_a_model_is_built_to_answer_for_a_stream(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    words = ("build", folder, "--target", "posix", "--stream")
    printed = invoke(*words, "--model", EXAMPLE)
    assert "row by row; 267 B stay from one hop to the next" in printed
    assert (folder / "model.tflite").read_bytes() == EXAMPLE.read_bytes()
    short = ["scenario.events.duration_s=2.5", "sut.posix.block_ns=100"]
    with open_bench(folder / "sww.toml", short) as bench:
        result = bench.run(1, tmp_path / "sessions")
    assert result.content["problems"] == []
    assert result.metrics["recall"].value == 1.0
    bench = tmp_path / "board" / "sww-emulated.toml"
    image("stm32f405", "null")  # where no tool is missing
    words = ("build", bench.parent, "--target", "stm32f405", "--stream")
    assert f"next: rig run {bench}, in an emulator" in invoke(
        *words, "--model", EXAMPLE
    )
    with open_bench(bench, []) as opened:
        result = opened.run(1, tmp_path / "sessions")
    assert result.metrics["recall"].value == 1.0


def test_a_model_that_cannot_stream_leaves_no_project(tmp_path: Path) -> None:
    net = Layers((1, 8, 1, 40), 1)
    net.convolution(2, (3, 1))
    net.mean((1, 2), 0.1, 0)
    path = tmp_path / "padded.tflite"
    path.write_bytes(net.content())
    words = ("build", tmp_path / "here", "--target", "posix", "--stream")
    with pytest.raises(DataError, match="CONV_2D: it pads the rows"):
        invoke(*words, "--model", path)
    with pytest.raises(ConfigError, match="row by row a model runs with --kernels"):
        invoke(*words, "--model", EXAMPLE, "--kernels", "cmsis-nn")
    with pytest.raises(ConfigError, match="no effect"):
        invoke("build", tmp_path / "here", "--stream")
    assert not (tmp_path / "here").exists()
