# SPDX-License-Identifier: Apache-2.0
"""USB devices on Linux: who may open them, whether they are suspended, and whether
ModemManager takes their serial ports. No device is opened.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from rig.bench.doctor.row import DoctorRow, LinuxRoot, RowState

GROUP = "ports"
RULES = Path(__file__).parents[2] / "files" / "72-neurorig.rules"
#: Where udev looks, the folder of the administrator first.
_FOLDERS = (
    "etc/udev/rules.d",
    "run/udev/rules.d",
    "usr/local/lib/udev/rules.d",
    "usr/lib/udev/rules.d",
    "lib/udev/rules.d",
)
_MATCHED = re.compile(
    r'^SUBSYSTEM=="usb", ATTR\{idVendor\}=="([^"]+)"(?:, ATTR\{idProduct\}=="([^"]+)")?'
    r".*MODE="
)
INSTALL = (
    f'sudo install -m 644 "{RULES}" /etc/udev/rules.d/'
    " && sudo udevadm control --reload && sudo udevadm trigger"
)


@dataclass(frozen=True, slots=True)
class UsbDevice:
    """An attached USB device: its identification, its node below /dev, its serial ports
    and its power control, "on" or "auto", empty where the kernel states none.
    """

    vendor: str
    product: str
    name: str
    node: Path
    ports: tuple[str, ...]
    power: str


@dataclass(frozen=True, slots=True)
class KnownDevice:
    """The devices of one comment of the rules: the comment, and patterns of the
    identification.
    """

    name: str
    vendor: str
    products: tuple[str, ...]

    def matches(self, device: UsbDevice) -> bool:
        """Check whether a device is one of these."""
        return device.vendor == self.vendor and any(
            fnmatchcase(device.product, pattern) for pattern in self.products
        )


def known_devices() -> list[KnownDevice]:
    """Return the devices that the rules give access to, by the comments above
    them."""
    devices = []
    comment = ""
    for line in RULES.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            comment = line.removeprefix("# ")
        if match := _MATCHED.match(line):
            products = tuple((match[2] or "*").split("|"))
            devices.append(KnownDevice(comment, match[1], products))
    return devices


def attached(place: LinuxRoot) -> list[UsbDevice]:
    """Return the attached devices, hubs left out, by their places in the tree."""
    folders = sorted(place.path("sys/bus/usb/devices").glob("*"))
    devices = []
    for folder in folders:
        vendor = place.text(folder / "idVendor")
        if not vendor or place.text(folder / "bDeviceClass") == "09":
            continue
        product = place.text(folder / "idProduct")
        bus = place.text(folder / "busnum").zfill(3)
        number = place.text(folder / "devnum").zfill(3)
        # ttyACM0 lies in the interface, ttyUSB0 in a folder of the adapter's port.
        ports = {path.name for path in folder.glob("*:*/tty/tty*")}
        ports |= {path.name for path in folder.glob("*:*/tty*/tty/tty*")}
        devices.append(
            UsbDevice(
                vendor=vendor,
                product=product,
                name=place.text(folder / "product") or f"{vendor}:{product}",
                node=place.path(f"dev/bus/usb/{bus}/{number}"),
                ports=tuple(sorted(ports)),
                power=place.text(folder / "power" / "control"),
            )
        )
    return devices


def known(device: UsbDevice) -> KnownDevice | None:
    """Return the devices of the rules that one belongs to; None where they do not know
    it."""
    return next((kind for kind in known_devices() if kind.matches(device)), None)


def is_of(device: UsbDevice, makers: Sequence[str]) -> bool:
    """Check whether a device is of one of these makers, by the comments of the
    rules."""
    kind = known(device)
    return kind is not None and kind.name.startswith(tuple(makers))


def rules_row(place: LinuxRoot) -> DoctorRow:
    """Return whether the rules of this version are installed. No bench needs them: one
    whose devices may be opened and are left alone works without.
    """
    name = "udev rules"
    ours = RULES.read_bytes()
    for folder in _FOLDERS:
        path = place.path(folder) / RULES.name
        try:
            is_same = path.read_bytes() == ours
        except OSError:
            continue
        if is_same:
            return DoctorRow(GROUP, name, RowState.OK, f"{path}")
        detail = f"{path} is of another version of neurorig"
        return DoctorRow(GROUP, name, RowState.WRONG, detail, INSTALL, see="usb-denied")
    detail = (
        f"{RULES.name} is not installed: access to USB, no ModemManager, no suspend"
    )
    return DoctorRow(GROUP, name, RowState.MISSING, detail, INSTALL)


def device_rows(
    place: LinuxRoot, devices: Sequence[UsbDevice], *, needed: bool
) -> Iterator[DoctorRow]:
    """Yield for each attached instrument or board that the rules know whether this
    account may open it."""
    for device in devices:
        if known(device) is None:
            continue
        where = f"{device.name} ({device.vendor}:{device.product})"
        if os.access(device.node, os.R_OK | os.W_OK):
            detail = f"{where}, this account may open it"
            yield DoctorRow(GROUP, "USB device", RowState.OK, detail, needed=needed)
            continue
        detail = f"{where}: this account may not open {device.node}"
        yield DoctorRow(
            GROUP,
            "USB device",
            RowState.WRONG,
            detail,
            f"{INSTALL}; then plug it in again",
            needed=needed,
            see="usb-denied",
        )


def suspend_rows(devices: Sequence[UsbDevice]) -> Iterator[DoctorRow]:
    """Yield a row for the devices that the kernel may suspend, of those with a serial
    port and of instruments. Most work all the same: no bench needs it.
    """
    of_interest = [device for device in devices if device.ports or known(device)]
    if not of_interest:
        return
    suspended = [device.name for device in of_interest if device.power == "auto"]
    name = "USB suspend"
    if not suspended:
        detail = f"off for {len(of_interest)} devices"
        yield DoctorRow(GROUP, name, RowState.OK, detail)
        return
    detail = (
        f"{', '.join(suspended)} may be suspended when idle: bytes after a pause are"
        " late or lost"
    )
    yield DoctorRow(GROUP, name, RowState.WRONG, detail, INSTALL, see="usb-suspended")


def modem_manager_row(
    place: LinuxRoot, devices: Sequence[UsbDevice], *, has_rules: bool
) -> DoctorRow:
    """Return whether ModemManager may open serial ports: it writes modem commands to
    each new one for some seconds.
    """
    name = "ModemManager"
    processes = place.path("proc").glob("[0-9]*/comm")
    if not any(place.text(path) == "ModemManager" for path in processes):
        return DoctorRow(GROUP, name, RowState.OK, "does not run")
    ports: list[str] = []
    for device in devices:
        ports += device.ports
    if has_rules:
        detail = "runs; the udev rules keep it off the ports of boards"
        return DoctorRow(GROUP, name, RowState.OK, detail)
    if not ports:
        return DoctorRow(GROUP, name, RowState.OK, "runs; no USB port is attached")
    detail = f"runs, and opens {', '.join(ports)} for seconds after they are plugged in"
    return DoctorRow(GROUP, name, RowState.WRONG, detail, INSTALL, see="modemmanager")
