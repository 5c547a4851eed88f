# SPDX-License-Identifier: Apache-2.0
"""N6705s at USB ports, for rig scan."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from drivers.keysight_n6705.link import ScpiLink
from drivers.keysight_n6705.visa import open_library
from rig.errors import ConfigError, RigError
from rig.interfaces.monitor import FoundInstrument

#: USB identities: N6705A and B, and N6705C, as public programs name them.
USB = ((0x0957, 0x0F07), (0x2A8D, 0x0F02))


def usb_resources() -> list[tuple[str, str]]:
    """Return the VISA library and resource of each N6705 at a USB port."""
    with suppress(ConfigError):
        # Not "": pyvisa takes pyvisa-py for that where no vendor's library is, which
        # then calls on the network.
        return [
            ("@ivi", resource)
            for resource in open_library("@ivi").list_resources("USB?*::INSTR")
        ]
    try:
        from pyvisa_py.usb import USBInstrSession
    except ImportError:  # without PyUSB the ports cannot be searched
        return []
    resources: list[Any] = USBInstrSession.list_resources()
    return [("@py", str(resource)) for resource in resources]


def identity(resource: str) -> tuple[int, ...]:
    """Return vendor and product of a USB name: vendors' libraries print them in
    hexadecimal, pyvisa-py in decimal numbers.
    """
    try:
        return tuple(int(word, 0) for word in resource.split("::")[1:3])
    except ValueError:
        return ()


def found(library: str, resource: str) -> FoundInstrument:
    """Return an instrument with its problem."""
    setting = f'resource = "{resource}"' + (
        f'\nvisa_library = "{library}"' if library != "@py" else ""
    )
    try:
        link = ScpiLink(resource, library, 2.0)
        try:
            model, serial, _ = link.identity()
        finally:
            link.close()
    except RigError as error:
        problem = (
            " ".join(f"{error.cause}: {error.evidence}".split())
            if error.evidence
            else error.cause
        )
        return FoundInstrument(
            "Keysight N6705", "", setting, problem=problem, try_next=error.try_next
        )
    return FoundInstrument(f"Keysight {model}", serial, setting)
