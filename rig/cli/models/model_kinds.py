# SPDX-License-Identifier: Apache-2.0
"""Which kind of file a model is, by its name."""

from __future__ import annotations

from pathlib import Path

from rig.errors import ConfigError
from rig.network.tflite.network import SUFFIXES


def is_int8(path: Path) -> bool:
    """Check whether a model's name is that of a .tflite or ONNX file, which hold
    networks of int8.
    """
    return path.suffix in SUFFIXES


def refuse_int8(path: Path) -> None:
    """Raise ConfigError where a command takes NIR files alone."""
    if is_int8(path):
        raise ConfigError(
            f"{path} is a {path.suffix} file, which is quantised already",
            path="MODEL.nir",
            try_next="rig model inspect, check or run; rig firmware build --model",
        )
