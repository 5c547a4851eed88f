# SPDX-License-Identifier: Apache-2.0
"""Code that multiplies by weights on a device, the firmware's own or CMSIS-NN, and the
memory that each needs beside tensors and constants.
"""

from __future__ import annotations

from enum import StrEnum

from rig.network.tflite.form import (
    Depthwise,
    FullyConnected,
    IntegerConvolution,
    IntegerNetwork,
    Operator,
)

#: CMSIS-NN keeps the values below a kernel twice, in fours.
_COPIES = 2
_FOURS = 4


class Kernels(StrEnum):
    """A choice of `rig firmware build --kernels`."""

    PORTABLE = "portable"
    CMSIS_NN = "cmsis-nn"

    @property
    def shift_b(self) -> int:
        """Return the bytes of a shift in the tables."""
        return 4 if self is Kernels.CMSIS_NN else 1

    @property
    def code_b(self) -> int:
        """Return the flash for their code beyond the portable one's: of CMSIS-NN
        measured on the Cortex-M4 and M3 (gcc 12.2, -O2).
        """
        return 18_000 if self is Kernels.CMSIS_NN else 0


def patch_of(network: IntegerNetwork, kernels: Kernels = Kernels.PORTABLE) -> int:
    """Return the most values of 16 bits that an operator keeps beside its tensors."""
    of = _cmsis_nn if kernels is Kernels.CMSIS_NN else _portable
    return max((of(network, each) for each in network.operators), default=1) or 1


def _portable(network: IntegerNetwork, operator: Operator) -> int:
    """Return the values of an image below a kernel."""
    del network
    if isinstance(operator.body, IntegerConvolution | FullyConnected):
        weights = operator.body.weights
        return int(weights.size // weights.shape[0])
    return 0


def _cmsis_nn(network: IntegerNetwork, operator: Operator) -> int:
    """Return what arm_convolve_wrapper_s8_get_buffer_size and that of depthwise kernels
    ask for, of cores with DSP instructions and without the larger.
    """
    body = operator.body
    if not isinstance(body, IntegerConvolution | Depthwise):
        return 0
    window = body.window
    padded = max(window.top, window.left)
    places = window.height * window.width
    channels = network.tensors[operator.inputs[0]].shape[-1]
    if isinstance(body, IntegerConvolution):
        if places == 1 and not padded:
            return 0
        return _COPIES * -(-places * channels // _FOURS) * _FOURS
    square = window.height == window.width == 3
    return 0 if body.each > 1 or (square and padded <= 1) else places * channels
