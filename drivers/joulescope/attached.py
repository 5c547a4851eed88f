# SPDX-License-Identifier: Apache-2.0
"""Joulescopes that are attached: found, and one of them chosen."""

from __future__ import annotations

from typing import Any

from drivers.joulescope import models
from drivers.joulescope.link import DriverLink
from drivers.joulescope.shared import Shared
from drivers.joulescope.sim.simulator import SimulatedDriver
from rig.errors import BenchError, ConfigError, DeviceBusy, DeviceNotFound
from rig.interfaces.monitor import FoundInstrument

SIMULATOR = "simulator"


def found(driver: Any, shared: Shared) -> list[FoundInstrument]:
    """List the instruments that a driver object sees; each is opened as it stands and
    closed again, unless this process has it open."""
    rows = []
    for path in driver.device_paths():
        problem = try_next = ""
        try:
            models.of_path(path)
        except ConfigError as error:
            problem = error.evidence
            try_next = error.try_next
        else:
            try:
                with shared.hold(path):
                    DriverLink.open(driver, path).close()
            except DeviceBusy as error:
                problem = f"{error.cause}: {error.evidence}"
                try_next = error.try_next
        name = f"Joulescope {path.split('/')[1].upper()}"
        rows.append(
            FoundInstrument(name, serial(path), f'device = "{path}"', problem, try_next)
        )
    return rows


def _vendor_driver() -> Any:
    try:
        from pyjoulescope_driver import Driver
    except ImportError as error:
        raise ConfigError(
            "the driver of the Joulescope is not installed",
            path="monitor.joulescope",
            evidence=str(error),
            try_next="pip install 'neurorig[joulescope]'",
        ) from error
    try:
        return Driver()
    except (TimeoutError, RuntimeError) as error:
        if "IN_USE" in str(error):
            raise DeviceBusy(
                "the Joulescope driver is in use in this process",
                evidence=str(error),
                try_next=(
                    "something else here has made a Driver of pyjoulescope_driver; a"
                    " process can have one: finalize it"
                ),
            ) from error
        raise BenchError(
            "the Joulescope driver does not start",
            evidence=str(error),
            try_next="look at the USB permissions",
        ) from error


#: For all benches of this process: the maker's library allows one driver object in a
#: process.
VENDOR = Shared(_vendor_driver)
SIMULATED = Shared(SimulatedDriver)


def choose(paths: list[str], device: str) -> str:
    """Return the path of the instrument that is named, or of the only one; raise
    DeviceNotFound or ConfigError."""
    attached = ", ".join(paths) or "none"
    if not paths:
        raise DeviceNotFound(
            f"no Joulescope{device and f' {device}'} is attached",
            evidence="the driver lists none",
            try_next=(
                "its USB cable; on Linux udev rules: rig doctor prints the command that"
                ' installs them; device = "simulator" needs none'
            ),
            see="no-instrument",
        )
    # A JS110 and a JS220 may have the same serial number.
    matching = [path for path in paths if device in _names(path)]
    if not matching:
        raise DeviceNotFound(
            f"there is no Joulescope {device}",
            evidence=f"attached: {attached}",
            try_next="rig scan lists them",
        )
    if len(matching) > 1:
        raise ConfigError(
            f"several Joulescopes{device and f' {device}'} are attached",
            path="monitor.joulescope.device",
            evidence=attached,
            try_next=f'name one, as device = "{matching[0]}"',
        )
    return matching[0]


def is_simulated(device: str) -> bool:
    """Check whether the bench file names the simulator."""
    return device == SIMULATOR or device.startswith(f"{SIMULATOR}/")


def serial(path: str) -> str:
    """Return the serial number in a device's path."""
    return path.split("/")[-1]


def _names(path: str) -> tuple[str, ...]:
    """List the names of a device for bench files: none, its path, its
    serial number, and model and serial number."""
    model = path.split("/")[1].upper()
    return ("", path, serial(path), f"{model}-{serial(path)}")
