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

from rig.network.tflite.form import HIGH, LOW, IntegerTensor, Ints

SAMPLE_HZ = 16_000
HOP = 512
WINDOW = 2 * HOP
BANDS = 40
#: A cosine, or a weight of the window, is in units of 2^-30.
COSINE_BITS = 30
#: A weight of a band is in units of 2^-15.
BAND_BITS = 15
#: Bits after the point of a logarithm, and of a value before it is cut.
LOG_BITS = 16
#: A power of 1 (a full-scale sample is 1, 1/1024 of the squared spectrum), in bits.
_UNIT_BITS = 50
#: Bits that powers lose before the bands add them up.
_POWER_SHIFT = 15
_HALF = WINDOW // 2
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
        return cls(
            round(gain * one),
            round((offset - gain * _UNIT_BITS) * one),
            max(row.zero_point, LOW),
        )


@dataclass(frozen=True, slots=True)
class Bands:
    """The mel bands: of each the first line of the spectrum and the number of lines,
    and all weights one after the other.
    """

    starts: tuple[int, ...]
    lengths: tuple[int, ...]
    weights: Ints


@cache
def cosines() -> Ints:
    """Return cos(2 pi k / 1024) for k from 0 to 256, in units of 2^-30."""
    angles = 2 * np.pi * np.arange(WINDOW // 4 + 1) / WINDOW
    result: Ints = np.rint(np.cos(angles) * (1 << COSINE_BITS)).astype(np.int64)
    return result


@cache
def mel_weights() -> Ints:
    """Return the weights (513 lines, 40 bands) of HTK's mel scale from 0 to 8 kHz, real
    numbers: triangles between neighbouring centres, the line at 0 Hz left out.
    """
    lines = _mel(np.linspace(0.0, SAMPLE_HZ / 2, _HALF + 1)[1:])[:, None]
    edges = np.linspace(0.0, _mel(np.array(SAMPLE_HZ / 2)), BANDS + 2)
    low, centre, high = edges[:-2], edges[1:-1], edges[2:]
    rising = (lines - low) / (centre - low)
    falling = (high - lines) / (high - centre)
    weights = np.maximum(np.minimum(rising, falling), 0.0)
    return np.vstack([np.zeros((1, BANDS)), weights])


def _mel(frequencies_hz: Ints) -> Ints:
    result: Ints = 1127.0 * np.log1p(frequencies_hz / 700.0)
    return result


@cache
def bands() -> Bands:
    """Return the bands in whole numbers."""
    whole = np.rint(mel_weights() * (1 << BAND_BITS)).astype(np.int64)
    starts, lengths, parts = [], [], []
    for band in whole.T:
        lines = np.flatnonzero(band)
        starts.append(int(lines[0]))
        lengths.append(int(lines[-1] - lines[0]) + 1)
        parts.append(band[lines[0] : lines[-1] + 1])
    return Bands(tuple(starts), tuple(lengths), np.concatenate(parts))


class FeatureStream:
    """The features of a signal from its beginning on, before which all is 0."""

    def __init__(self, scale: FeatureScale) -> None:
        self._scale = scale
        self._before = np.zeros(HOP + 1, np.int64)

    def rows(self, hops: Ints) -> Ints:
        """Return the row (hops, 40) after each hop (hops, 512) of samples, as int8."""
        made = [
            self._rows(hops[first : first + _TOGETHER])
            for first in range(0, len(hops), _TOGETHER)
        ]
        return np.concatenate(made) if made else np.zeros((0, BANDS), np.int8)

    def _rows(self, hops: Ints) -> Ints:
        signal = np.concatenate([self._before, hops.astype(np.int64).reshape(-1)])
        self._before = signal[-(HOP + 1) :]
        emphasised = 32 * signal[1:] - 31 * signal[:-1]
        windows = np.lib.stride_tricks.sliding_window_view(emphasised, WINDOW)[::HOP]
        weighted = (windows * _hamming()) >> (COSINE_BITS + 1)
        return _values(_powers(weighted), self._scale)


@cache
def _hamming() -> Ints:
    """Return 0.54 - 0.46 cos(2 pi n / 1024), in units of 2^-30."""
    one = 1 << COSINE_BITS
    scaled: Ints = (round(0.46 * one) * _turned(np.arange(WINDOW))) >> COSINE_BITS
    result: Ints = round(0.54 * one) - scaled
    return result


def _turned(places: Ints) -> Ints:
    """Return cos(2 pi k / 1024) of places from 0 to 1023, from the quarter's table."""
    quarter = WINDOW // 4
    folded = np.where(places > 2 * quarter, WINDOW - places, places)
    below = folded > quarter
    turns = cosines()[np.where(below, 2 * quarter - folded, folded)]
    result: Ints = np.where(below, -turns, turns)
    return result


def _powers(windows: Ints) -> Ints:
    """Return the squared spectrum (windows, 513)."""
    real, imaginary = _transformed(windows[:, 0::2], windows[:, 1::2])
    places = np.arange(_HALF + 1)
    one, other = places % _HALF, (_HALF - places) % _HALF
    even_real = real[:, one] + real[:, other]
    even_imaginary = imaginary[:, one] - imaginary[:, other]
    odd_real = imaginary[:, one] + imaginary[:, other]
    odd_imaginary = real[:, other] - real[:, one]
    cosine, sine = _turned(places), _turned((places + 3 * WINDOW // 4) % WINDOW)
    line_real = even_real + _product(odd_real, cosine, odd_imaginary, sine)
    line_imaginary = even_imaginary + _product(odd_imaginary, cosine, -odd_real, sine)
    result: Ints = line_real * line_real + line_imaginary * line_imaginary
    return result


def _product(first: Ints, cosine: Ints, second: Ints, sine: Ints) -> Ints:
    """Return first x cosine + second x sine, to the nearest, halves up."""
    half = 1 << (COSINE_BITS - 1)
    result: Ints = (first * cosine + second * sine + half) >> COSINE_BITS
    return result


def _transformed(real: Ints, imaginary: Ints) -> tuple[Ints, Ints]:
    """Return the Fourier transform of 512 complex numbers, by halves, without
    scaling.
    """
    order = _bit_reversed(_HALF)
    real, imaginary = real[:, order], imaginary[:, order]
    length = 1
    while length < _HALF:
        shape = (len(real), -1, 2, length)
        parts = real.reshape(shape), imaginary.reshape(shape)
        places = np.arange(length) * (_HALF // length)
        cosine, sine = _turned(places), _turned((places + 3 * WINDOW // 4) % WINDOW)
        turned = (
            _product(parts[0][:, :, 1], cosine, parts[1][:, :, 1], sine),
            _product(parts[1][:, :, 1], cosine, -parts[0][:, :, 1], sine),
        )
        real, imaginary = (
            np.stack([part[:, :, 0] + turn, part[:, :, 0] - turn], axis=2).reshape(
                len(real), _HALF
            )
            for part, turn in zip(parts, turned, strict=True)
        )
        length *= 2
    return real, imaginary


def _bit_reversed(count: int) -> Ints:
    order = np.zeros(1, np.int64)
    while len(order) < count:
        order = np.concatenate([2 * order, 2 * order + 1])
    return order


def _values(powers: Ints, scale: FeatureScale) -> Ints:
    """Return the features of spectra as the network takes them."""
    filters = bands()
    smaller = powers >> _POWER_SHIFT
    sums = np.empty((len(powers), BANDS), np.int64)
    at = 0
    for band, (start, length) in enumerate(
        zip(filters.starts, filters.lengths, strict=True)
    ):
        weights = filters.weights[at : at + length]
        at += length
        sums[:, band] = smaller[:, start : start + length] @ weights
    raw = ((scale.gain * _log2(sums)) >> LOG_BITS) + scale.offset
    cut = np.where(raw < 0, -(-raw >> LOG_BITS), raw >> LOG_BITS)
    limited = np.clip(cut, scale.least, HIGH)
    result: Ints = np.where(sums == 0, scale.least, limited).astype(np.int8)
    return result


def _log2(numbers: Ints) -> Ints:
    """Return the logarithm of positive numbers in units of 2^-16, rounded down, by
    squaring.
    """
    safe = np.maximum(numbers, 1)
    exponents = np.zeros_like(safe)
    for step in (32, 16, 8, 4, 2, 1):
        large = (safe >> exponents) >= (1 << step)
        exponents = exponents + np.where(large, step, 0)
    up = np.maximum(31 - exponents, 0)
    down = np.maximum(exponents - 31, 0)
    mantissas = ((safe >> down) << up).astype(np.uint64)
    result = exponents
    for _ in range(LOG_BITS):
        squared = (mantissas * mantissas) >> np.uint64(31)
        two = squared >> np.uint64(32)
        mantissas = squared >> two
        result = 2 * result + two.astype(np.int64)
    return result
