# SPDX-License-Identifier: Apache-2.0
"""The PPK2 that are attached: two serial ports each from firmware 1.2.0 on, one of
which is a shell.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

from drivers.nordic_ppk2.link import NoPpk2, Ppk2Link, attached_ports
from rig.errors import RigError
from rig.interfaces.monitor import FoundInstrument

NAME = "Nordic PPK2"


def serial_number(device: str) -> str:
    """Return the serial number of the PPK2 at a port; empty where it tells none."""
    numbers = (port.serial_number for port in attached_ports() if port.device == device)
    return next(numbers, None) or ""


def attached_instruments() -> list[FoundInstrument]:
    """Return a row for each that is attached. Their ports are opened, unlike those of
    boards: their numbers are a PPK2's alone, and opening one does not restart it.
    """
    ports = sorted(attached_ports(), key=lambda port: port.serial_number or "")
    grouped = groupby(ports, key=lambda port: port.serial_number or "")
    return [_instrument(number, list(group)) for number, group in grouped]


def _instrument(number: str, ports: list[Any]) -> FoundInstrument:
    devices = [port.device for port in ports]
    problems: list[RigError] = []
    for device in devices:
        try:
            _require_answer(device)
        except RigError as error:
            problems.append(error)
            continue
        others = tuple(each for each in devices if each != device)
        shells = " and ".join(f'"{each}"' for each in others)
        remark = f"  # {shells} is its shell" if shells else ""
        setting = f'port = "{device}"{remark}'
        return FoundInstrument(NAME, number, setting, ports=others)
    # One that may not be opened says more than the shell's silence.
    telling = [each for each in problems if not isinstance(each, NoPpk2)]
    problem = (telling or problems)[0]
    return FoundInstrument(
        NAME,
        number,
        f'port = "{devices[0]}"',
        problem=f"{problem.cause} ({problem.evidence})",
        try_next=problem.try_next,
    )


def _require_answer(device: str) -> None:
    link = Ppk2Link.open(device)
    try:
        link.ask()
    finally:
        link.close()
