# SPDX-License-Identifier: Apache-2.0
"""Names and versions of the software that the window uses."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from rig.store import provenance

_PACKAGES = (
    ("PySide6", "PySide6-Essentials"),
    ("pyqtgraph", "pyqtgraph"),
    ("numpy", "numpy"),
    ("pyjls", "pyjls"),
    ("scipy", "scipy"),
    ("pyserial", "pyserial"),
    ("pyjoulescope_driver", "pyjoulescope_driver"),
    ("pyvisa", "pyvisa"),
)


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A part of the program, and its version."""

    name: str
    version: str


def versions(qt: str) -> list[VersionRow]:
    """Return the versions of the rig and of the packages that it uses; `qt` is that of
    Qt itself.
    """
    rows = [
        VersionRow("neurorig", _version("neurorig")),
        VersionRow("revision", provenance.revision()[:12] or "an installed package"),
        VersionRow("Python", sys.version.split()[0]),
        VersionRow("Qt", qt),
    ]
    rows += [VersionRow(name, _version(package)) for name, package in _PACKAGES]
    rows.append(VersionRow("system", platform.platform()))
    return rows


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
