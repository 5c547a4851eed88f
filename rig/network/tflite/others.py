# SPDX-License-Identifier: Apache-2.0
"""Operators without weights: ADD, pools, MEAN, PAD, SOFTMAX, RESHAPE."""

from __future__ import annotations

import math

import numpy as np

from rig.network.tflite.arithmetic import SUM_BITS, exponentials, factor
from rig.network.tflite.file import Refused
from rig.network.tflite.form import (
    Factor,
    IntegerTensor,
    Mean,
    Pad,
    Pooling,
    Reshape,
    Softmax,
    Sum,
)
from rig.network.tflite.layers import OperatorReader, image_of, limits, window_of

#: Both inputs of a sum are brought to a unit of 2^-20.
_SUM_SHIFT = 20
#: The scale and the zero point of a softmax's output.
_SHARE = 1 / 256
_SHARE_ZERO = -128
_WHOLE_FILE = "a whole file"


def addition(reader: OperatorReader) -> Sum:
    """Return an ADD; raises Refused."""
    reader.reads(0, 1)
    first, second = reader.activation(0), reader.activation(1)
    if not first.shape == second.shape == reader.output.shape:
        raise Refused(
            f"it adds {first.shape} and {second.shape}", "two tensors of one shape"
        )
    unit = 2 * max(first.scale, second.scale)
    low, high = limits(reader)
    result = factor(unit / ((1 << _SUM_SHIFT) * reader.output.scale))
    if result.shift > 0:
        raise Refused("the scale of its output is too fine", "a converted model")
    return Sum(
        first=factor(first.scale / unit),
        second=factor(second.scale / unit),
        result=result,
        low=low,
        high=high,
    )


def average_pool(reader: OperatorReader) -> Pooling:
    """Return an AVERAGE_POOL_2D; raises Refused."""
    return _pool(reader, largest=False)


def max_pool(reader: OperatorReader) -> Pooling:
    """Return a MAX_POOL_2D; raises Refused."""
    return _pool(reader, largest=True)


def _pool(reader: OperatorReader, *, largest: bool) -> Pooling:
    _require_same_unit(reader)
    if image_of(reader.input)[2] != image_of(reader.output)[2]:
        raise Refused("it changes the number of channels", _WHOLE_FILE)
    height, width = reader.option("FilterHeight"), reader.option("FilterWidth")
    window = window_of(reader, height, width)
    low, high = limits(reader)
    return Pooling(window=window, largest=largest, low=low, high=high)


def mean(reader: OperatorReader) -> Mean:
    """Return a MEAN over neighbouring axes; raises Refused."""
    stated = reader.constant(1)
    shape = reader.input.shape
    if stated.data is None or stated.kind != "INT32" or stated.data.size > len(shape):
        raise Refused("its axes are not known before a run", "constant axes")
    axes = {int(axis) for axis in stated.data.reshape(-1).tolist()}
    if not all(-len(shape) <= axis < len(shape) for axis in axes):
        raise Refused(f"its axes are {sorted(axes)} of {len(shape)}", _WHOLE_FILE)
    # An axis of length 1 may stand on either side.
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
    if reader.output.size != outer * inner:
        raise Refused(f"it gives {reader.output.shape}", _WHOLE_FILE)
    return Mean(
        outer=outer, count=count, inner=inner, factor=_mean_factor(reader, count)
    )


def _mean_factor(reader: OperatorReader, count: int) -> Factor:
    """Return the factor of a sum of `count` values, the division in it."""
    ratio = factor(reader.input.scale / reader.output.scale)
    shift = min(count.bit_length() - 1, 32, 31 + ratio.shift)
    factor_of_mean = Factor((ratio.multiplier << shift) // count, ratio.shift - shift)
    if ratio.shift > 8 or (255 * count) << max(factor_of_mean.shift, 0) >= 1 << 31:
        raise Refused("its sums may leave 32 bits", "an output as coarse as the input")
    return factor_of_mean


def pad(reader: OperatorReader) -> Pad:
    """Return a PAD; raises Refused."""
    stated = reader.constant(1)
    shape = reader.input.shape
    if stated.data is None or stated.kind != "INT32":
        raise Refused("its borders are not known before a run", "constant borders")
    if stated.data.shape != (len(shape), 2) or len(shape) > 4:
        raise Refused(f"its borders are {stated.data.shape} of {shape}", _WHOLE_FILE)
    before = tuple(int(border) for border in stated.data[:, 0])
    after = tuple(int(border) for border in stated.data[:, 1])
    places = tuple(map(sum, zip(before, shape, after, strict=True)))
    if min(*before, *after, 0) < 0 or places != reader.output.shape:
        raise Refused(
            f"{shape} becomes {reader.output.shape}, not {places}", _WHOLE_FILE
        )
    _require_same_unit(reader)
    return Pad(before, after)


def softmax(reader: OperatorReader) -> Softmax:
    """Return a SOFTMAX; raises Refused."""
    output = reader.output
    if reader.input.shape != output.shape or not output.shape:
        raise Refused(f"{reader.input.shape} becomes {output.shape}", _WHOLE_FILE)
    if output.scale != _SHARE or output.zero_point != _SHARE_ZERO:
        raise Refused(
            f"its output has the scale {output.scale} about {output.zero_point}",
            "1/256 about -128, as the converter writes",
        )
    if output.shape[-1] >= 1 << SUM_BITS:
        raise Refused(f"it is over {output.shape[-1]} values", "fewer than 4096")
    beta = reader.number("Beta")
    step = beta * reader.input.scale
    if not math.isfinite(step) or step * 2**26 <= 1:
        raise Refused(f"its step is {step}", "beta of 1, as the converter writes")
    return Softmax(exponentials(beta, reader.input.scale))


def reshape(reader: OperatorReader) -> Reshape:
    """Return a RESHAPE; raises Refused."""
    if reader.input.size != reader.output.size:
        raise Refused(
            f"{reader.input.shape} becomes {reader.output.shape}", "as many values"
        )
    if reader.input.zero_point != reader.output.zero_point or not _alike(reader):
        raise Refused("it changes the scale", "a converted model")
    return Reshape()


def _require_same_unit(reader: OperatorReader) -> None:
    if reader.input.zero_point != reader.output.zero_point or not _alike(reader):
        raise Refused(
            "its output has another scale than its input",
            "a converted model: this operator rescales nothing",
        )


def _alike(reader: OperatorReader) -> bool:
    scales: list[IntegerTensor] = [reader.input, reader.output]
    return bool(np.isclose(scales[0].scale, scales[1].scale, rtol=0, atol=1e-6))
