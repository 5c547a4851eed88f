# SPDX-License-Identifier: Apache-2.0
"""The shape of SYNC in a view: its levels and edges as line segments, few also of many
edges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def segments(
    edges_s: Array, falls: NDArray[np.bool_], start_s: float, stop_s: float, pixels: int
) -> tuple[Array, Array, Array, Array]:
    """Return x1, y1, x2, y2 of line segments: x from 0 to 1 across the view, y 0 and 1
    for the levels.

    The line is high before a first edge that falls. Edges that share a pixel are one
    line: there are at most two segments for each pixel.
    """
    first = int(np.searchsorted(edges_s, start_s, side="left"))
    last = int(np.searchsorted(edges_s, stop_s, side="right"))
    x = (edges_s[first:last] - start_s) / (stop_s - start_s)
    after = (~falls[first:last]).astype(np.float64)
    if len(edges_s) == 0:
        level = 1.0
    elif first == 0:
        level = 1.0 if falls[0] else 0.0
    else:
        level = 0.0 if falls[first - 1] else 1.0
    # Levels: from each edge to the next one, where that is a pixel or more away.
    begins = np.concatenate([[0.0], x])
    ends = np.concatenate([x, [1.0]])
    levels = np.concatenate([[level], after])
    seen = (ends - begins) * pixels >= 1.0
    # Edges: one a pixel.
    places = np.unique(np.floor(x * pixels)) / pixels if len(x) > pixels else x
    zeros = np.zeros(len(places))
    x1 = np.concatenate([begins[seen], places])
    y1 = np.concatenate([levels[seen], zeros])
    x2 = np.concatenate([ends[seen], places])
    y2 = np.concatenate([levels[seen], zeros + 1.0])
    return x1, y1, x2, y2
