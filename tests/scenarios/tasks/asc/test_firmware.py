# SPDX-License-Identifier: Apache-2.0
"""The C workload against the numpy model, byte by byte, and its behaviour as a struct
nr_workload.
"""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from rig.interfaces.context import BenchContext
from scenarios.tasks.asc.audio import read_clip
from scenarios.tasks.asc.dataset import open_dataset
from scenarios.tasks.asc.generate import ensure
from scenarios.tasks.asc.integer import outputs, spike_counts
from scenarios.tasks.asc.nirfile import read_model
from scenarios.tasks.asc.task import SHIPPED_MODEL, AscTask
from tests.length import length

from .conftest import STATE_B, Compile, Firmware, Workload

MODEL = read_model(SHIPPED_MODEL)
Audio = NDArray[np.int16]


def payload(audio: Audio) -> bytes:
    """Return the bytes of one second of audio."""
    return audio.astype("<i2").tobytes()


def expected(audio: Audio) -> list[bytes]:
    """Return the numpy model's answers to audio (slices, 8000)."""
    return [answer.astype("<i4").tobytes() for answer in outputs(MODEL, audio)]


def square(period: int, high: int = 32_767, low: int = -32_768) -> Audio:
    """Return one second of a square wave of `period` samples."""
    return np.where(np.arange(8000) % period < period / 2, high, low).astype(np.int16)


EXTREMES = np.stack(
    [np.full(8000, level, np.int16) for level in (0, 1, -1, 32_767, -32_768)]
    + [square(period) for period in (2, 3, 4, 5, 8, 13, 20, 32, 52, 89, 400, 4000)]
    + [
        np.where(np.arange(8000) == place, 32_767, 0).astype(np.int16)
        for place in (0, 63, 64, 7999)
    ]
    + [
        np.where((np.arange(8000) < 4000) == early, square(9), 0).astype(np.int16)
        for early in (True, False)
    ]
)


def test_extreme_inputs_give_the_bytes_of_the_numpy_model(firmware: Firmware) -> None:
    assert [firmware.output(payload(audio)) for audio in EXTREMES] == expected(EXTREMES)


def test_held_out_samples_give_the_bytes_of_the_numpy_model(
    firmware: Firmware, cache: Path
) -> None:
    for clip in open_dataset(ensure(cache, 6, 3)).test[:: length(1, 3)]:
        audio = read_clip(clip.path)
        assert [firmware.output(payload(slice_)) for slice_ in audio] == expected(
            audio
        ), clip.path.name


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    pieces=st.lists(
        arrays(np.int16, st.integers(1, 40), elements=st.integers(-32_768, 32_767)),
        min_size=8,
        max_size=8,
    ),
    seed=st.integers(0, 2**32 - 1),
)
def test_random_inputs_give_the_bytes_of_the_numpy_model(
    firmware: Firmware, pieces: list[Audio], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    audio = np.stack(
        [np.resize(piece, 8000) for piece in pieces]
        + [rng.integers(-32_768, 32_768, 8000).astype(np.int16)]
    )
    assert [firmware.output(payload(slice_)) for slice_ in audio] == expected(audio)


def test_the_structures_that_python_hands_over_are_as_long_as_those_of_c(
    compile_asc: Compile, tmp_path: Path
) -> None:
    source = tmp_path / "sizes.c"
    shown = 'printf("%zu %zu", sizeof(struct nr_workload), sizeof(struct nr_asc))'
    source.write_text(
        f'#include <stdio.h>\n#include "nr_asc.h"\nint main(void) {{ return {shown} <'
        " 0; }\n"
    )
    output = subprocess.run(
        [compile_asc(str(source))], capture_output=True, check=True
    ).stdout
    workload_b, state_b = map(int, output.split())
    assert workload_b == ctypes.sizeof(Workload)
    assert state_b <= STATE_B


def test_the_workload_says_what_it_is(firmware: Firmware) -> None:
    workload = firmware.workload
    assert (workload.name, workload.model) == (b"asc", MODEL.identity.encode())
    assert (workload.slot_bytes, workload.output_bytes, workload.phases) == (
        16_000,
        16,
        2,
    )


@pytest.mark.parametrize("length_b", [0, 1, 15_998, 15_999, 16_001, 32_000])
def test_another_length_is_refused(firmware: Firmware, length_b: int) -> None:
    assert firmware.load(bytes(length_b)) == 1
    assert firmware.preprocess(bytes(length_b)) == 1


def test_infer_without_preprocess_is_refused(firmware: Firmware) -> None:
    assert firmware.infer() == 2


def test_phases_may_be_repeated_and_mixed(firmware: Firmware) -> None:
    first = payload(square(20))
    second = payload(square(7))
    once = firmware.output(first)
    assert firmware.output(second) != once
    for _ in range(3):
        assert firmware.preprocess(first) == 0
    for _ in range(3):
        assert firmware.infer() == 0
    assert firmware.result() == once == firmware.result()


def test_the_sanitizers_find_no_fault(compile_asc: Compile, cache: Path) -> None:
    stream = Path(__file__).with_name("asc_stream.c")
    try:
        program = compile_asc(
            "-O1",
            "-g",
            "-fsanitize=undefined,address",
            "-fno-sanitize-recover=all",
            str(stream),
        )
    except subprocess.CalledProcessError as problem:
        pytest.skip(f"this compiler has no sanitizers: {problem.stderr[-200:]!r}")
    clip = open_dataset(ensure(cache, 6, 3)).test[0]
    audio = np.concatenate([EXTREMES, read_clip(clip.path)])
    done = subprocess.run(
        [program], input=b"".join(map(payload, audio)), capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"".join(expected(audio))


def test_the_task_knows_what_the_firmware_answers(
    firmware: Firmware, cache: Path
) -> None:
    task = AscTask.open(
        AscTask.Settings(files_per_class=6, seed=3, cache=str(cache), samples=8),
        BenchContext(),
    )
    for index in range(len(task)):
        assert firmware.output(task.payload(index)) == task.reference(
            task.payload(index)
        )


def test_silence_and_full_scale_keep_the_spike_counts_in_range() -> None:
    counts = spike_counts(MODEL.bank, EXTREMES)
    assert counts.shape == (len(EXTREMES), 125, 16)
    assert counts.max() == 15
    assert len(np.unique(counts[0], axis=0)) > 1, (
        "silence is a steady current, fired in turn"
    )
