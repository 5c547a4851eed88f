# SPDX-License-Identifier: Apache-2.0
"""A try of an SDK: its packages are looked up and imported."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib import metadata

from rig.interfaces.cpu_program import Routine


@dataclass(frozen=True)
class Tried:
    """Result of a try: the versions of the packages that are there, the error of each
    import (empty: none), and the process that tried."""

    versions: dict[str, str]
    imports: dict[str, str]
    pid: int


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Look up the versions of those packages that are installed."""
    known = {}
    for name in packages:
        with contextlib.suppress(metadata.PackageNotFoundError):
            known[name] = metadata.version(name)
    return known


def tried(packages: list[str], imports: list[str]) -> Routine:
    """Return a routine that only reports the versions and the result of each import;
    the processors that this process may use are left as they were."""
    imported = {}
    for module in imports:
        try:
            importlib.import_module(module)
            imported[module] = ""
        except Exception as error:
            imported[module] = f"{type(error).__name__}: {error}"
    about = asdict(Tried(versions(packages), imported, os.getpid()))
    return Routine(bytes, (bytes,), bytes, about=about)
