# SPDX-License-Identifier: Apache-2.0
"""The area under the ROC curve as a rank statistic: how often a positive case scores
above a negative one, ties counted half.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Area:
    """An area and its standard error over the choice of cases, None where it is not
    known; `value` is NaN where one side has no case.
    """

    value: float
    standard_error: float | None


def area(positive: Sequence[bool], scores: Sequence[float]) -> Area:
    """Return the area of one score that is to be higher for positive cases."""
    columns = np.asarray(scores, dtype=np.float64)[:, None]
    return _of(np.asarray(positive, dtype=np.bool_)[:, None], columns)


def one_against_rest(labels: Sequence[int], scores: Sequence[Sequence[float]]) -> Area:
    """Return the mean, over the classes that have cases, of each class's area against
    all others; its score is its column's.
    """
    table = np.asarray(scores, dtype=np.float64)
    mine = np.asarray(labels)[:, None] == np.arange(table.shape[1])[None, :]
    both = mine.any(axis=0) & ~mine.all(axis=0)
    return _of(mine[:, both], table[:, both])


def _of(positive: NDArray[np.bool_], scores: Array) -> Area:
    cases, columns = scores.shape
    has_both = positive.any(axis=0) & ~positive.all(axis=0)
    if not columns or not cases or not has_both.all():
        return Area(math.nan, None)
    parts = [
        _placements(positive[:, column], scores[:, column]) for column in range(columns)
    ]
    areas = [
        float(placed[positive[:, column]].mean()) for column, placed in enumerate(parts)
    ]
    pairs = zip(parts, areas, strict=True)
    variances = [
        _weighted(positive[:, column], placed - value)
        for column, (placed, value) in enumerate(pairs)
    ]
    if any(found is None for found in variances):
        return Area(math.fsum(areas) / columns, None)
    # DeLong, DeLong and Clarke-Pearson 1988: each case moves the area by its placement,
    # in all columns at once.
    moved = (
        np.sum([found for found in variances if found is not None], axis=0) / columns
    )
    # Cases in perfect order move no area, which is no proof of others.
    error = math.sqrt(float(np.sum(moved**2)))
    return Area(math.fsum(areas) / columns, error or None)


def _placements(positive: NDArray[np.bool_], scores: Array) -> Array:
    """Return for each positive case the share of negatives below it, for each negative
    the share of positives above it.
    """
    placed = np.empty(len(scores))
    negatives = np.sort(scores[~positive])
    positives = np.sort(scores[positive])
    placed[positive] = _share_below(negatives, scores[positive])
    placed[~positive] = 1.0 - _share_below(positives, scores[~positive])
    return placed


def _share_below(ordered: Array, values: Array) -> Array:
    below = np.searchsorted(ordered, values, side="left")
    not_above = np.searchsorted(ordered, values, side="right")
    share: Array = (below + not_above) / (2.0 * len(ordered))
    return share


def _weighted(positive: NDArray[np.bool_], deviations: Array) -> Array | None:
    """Return by how much each case moves the area: its deviation over the root of m (m
    - 1), of m on its side; None for m = 1.
    """
    out = np.empty(len(deviations))
    for side in (positive, ~positive):
        count = int(side.sum())
        if count < 2:
            return None
        out[side] = deviations[side] / math.sqrt(count * (count - 1.0))
    return out
