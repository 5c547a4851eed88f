# SPDX-License-Identifier: Apache-2.0
"""Seconds of audio that make the network of the ASC task fire."""

from __future__ import annotations

import numpy as np


def seconds(count: int) -> np.ndarray:
    """Return so many seconds (count, 8000) of noise that swells and ebbs."""
    rng = np.random.default_rng(17)
    time_s = np.arange(8000) / 8000
    swell = 1 + np.sin(2 * np.pi * np.arange(1, count + 1)[:, None] * 3 * time_s)
    return (rng.normal(0, 2500, (count, 8000)) * swell).astype("<i2")
