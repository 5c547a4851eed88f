# SPDX-License-Identifier: Apache-2.0
"""A try of an SDK: its packages looked up and imported, nothing else."""

from __future__ import annotations

import contextlib
import importlib
import os
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from rig.interfaces.cpu_program import Routine


def tried(packages: list[str], imports: list[str]) -> Routine:
    """Return a routine that only says which versions there are, and what came of each import; the
    processors that this process may use are left as they were.
    """
    versions = {}
    for name in packages:
        with contextlib.suppress(PackageNotFoundError):
            versions[name] = version(name)
    about: dict[str, Any] = {"versions": versions, "imports": {}}
    for module in imports:
        try:
            importlib.import_module(module)
            about["imports"][module] = ""
        except Exception as error:
            about["imports"][module] = f"{type(error).__name__}: {error}"
    about["pid"] = os.getpid()
    return Routine(bytes, (bytes,), bytes, about=about)
