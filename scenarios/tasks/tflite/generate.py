# SPDX-License-Identifier: Apache-2.0
"""Random inputs of a model without a data set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SAMPLES = 24
SEED = 11
SOURCE = "random inputs"


def samples(
    shape: Sequence[int], count: int = SAMPLES, seed: int = SEED
) -> NDArray[np.int8]:
    """Return inputs of int8 (count, *shape): each is a wave of its own under noise."""
    rng = np.random.default_rng(seed)
    size = int(np.prod(shape))
    places = np.arange(size)
    rows = []
    for _ in range(count):
        strength, pitch, phase = rng.uniform((20, 0.02, 0), (120, 1.5, 6.3))
        wave = strength * np.sin(places * pitch + phase)
        noise = rng.normal(0, 25, size)
        rows.append(np.clip(np.rint(wave + noise), -128, 127))
    return np.array(rows).astype(np.int8).reshape(count, *shape)
