# SPDX-License-Identifier: Apache-2.0
"""Mel cepstra of a second of sound in whole numbers, the bytes of
firmware/workloads/sound/nr_mfcc.c: 49 rows of 10 values.

The formula is that of the features `mfcc` in the training of MLPerf Tiny's keyword
spotting (mlcommons/tiny, get_dataset.py), in floats there: samples over the largest
one, windows of 480 every 320 below a window of Hann, the magnitudes of a transform of
512, 40 mel bands from 20 to 4,000 Hz, ln(band + 1e-6), and the first ten coefficients
of the cosine transform, over sqrt(80). A value is cut towards 0 as its cast to int8
does (eval_quantized_model.py); where that is undefined, it is limited here.

The largest sample keeps its sign there, which changes no magnitude; where it is 0, as
of silence, the reference divides by it, and the samples are taken as they are here.

Units: each window is shifted up until its loudest sample has 15 bits, so that quiet
ones keep their resolution; a line of the spectrum is a 128th of a step of such samples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from rig.network.sound.mel import BAND_BITS, BANDS, Bands, mel_weights
from rig.network.sound.spectrum import (
    COSINE_BITS,
    LOG_BITS,
    Ints,
    cosines,
    cut,
    log2,
    powers,
)

SAMPLES = 16_000
SAMPLE_B = 2
WINDOW = 480
STRIDE = 320
ROWS = 1 + (SAMPLES - WINDOW) // STRIDE
VALUES = 10
#: Samples of a transform; the last are 0.
POINTS = 512
_LOW_HZ, _HIGH_HZ = 20.0, 4000.0
#: A window is brought to this or above.
_LOUD = 1 << 14
_SHIFT_MAX = 15
#: Bits below 1 of a sample below the window.
_WEIGHTED_BITS = 6
_UNIT_BITS = _WEIGHTED_BITS + 1 + BAND_BITS
#: 1e-6 of the largest sample, in units of a band times 2^-10.
_FLOOR_BITS = 10
_FLOOR = round(1e-6 * 2 ** (_UNIT_BITS + _FLOOR_BITS))
_GAIN_BITS = 24
#: The smallest step of an input that fits the numbers.
SCALE_MIN = 0.002


@dataclass(frozen=True, slots=True)
class MfccScale:
    """A value is (gain / 2^8 x cepstrum + offset) / 2^16, towards 0; a cepstrum is in
    units of 2^-16, of logarithms to base 2.
    """

    gain: int
    offset: int

    @classmethod
    def of(cls, scale: float, zero_point: int) -> MfccScale:
        """Return that of a network's input with such steps."""
        gain = math.log(2) / math.sqrt(BANDS / 2) / scale
        return cls(round(gain * (1 << _GAIN_BITS)), zero_point << LOG_BITS)


def mfcc(scale: MfccScale, sounds: Ints) -> Ints:
    """Return the features (sounds, 49, 10) of sounds (sounds, 16,000), as int8."""
    made = [_features(scale, sound.astype(np.int64)) for sound in sounds]
    return np.stack(made)


def _features(scale: MfccScale, sound: Ints) -> Ints:
    peak = abs(int(sound.max())) or 1
    windows = np.lib.stride_tricks.sliding_window_view(sound, WINDOW)[::STRIDE]
    shifts = _shifts(np.bitwise_or.reduce(np.abs(windows), axis=1))[:, None]
    padded = np.zeros((ROWS, POINTS), np.int64)
    padded[:, :WINDOW] = _weighted(windows << shifts)
    sums = bands().sums(_roots(powers(padded)))
    least = ((peak * _FLOOR) << shifts) >> _FLOOR_BITS
    peak_log = int(log2(np.array(peak)))
    units = peak_log + ((_UNIT_BITS + shifts) << LOG_BITS)
    logarithms = log2(sums + least) - units
    turned = logarithms @ _transform()
    cepstra = (turned + (1 << (COSINE_BITS - 1))) >> COSINE_BITS
    raw = ((scale.gain * cepstra) >> _GAIN_BITS) + scale.offset
    result: Ints = cut(raw).astype(np.int8)
    return result


def _shifts(loudest: Ints) -> Ints:
    """Return by how many bits windows are shifted up."""
    shifts = np.zeros_like(loudest)
    for _ in range(_SHIFT_MAX):
        shifts += (loudest << shifts) < _LOUD
    return shifts


def _weighted(windows: Ints) -> Ints:
    """Return samples below the window of Hann."""
    bits = COSINE_BITS + 1 - _WEIGHTED_BITS
    twice = (1 << COSINE_BITS) - cosines(np.arange(WINDOW), WINDOW)
    result: Ints = (windows * twice + (1 << (bits - 1))) >> bits
    return result


def _roots(squares: Ints) -> Ints:
    """Return square roots, rounded down to 16 bits."""
    shifts = np.zeros_like(squares)
    while np.any(large := (squares >> (2 * shifts)) >> 32 != 0):
        shifts += large
    # Exact: below 2^32 the root of a float of 53 bits is.
    roots = np.floor(np.sqrt((squares >> (2 * shifts)).astype(np.float64)))
    result: Ints = roots.astype(np.int64) << shifts
    return result


@cache
def bands() -> Bands:
    """Return the mel bands of the features."""
    return Bands.of(mel_weights(POINTS // 2, _LOW_HZ, _HIGH_HZ))


@cache
def _transform() -> Ints:
    """Return the cosines (bands, values) of the cosine transform."""
    places = (2 * np.arange(BANDS)[:, None] + 1) * np.arange(VALUES)
    return cosines(places * (WINDOW // (4 * BANDS)), WINDOW)
