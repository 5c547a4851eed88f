# SPDX-License-Identifier: Apache-2.0
"""Design of the filter bank: 16 band-passes, equally wide in octaves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scenarios.tasks.asc.model import (
    CHANNELS,
    COEFFICIENT_FRACTION_BITS,
    RATE_HZ,
    SPIKE_SHIFT_BITS,
    FilterBank,
)

LOWEST_HZ = 90.0
HIGHEST_HZ = 3500.0
QUALITY = 4.0
MEAN_SPIKES_PER_STEP = 3.0


def centres_hz() -> NDArray[np.float64]:
    """Return the centre frequencies, shape (16,)."""
    return np.geomspace(LOWEST_HZ, HIGHEST_HZ, CHANNELS)


def designed() -> FilterBank:
    """Design band-passes of unit gain at their centre (R. Bristow-Johnson's cookbook,
    constant 0 dB peak gain); offsets 0.
    """
    omega = 2 * np.pi * centres_hz() / RATE_HZ
    alpha = np.sin(omega) / (2 * QUALITY)
    scale = 2.0**COEFFICIENT_FRACTION_BITS / (1 + alpha)
    b0, a1, a2 = (
        np.rint(c * scale).astype(np.int32)
        for c in (alpha, -2 * np.cos(omega), 1 - alpha)
    )
    return FilterBank(b0, a1, a2, np.zeros(CHANNELS, np.int16))


def equalised(bank: FilterBank, levels: NDArray[np.int16]) -> FilterBank:
    """Return the bank with offsets that give every channel the same mean current on
    centred `levels` (slices, 125, 16).
    """
    target = MEAN_SPIKES_PER_STEP * 2**SPIKE_SHIFT_BITS
    return FilterBank(
        bank.b0,
        bank.a1,
        bank.a2,
        np.rint(target - levels.mean(axis=(0, 1))).astype(np.int16),
    )
