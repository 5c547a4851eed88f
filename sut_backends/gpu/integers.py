# SPDX-License-Identifier: Apache-2.0
"""The operators of an integer network in torch: every byte as tflite-micro's reference
kernels give it. Written for the worker: numpy and torch, and the rig's form of such a
network, which needs numpy alone.

Values between operators are whole numbers in floating point. A product with weights is
a product of matrices in float32 where no sum of it can leave the whole numbers that
float32 holds, else in float64; the rescaling is in 64-bit whole numbers. No convolution
of a library is called: one by transforms rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rig.network.tflite.form import (
    HIGH,
    LOW,
    Depthwise,
    Factor,
    FullyConnected,
    IntegerConvolution,
    IntegerNetwork,
    IntegerTensor,
    Keep,
    KernelWindow,
    Mean,
    Operator,
    Pad,
    Pooling,
    Reshape,
    Softmax,
    Sum,
    Weighted,
)
from sut_backends.gpu.neurons import TorchDevice

#: float32 holds every whole number up to here.
EXACT_MAX = 1 << 24
#: Both inputs of a sum are brought to a unit of 2^-20.
_SUM_SHIFT = 20
#: The sum of exponentials has 12 bits before the point.
_SUM_BITS = 12
_ONE = 1 << 31

#: An operator on a device: its inputs (samples, *shape) -> its output.
Step = Callable[[Sequence[Any]], Any]


class IntegerLayers:
    """A network whose weights are on a device; `wide` are the names of its operators
    whose products need float64.
    """

    def __init__(self, board: TorchDevice, network: IntegerNetwork) -> None:
        self._board = board
        self._network = network
        self.wide: list[str] = []
        self._steps = [self._step(operator) for operator in network.operators]
        self._last: dict[int, int] = {}
        for number, operator in enumerate(network.operators):
            self._last.update(dict.fromkeys(operator.inputs, number))

    def run(self, given: Any) -> tuple[Any, None]:
        """Run over samples (samples, *shape of the input); return the outputs (samples,
        *shape of the output), and no membranes.
        """
        network = self._network
        values = {network.input: given}
        with self._board.torch.inference_mode():
            steps = enumerate(zip(network.operators, self._steps, strict=True))
            for number, (operator, step) in steps:
                made = step([values[tensor] for tensor in operator.inputs])
                shape = network.tensors[operator.output].shape
                values[operator.output] = made.reshape(len(given), *shape)
                for tensor in operator.inputs:
                    if self._last[tensor] == number and tensor != network.output:
                        values.pop(tensor, None)
        return values[network.output], None

    def _step(self, operator: Operator) -> Step:
        source = self._network.tensors[operator.inputs[0]]
        output = self._network.tensors[operator.output]
        body = operator.body
        match body:
            case IntegerConvolution() | Depthwise() | FullyConnected():
                return self._weighted(operator, body, source, output)
            case Sum():
                zeros = [
                    self._network.tensors[number].zero_point
                    for number in operator.inputs
                ]
                return self._sum(body, zeros, output.zero_point)
            case Pooling():
                return self._pool(body, source, output)
            case Mean():
                return self._mean(body, source.zero_point, output.zero_point)
            case Pad():
                around = _around(body)
                zero = float(output.zero_point)
                pad = self._board.torch.nn.functional.pad
                return lambda read: pad(read[0], around, value=zero)
            case Softmax():
                return self._softmax(body)
            case Reshape():
                return lambda read: read[0]
            case Keep():
                raise ValueError(
                    "a network that runs row by row keeps a state, which samples side"
                    " by side have not: its whole window at every step"
                )

    def _weighted(
        self,
        operator: Operator,
        body: Weighted,
        source: IntegerTensor,
        output: IntegerTensor,
    ) -> Step:
        """Return an operator with weights: sums of products, biases, factors."""
        board = self._board
        is_wide = largest_sum(body, source) > EXACT_MAX
        if is_wide:
            self.wide.append(operator.name)
        kind = board.torch.float64 if is_wide else board.dtype
        products = self._products(body, source, output, kind)
        rescaled = self._rescaled(body, output.zero_point)
        zero = float(source.zero_point)

        def stepped(read: Sequence[Any]) -> Any:
            return rescaled(products((read[0] - zero).to(kind)))

        return stepped

    def _products(
        self, body: Weighted, source: IntegerTensor, output: IntegerTensor, kind: Any
    ) -> Callable[[Any], Any]:
        torch = self._board.torch
        weights = torch.as_tensor(
            body.weights.astype(np.float64), dtype=kind, device=self._board.device
        )
        if isinstance(body, FullyConnected):
            matrix = weights.T.contiguous()
            inputs = len(matrix)
            return lambda values: values.reshape(-1, inputs) @ matrix
        below = _Patches(torch, body.window, source.shape[1:], output.shape[1:3])
        if isinstance(body, IntegerConvolution):
            matrix = weights.reshape(len(weights), -1).T.contiguous()
            return lambda values: below.rows(values) @ matrix
        each = body.each

        def depthwise(values: Any) -> Any:
            images = values.reshape(-1, *source.shape[1:])
            if each > 1:
                images = images.repeat_interleave(each, dim=3)
            return below.summed(images, weights)

        return depthwise

    def _rescaled(self, body: Weighted, zero_point: int) -> Callable[[Any], Any]:
        biases = self._long(body.biases)
        shifts = np.asarray(body.shifts, np.int64)
        left = np.maximum(shifts, 0)
        multipliers = self._long(np.asarray(body.multipliers, np.int64) << left)
        right = self._long(np.maximum(-shifts, 0))
        torch, kind = self._board.torch, self._board.dtype
        low, high = body.low - zero_point, body.high - zero_point

        def rescaled(sums: Any) -> Any:
            numbers = sums.to(torch.int64).add_(biases).mul_(multipliers)
            halved = _halved(_high_part(numbers), right).clamp_(low, high)
            return halved.add_(zero_point).to(kind)

        return rescaled

    def _sum(self, body: Sum, zeros: Sequence[int], zero_point: int) -> Step:
        torch, kind = self._board.torch, self._board.dtype
        first, second = (self._times(each) for each in (body.first, body.second))
        result = self._times(body.result)

        def added(read: Sequence[Any]) -> Any:
            pairs = zip(read, zeros, strict=True)
            wide = [
                (values.to(torch.int64) - zero) << _SUM_SHIFT for values, zero in pairs
            ]
            total = result(first(wide[0]) + second(wide[1])) + zero_point
            return total.clamp_(body.low, body.high).to(kind)

        return added

    def _pool(
        self, body: Pooling, source: IntegerTensor, output: IntegerTensor
    ) -> Step:
        torch, kind = self._board.torch, self._board.dtype
        below = _Patches(torch, body.window, source.shape[1:], output.shape[1:3])
        if body.largest:

            def largest(read: Sequence[Any]) -> Any:
                images = read[0].reshape(-1, *source.shape[1:])
                maxima = below.of(images, float(LOW)).amax(dim=(4, 5))
                return maxima.clamp(body.low, body.high)

            return largest
        one = torch.ones((1, *source.shape[1:]), dtype=torch.int64)
        counts = below.of(one, 0).sum(dim=(4, 5)).to(self._board.device)

        def average(read: Sequence[Any]) -> Any:
            images = read[0].reshape(-1, *source.shape[1:]).to(torch.int64)
            sums = below.of(images, 0).sum(dim=(4, 5))
            sizes = (sums.abs() + counts // 2) // counts
            return (sums.sign() * sizes).clamp_(body.low, body.high).to(kind)

        return average

    def _mean(self, body: Mean, zero_from: int, zero_to: int) -> Step:
        torch, kind = self._board.torch, self._board.dtype
        times = self._times(body.factor)

        def mean(read: Sequence[Any]) -> Any:
            values = read[0].reshape(-1, body.outer, body.count, body.inner)
            sums = (values.to(torch.int64) - zero_from).sum(dim=2)
            return (times(sums) + zero_to).clamp_(LOW, HIGH).to(kind)

        return mean

    def _softmax(self, body: Softmax) -> Step:
        torch, kind = self._board.torch, self._board.dtype
        exponentials = self._long(body.exponentials)

        def softmax(read: Sequence[Any]) -> Any:
            values = read[0].to(torch.int64)
            each = exponentials[values.amax(dim=-1, keepdim=True) - values]
            bits = torch.full_like(each, _SUM_BITS)
            sums = _halved(each, bits).sum(dim=-1, keepdim=True)
            shares, further = _reciprocals(torch, sums)
            found = _halved(_high_part(each * shares), further + 31 - 8)
            return (found + LOW).clamp_(LOW, HIGH).to(kind)

        return softmax

    def _times(self, factor: Factor) -> Callable[[Any], Any]:
        """Return what multiplies whole numbers by a factor."""
        multiplier = factor.multiplier << max(factor.shift, 0)
        right = self._long(np.array(max(-factor.shift, 0)))
        return lambda numbers: _halved(_high_part(numbers * multiplier), right)

    def _long(self, values: Any) -> Any:
        torch = self._board.torch
        return torch.as_tensor(np.asarray(values, np.int64), device=self._board.device)


def largest_sum(body: Weighted, source: IntegerTensor) -> int:
    """Return the largest sum of products that any input can cause, over all
    channels.
    """
    axis = 2 if isinstance(body, Depthwise) else 0
    others = tuple(number for number in range(body.weights.ndim) if number != axis)
    largest = max(HIGH - source.zero_point, source.zero_point - LOW)
    weights = np.abs(body.weights.astype(np.int64))
    return int((weights.sum(axis=others) * largest).max())


class _Patches:
    """The places of images below a kernel; `shape` is that of an image, `outputs` are
    rows and columns of the result.
    """

    def __init__(
        self,
        torch: Any,
        window: KernelWindow,
        shape: tuple[int, ...],
        outputs: tuple[int, ...],
    ) -> None:
        self._pad = torch.nn.functional.pad
        self._window = window
        self._shape = shape
        self._outputs = outputs
        tall = (outputs[0] - 1) * window.stride_height + window.height
        wide = (outputs[1] - 1) * window.stride_width + window.width
        below = tall - window.top - shape[0]
        right = wide - window.left - shape[1]
        # Where strides leave a rest of the image, these are negative.
        self._around = (0, 0, window.left, right, window.top, below)
        self._is_place = window.height == window.width == 1 and not any(self._around)

    def of(self, images: Any, outside: float) -> Any:
        """Return the patches (samples, rows, columns, channels, height, width) of
        images (samples, rows, columns, channels).
        """
        window = self._window
        padded = self._padded(images, outside)
        tall = padded.unfold(1, window.height, window.stride_height)
        return tall.unfold(2, window.width, window.stride_width)

    def rows(self, values: Any) -> Any:
        """Return the patches as rows of a matrix, in the order of a convolution's
        weights; 0 outside.
        """
        window, channels = self._window, self._shape[2]
        images = values.reshape(-1, *self._shape)
        if self._is_place:
            steps = (window.stride_height, window.stride_width)
            return images[:, :: steps[0], :: steps[1]].reshape(-1, channels)
        places = self.of(images, 0).movedim(3, 5)
        return places.reshape(-1, window.height * window.width * channels)

    def summed(self, images: Any, weights: Any) -> Any:
        """Return the sums of products with weights (height, width, channels), channel
        by channel; 0 outside.
        """
        window = self._window
        padded = self._padded(images, 0)
        total = None
        for row in range(window.height):
            for column in range(window.width):
                down = self._along(row, window.stride_height, 0)
                across = self._along(column, window.stride_width, 1)
                part = padded[:, down, across]
                factor = weights[row, column]
                total = part * factor if total is None else total.addcmul_(part, factor)
        return total

    def _along(self, start: int, stride: int, axis: int) -> slice:
        stop = start + (self._outputs[axis] - 1) * stride + 1
        return slice(start, stop, stride)

    def _padded(self, images: Any, outside: float) -> Any:
        if not any(self._around):
            return images
        return self._pad(images, self._around, value=outside)


def _around(body: Pad) -> list[int]:
    """Return borders as torch takes them: the last axis first."""
    flat: list[int] = []
    for before, after in reversed(list(zip(body.before, body.after, strict=True))):
        flat += (before, after)
    return flat


def _high_part(products: Any) -> Any:
    """Return products / 2^31, to the nearest, halves up."""
    return (products + (1 << 30)) >> 31


def _halved(numbers: Any, shift: Any) -> Any:
    """Return numbers / 2^shift, to the nearest, halves away from zero."""
    half = (shift.new_ones(()) << shift) >> 1
    # -1 for a negative number, where anything is taken off.
    lower = (numbers >> 63) & -(shift > 0).to(shift.dtype)
    return (numbers + half + lower) >> shift


def _reciprocals(torch: Any, sums: Any) -> tuple[Any, Any]:
    """Return 1 / sums for sums of exponentials in units of 2^-19: numbers in units of
    2^-31, and the shifts that they need further (Newton's division, as gemmlowp does
    it).
    """
    _, exponent = torch.frexp(sums.to(torch.float64))
    headroom = 32 - exponent.to(torch.int64)
    above_one = (sums << headroom) - _ONE
    half = (above_one + _ONE) >> 1
    x = 1515870810 + _high_part(half * -1010580540)
    for _ in range(3):
        missing = (1 << 29) - _high_part(half * x)
        x = x + (_high_part(x * missing) << 2).clamp(-_ONE, _ONE - 1)
    return (x << 1).clamp(max=_ONE - 1), _SUM_BITS - headroom
