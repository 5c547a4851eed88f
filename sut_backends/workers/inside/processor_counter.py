# SPDX-License-Identifier: Apache-2.0
"""Whether this computer lets the energy of its processor be read: a rail of it needs
this, and is omitted otherwise."""

from __future__ import annotations

import os
from pathlib import Path

POWERCAP = Path("/sys/class/powercap")


def availability(root: Path = POWERCAP) -> str:
    """Return in words whether the processor's energy counters (RAPL) can be read."""
    counters = sorted(root.glob("intel-rapl:*/energy_uj"))
    if not counters:
        return (
            "none on this machine: without another meter the processor's energy is"
            " omitted"
        )
    readable = [path for path in counters if os.access(path, os.R_OK)]
    if not readable:
        return "there, not readable for this user: the processor's energy is omitted"
    return (
        f"readable: {', '.join(_name(path.parent) for path in readable)}"
        " ([monitor.rapl])"
    )


def _name(zone: Path) -> str:
    try:
        return (zone / "name").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return zone.name
