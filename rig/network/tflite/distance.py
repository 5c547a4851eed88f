# SPDX-License-Identifier: Apache-2.0
"""The mean squared distance of a network's output from its input of real numbers, as
the firmware computes it (nr_tflite_reals.c): in single precision, number by number.
"""

from __future__ import annotations

import numpy as np

from rig.errors import DataError
from rig.network.tflite import interpreter
from rig.network.tflite.form import IntegerNetwork, Ints
from rig.network.tflite.real_input import REAL_B, quantised


def identity(network: IntegerNetwork) -> str:
    """Return the name of a network with such an answer in a device's report."""
    return f"{network.identity}-distance"


def require_alike(network: IntegerNetwork) -> None:
    """Raise DataError where a network has not as many outputs as inputs."""
    ends = [network.tensors[each].size for each in (network.input, network.output)]
    if ends[0] != ends[1]:
        raise DataError(
            f"{network.identity} has {ends[0]} inputs and {ends[1]} outputs",
            try_next="a model that gives back its input, as of anomaly detection",
        )


def reals_of(network: IntegerNetwork, payload: bytes) -> Ints:
    """Return the numbers of a payload; raises ValueError for another length, and for
    numbers that are not finite.
    """
    due_b = REAL_B * network.tensors[network.input].size
    if len(payload) != due_b:
        raise ValueError(f"{len(payload)} bytes, the model takes {due_b}")
    reals = np.frombuffer(payload, "<f4")
    if not np.isfinite(reals).all():
        raise ValueError("a number that is not finite")
    return reals


def distances(network: IntegerNetwork, reals: Ints) -> Ints:
    """Return the distance of each of several inputs (samples, numbers)."""
    tensor = network.tensors[network.input]
    inputs = quantised(tensor, reals)[0].reshape(len(reals), *tensor.shape[1:])
    outputs = interpreter.run(network, inputs).reshape(len(reals), -1)
    unit = network.tensors[network.output]
    steps = (outputs.astype(np.int32) - unit.zero_point).astype(np.float32)
    apart = np.float32(unit.scale) * steps - reals
    # One by one, as the firmware adds them; sum() adds pairs.
    sums = np.add.accumulate(apart * apart, axis=1, dtype=np.float32)[:, -1]
    means: Ints = (sums / np.float32(apart.shape[1])).astype("<f4")
    return means
