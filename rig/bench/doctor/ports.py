# SPDX-License-Identifier: Apache-2.0
"""Serial ports: those that are there, their owners, and whether this account may open
them. No port is opened, as many boards restart then.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rig.bench import scan
from rig.bench.doctor import usb
from rig.bench.doctor.row import DoctorRow, LinuxRoot, RowState, limited
from rig.bench.scan import ScanRow
from rig.errors import DeadlineError
from rig.host.serial_port import users_of
from rig.model.need import Need, NeedKind

GROUP = usb.GROUP
NAME = "serial port"
_PLUG_IN = "plug it in; a USB cable that only charges looks the same; rig scan"


def port_rows(needs: Sequence[Need] | None) -> Iterator[DoctorRow]:
    """Yield a row for each serial port here; where `needs` are given, for each port
    that they name."""
    named = None
    if needs is not None:
        named = [need.name for need in needs if need.kind is NeedKind.PORT]
        if not named:
            return
    try:
        ports = limited("list of serial ports", scan.serial_ports)
    except DeadlineError as error:
        yield DoctorRow(
            GROUP,
            NAME,
            RowState.WRONG,
            error.cause,
            "unplug USB devices one by one: a driver of one of them does not answer",
            needed=bool(named),
        )
        return
    if named is None:
        for device, row in ports:
            yield _row(device, row)
        if not ports:
            yield DoctorRow(GROUP, NAME, RowState.MISSING, "none is here", _PLUG_IN)
        return
    for name in named:
        yield _named(name, ports)


def _named(name: str, ports: Sequence[tuple[str, ScanRow]]) -> DoctorRow:
    """Return the row of a port that a bench file names, also by a link to it."""
    if "://" in name:
        detail = f"{name} is reached over the network: rig probe asks there"
        return DoctorRow(GROUP, NAME, RowState.OK, detail, needed=True)
    for device, row in ports:
        if _is_same(name, device):
            return _row(device, row, needed=True)
    # A pseudo-terminal is no port that the system lists.
    if sys.platform != "win32" and Path(name).is_char_device():
        return DoctorRow(GROUP, NAME, RowState.OK, f"{name} is there", needed=True)
    here = ", ".join(device for device, _ in ports) or "none"
    detail = f"there is no port {name}; ports here: {here}"
    return DoctorRow(
        GROUP, NAME, RowState.MISSING, detail, _PLUG_IN, needed=True, see="port-missing"
    )


def _is_same(name: str, device: str) -> bool:
    if sys.platform == "win32":
        return name.removeprefix("\\\\.\\").upper() == device.upper()
    return Path(name).resolve() == Path(device).resolve()


def _row(device: str, found: ScanRow, *, needed: bool = False) -> DoctorRow:
    owner = _owner(Path(device))
    name = f"{found.name}{owner}"
    if found.state == scan.PROBLEM:
        return DoctorRow(
            GROUP,
            NAME,
            RowState.WRONG,
            f"{name}: {found.problem}",
            found.try_next,
            needed=needed,
            see="port-denied",
        )
    if users := users_of(device):
        return DoctorRow(
            GROUP,
            NAME,
            RowState.WRONG,
            f"{name}: {'; '.join(users)}",
            "end the terminal or other rig that holds it",
            needed=needed,
            see="port-busy",
        )
    detail = f"{name}, this account may open it"
    return DoctorRow(GROUP, NAME, RowState.OK, detail, needed=needed)


def _owner(device: Path) -> str:
    """Return owner, group and permissions of a device; empty where the system has
    none."""
    if sys.platform == "win32":
        return ""
    import stat

    try:
        about = device.stat()
        owner, group = device.owner(), device.group()
    except (OSError, KeyError):
        return ""
    return f", {owner}:{group} {stat.S_IMODE(about.st_mode):04o}"


def linux_rows(place: LinuxRoot, needs: Sequence[Need] | None) -> Iterator[DoctorRow]:
    """Yield the effects of udev, the kernel and ModemManager on USB devices; none where
    a bench needs no such device.
    """
    devices = usb.attached(place)
    needed = needs is not None
    if needs is not None:
        names = {Path(need.name).resolve().name for need in _of(needs, NeedKind.PORT)}
        makers = [need.name for need in _of(needs, NeedKind.USB)]
        if not names and not makers:
            return
        devices = [
            device
            for device in devices
            if names & set(device.ports) or usb.is_of(device, makers)
        ]
    rules = usb.rules_row(place)
    has_rules = rules.state is RowState.OK
    if needs is None or devices:
        yield rules
    yield from usb.device_rows(place, devices, needed=needed)
    yield from usb.suspend_rows(devices)
    yield usb.modem_manager_row(place, devices, has_rules=has_rules)


def _of(needs: Sequence[Need], kind: NeedKind) -> list[Need]:
    return [need for need in needs if need.kind is kind]
