# SPDX-License-Identifier: Apache-2.0
"""Features of the streaming wake word of MLPerf Tiny in whole numbers: the bytes of
firmware/workloads/sww/nr_sww_features.c.

A hop is 512 new samples of 16 bits at 16 kHz. The last 1,024 samples are pre-emphasised
(minus 31/32 of the sample before), weighted by a Hamming window and transformed; the
power spectrum is summed in 40 mel bands, and 10 log10 of each, plus 52, over 64, from 0
to 1, is the row of the network. The formula is that of the reference firmware
(sww_ref_util_submitter.c, th_compute_lfbe_f32), whose numbers are floats. A value that
its cast to int8 would leave undefined, above 0.944, is 127 here.

Units: a spectrum line is a 32nd of a step of the samples, a power so much squared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from rig.network.sound.mel import BANDS, SAMPLE_HZ, Bands, mel_weights
from rig.network.sound.spectrum import COSINE_BITS, LOG_BITS, cosines, cut, log2, powers
from rig.network.tflite.form import LOW, IntegerTensor, Ints

HOP = 512
WINDOW = 2 * HOP
#: A power of 1 (a full-scale sample is 1, 1/1024 of the squared spectrum), in bits.
_UNIT_BITS = 50
#: Bits that powers lose before the bands add them up.
_POWER_SHIFT = 15
_OFFSET_DB = 52.0
_RANGE_DB = 64.0
#: Rows that are computed together: their spectra take some megabytes.
_TOGETHER = 128


@dataclass(frozen=True, slots=True)
class FeatureScale:
    """A value is (gain x log2 of a power + offset) / 2^16, towards 0, from `least` (a
    feature of 0) to 127.
    """

    gain: int
    offset: int
    least: int

    @classmethod
    def of(cls, row: IntegerTensor) -> FeatureScale:
        """Return that of a network's input."""
        one = 1 << LOG_BITS
        gain = 10 * math.log10(2) / _RANGE_DB / row.scale
        offset = _OFFSET_DB / _RANGE_DB / row.scale + row.zero_point
        whole_offset = round((offset - gain * _UNIT_BITS) * one)
        return cls(round(gain * one), whole_offset, max(row.zero_point, LOW))


@cache
def bands() -> Bands:
    """Return the mel bands, from 0 to 8 kHz."""
    return Bands.of(mel_weights(HOP, 0.0, SAMPLE_HZ / 2))


class FeatureStream:
    """The features of a signal from its beginning on, before which all is 0."""

    def __init__(self, scale: FeatureScale) -> None:
        self._scale = scale
        self._before = np.zeros(HOP + 1, np.int64)

    def rows(self, hops: Ints) -> Ints:
        """Return the row (hops, 40) after each hop (hops, 512) of samples, as int8."""
        made = []
        for first in range(0, len(hops), _TOGETHER):
            made.append(self._rows(hops[first : first + _TOGETHER]))
        return np.concatenate(made) if made else np.zeros((0, BANDS), np.int8)

    def _rows(self, hops: Ints) -> Ints:
        signal = np.concatenate([self._before, hops.astype(np.int64).reshape(-1)])
        self._before = signal[-(HOP + 1) :]
        emphasised = 32 * signal[1:] - 31 * signal[:-1]
        windows = np.lib.stride_tricks.sliding_window_view(emphasised, WINDOW)[::HOP]
        weighted = (windows * _hamming()) >> (COSINE_BITS + 1)
        return _values(powers(weighted), self._scale)


@cache
def _hamming() -> Ints:
    """Return 0.54 - 0.46 cos(2 pi n / 1024), in units of 2^-30."""
    one = 1 << COSINE_BITS
    scaled: Ints = (round(0.46 * one) * cosines(np.arange(WINDOW))) >> COSINE_BITS
    result: Ints = round(0.54 * one) - scaled
    return result


def _values(spectra: Ints, scale: FeatureScale) -> Ints:
    """Return the features of spectra as the network takes them."""
    sums = bands().sums(spectra >> _POWER_SHIFT)
    raw = ((scale.gain * log2(sums)) >> LOG_BITS) + scale.offset
    limited = cut(raw, scale.least)
    result: Ints = np.where(sums == 0, scale.least, limited).astype(np.int8)
    return result
