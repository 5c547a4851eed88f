# SPDX-License-Identifier: Apache-2.0
"""Weights of connections and convolutions in whole numbers."""

from __future__ import annotations

import math
from typing import Any

import nir
import numpy as np
from numpy.typing import NDArray

from rig.network.fixed.factors import whole
from rig.network.fixed.form import FACTOR_MAX, STATE_MAX, Convolution, Dense, PoolWindow
from rig.network.graph import NodePlace
from rig.network.shapes import paddings, pair

#: As in quantise.py: the largest value expected has half the room.
_EXPECTED_MAX = 2**14
_SUM_MAX = 2**29
#: A bias is finer than the weights by so many bits at most: it counts in every step.
_UP_MAX = 8


def weighted(
    place: NodePlace, bits: int, scale_in: float, expected: float, most: int
) -> tuple[Dense | Convolution, float, float]:
    """Return a node with weights, the scale of its weights, and that of its output.

    `expected`: its largest output; `most`: the largest whole number that can enter. No
    sum of 32 bit can overflow: weights get fewer bits where it could.
    """
    node = place.node
    real = np.asarray(node.weight, np.float64)
    stated = getattr(node, "bias", None)
    biases = np.zeros(len(real)) if stated is None else np.asarray(stated, np.float64)
    limit = 2 ** (bits - 1) - 1
    while True:
        weight_scale = _scale(real, biases, limit, scale_in)
        weight = whole(real / weight_scale, limit)
        sum_scale = weight_scale * scale_in
        up = _up(expected / sum_scale) if bool(np.any(biases)) else 0
        rows = np.abs(weight).reshape(len(weight), -1).sum(axis=1) * most
        while up and int(np.max(rows)) << up > _SUM_MAX:
            up -= 1
        bias = whole(biases / sum_scale * 2**up, FACTOR_MAX)
        largest = int(np.max((rows << up) + np.abs(bias)))
        if largest <= STATE_MAX - 2**24 or limit == 1:
            break
        limit //= 2
    shift = max(math.ceil(math.log2(max(expected / sum_scale, 1) / _EXPECTED_MAX)), 0)
    out_scale = sum_scale * 2.0 ** (shift - up)
    if not isinstance(node, nir.Conv1d | nir.Conv2d):
        return Dense(weight, bias, up, shift), weight_scale, out_scale
    flat = weight if weight.ndim == 4 else weight[:, :, None, :]
    made = Convolution(
        weight=flat,
        bias=bias,
        up=up,
        shift=shift,
        groups=int(node.groups),
        window=window(node, weight.ndim - 2),
    )
    return made, weight_scale, out_scale


def _up(expected: float) -> int:
    """Return the number of bits that sums may be shifted up, for the largest expected
    sum.
    """
    room = _EXPECTED_MAX / max(expected, 1.0)
    return min(math.floor(math.log2(room)), _UP_MAX) if room > 1 else 0


def _scale(
    real: NDArray[np.float64], biases: NDArray[np.float64], limit: int, scale_in: float
) -> float:
    """Return the scale of the weights: 1 where they are whole numbers that fit, else
    the largest weight fills its bits.
    """
    largest = float(np.max(np.abs(real), initial=0.0))
    if largest == 0.0:
        return (
            float(np.max(np.abs(biases), initial=0.0)) / _EXPECTED_MAX / scale_in or 1.0
        )
    if largest <= limit and bool(np.all(real == np.rint(real))):
        return 1.0
    return largest / limit


def window(node: Any, axes: int) -> PoolWindow:
    """Return how the kernel of a convolution or pool moves."""
    if hasattr(node, "weight"):
        sides = tuple(np.shape(node.weight)[2:])
        around = paddings(node, axes)
        dilation = pair(node.dilation, axes)
    else:
        sides = pair(node.kernel_size, axes)
        around = [(one, one) for one in pair(node.padding, axes)]
        dilation = (1,) * axes
    stride = pair(node.stride, axes)
    if axes == 1:
        (before, behind) = around[0]
        return PoolWindow(
            (1, sides[0]), (1, stride[0]), (1, dilation[0]), (0, before), (0, behind)
        )
    return PoolWindow(
        (sides[0], sides[1]),
        (stride[0], stride[1]),
        (dilation[0], dilation[1]),
        (around[0][0], around[1][0]),
        (around[0][1], around[1][1]),
    )
