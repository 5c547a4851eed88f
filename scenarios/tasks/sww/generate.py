# SPDX-License-Identifier: Apache-2.0
"""A generated stream with known truth: a word is a low tone that a high one follows;
between words there are noise, single tones, and the two in the other order.
"""

from __future__ import annotations

import numpy as np

from rig.network.sound.mel import SAMPLE_HZ
from rig.network.tflite.form import Ints

SOURCE = "generated tones and noise, by the rig"
#: The tones of a word, in their order.
TONES_HZ = (600.0, 1800.0)
TONE_S = 0.3
#: Time from the end of a sound to the beginning of the next; a word's detection counts
#: for 2 s after it.
_APART_S = (2.2, 3.4)
#: The first sound, a word, begins within; the last one so long before the end.
_FIRST_S = (0.4, 0.9)
_LAST_S = 1.2
_NOISE = 300.0
_LOUD = (4000.0, 9000.0)
#: Of the sounds, so many are words.
_WORDS = 0.6

Event = tuple[int, int]


def stream(seed: int, length: int) -> tuple[Ints, tuple[Event, ...]]:
    """Return `length` samples of 16 bits, and of each word its first sample and the one
    after its last.
    """
    rng = np.random.default_rng(seed)
    signal = rng.normal(0.0, _NOISE, length)
    words: list[Event] = []
    at = round(rng.uniform(*_FIRST_S) * SAMPLE_HZ)
    while at + round(_LAST_S * SAMPLE_HZ) < length:
        loud = float(rng.uniform(*_LOUD))
        is_word = not words or rng.random() < _WORDS
        sound = _word(loud) if is_word else _other(rng, loud)
        signal[at : at + len(sound)] += sound
        if is_word:
            words.append((at, at + len(sound)))
        at += len(sound) + round(rng.uniform(*_APART_S) * SAMPLE_HZ)
    limited = np.clip(np.rint(signal), -32768, 32767).astype(np.int16)
    return limited, tuple(words)


def _word(loud: float) -> Ints:
    return np.concatenate([_tone(tone_hz, loud) for tone_hz in TONES_HZ])


def _other(rng: np.random.Generator, loud: float) -> Ints:
    low, high = (_tone(tone_hz, loud) for tone_hz in TONES_HZ)
    hiss: Ints = rng.normal(0.0, loud / 4, len(low))
    sounds = (low, high, np.concatenate([high, low]), hiss)
    return sounds[int(rng.integers(len(sounds)))]


def _tone(tone_hz: float, loud: float) -> Ints:
    times_s = np.arange(round(TONE_S * SAMPLE_HZ)) / SAMPLE_HZ
    result: Ints = loud * np.sin(2 * np.pi * tone_hz * times_s)
    return result
