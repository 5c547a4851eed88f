# SPDX-License-Identifier: Apache-2.0
"""A calibration file is that of the instrument that uses it, in the same ranges and at
the same rate.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rig.bench import plugins
from rig.bench.config import PluginChoice
from rig.errors import ConfigError
from rig.interfaces.monitor import MonitorInfo
from rig.uncertainty.accuracy import Accuracy
from rig.uncertainty.calibration import InstrumentCalibration

_TRY = (
    "the file of this instrument; rig monitor check BENCH makes one"
    " (docs/how-to/MONITOR_CHECK.md); without the setting the data sheet counts"
)
_RATE_SHARE = 1e-3


def stated(choice: PluginChoice, info: MonitorInfo) -> Accuracy:
    """Return the limits of error of an instrument without any calibration file."""
    kind = plugins.find("monitor", choice.kind)
    if not getattr(choice.settings, "calibration", ""):
        return info.accuracy
    bare: Any = dataclasses.replace(choice.settings, calibration="")
    restated: MonitorInfo = kind.restated(bare, info)
    return restated.accuracy


def refuse_other(choice: PluginChoice, info: MonitorInfo, section: str) -> None:
    """Raise ConfigError where the calibration in use is of another instrument, of other
    ranges, or of another rate.
    """
    calibration = info.accuracy.calibration
    if calibration is None:
        return
    if why := _differs(calibration, choice, info):
        raise ConfigError(
            "the calibration file is not for this instrument",
            path=f"{section}.calibration",
            evidence=why,
            try_next=_TRY,
            see="calibration-refused",
        )


def _differs(
    calibration: InstrumentCalibration, choice: PluginChoice, info: MonitorInfo
) -> str:
    """Return the difference of the file and the instrument; empty where there is
    none."""
    compared = (
        ("kind", calibration.kind, info.kind),
        ("serial number", calibration.serial, info.serial),
    )
    for name, is_of, is_here in compared:
        if is_of and is_of != is_here:
            return f"it is of {name} {is_of!r}, this instrument has {is_here!r}"
    rate_hz = calibration.sample_hz
    if rate_hz and not math.isclose(rate_hz, info.sample_hz, rel_tol=_RATE_SHARE):
        return (
            f"its noise is of samples at {rate_hz:g} Hz, this bench has"
            f" {info.sample_hz:g} Hz"
        )
    ends_a = [row.up_to for row in calibration.correction]
    here_a = [row.up_to for row in stated(choice, info).current]
    if ends_a and ends_a != here_a:
        return f"its ranges end at {ends_a} A, those of this bench at {here_a} A"
    return ""


def kept_name(rail: str) -> str:
    """Return the name under which a session keeps the calibration file of a rail."""
    return f"{rail or 'monitor'}.toml"


def files(monitors: Mapping[str, PluginChoice]) -> dict[str, Path]:
    """Return the calibration files that a bench's monitors use, by the rail's name."""
    used = {}
    for rail, choice in monitors.items():
        name = getattr(choice.settings, "calibration", "")
        if name:
            used[rail] = Path(name)
    return used
