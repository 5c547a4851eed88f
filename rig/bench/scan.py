# SPDX-License-Identifier: Apache-2.0
"""Find attached instruments of every kind that can be looked for, and serial ports with
a possible device under test.

No port is opened, as many boards restart by that, but those whose numbers are an
instrument's own. A port that a row names is no other's.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from rig.bench import packages, plugins
from rig.errors import RigError
from rig.interfaces.monitor import FoundInstrument

MONITOR = "monitor"
SERIAL = "serial port"
ONBOARD = "on-board port"
FOUND = "found"
PROBLEM = "problem"
MISSING = "not installed"
_CABLES = (
    "cables: USB cables that only charge look the same; is the instrument switched on?"
)
_LINUX = (
    f"{_CABLES} lsusb, or dmesg -w while you plug it in",
    (
        "permissions: serial ports need the group dialout (sudo usermod -aG dialout"
        " $USER, then log in again)"
    ),
    "USB instruments need udev rules; rig doctor prints the command that installs them",
)
#: Advice when no instrument is found.
EMPTY = (
    *(_LINUX if sys.platform == "linux" else (_CABLES,)),
    "virtual machines and containers see only what is passed through to them",
    (
        "instruments in the network are not looked for: name them in the bench file, as"
        ' resource = "TCPIP::..."'
    ),
)


@dataclass(frozen=True, slots=True)
class ScanRow:
    """One thing found, one kind that could not look, or one that lacks its package.

    `setting` is what to put into a bench file to use it, `addresses` are the texts in
    it, such as a port, then the other ports of an instrument. `state` is FOUND, PROBLEM
    (with `problem` and `try_next`) or MISSING.
    """

    kind: str
    name: str
    state: str
    serial: str = ""
    setting: str = ""
    problem: str = ""
    try_next: str = ""
    addresses: tuple[str, ...] = ()


def scan(
    monitors: Mapping[str, Callable[[], Any]] | None = None,
    ports: Callable[[], Iterable[Any]] | None = None,
    missing: Callable[[str], Iterable[str]] | None = None,
) -> list[ScanRow]:
    """Return the attached instruments, then the serial ports that none of them claimed;
    the devices are not changed.

    `monitors` returns the class of each kind (default: the installed ones); `ports`
    lists serial ports as pyserial does; `missing` names the packages of a kind that are
    not installed. A kind that fails does not hide others: its error is a row.
    """
    if monitors is None:
        names = plugins.names(MONITOR)
        monitors = {kind: partial(plugins.find, MONITOR, kind) for kind in names}
    rows: list[ScanRow] = []
    for kind, find in sorted(monitors.items()):
        rows += _instruments(kind, find, missing or _missing)
    return rows + _ports(ports or _comports, rows)


def serial_ports(
    comports: Callable[[], Iterable[Any]] | None = None,
) -> list[tuple[str, ScanRow]]:
    """Return all serial ports, each with its path or name; ports of the kernel without
    a chip are left out."""
    ports = sorted((comports or _comports)(), key=lambda port: str(port.device))
    return [(port.device, _port(port)) for port in ports if not _is_hollow(port)]


def is_well(rows: Iterable[ScanRow]) -> bool:
    """Check whether there are no problems; a package that is not installed is no
    problem.
    """
    return all(row.state != PROBLEM for row in rows)


def is_empty(rows: Iterable[ScanRow]) -> bool:
    """Check whether no attached device was found, not even one with a problem."""
    return all(row.state == MISSING or row.kind == ONBOARD for row in rows)


def _instruments(
    kind: str, find: Callable[[], Any], missing: Callable[[str], Iterable[str]]
) -> list[ScanRow]:
    packages = list(missing(kind))
    if packages:
        return [
            ScanRow(
                kind,
                ", ".join(packages),
                MISSING,
                try_next=f"pip install 'neurorig[{plugins.extra(kind)}]'",
            )
        ]
    try:
        return [_instrument(kind, found) for found in find().scan()]
    except RigError as error:
        if isinstance(error.__cause__, ImportError):
            return [ScanRow(kind, error.cause, MISSING, try_next=error.try_next)]
        problem = error.joined(": ")
        hint = error.try_next
    except Exception as error:
        # A vendor's library may raise anything, and the others are to be looked for.
        problem = f"{type(error).__name__}: {error}"
        hint = "rig list says whether the driver loads; reinstall its package"
    return [ScanRow(kind, "not looked for", PROBLEM, problem=problem, try_next=hint)]


def _instrument(kind: str, instrument: FoundInstrument) -> ScanRow:
    state = PROBLEM if instrument.problem else FOUND
    # A serial number with a quote or an end of a line in it would write keys of its
    # own; one with a backslash would be no TOML.
    is_quoted = bool(set('"\\') & set(instrument.serial))
    plain = instrument.serial.isprintable() and not is_quoted
    own = instrument.setting if plain else ""
    setting = "\n".join(filter(None, (f"[{MONITOR}.{kind}]", own)))
    values = tomllib.loads(own).values()
    named = [value for value in values if isinstance(value, str)]
    return ScanRow(
        kind=kind,
        name=instrument.name,
        state=state,
        serial=instrument.serial,
        setting=setting,
        problem=instrument.problem,
        try_next=instrument.try_next,
        addresses=(*named, *instrument.ports),
    )


def _missing(kind: str) -> Iterable[str]:
    """Name the packages of the extra of this name that are not installed."""
    return packages.missing(plugins.extra(kind))


def _comports() -> Iterable[Any]:
    from serial.tools import list_ports

    return list_ports.comports()


def _ports(
    comports: Callable[[], Iterable[Any]], rows: Iterable[ScanRow]
) -> list[ScanRow]:
    named = chain.from_iterable(row.addresses for row in rows)
    claimed = set(map(os.path.realpath, named))
    try:
        ports = serial_ports(comports)
    except Exception as error:  # as with the instruments
        return [
            ScanRow(
                SERIAL,
                "not looked for",
                PROBLEM,
                problem=f"{type(error).__name__}: {error}",
            )
        ]
    return [row for device, row in ports if os.path.realpath(device) not in claimed]


def _port(port: Any) -> ScanRow:
    kind = SERIAL if port.vid is not None else ONBOARD
    named = f": {port.description}" if port.description not in (None, "", "n/a") else ""
    name = f"{port.device}{named}"
    setting = f'[sut.uart]\nport = "{port.device}"'
    serial = port.serial_number or ""
    is_usable = os.access(
        port.device,
        os.R_OK | os.W_OK,
        effective_ids=os.access in os.supports_effective_ids,
    )
    problem, try_next = ("", "") if is_usable else _refused(Path(port.device))
    return ScanRow(
        kind=kind,
        name=name,
        state=FOUND if is_usable else PROBLEM,
        serial=serial,
        setting=setting,
        problem=problem,
        try_next=try_next,
        addresses=(port.device,),
    )


def _refused(device: Path) -> tuple[str, str]:
    if sys.platform == "win32":
        return (
            "the port cannot be opened",
            "does another program have it open? plug it in again",
        )
    import grp
    import pwd

    try:
        owner = grp.getgrgid(device.stat().st_gid)
        account = pwd.getpwuid(os.geteuid()).pw_name
    except (OSError, KeyError):
        return (
            "no permission to use the port, or it is gone",
            "plug it in again; ls -l /dev/tty*",
        )
    group = owner.gr_name
    if account in owner.gr_mem and owner.gr_gid not in os.getgroups():
        return (
            f"no permission to use the port yet: you are in the group {group} from the"
            " next login on",
            f"log out and in again, or: newgrp {group}",
        )
    return (
        f"no permission to use the port: you are not in the group {group}",
        f"sudo usermod -aG {group} $USER, then log in again",
    )


def _is_hollow(port: Any) -> bool:
    """Check whether the kernel lists a port without a chip: a PC has up to 32 of
    those.
    """
    try:
        return (
            port.vid is None
            and Path(f"/sys/class/tty/{Path(port.device).name}/type")
            .read_text(encoding="ascii")
            .strip()
            == "0"
        )
    except OSError:
        return False
