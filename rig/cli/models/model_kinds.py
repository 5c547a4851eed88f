# SPDX-License-Identifier: Apache-2.0
"""Which kind of file a model is, by its name."""

from __future__ import annotations

from pathlib import Path

from rig.errors import ConfigError


def is_tflite(path: Path) -> bool:
    """Check whether a model's name is that of a .tflite file."""
    return path.suffix == ".tflite"


def refuse_tflite(path: Path) -> None:
    """Raise ConfigError where a command takes NIR files alone."""
    if is_tflite(path):
        raise ConfigError(
            f"{path} is a .tflite file, which is quantised already",
            path="MODEL.nir",
            try_next="rig model inspect, check or run; rig firmware build --model",
        )
