# SPDX-License-Identifier: Apache-2.0
"""Layers of a small convolutional network in numpy, forward and backward; images are
(samples, rows, columns, channels), in single precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Kind = Literal["convolution", "depthwise", "dense"]


@dataclass(slots=True)
class CnnLayer:
    """A trainable layer. Weights are (rows, columns, channels in, out), of a depthwise
    layer (rows, columns, channels), of a dense one (inputs, outputs). Padding is that
    of TFLite's SAME.
    """

    kind: Kind
    weight: Floats
    bias: Floats
    strides: tuple[int, int] = (1, 1)
    rectified: bool = True

    @property
    def numbers(self) -> tuple[Floats, Floats]:
        """Return weights and biases, to be changed in place."""
        return self.weight, self.bias

    def forward(self, values: Floats) -> tuple[Floats, Any]:
        """Return the layer's values, and what `backward` needs."""
        if self.kind == "dense":
            return values @ self.weight + self.bias, values
        padded, borders = self._padded(values)
        places = self._places(values)
        sums = np.zeros((len(values), *places, len(self.bias)), padded.dtype)
        for part, below in self._below(padded, places):
            sums += below * part if self.kind == "depthwise" else below @ part
        sums += self.bias
        found = np.maximum(sums, 0) if self.rectified else sums
        return found, (padded, found, borders)

    def backward(self, kept: Any, slope: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the slopes of weights, biases and values."""
        if self.kind == "dense":
            return kept.T @ slope, slope.sum(axis=0), slope @ self.weight.T
        padded, found, borders = kept
        if self.rectified:
            slope = slope * (found > 0)
        by_weight = np.zeros_like(self.weight)
        by_padded = np.zeros_like(padded)
        places = (slope.shape[1], slope.shape[2])
        flat = slope.reshape(-1, slope.shape[3])
        sides = (self._below(padded, places), self._below(by_padded, places))
        weights = by_weight.reshape(-1, *by_weight.shape[2:])
        for number, ((part, below), (_, to)) in enumerate(zip(*sides, strict=True)):
            if self.kind == "depthwise":
                weights[number] = np.einsum("brck,brck->k", below, slope)
                to += slope * part
            else:
                weights[number] = below.reshape(-1, below.shape[3]).T @ flat
                to += slope @ part.T
        (top, bottom), (left, right) = borders
        rows, columns = padded.shape[1:3]
        inside = by_padded[:, top : rows - bottom, left : columns - right]
        return by_weight, flat.sum(axis=0), inside

    def _places(self, values: Floats) -> tuple[int, int]:
        rows, columns = values.shape[1:3]
        return -(-rows // self.strides[0]), -(-columns // self.strides[1])

    def _padded(self, values: Floats) -> tuple[Floats, list[tuple[int, int]]]:
        borders = []
        for size, places, kernel, stride in zip(
            values.shape[1:3],
            self._places(values),
            self.weight.shape[:2],
            self.strides,
            strict=True,
        ):
            missing = max((places - 1) * stride + kernel - size, 0)
            borders.append((missing // 2, missing - missing // 2))
        return np.pad(values, [(0, 0), *borders, (0, 0)]), borders

    def _below(
        self, padded: Floats, places: tuple[int, int]
    ) -> Iterator[tuple[Floats, Floats]]:
        """Yield the weights of each place of the kernel, and the view of the values
        that they meet.
        """
        for row in range(self.weight.shape[0]):
            down = slice(row, row + self.strides[0] * places[0], self.strides[0])
            for column in range(self.weight.shape[1]):
                end = column + self.strides[1] * places[1]
                right = slice(column, end, self.strides[1])
                yield self.weight[row, column], padded[:, down, right]
