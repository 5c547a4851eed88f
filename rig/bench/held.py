# SPDX-License-Identifier: Apache-2.0
"""Devices and instruments that a session has for itself, as its bench names them; none
is opened. Two sessions that hold the same run one after the other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from rig.bench.config import Config, PluginChoice, hints
from rig.bench.place_settings import LENT, is_lent
from rig.bench.simulated import is_simulated
from rig.settings.declare import DEVICE

#: The word in a bench file in the place of an instrument's own name.
_SIMULATOR = "simulator"


@dataclass(frozen=True, slots=True)
class HeldDevice:
    """A device by its kind and name; without a name, any one of the kind."""

    kind: str
    name: str = ""

    def is_same(self, other: HeldDevice) -> bool:
        """Check whether two names may be those of one device."""
        if self.name and other.name:
            return self.name == other.name
        return self.kind == other.kind


@dataclass(frozen=True, slots=True)
class Held:
    """The devices of a bench; `alone`: the computer itself may be the device, so that
    no other session is to run beside this one.
    """

    devices: tuple[HeldDevice, ...] = ()
    alone: bool = False

    @property
    def is_free(self) -> bool:
        """Whether any number of such sessions may run, at any place."""
        return not self.devices and not self.alone

    def excludes(self, other: Held) -> bool:
        """Check whether two sessions cannot run at the same time."""
        if self.alone or other.alone:
            return True
        pairs = product(self.devices, other.devices)
        return any(mine.is_same(its) for mine, its in pairs)


def held(resolved: Config) -> Held:
    """Return the devices of a session. A simulator is no device: any number of
    them run side by side.
    """
    sut = resolved.sut
    place = resolved.labgrid
    devices = list(_devices("sut", sut))
    if place is not None:
        named = (place.coordinator, place.environment, place.place, place.target)
        devices.append(HeldDevice(LENT, " ".join(named)))
    # A program on this computer names no device: other sessions would share the
    # processor that it measures.
    alone = not is_simulated("sut", sut) and not any(each.name for each in devices)
    for choice in resolved.monitors.values():
        devices += _devices("monitor", choice)
    return Held(tuple(devices), alone)


def _devices(section: str, choice: PluginChoice) -> Iterator[HeldDevice]:
    devices = list(_names(choice.settings))
    named = [
        name
        for name in devices
        if not name.startswith(_SIMULATOR) and not is_lent(name)
    ]
    if any(map(is_lent, devices)):
        return  # the place is held
    if named:
        yield from (HeldDevice(choice.kind, _place(name)) for name in named)
    elif not is_simulated(section, choice):
        yield HeldDevice(choice.kind)


def _names(settings: Any) -> Iterator[str]:
    """Yield the settings that name a device, those of inner tables as well."""
    types = hints(settings.__class__)
    for part in dataclasses.fields(settings):
        value = getattr(settings, part.name)
        if dataclasses.is_dataclass(value):
            yield from _names(value)
        elif DEVICE in getattr(types[part.name], "__metadata__", ()) and value:
            yield str(value)


def _place(name: str) -> str:
    """Return one name of a device that has several links, as a serial port has."""
    path = Path(name)
    return str(path.resolve()) if path.is_absolute() and path.exists() else name
