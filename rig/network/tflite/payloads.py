# SPDX-License-Identifier: Apache-2.0
"""A device's input: the int8 values of its network, or the payload that becomes them
in a phase of its own.
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from rig.network.sound.mfcc import SAMPLES, MfccScale, mfcc
from rig.network.tflite.form import IntegerNetwork, IntegerTensor, Ints
from rig.network.tflite.real_input import quantised


class PayloadForm(Enum):
    """The values themselves, real numbers that are quantised, or a second of sound at
    16 kHz whose features are computed.
    """

    VALUES = "int8"
    REALS = "float32"
    MFCC = "mfcc"

    @property
    def is_raw(self) -> bool:
        """Check whether the device computes the network's input."""
        return self is not PayloadForm.VALUES

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """Return the type of a number."""
        return np.dtype({"int8": "i1", "float32": "<f4", "mfcc": "<i2"}[self.value])

    def size_b(self, tensor: IntegerTensor) -> int:
        """Return the bytes of a payload for a network's input."""
        count = SAMPLES if self is PayloadForm.MFCC else tensor.size
        return count * self.dtype.itemsize

    def identity(self, network: IntegerNetwork) -> str:
        """Return the network's name in a device's report."""
        return network.identity + (f"-{self.value}" if self.is_raw else "")

    def inputs(self, tensor: IntegerTensor, numbers: Ints) -> Ints:
        """Return the network's inputs of int8 (samples, values) for the numbers of
        payloads (samples, numbers).
        """
        match self:
            case PayloadForm.VALUES:
                return numbers
            case PayloadForm.REALS:
                return quantised(tensor, numbers)[0]
        scale = MfccScale.of(tensor.scale, tensor.zero_point)
        return mfcc(scale, numbers).reshape(len(numbers), -1)
