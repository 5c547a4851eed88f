# SPDX-License-Identifier: Apache-2.0
"""Which kind of file a model is, by its name."""

from __future__ import annotations

from pathlib import Path

from rig.errors import ConfigError
from rig.network.tflite.network import suffix_of


def is_int8(path: Path) -> bool:
    """Check whether a model's name is that of a .tflite or ONNX file, which hold
    networks of int8.
    """
    return bool(suffix_of(path))


def refuse_int8(path: Path, why: str) -> None:
    """Raise ConfigError where a command takes NIR files alone; `why` says for which
    reason, as "which is quantised already".
    """
    if is_int8(path):
        raise ConfigError(
            f"{path} is a {suffix_of(path)} file, {why}",
            path="MODEL.nir",
            try_next="rig model inspect, check or run; rig firmware build --model",
        )
