# SPDX-License-Identifier: Apache-2.0
"""Samples as a network takes them: int8 as they are, real numbers by the scale of its
input.
"""

from __future__ import annotations

import math

import numpy as np

from rig.errors import DataError
from rig.network.sound import mfcc
from rig.network.tflite.form import IntegerNetwork, Ints
from rig.network.tflite.payloads import PayloadForm
from rig.network.tflite.real_input import quantised, reals_of


def to_payloads(
    network: IntegerNetwork, payload: PayloadForm, values: Ints
) -> tuple[Ints, int]:
    """Return samples as a device takes them, and how many real numbers will be limited.
    Raises DataError for another size or type.
    """
    match payload:
        case PayloadForm.VALUES:
            return to_inputs(network, values)
        case PayloadForm.REALS:
            return to_real_inputs(network, values)
    return to_sounds(values), 0


def require_fit(network: IntegerNetwork, payload: PayloadForm) -> None:
    """Raise DataError where a device cannot make a network's input of such payloads."""
    if payload is not PayloadForm.MFCC:
        return
    tensor = network.tensors[network.input]
    shape = " x ".join(map(str, tensor.shape))
    due = (mfcc.ROWS, mfcc.VALUES)
    if _longer_than_one(tensor.shape) != due:
        raise DataError(
            f"{network.identity} takes {shape}, the features mfcc are {due[0]} x"
            f" {due[1]}",
            try_next=f"a model over 1 x {due[0]} x {due[1]} x 1, or leave the"
            " features out",
        )
    if tensor.scale < mfcc.SCALE_MIN:
        raise DataError(
            f"a step of the input of {network.identity} is {tensor.scale:.3g}, the"
            f" features mfcc have steps of {mfcc.SCALE_MIN} and more",
            try_next="a model that was quantised with such features",
        )


def to_inputs(network: IntegerNetwork, values: Ints) -> tuple[Ints, int]:
    """Return samples (samples, *shape of the input without its batch) as int8, and how
    many real numbers did not fit and were limited. One sample may come without the
    first axis. Raises DataError for another size or type.
    """
    samples = _samples(network, values)
    if samples.dtype == np.int8:
        return samples, 0
    return quantised(network.tensors[network.input], samples)


def to_real_inputs(network: IntegerNetwork, values: Ints) -> tuple[Ints, int]:
    """Return samples in single precision, of int8 the numbers that they stand for, and
    how many will not fit and be limited. Raises DataError as `to_inputs` does.
    """
    tensor = network.tensors[network.input]
    if values.dtype.kind == "f":
        with np.errstate(over="ignore"):
            values = values.astype(np.float32)
    samples = _samples(network, values)
    if samples.dtype == np.int8:
        return reals_of(tensor, samples), 0
    return np.ascontiguousarray(samples), quantised(tensor, samples)[1]


def to_sounds(values: Ints) -> Ints:
    """Return sounds (sounds, 16,000) of int16; one may come without the first axis.
    Raises DataError for another length or type.
    """
    sounds = values[None] if values.ndim == 1 else values
    if sounds.ndim != 2 or sounds.shape[1] != mfcc.SAMPLES:
        raise DataError(
            f"sounds of the shape {values.shape}",
            evidence=f"features are of {mfcc.SAMPLES:,} samples, a second at 16 kHz",
            try_next=f"an array (sounds, {mfcc.SAMPLES}), shorter ones filled with 0",
        )
    if sounds.dtype != np.int16:
        raise DataError(
            f"sounds of {sounds.dtype}",
            evidence="a device takes samples of int16",
            try_next="numpy.int16; of real numbers from -1 to 1, 32767 times as much",
        )
    return np.ascontiguousarray(sounds)


def _samples(network: IntegerNetwork, values: Ints) -> Ints:
    """Return int8 or finite real numbers as the network's input lies."""
    tensor = network.tensors[network.input]
    shape = tensor.shape[1:] if tensor.shape[0] == 1 else tensor.shape
    if network.channels_first and len(tensor.shape) == 4:
        values = _channels_last(values, tensor.shape[1:])
    count = values.size // tensor.size
    # An axis of one place may be left out, as in (49, 10) for (49, 10, 1).
    due = {_longer_than_one(shape), _longer_than_one(tensor.shape)}
    given = {_longer_than_one(values.shape), _longer_than_one(values.shape[1:])}
    if count * tensor.size != values.size or not count or not due & given:
        raise DataError(
            f"inputs of the shape {values.shape}",
            evidence=f"the model takes {tensor.shape}",
            try_next=f"an array (samples, {', '.join(map(str, shape))})",
        )
    samples = values.reshape(count, *shape)
    if samples.dtype == np.int8:
        return samples
    if samples.dtype.kind != "f":
        raise DataError(
            f"inputs of {samples.dtype}",
            evidence=f"the model takes int8, a step is {tensor.scale:.6g}",
            try_next=(
                "int8 as the model takes it (of pixels often uint8 - 128), or real"
                " numbers as float32"
            ),
        )
    if not np.isfinite(samples).all():
        raise DataError("inputs that are not finite", try_next="numbers")
    return samples


def _channels_last(values: Ints, shape: tuple[int, ...]) -> Ints:
    """Return images (samples, channels, height, width) as (samples, height, width,
    channels); raises DataError for others.
    """
    height, width, channels = shape
    due = (channels, height, width)
    images = values[None] if values.shape == due else values
    if images.shape[1:] != due:
        raise DataError(
            f"inputs of the shape {values.shape}",
            evidence=f"the ONNX model takes (1, {channels}, {height}, {width})",
            try_next=f"an array (samples, {channels}, {height}, {width})",
        )
    return np.moveaxis(images, 1, -1)


def output_size(network: IntegerNetwork) -> int:
    """Return how many values the network answers."""
    return math.prod(network.tensors[network.output].shape)


def _longer_than_one(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for size in shape if size > 1)
