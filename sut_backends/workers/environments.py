# SPDX-License-Identifier: Apache-2.0
"""The interpreters that workers run under: named in a bench file, or installed by `rig
sdk`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from rig.errors import ConfigError
from rig.files.user_folders import data, expanded
from rig.interfaces.context import BenchContext


def root() -> Path:
    """Return the folder of the environments that `rig sdk install` makes."""
    return data() / "sdk"


def before(kind: str) -> Path:
    """Return the temporary folder of an environment while its place is given to a
    link."""
    return root() / f".{kind}-before"


def installed(kind: str) -> Path:
    """Return the interpreter of a kind's environment, whether it is there or not."""
    place = root() / kind
    if not place.exists() and before(kind).exists():
        place = before(kind)
    return place / "bin" / "python"


def interpreter_at(setting: str, context: BenchContext, kind: str = "cpu") -> str:
    """Return the path of the interpreter that a bench file names, empty where it names
    none; a name without a folder is looked up as a shell does. ConfigError where there
    is none.
    """
    if not setting:
        return ""
    stated = expanded(setting)
    path = shutil.which(setting) if stated.parent == Path() else context.folder / stated
    if path is None or not os.access(path, os.X_OK):
        raise ConfigError(
            f"there is no interpreter {setting}",
            path=f"sut.{kind}.interpreter",
            evidence="" if path is None else f"{path} cannot be run",
            try_next="the path of a Python, such as .venv/bin/python",
        )
    return str(path)


def interpreter_of(kind: str, setting: str, context: BenchContext) -> str:
    """Return the interpreter of an SDK: the one that the bench file names, else the one
    that `rig sdk install` made; ConfigError where there is neither.
    """
    named = interpreter_at(setting, context, kind)
    if named:
        return named
    installed_one = installed(kind)
    if not installed_one.exists():
        raise ConfigError(
            f"the SDK of [sut.{kind}] is not installed",
            path=f"sut.{kind}.interpreter",
            evidence=f"no environment in {installed_one.parent.parent}",
            try_next=f"rig sdk install {kind}, or name a Python that has it",
            see="sdk-missing",
        )
    return str(installed_one)
