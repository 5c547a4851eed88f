# SPDX-License-Identifier: Apache-2.0
"""Rails of INA3221 chips, as Linux shows them: voltages and currents by hwmon, or
powers in the older tree of NVIDIA's kernels (iio).

Sources: the kernel's Documentation/hwmon/ina3221.rst and drivers/hwmon/ina3221.c, and
NVIDIA's tree of JetPack 4 as programs of others read it.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.errors import BenchError, DeviceLost, DeviceNotFound

DEVICES = "/sys/bus/i2c/devices"
_NAMES = ("ina3221", "ina3221x")
_UNUSED = "NC"
#: Resistor of a channel where no file states one: that of NVIDIA's Orin modules.
SHUNT_UOHM = 5_000
#: Update interval of the chip after a reset, and with the fastest conversions, which
#: the kernel shows as 1 or 0.
_INTERVAL_S = 6.6e-3
_FASTEST_S = 0.84e-3


@dataclass(frozen=True, slots=True)
class PowerRail:
    """A channel: `factors` are files whose numbers multiply to `unit_w`, one of
    milliwatts or one of millivolts and one of milliamperes; `voltage` is a file of
    millivolts, `enable` one that shows 0 where the channel is off.
    """

    label: str
    factors: tuple[Path, ...]
    unit_w: float
    voltage: Path
    enable: Path | None
    shunt_uohm: int
    interval_s: float

    def power_uw(self) -> int:
        """Read the power, in whole microwatts."""
        product = 1
        for path in self.factors:
            product *= number(path, self.label)
        return round(product * self.unit_w * 1e6)


def rails(devices: Path) -> list[PowerRail]:
    """Return all rails with a label below a folder of I2C devices."""
    listed = []
    for name in sorted(devices.glob("*/name")):
        if _text(name) in _NAMES:
            listed += _of_hwmon(name.parent) or _of_iio(name.parent)
    return [rail for rail in listed if rail.label not in ("", _UNUSED)]


def chosen(known: Sequence[PowerRail], labels: Sequence[str]) -> list[PowerRail]:
    """Return the rails with labels; raises DeviceNotFound where there are none, and
    BenchError where a channel is off.
    """
    if not known:
        raise DeviceNotFound(
            "this machine shows no INA3221",
            evidence=f"no device of that name with labelled channels in {DEVICES}",
            try_next=(
                "a Jetson with its own kernel; elsewhere sudo modprobe ina3221, and a"
                " device tree that names it"
            ),
        )
    by_label = {rail.label: rail for rail in known}
    found_labels = [rail.label for rail in known]
    same = [label for label in labels if found_labels.count(label) > 1]
    if same:
        raise BenchError(
            f"two rails have the label {same[0]}",
            evidence=", ".join(str(rail.voltage) for rail in known),
            try_next="root: a folder with one of both chips",
        )
    missing = [label for label in labels if label not in by_label]
    if missing:
        raise DeviceNotFound(
            f"no rail {missing[0]}",
            evidence=f"there are {', '.join(by_label)}",
            try_next="rails: some of these",
        )
    twice = [label for label in labels if labels.count(label) > 1]
    if twice:
        raise BenchError(
            f"the rail {twice[0]} is named twice, and would count twice",
            try_next="rails: each label once",
        )
    rails_chosen = [by_label[label] for label in labels]
    for rail in rails_chosen:
        if rail.enable is not None and number(rail.enable, rail.label) == 0:
            raise _off(rail.enable, rail.label)
    return rails_chosen


def number(path: Path, label: str) -> int:
    """Read a whole number; raises DeviceLost, or BenchError for a channel that is
    off.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        if error.errno == errno.ENODATA:
            raise _off(path, label) from error
        raise DeviceLost(
            f"the rail {label} cannot be read",
            evidence=f"{path}: {error.strerror}",
            try_next="cat that file: was the driver unloaded, or may root alone read?",
        ) from error
    try:
        return int(text)
    except ValueError as error:
        raise BenchError(
            f"the rail {label} shows no number",
            evidence=f"{path}: {text[:40]!r}",
            try_next="is this a tree of hwmon or iio?",
        ) from error


def _off(path: Path, label: str) -> BenchError:
    return BenchError(
        f"the channel of the rail {label} is off",
        evidence=f"{path}: no data",
        try_next=f"echo 1 | sudo tee {path.parent}/in*_enable, or another rail",
    )


def _of_hwmon(device: Path) -> list[PowerRail]:
    listed = []
    for labelled in sorted(device.glob("hwmon/hwmon*/in[123]_label")):
        folder, number_ = labelled.parent, labelled.name[2]
        currents = folder / f"curr{number_}_input"
        voltages = folder / f"in{number_}_input"
        shunt = _stated(folder / f"shunt{number_}_resistor")
        interval_ms = _stated(folder / "update_interval")
        listed.append(
            PowerRail(
                label=_text(labelled),
                factors=(voltages, currents),
                unit_w=1e-6,
                voltage=voltages,
                enable=_if_there(folder / f"in{number_}_enable"),
                shunt_uohm=shunt or SHUNT_UOHM,
                interval_s=_interval_s(interval_ms),
            )
        )
    return listed


def _of_iio(device: Path) -> list[PowerRail]:
    listed = []
    for labelled in sorted(device.glob("iio[:_-]device*/rail_name_[012]")):
        folder, number_ = labelled.parent, labelled.name[-1]
        listed.append(
            PowerRail(
                label=_text(labelled),
                factors=(folder / f"in_power{number_}_input",),
                unit_w=1e-3,
                voltage=folder / f"in_voltage{number_}_input",
                enable=None,
                shunt_uohm=SHUNT_UOHM,
                interval_s=_INTERVAL_S,
            )
        )
    return listed


def _interval_s(stated_ms: int | None) -> float:
    """Return the time of a round of all channels, which the kernel rounds."""
    if stated_ms is None:
        return _INTERVAL_S
    return stated_ms * 1e-3 if stated_ms > 1 else _FASTEST_S


def _stated(path: Path) -> int | None:
    text = _text(path) if path.exists() else ""
    return int(text) if text.isdecimal() else None


def _if_there(path: Path) -> Path | None:
    return path if path.exists() else None


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("ascii", "replace").strip()
    except OSError:
        return ""
