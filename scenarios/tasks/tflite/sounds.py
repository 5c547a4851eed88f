# SPDX-License-Identifier: Apache-2.0
"""Generated seconds of sound for a device that computes features: no recordings,
and no words.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rig.network.sound.mel import SAMPLE_HZ

SAMPLES = 24
SEED = 12
SOURCE = "generated sounds"
_Reals = NDArray[np.float64]
_TIMES_S = np.arange(SAMPLE_HZ) / SAMPLE_HZ
_LOUDEST = 32767


def samples(count: int = SAMPLES, seed: int = SEED) -> NDArray[np.int16]:
    """Return sounds (count, 16000) of int16, one of each kind after the other, each as
    loud as it happens to be; the clipped ones beyond what fits.
    """
    rng = np.random.default_rng(seed)
    made = []
    for number in range(count):
        kind = _KINDS[number % len(_KINDS)]
        loudness = np.exp(rng.uniform(np.log(30), np.log(_LOUDEST)))
        made.append(loudness * kind(rng))
    limited = np.clip(np.rint(np.array(made)), -_LOUDEST - 1, _LOUDEST)
    sounds: NDArray[np.int16] = limited.astype(np.int16)
    return sounds


def _voice(rng: np.random.Generator) -> _Reals:
    """Return a word's like: harmonics of a moving pitch in three formants, in the
    middle of faint noise.
    """
    vibrato = 1 + 0.1 * np.sin(2 * np.pi * 3 * _TIMES_S)
    pitch_hz = rng.uniform(80, 250) * vibrato
    phase = 2 * np.pi * np.cumsum(pitch_hz) / SAMPLE_HZ
    formants_hz = rng.uniform(300, 3500, 3)
    sound = np.zeros(SAMPLE_HZ)
    for harmonic in range(1, 16):
        away = (harmonic * pitch_hz[:, None] - formants_hz) / 150
        strength = np.exp(-(away**2)).sum(axis=1) + 0.05
        sound += strength * np.sin(harmonic * phase)
    envelope = np.exp(-(((_TIMES_S - rng.uniform(0.3, 0.7)) / 0.15) ** 2))
    loud = np.abs(sound).max()
    voice: _Reals = envelope * sound / loud + 0.001 * rng.normal(0, 1, SAMPLE_HZ)
    return voice


def _noise(rng: np.random.Generator) -> _Reals:
    return rng.normal(0, 0.25, SAMPLE_HZ)


def _tone(rng: np.random.Generator) -> _Reals:
    tone: _Reals = np.sin(2 * np.pi * rng.uniform(50, 7900) * _TIMES_S)
    return tone


def _word_in_silence(rng: np.random.Generator) -> _Reals:
    """Return a voice with zeros before and after, as a short recording is filled."""
    begin = int(rng.integers(0, SAMPLE_HZ // 2))
    inside = (np.arange(SAMPLE_HZ) - begin) // (SAMPLE_HZ // 3) == 0
    return np.where(inside, _voice(rng), 0.0)


def _clipped(rng: np.random.Generator) -> _Reals:
    return 2000 * _voice(rng)


def _silence(rng: np.random.Generator) -> _Reals:
    return np.zeros(SAMPLE_HZ)


_KINDS: tuple[Callable[[np.random.Generator], _Reals], ...] = (
    _voice,
    _noise,
    _tone,
    _word_in_silence,
    _clipped,
    _silence,
)
