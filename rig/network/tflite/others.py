# SPDX-License-Identifier: Apache-2.0
"""Operators without weights: ADD, pools, MEAN, PAD, SOFTMAX, RESHAPE."""

from __future__ import annotations

import math

import numpy as np

from rig.network.tflite.arithmetic import SUM_BITS, exponentials, factor
from rig.network.tflite.file import Refused
from rig.network.tflite.form import (
    Factor,
    Mean,
    Pad,
    Pool,
    Reshape,
    Softmax,
    Sum,
    Tensor,
)
from rig.network.tflite.layers import Place, image_of, limits, window_of

#: Both inputs of a sum are brought to a unit of 2^-20.
_SUM_SHIFT = 20
#: The scale and the zero point of a softmax's output.
_SHARE = 1 / 256
_SHARE_ZERO = -128
_WHOLE_FILE = "a whole file"


def addition(place: Place) -> Sum:
    """Return an ADD; raises Refused."""
    place.reads(0, 1)
    first, second = place.activation(0), place.activation(1)
    if not first.shape == second.shape == place.output.shape:
        raise Refused(
            f"it adds {first.shape} and {second.shape}", "two tensors of one shape"
        )
    unit = 2 * max(first.scale, second.scale)
    low, high = limits(place)
    result = factor(unit / ((1 << _SUM_SHIFT) * place.output.scale))
    if result.shift > 0:
        raise Refused("the scale of its output is too fine", "a converted model")
    return Sum(
        first=factor(first.scale / unit),
        second=factor(second.scale / unit),
        result=result,
        low=low,
        high=high,
    )


def average_pool(place: Place) -> Pool:
    """Return an AVERAGE_POOL_2D; raises Refused."""
    return _pool(place, largest=False)


def max_pool(place: Place) -> Pool:
    """Return a MAX_POOL_2D; raises Refused."""
    return _pool(place, largest=True)


def _pool(place: Place, *, largest: bool) -> Pool:
    _require_same_unit(place)
    if image_of(place.input)[2] != image_of(place.output)[2]:
        raise Refused("it changes the number of channels", _WHOLE_FILE)
    height, width = place.option("FilterHeight"), place.option("FilterWidth")
    window = window_of(place, height, width)
    low, high = limits(place)
    return Pool(window=window, largest=largest, low=low, high=high)


def mean(place: Place) -> Mean:
    """Return a MEAN over neighbouring axes; raises Refused."""
    stated = place.constant(1)
    shape = place.input.shape
    if stated.data is None or stated.kind != "INT32" or stated.data.size > len(shape):
        raise Refused("its axes are not known before a run", "constant axes")
    axes = {int(axis) for axis in stated.data.reshape(-1).tolist()}
    if not all(-len(shape) <= axis < len(shape) for axis in axes):
        raise Refused(f"its axes are {sorted(axes)} of {len(shape)}", _WHOLE_FILE)
    # An axis of one place may stand on either side.
    reduced = sorted({axis % len(shape) for axis in axes})
    reduced = [axis for axis in reduced if shape[axis] > 1]
    if not reduced:
        reduced = [len(shape)]
    between = shape[reduced[0] : reduced[-1] + 1]
    count = math.prod(shape[axis] for axis in reduced if axis < len(shape))
    if math.prod(between) != count:
        raise Refused(f"its axes {reduced} are no neighbours", "neighbouring axes")
    outer = math.prod(shape[: reduced[0]])
    inner = math.prod(shape[reduced[-1] + 1 :])
    if place.output.size != outer * inner:
        raise Refused(f"it gives {place.output.shape}", _WHOLE_FILE)
    return Mean(
        outer=outer, count=count, inner=inner, factor=_mean_factor(place, count)
    )


def _mean_factor(place: Place, count: int) -> Factor:
    """Return the factor of a sum of `count` values, the division in it."""
    ratio = factor(place.input.scale / place.output.scale)
    shift = min(count.bit_length() - 1, 32, 31 + ratio.shift)
    found = Factor((ratio.multiplier << shift) // count, ratio.shift - shift)
    if ratio.shift > 8 or (255 * count) << max(found.shift, 0) >= 1 << 31:
        raise Refused("its sums may leave 32 bits", "an output as coarse as the input")
    return found


def pad(place: Place) -> Pad:
    """Return a PAD; raises Refused."""
    stated = place.constant(1)
    shape = place.input.shape
    if stated.data is None or stated.kind != "INT32":
        raise Refused("its borders are not known before a run", "constant borders")
    if stated.data.shape != (len(shape), 2) or len(shape) > 4:
        raise Refused(f"its borders are {stated.data.shape} of {shape}", _WHOLE_FILE)
    before = tuple(int(border) for border in stated.data[:, 0])
    after = tuple(int(border) for border in stated.data[:, 1])
    places = tuple(map(sum, zip(before, shape, after, strict=True)))
    if min(*before, *after, 0) < 0 or places != place.output.shape:
        raise Refused(
            f"{shape} becomes {place.output.shape}, not {places}", _WHOLE_FILE
        )
    _require_same_unit(place)
    return Pad(before, after)


def softmax(place: Place) -> Softmax:
    """Return a SOFTMAX; raises Refused."""
    output = place.output
    if place.input.shape != output.shape or not output.shape:
        raise Refused(f"{place.input.shape} becomes {output.shape}", _WHOLE_FILE)
    if output.scale != _SHARE or output.zero_point != _SHARE_ZERO:
        raise Refused(
            f"its output has the scale {output.scale} about {output.zero_point}",
            "1/256 about -128, as the converter writes",
        )
    if output.shape[-1] >= 1 << SUM_BITS:
        raise Refused(f"it is over {output.shape[-1]} values", "fewer than 4096")
    beta = place.number("Beta")
    step = beta * place.input.scale
    if not math.isfinite(step) or step * 2**26 <= 1:
        raise Refused(f"its step is {step}", "beta of 1, as the converter writes")
    return Softmax(exponentials(beta, place.input.scale))


def reshape(place: Place) -> Reshape:
    """Return a RESHAPE; raises Refused."""
    if place.input.size != place.output.size:
        raise Refused(
            f"{place.input.shape} becomes {place.output.shape}", "as many values"
        )
    if place.input.zero_point != place.output.zero_point or not _alike(place):
        raise Refused("it changes the scale", "a converted model")
    return Reshape()


def _require_same_unit(place: Place) -> None:
    if place.input.zero_point != place.output.zero_point or not _alike(place):
        raise Refused(
            "its output has another scale than its input",
            "a converted model: this operator rescales nothing",
        )


def _alike(place: Place) -> bool:
    scales: list[Tensor] = [place.input, place.output]
    return bool(np.isclose(scales[0].scale, scales[1].scale, rtol=0, atol=1e-6))
