# SPDX-License-Identifier: Apache-2.0
"""Options of a model that is built into an image."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rig.network.conventions import AS_STATED, ConventionChoice
from rig.network.fixed.make import BITS_MAX
from rig.network.tflite.kernels import Kernels
from rig.network.tflite.payloads import PayloadForm


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """A model, and how it is put on a device: of a NIR file how it is quantised, of a
    .tflite file whose code multiplies by weights, `library` is the folder of that
    code, and `payload` the form of the device's input. `streams`: it answers for a
    signal, row by row.
    """

    path: Path
    inputs: Path | None = None
    dt_s: float | None = None
    bits: int = BITS_MAX
    choice: ConventionChoice = AS_STATED
    steps: int | None = None
    kernels: Kernels = Kernels.PORTABLE
    library: Path | None = None
    payload: PayloadForm = PayloadForm.VALUES
    streams: bool = False
    #: The answer is how far the output is from real numbers.
    reals: bool = False
