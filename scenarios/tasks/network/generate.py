# SPDX-License-Identifier: Apache-2.0
"""Random spikes as samples of a network without a data set."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

SAMPLES = 40
STEPS = 40
SEED = 5
SOURCE = "random spikes"


def samples(
    shape: tuple[int, ...], count: int = SAMPLES, seed: int = SEED
) -> NDArray[Any]:
    """Return random spikes (count, STEPS, *shape); each sample has channels of its own
    that spike more often.
    """
    rng = np.random.default_rng(seed)
    rates = 0.04 + 0.5 * rng.random((count, 1, *shape)) ** 6
    return (rng.random((count, STEPS, *shape)) < rates).astype(np.uint8)
