# SPDX-License-Identifier: Apache-2.0
"""The wiring diagram of a bench as plain data: its parts, and the connections between
their pins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from rig.bench import plugins
from rig.bench.config import Config
from rig.bench.simulated import is_simulated
from rig.model.wiring import Connection, Pin, WireName

_TITLES = {"feed": "Supply", "io manager": "IO manager"}


@dataclass(frozen=True, slots=True)
class DiagramBox:
    """A box of the diagram: `key` is what its pins name, `title` and `subtitle` stand
    in it."""

    key: str
    title: str
    subtitle: str
    simulated: bool = False

    @property
    def role(self) -> str:
        """The role: "host", "dut", "monitor", "feed" or "io manager"."""
        return self.key.partition(":")[0]


@dataclass(frozen=True, slots=True)
class Wire:
    """A line of the diagram, and its rail."""

    connection: Connection
    rail: str = ""


@dataclass(frozen=True, slots=True)
class Diagram:
    """The parts of a bench and the wires between them; `notes` hold further information
    in words.
    """

    parts: tuple[DiagramBox, ...]
    wires: tuple[Wire, ...]
    notes: tuple[str, ...]

    def lines(self) -> list[str]:
        """Return the wires as text, one a line: for a reader without eyes, or a
        terminal."""
        titles = {part.key: part.title for part in self.parts}
        return [
            f"{titles[wire.connection.start.part]} {wire.connection.start.name} to "
            f"{titles[wire.connection.end.part]} {wire.connection.end.name}"
            + (f" ({wire.connection.note})" if wire.connection.note else "")
            for wire in self.wires
        ]


def diagram(resolved: Config, sync_pin: str = "") -> Diagram:
    """Return the diagram of a bench; `sync_pin` is the DUT's pin, where it is known by
    now."""
    wires = list(_wires(resolved, sync_pin))
    used: list[str] = []
    for wire in wires:
        used += [wire.connection.start.part, wire.connection.end.part]
    parts = [_dut(resolved)]
    if "host" in used:
        port = getattr(resolved.sut.settings, "port", "")
        parts.insert(0, DiagramBox("host", "Host", port or "serial adapter"))
    for rail, choice in resolved.monitors.items():
        key = _key("monitor", rail)
        simulated = is_simulated("monitor", choice)
        parts.append(DiagramBox(key, rail or "Energy monitor", choice.kind, simulated))
    for key in dict.fromkeys(used):
        if key not in {part.key for part in parts}:
            role, _, rail = key.partition(":")
            subtitle = rail or (
                "feeds the device" if role == "feed" else "stamps edges"
            )
            parts.append(DiagramBox(key, _TITLES.get(role, role), subtitle))
    return Diagram(tuple(parts), tuple(wires), tuple(_notes(resolved, wires)))


def _dut(resolved: Config) -> DiagramBox:
    return DiagramBox(
        "dut", "Device under test", resolved.sut.kind, is_simulated("sut", resolved.sut)
    )


def _wires(resolved: Config, sync_pin: str) -> Iterator[Wire]:
    sut = plugins.find("sut", resolved.sut.kind)
    yield from (Wire(each) for each in sut.wires(resolved.sut.settings))
    for rail, choice in resolved.monitors.items():
        kind = plugins.find("monitor", choice.kind)
        for each in kind.wires(choice.settings):
            named = replace(
                each,
                start=_end(each.start, rail, sync_pin),
                end=_end(each.end, rail, sync_pin),
            )
            yield Wire(named, rail)


def _end(pin: Pin, rail: str, sync_pin: str) -> Pin:
    if pin.part == "dut":
        return (
            replace(pin, name=f"SYNC {sync_pin}")
            if sync_pin and pin.name == "SYNC"
            else pin
        )
    return replace(pin, part=_key(pin.part, rail))


def _key(role: str, rail: str) -> str:
    return f"{role}:{rail}" if rail else role


def _notes(resolved: Config, wires: list[Wire]) -> Iterator[str]:
    names = {wire.connection.name for wire in wires}
    if WireName.SUPPLY in names:
        yield (
            "Nothing else may feed the device: no USB cable, no debug probe; a UART"
            " feeds through its pins where it is powered and the device is not."
        )
    if WireName.TX in names:
        yield "Tx goes to Rx, both ways; the levels of adapter and device are the same."
    if WireName.SYNC in names:
        yield "A level shifter in SYNC must not invert: a pulse is low."
    if not names:
        yield "There is nothing to wire: the parts of this bench share this computer."
    simulated = is_simulated("sut", resolved.sut)
    if simulated and names:
        yield "Simulated: the wires are those that a board would need."
