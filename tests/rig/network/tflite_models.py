# SPDX-License-Identifier: Apache-2.0
"""Small networks of every supported operator, with random weights and awkward scales,
by name.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from examples.make_tflite import (
    NONE,
    RELU,
    RELU6,
    RELU_N1_TO_1,
    VALID,
    Layers,
    example,
)


def padded_kernels() -> Layers:
    """Kernels of even and odd sides over the borders of an image, with strides."""
    net = Layers((1, 9, 8, 3), 1)
    net.convolution(6, (4, 3), strides=(2, 3), activation=RELU6)
    net.convolution(5, (2, 5), activation=RELU_N1_TO_1, zero_point=30)
    net.convolution(9, (3, 3), strides=(1, 2), activation=NONE)
    return net


def valid_kernels() -> Layers:
    """Kernels inside the image, without biases, with one scale for all channels."""
    net = Layers((1, 11, 7, 2), 2, zero_point=127)
    net.convolution(7, (5, 1), padding=VALID, bias=False)
    net.convolution(3, (3, 3), (2, 2), VALID, NONE, one_scale=True)
    return net


def depthwise() -> Layers:
    """Depthwise kernels, also with several outputs a channel."""
    net = Layers((1, 10, 9, 3), 3, zero_point=-128)
    net.depthwise((3, 3), (2, 1))
    net.depthwise((1, 4), activation=NONE, each=3)
    net.depthwise((4, 2), (3, 2), VALID, RELU6)
    net.depthwise((3, 3), activation=NONE, one_scale=True, bias=False)
    return net


def extreme_factors() -> Layers:
    """Channels whose factor is far below 1, 0, or above 1."""
    net = Layers((1, 5, 5, 4), 4)
    scales = np.float32([3e-3, 1e-12, 2e-9, 5e-3, 4e-3, 1e-30, 2e-2])
    net.convolution(7, (3, 3), activation=NONE, scales=scales, bias=False)
    net.convolution(5, (1, 1), activation=NONE, gain=120.0)
    net.depthwise((2, 2), activation=NONE, scales=[9e-3, 1e-14, 0.01, 0.5, 3e-3])
    return net


def dense_rows() -> Layers:
    """Fully connected layers, of several rows, by one scale or one for each output."""
    net = Layers((3, 17), 5, scale=0.371, zero_point=89)
    net.dense(13, RELU, one_scale=True)
    net.dense(9)
    net.dense(6, RELU6, one_scale=True, bias=False, gain=4.0)
    return net


def sums() -> Layers:
    """Sums of tensors with scales far apart, and of one with itself."""
    net = Layers((1, 6, 5, 4), 6, zero_point=12)
    first = net.convolution(8, (1, 1), activation=NONE)
    net.convolution(8, (3, 3), activation=NONE, gain=0.05)
    second = net.addition(first, net.unit()[0] * 1.1, -20)
    net.addition(second, net.unit()[0] * 1.9, 60, RELU)
    net.addition(first, net.unit()[0] * 0.3, -77)
    return net


def pools() -> Layers:
    """Pools inside and over the borders, with activations."""
    net = Layers((1, 13, 11, 3), 7, scale=0.04, zero_point=-31)
    net.pool("AVERAGE_POOL_2D", (3, 2), (1, 1), padding=0)
    net.pool("MAX_POOL_2D", (2, 3), (2, 1), activation=RELU6)
    net.pool("MAX_POOL_2D", (3, 3), (2, 2), padding=0)
    net.pool("AVERAGE_POOL_2D", (2, 4), (1, 3), activation=RELU)
    return net


def mean_of_places() -> Layers:
    """A mean over an image, with another scale, then rows."""
    net = Layers((1, 7, 5, 6), 8, zero_point=40)
    net.mean((1, 2), 0.021, -90)
    net.dense(5)
    return net


def mean_of_channels() -> Layers:
    """A mean over the last axis, then over the first of an image."""
    net = Layers((1, 6, 7, 5), 9, scale=0.3)
    net.mean((-1,), 0.11, 7)
    net.mean((1,), 0.11, -5)
    return net


def borders() -> Layers:
    """Borders on every side, on channels too, before a kernel inside the image."""
    net = Layers((1, 6, 5, 3), 10, zero_point=-50)
    net.pad([(0, 0), (1, 2), (3, 0), (0, 0)])
    net.convolution(4, (3, 3), (2, 2), VALID)
    net.pad([(0, 0), (0, 0), (0, 1), (2, 1)])
    return net


def shares() -> Layers:
    """Softmax of several rows, over many classes, with a fine scale."""
    net = Layers((4, 12), 11, scale=0.0173)
    net.dense(70, gain=2.0)
    net.softmax()
    return net


def steep_shares() -> Layers:
    """Softmax whose classes lie far apart, with another beta."""
    net = Layers((1, 10), 12, scale=0.9)
    net.dense(5, gain=0.02)
    net.reshape(5, 1)
    net.reshape(1, 5)
    net.softmax(beta=1.7)
    return net


def drawn_window(seed: int) -> Layers:
    """A random network over a window of a signal, its rows along either axis, which may
    run row by row: kernels, pools, sums of two ways, borders beside the rows, and an
    end that takes all rows that are left.
    """
    rng = np.random.default_rng(seed)
    rows, width = int(rng.integers(4, 20)), int(rng.integers(1, 4))
    across = width == 1 and rng.random() < 0.3
    places = (1, rows) if across else (rows, width)
    zero_point = int(rng.integers(-128, 128))
    scale = float(rng.uniform(0.01, 1))
    net = Layers((1, *places, int(rng.integers(1, 6))), seed, scale, zero_point)
    for _ in range(int(rng.integers(1, 5))):
        left = net.shape()[2] if across else net.shape()[1]
        length = int(rng.integers(1, min(left, 6) + 1))
        kernel = (1, length) if across else (length, int(rng.integers(1, width + 1)))
        match int(rng.integers(6)):
            case 0:
                net.convolution(int(rng.integers(1, 9)), kernel, padding=VALID)
            case 1:
                each = int(rng.integers(1, 3))
                net.depthwise(kernel, padding=VALID, activation=NONE, each=each)
            case 2:
                name = str(rng.choice(["MAX_POOL_2D", "AVERAGE_POOL_2D"]))
                net.pool(name, kernel, (1, 1))
            case 3:
                before = net.last
                first = net.depthwise(kernel, padding=VALID)
                net.last = before
                net.convolution(net.shape(first)[3], kernel, padding=VALID)
                net.addition(first, net.unit()[0] * 1.3, int(rng.integers(-128, 128)))
            case 4 if not across:
                net.pad([(0, 0), (0, 0), (1, 2), (0, 0)])
            case _:
                sides = net.shape()[1:3]
                net.dense(int(rng.integers(1, 7)))
                net.reshape(1, *sides, net.shape()[1])
        width = 1 if across else net.shape()[2]
    end = int(rng.integers(4))
    match end:
        case 0:
            net.mean((1, 2), net.unit()[0], int(rng.integers(-128, 128)))
        case 1:
            net.pool("AVERAGE_POOL_2D", net.shape()[1:3], net.shape()[1:3])
        case 2:
            net.convolution(3, net.shape()[1:3], padding=VALID)
    if end == 3 or rng.random() < 0.5:
        net.reshape(1, int(np.prod(net.shape())))
        net.dense(int(rng.integers(2, 6)))
        net.softmax()
    return net


MODELS: dict[str, Callable[[], Layers]] = {
    each.__name__: each
    for each in (
        padded_kernels,
        valid_kernels,
        depthwise,
        extreme_factors,
        dense_rows,
        sums,
        pools,
        mean_of_places,
        mean_of_channels,
        borders,
        shares,
        steep_shares,
        example,
    )
}
