# SPDX-License-Identifier: Apache-2.0
"""Mel bands of a spectrum of sound at 16 kHz."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rig.network.sound.spectrum import Ints

SAMPLE_HZ = 16_000
BANDS = 40
#: A weight of a band is in units of 2^-15.
BAND_BITS = 15


@dataclass(frozen=True, slots=True)
class Bands:
    """The mel bands: of each the first line of the spectrum and the number of lines,
    and all weights one after the other.
    """

    starts: tuple[int, ...]
    lengths: tuple[int, ...]
    weights: Ints

    @classmethod
    def of(cls, weights: Ints) -> Bands:
        """Return them in whole numbers, for weights (lines, bands) in real ones."""
        whole = np.rint(weights * (1 << BAND_BITS)).astype(np.int64)
        starts, lengths, parts = [], [], []
        for band in whole.T:
            lines = np.flatnonzero(band)
            starts.append(int(lines[0]))
            lengths.append(int(lines[-1] - lines[0]) + 1)
            parts.append(band[lines[0] : lines[-1] + 1])
        return cls(tuple(starts), tuple(lengths), np.concatenate(parts))

    def sums(self, lines: Ints) -> Ints:
        """Return the sums (windows, bands) of spectra (windows, lines)."""
        result = np.empty((len(lines), len(self.starts)), np.int64)
        at = 0
        for band, (start, length) in enumerate(
            zip(self.starts, self.lengths, strict=True)
        ):
            weights = self.weights[at : at + length]
            at += length
            result[:, band] = lines[:, start : start + length] @ weights
        return result


def mel_weights(half: int, low_hz: float, high_hz: float) -> Ints:
    """Return the weights (half + 1 lines, 40 bands) of HTK's mel scale in this range,
    real numbers: triangles between neighbouring centres, the line at 0 Hz left out.
    """
    lines = _mel(np.linspace(0.0, SAMPLE_HZ / 2, half + 1)[1:])[:, None]
    lowest, highest = _mel(np.array([low_hz, high_hz]))
    edges = np.linspace(lowest, highest, BANDS + 2)
    low, centre, high = edges[:-2], edges[1:-1], edges[2:]
    rising = (lines - low) / (centre - low)
    falling = (high - lines) / (high - centre)
    weights = np.maximum(np.minimum(rising, falling), 0.0)
    return np.vstack([np.zeros((1, BANDS)), weights])


def _mel(frequencies_hz: Ints) -> Ints:
    result: Ints = 1127.0 * np.log1p(frequencies_hz / 700.0)
    return result
