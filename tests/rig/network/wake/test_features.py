# SPDX-License-Identifier: Apache-2.0
"""Features of the streaming wake word in whole numbers: against the formula in real
numbers, computed here by numpy, and the tables of the reference firmware.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.network.sound.mel import SAMPLE_HZ, mel_weights
from rig.network.sound.spectrum import log2
from rig.network.tflite.form import IntegerTensor
from rig.network.wake import features
from rig.network.wake.features import HOP, WINDOW, FeatureScale, FeatureStream
from tests.length import length

WEIGHTS = mel_weights(HOP, 0.0, SAMPLE_HZ / 2)
#: A clone of mlcommons/tiny.
CLONE = "MLPERF_TINY_CLONE"
SUBMISSION = "benchmark/reference_submissions/streaming_wakeword/sww_ref_l4r5zi"
#: That of the reference model.
ROW = IntegerTensor("row", (1, 1, 1, 40), 0.003701042616739869, -128)


def float_features(samples: Any) -> Any:
    """Return the features (hops, 40), from 0 to 1, of samples of 16 bits, before which
    all is 0: sww_ref_util_submitter.c, th_compute_lfbe_f32.
    """
    hops = len(samples) // HOP
    signal = np.concatenate([np.zeros(HOP + 1), samples[: hops * HOP] / 32768.0])
    emphasised = signal[1:] - 0.96875 * signal[:-1]
    windows = np.lib.stride_tricks.sliding_window_view(emphasised, WINDOW)[::HOP]
    hamming = 0.54 - 0.46 * np.cos(2 * np.pi * np.arange(WINDOW) / WINDOW)
    powers = np.abs(np.fft.rfft(windows * hamming)) ** 2 / WINDOW
    decibels = 10 * np.log10(np.maximum(powers @ WEIGHTS, 1e-30))
    return np.clip((decibels + 52.0) / 64.0, 0.0, 1.0)


def rows(samples: Any) -> Any:
    return FeatureStream(FeatureScale.of(ROW)).rows(samples.reshape(-1, HOP))


def due(samples: Any) -> Any:
    """Return the values by the formula of sww_ref_util_submitter.c, as its cast cuts
    them, where it is defined.
    """
    values = np.trunc(float_features(samples) / ROW.scale - 128)
    return np.clip(values, -128, 127).astype(np.int64)


def signals() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    times = np.arange(40 * HOP)
    sweep = 12000 * np.sin(2 * np.pi * times * (20 + times * 0.15) / 16000)
    found = {
        f"noise of {size}": rng.normal(0, size, len(times)) for size in (1, 9, 3e3)
    }
    found |= {
        "a sweep": sweep,
        "a full-scale tone": 32767 * np.sin(2 * np.pi * 997 * times / 16000),
        "the largest steps": np.where(times % 2, -32768, 32767),
        "any bits": rng.integers(-32768, 32768, len(times)),
        "a click": np.where(times == 3000, 32767, 0),
    }
    limited = {}
    for name, values in found.items():
        limited[name] = np.clip(np.rint(values), -32768, 32767).astype(np.int16)
    return limited


@pytest.mark.parametrize("name", signals())
def test_features_are_those_of_the_formula_but_for_single_steps(name: str) -> None:
    samples = signals()[name]
    apart = np.abs(rows(samples).astype(np.int64) - due(samples))
    assert apart.max() <= 1
    assert np.count_nonzero(apart) <= 0.005 * apart.size


def test_silence_is_the_least_value_and_the_loudest_the_largest() -> None:
    assert set(rows(np.zeros(3 * HOP, np.int16)).reshape(-1).tolist()) == {-128}
    loud = signals()["any bits"]
    assert rows(loud).max() == 127
    assert float_features(loud).max() / ROW.scale - 128 > 128


@given(seed=st.integers(0, 2**32 - 1), cut=st.integers(1, 11))
@settings(max_examples=length(20, 5), deadline=None)
def test_a_signal_may_come_in_any_pieces(seed: int, cut: int) -> None:
    samples = np.random.default_rng(seed).normal(0, 2000, 12 * HOP).astype(np.int16)
    hops = samples.reshape(-1, HOP)
    stream = FeatureStream(FeatureScale.of(ROW))
    found = np.concatenate([stream.rows(hops[:cut]), stream.rows(hops[cut:])])
    assert np.array_equal(found, rows(samples))


def test_the_logarithm_is_that_of_floats_rounded_down() -> None:
    rng = np.random.default_rng(2)
    numbers = np.exp2(rng.uniform(0, 60, 4000)).astype(np.int64)
    numbers[:3] = (1, 2, 3)
    found = log2(numbers)
    apart = np.log2(numbers.astype(np.float64)) * 65536 - found
    assert apart.min() > -0.01
    assert apart.max() < 1.2


@pytest.mark.skipif(CLONE not in os.environ, reason=f"{CLONE} names no clone")
def test_the_tables_are_those_of_the_reference_firmware() -> None:
    path = Path(os.environ[CLONE]) / SUBMISSION / "Core" / "Src" / "fixed_data.c"
    text = path.read_text("utf-8", errors="replace")

    def table(name: str) -> Any:
        body = re.search(rf"{name}\[\d+\] = \{{(.*?)\}}", text, re.DOTALL)
        assert body is not None
        return np.array([float(word) for word in body[1].replace(",", " ").split()])

    hamming = features._hamming() / 2**30
    assert np.abs(hamming - table("hamm_win_1024")).max() < 1e-6
    starts = table("lin2mel_513x40_filter_starts").astype(int)
    lengths = table("lin2mel_513x40_filter_lens").astype(int)
    weights = np.zeros((WINDOW // 2 + 1, 40))
    packed = iter(table("lin2mel_packed_513x40"))
    for band, (start, count) in enumerate(zip(starts, lengths, strict=True)):
        weights[start : start + count, band] = [next(packed) for _ in range(count)]
    assert np.abs(weights - WEIGHTS).max() < 1e-4


@pytest.mark.parametrize("zero_point", [-128, -3, 40])
def test_silence_is_the_zero_of_the_models_input(zero_point: int) -> None:
    row = IntegerTensor("", (1, 1, 1, 40), 0.01, zero_point)
    stream = FeatureStream(FeatureScale.of(row))
    rows = stream.rows(np.zeros((3, HOP), np.int64))
    assert (rows == zero_point).all()
