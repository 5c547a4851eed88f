# SPDX-License-Identifier: Apache-2.0
"""The trained model as numbers: a filter bank that turns audio into spike counts, and
layers of spiking neurons.

All arithmetic on these numbers is integer; docs/reference/ASC.md defines it, integer.py
and firmware/workloads/asc/nr_asc.c carry it out.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rig.errors import DataError

RATE_HZ = 8000
SLICE_SAMPLES = 8000
HOP_SAMPLES = 64
STEPS = SLICE_SAMPLES // HOP_SAMPLES
STEP_S = HOP_SAMPLES / RATE_HZ

AUDIO_FRACTION_BITS = 8
COEFFICIENT_FRACTION_BITS = 29
ENVELOPE_SHIFT_BITS = 6
LOG_FRACTION_BITS = 4
SPIKE_SHIFT_BITS = 3

# Limits of Xylo by rockpool and xylosim: 16 inputs of up to 15 spikes a step.
CHANNELS = 16
INPUT_SPIKES_MAX = 15
HIDDEN_NEURONS_MAX = 1000
STATE_MAX = 32_767
DASH_MIN = 1
DASH_MAX = 15
CLASSES_COUNT = 4


@dataclass(frozen=True, slots=True, eq=False)
class FilterBank:
    """Band-passes y = b0 (x - x[-2]) - a1 y[-1] - a2 y[-2]: coefficients with 29
    fractional bits, int32 of shape (16,).

    `offset` is the mean current of a channel, in sixteenths of an octave of amplitude,
    shape (16,).
    """

    b0: NDArray[np.int32]
    a1: NDArray[np.int32]
    a2: NDArray[np.int32]
    offset: NDArray[np.int16]

    def __post_init__(self) -> None:
        for name in ("b0", "a1", "a2", "offset"):
            if getattr(self, name).shape != (CHANNELS,):
                raise DataError(
                    f"filter bank: {name} has shape {getattr(self, name).shape}",
                    evidence=f"wanted ({CHANNELS},)",
                )
        unity = 1 << COEFFICIENT_FRACTION_BITS
        a1 = self.a1.astype(np.int64)
        a2 = self.a2.astype(np.int64)
        stable = (np.abs(a2) < unity) & (np.abs(a1) < unity + a2)
        fits = (self.b0 > 0) & (self.b0 <= unity)
        if not np.all(stable & fits):
            raise DataError(
                "filter bank: a filter is not stable",
                evidence=f"a1 {self.a1.tolist()}, a2 {self.a2.tolist()}",
            )


@dataclass(frozen=True, slots=True, eq=False)
class NetworkLayer:
    """Spiking neurons with synaptic current and membrane: `weight` int8 (neurons,
    inputs), the rest (neurons,).

    `dash_syn` and `dash_mem` are the shifts of the decays; `threshold` is the membrane
    value that makes a spike, and is subtracted.
    """

    weight: NDArray[np.int8]
    dash_syn: NDArray[np.uint8]
    dash_mem: NDArray[np.uint8]
    threshold: NDArray[np.int16]
    spikes_max: int

    def __post_init__(self) -> None:
        neurons = self.weight.shape[0]
        for name in ("dash_syn", "dash_mem", "threshold"):
            if getattr(self, name).shape != (neurons,):
                raise DataError(
                    f"layer: {name} has shape {getattr(self, name).shape}",
                    evidence=f"weight has {neurons} rows",
                )
        for dash in (self.dash_syn, self.dash_mem):
            if bool(np.any(dash < DASH_MIN)) or bool(np.any(dash > DASH_MAX)):
                raise DataError(
                    "layer: a decay shift is out of range",
                    evidence=f"{dash.tolist()}, allowed {DASH_MIN}..{DASH_MAX}",
                )
        if bool(np.any(self.threshold <= 0)):
            raise DataError(
                "layer: a threshold is not positive",
                evidence=f"{self.threshold.tolist()}",
            )

    @property
    def neurons(self) -> int:
        """The number of neurons."""
        return int(self.weight.shape[0])

    @property
    def inputs(self) -> int:
        """The number of inputs."""
        return int(self.weight.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class AscModel:
    """A model: all numbers that decide an output; `sha256` covers every number of
    it."""

    name: str
    bank: FilterBank
    layers: tuple[NetworkLayer, ...]

    def __post_init__(self) -> None:
        if len(self.layers) < 2:
            raise DataError(
                f"model: {len(self.layers)} layers of neurons",
                evidence="at least 2 are wanted",
            )
        if (
            self.layers[0].inputs != CHANNELS
            or self.layers[-1].neurons != CLASSES_COUNT
        ):
            raise DataError(
                f"model: {self.layers[0].inputs} inputs, {self.layers[-1].neurons}"
                " outputs",
                evidence="wanted 16 and 4",
            )
        for before, after in pairwise(self.layers):
            if before.neurons != after.inputs:
                raise DataError(
                    f"model: a layer of {before.neurons} neurons feeds one of"
                    f" {after.inputs} inputs"
                )
        if sum(layer.neurons for layer in self.layers[:-1]) > HIDDEN_NEURONS_MAX:
            raise DataError(
                "model: too many hidden neurons",
                evidence=f"at most {HIDDEN_NEURONS_MAX}",
            )

    @property
    def sha256(self) -> str:
        """The hash of every number of the model in a fixed order, little endian;
        hexadecimal.
        """
        digest = hashlib.sha256()
        for name, kind in (
            ("b0", "<i4"),
            ("a1", "<i4"),
            ("a2", "<i4"),
            ("offset", "<i2"),
        ):
            digest.update(getattr(self.bank, name).astype(kind).tobytes())
        for layer in self.layers:
            digest.update(
                np.array([*layer.weight.shape, layer.spikes_max], dtype="<i4").tobytes()
            )
            for name, kind in (
                ("weight", "i1"),
                ("dash_syn", "u1"),
                ("dash_mem", "u1"),
                ("threshold", "<i2"),
            ):
                digest.update(getattr(layer, name).astype(kind).tobytes())
        return digest.hexdigest()

    @property
    def identity(self) -> str:
        """Return "<name>-<first 8 digits of the hash>", as the firmware reports it."""
        return f"{self.name}-{self.sha256[:8]}"
