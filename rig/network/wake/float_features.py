# SPDX-License-Identifier: Apache-2.0
"""Features of the streaming wake word in real numbers, as the reference firmware
computes them; the integer ones are compared with them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rig.network.tflite.form import Ints
from rig.network.wake.features import HOP, WINDOW, mel_weights

_LEAST = 1e-30


def float_features(samples: Ints) -> Any:
    """Return the features (hops, 40), from 0 to 1, of samples of 16 bits, before which
    all is 0: sww_ref_util_submitter.c, th_compute_lfbe_f32.
    """
    hops = len(samples) // HOP
    signal = np.concatenate([np.zeros(HOP + 1), samples[: hops * HOP] / 32768.0])
    emphasised = signal[1:] - 0.96875 * signal[:-1]
    windows = np.lib.stride_tricks.sliding_window_view(emphasised, WINDOW)[::HOP]
    hamming = 0.54 - 0.46 * np.cos(2 * np.pi * np.arange(WINDOW) / WINDOW)
    powers = np.abs(np.fft.rfft(windows * hamming)) ** 2 / WINDOW
    decibels = 10 * np.log10(np.maximum(powers @ mel_weights(), _LEAST))
    return np.clip((decibels + 52.0) / 64.0, 0.0, 1.0)
