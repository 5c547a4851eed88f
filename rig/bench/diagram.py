# SPDX-License-Identifier: Apache-2.0
"""The wiring diagram of a bench as plain data: its parts, and the connections between
their pins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from rig.bench import plugins
from rig.bench.config import Config
from rig.bench.simulated import is_simulated
from rig.errors import ConfigError, did_you_mean
from rig.firmware import project
from rig.firmware.project import Board
from rig.firmware.wiring import NOT_KNOWN
from rig.model.wiring import Connection, Pin, WireName

#: The pin of a DUT with the voltage of its logic, where its supply has another.
_LOGIC = "logic +"
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
    now. Raises ConfigError for a board that there is not.
    """
    board = _board(resolved)
    pins = _pins(board) if board is not None else {}
    if sync_pin:
        pins.setdefault("SYNC", sync_pin)
    wires = list(_wires(resolved, pins))
    used: list[str] = []
    for wire in wires:
        used += [wire.connection.start.part, wire.connection.end.part]
    parts = [_dut(resolved, board)]
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


def _board(resolved: Config) -> Board | None:
    """Return the board that a bench names."""
    name = getattr(resolved.sut.settings, "pins_of", "")
    if not name:
        return None
    known = project.boards(project.sources())
    if name not in known:
        raise ConfigError(
            f"there is no board {name}",
            path=f"[sut.{resolved.sut.kind}] pins_of",
            try_next=f"{did_you_mean(name, known)}one of {', '.join(known)}",
        )
    return known[name]


def _pins(board: Board) -> dict[str, str]:
    """Return the places on a board of the DUT's pins."""
    pins = {"SYNC": board.sync, "Tx": board.tx, "Rx": board.rx}
    wiring = board.wiring
    if wiring is not None:
        supply = wiring.supply.text or NOT_KNOWN
        pins |= {"supply +": supply, "ground": wiring.ground, _LOGIC: wiring.level}
    return pins


def _dut(resolved: Config, board: Board | None) -> DiagramBox:
    named = board.title if board is not None else resolved.sut.kind
    simulated = is_simulated("sut", resolved.sut)
    return DiagramBox("dut", "Device under test", named, simulated)


def _wires(resolved: Config, pins: Mapping[str, str]) -> Iterator[Wire]:
    sut = plugins.find("sut", resolved.sut.kind)
    for each in sut.wires(resolved.sut.settings):
        yield Wire(_placed(each, "", pins))
    for rail, choice in resolved.monitors.items():
        kind = plugins.find("monitor", choice.kind)
        for each in kind.wires(choice.settings):
            yield Wire(_placed(each, rail, pins), rail)


def _placed(made: Connection, rail: str, pins: Mapping[str, str]) -> Connection:
    """Return a connection with the rails of its ends, and the places of its pins."""
    is_level = made.name is WireName.LEVEL
    ends = []
    for pin in (made.start, made.end):
        if pin.part == "dut":
            ends.append(_of_dut(pin, pins, is_level=is_level))
        else:
            ends.append(replace(pin, part=_key(pin.part, rail)))
    return replace(made, start=ends[0], end=ends[1])


def _of_dut(pin: Pin, pins: Mapping[str, str], *, is_level: bool) -> Pin:
    if is_level and pins.get(_LOGIC):
        pin = replace(pin, name=_LOGIC)
    place = pins.get(pin.name, "")
    return replace(pin, name=f"{pin.name} {place}") if place else pin


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
