# SPDX-License-Identifier: Apache-2.0
"""The options that choose the code which multiplies by a .tflite file's weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from rig.cli.options import FILE

#: Values of rig.network.tflite.kernels.Kernels, whose module takes time to import.
PORTABLE, CMSIS_NN = "portable", "cmsis-nn"


def kernels_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--kernels` (`kernels`) and `--cmsis-nn` (`library`) to a command."""
    kinds = click.Choice((PORTABLE, CMSIS_NN))
    chosen = click.option(
        "--kernels",
        type=kinds,
        default=PORTABLE,
        show_default=True,
        help="Code that multiplies by the weights of a .tflite file.",
    )
    library = click.option(
        "--cmsis-nn",
        "library",
        metavar="FOLDER",
        type=FILE,
        envvar="CMSIS_NN",
        show_envvar=True,
        help="Sources of --kernels cmsis-nn: docs/reference/MODELS.md says from where.",
    )
    return chosen(library(command))
