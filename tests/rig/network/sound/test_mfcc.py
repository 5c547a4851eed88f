# SPDX-License-Identifier: Apache-2.0
"""Mel cepstra in whole numbers: against the formula in real numbers, computed here by
numpy and scipy, and the features that TensorFlow gave (tests/vectors/mfcc).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.fft
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.network.sound.mfcc import ROWS, SAMPLES, VALUES, MfccScale, mfcc
from rig.network.tflite.form import IntegerTensor
from scenarios.tasks.tflite import sounds
from tests.conftest import ROOT
from tests.length import length

#: That of the reference model of keyword spotting.
INPUT = IntegerTensor("input", (1, 49, 10, 1), 0.5847029089927673, 83)
#: Values that may be one step away, of all: the formula falls on the edge of a step.
SHARE = 0.002


def mel_matrix() -> Any:
    """Return the weights (257 lines, 40 bands) of linear_to_mel_weight_matrix, band by
    band, for 16 kHz and 20 to 4,000 Hz.
    """
    mels = 1127.0 * np.log(1.0 + np.arange(257) * 31.25 / 700.0)
    ends = 1127.0 * np.log(1.0 + np.array([20.0, 4000.0]) / 700.0)
    edges = np.linspace(ends[0], ends[1], 42)
    weights = np.zeros((257, 40))
    for band in range(40):
        low, centre, high = edges[band : band + 3]
        rising = (mels - low) / (centre - low)
        falling = (high - mels) / (high - centre)
        weights[:, band] = np.maximum(0.0, np.minimum(rising, falling))
    weights[0] = 0.0
    return weights


def float_features(sound: Any) -> Any:
    """Return the features (49, 10) by the formulas of tf.signal."""
    signal = sound / max(abs(float(sound.max())), 1.0)
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(480) / 480)
    windows = np.stack([signal[320 * row :][:480] * hann for row in range(49)])
    lines = np.abs(np.fft.rfft(windows, 512))
    logarithms = np.log(lines @ mel_matrix() + 1e-6)
    cosines = scipy.fft.dct(logarithms, type=2, axis=1)
    return (cosines / np.sqrt(2.0 * 40))[:, :10]


def cut(features: Any, tensor: IntegerTensor = INPUT) -> Any:
    values = np.trunc(features / tensor.scale + tensor.zero_point)
    return np.clip(values, -128, 127).astype(np.int64)


def found(made: Any, tensor: IntegerTensor = INPUT) -> Any:
    return mfcc(MfccScale.of(tensor.scale, tensor.zero_point), made).astype(np.int64)


def signals() -> Any:
    """Return 240 sounds: generated ones, and others that are hard to compute."""
    rng = np.random.default_rng(8)
    places = np.arange(SAMPLES)
    hard = []
    for _ in range(30):
        hard.append(rng.normal(0, rng.uniform(0.3, 3), SAMPLES))
        clicks = np.zeros(SAMPLES)
        clicks[rng.integers(0, SAMPLES, 4)] = rng.integers(1, 32767)
        hard.append(clicks)
        hard.append(32767 * np.sign(np.sin(places * rng.uniform(0.02, 1.2))))
        hard.append(-np.abs(rng.normal(0, 3000, SAMPLES)) - 1)
    limited = np.clip(np.rint(hard), -32768, 32767).astype(np.int16)
    return np.concatenate([sounds.samples(120), limited])


def test_features_are_those_of_the_formula_but_for_single_steps() -> None:
    made = signals()
    due = np.stack([cut(float_features(sound)) for sound in made])
    apart = np.abs(found(made) - due)
    assert len(made) == 240
    assert len({sound.tobytes() for sound in made}) > 200
    assert apart.max() <= 1
    assert np.count_nonzero(apart) <= SHARE * apart.size
    assert len(set(due.reshape(-1).tolist())) > 120


def test_features_are_those_of_tensorflow_but_for_single_steps() -> None:
    with np.load(ROOT / "tests" / "vectors" / "mfcc" / "tensorflow.npz") as stored:
        due = stored["features"].astype(np.int64)
    made = sounds.samples(120, 3)
    heard = made[made.max(axis=1) > 0]
    assert due.shape == (100, ROWS, VALUES)
    apart = np.abs(found(heard) - due)
    assert apart.max() <= 1
    assert np.count_nonzero(apart) <= SHARE * apart.size


@given(
    scale=st.sampled_from([0.02, 0.1, 0.9, 1e6]),
    zero_point=st.sampled_from([-128, 0, 127]),
    seed=st.integers(0, 9),
)
@settings(max_examples=length(20, 6), deadline=None)
def test_any_input_of_a_model_gets_its_own_steps(
    scale: float, zero_point: int, seed: int
) -> None:
    tensor = IntegerTensor("input", (1, 49, 10), scale, zero_point)
    made = sounds.samples(2, seed)
    due = np.stack([cut(float_features(sound), tensor) for sound in made])
    assert np.abs(found(made, tensor) - due).max() <= 1


def test_the_loudness_of_a_sound_changes_nothing() -> None:
    rng = np.random.default_rng(1)
    quiet = rng.integers(-500, 500, SAMPLES).astype(np.int16)
    quiet[0] = 500
    assert np.array_equal(found(quiet[None]), found(64 * quiet[None]))


@pytest.mark.parametrize("value", [0, 1, -1, 32767, -32768])
def test_a_sound_without_change_has_features(value: int) -> None:
    sound = np.full((1, SAMPLES), value, np.int16)
    apart = np.abs(found(sound)[0] - cut(float_features(sound[0].astype(float))))
    assert apart.max() <= 1
