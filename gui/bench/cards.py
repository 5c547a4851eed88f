# SPDX-License-Identifier: Apache-2.0
"""The cards of a bench: what each part is, and how it stands, from the bench file and
the engine's events; no Qt.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from rig.bench.config import Config
from rig.bench.simulated import is_simulated
from rig.interfaces.monitor import MonitorInfo
from rig.interfaces.sut import SutInfo
from rig.model.finding import Finding, FindingKind
from rig.model.wiring import WireFinding, WireName
from rig.store.events import Opening, PartOpened, RailState
from rig.units import quantity

#: States of a card, and the theme's colour of each.
COLOURS = {
    "not connected": "muted",
    "opening ...": "warn",
    "connected": "ok",
    "not tested": "muted",
    "seen": "ok",
    "failed": "bad",
}
_SYNC_ROWS = (WireName.LEVEL, WireName.SYNC, WireName.POLARITY)


@dataclass(frozen=True, slots=True)
class Card:
    """One part: `lines` are names and values; `supply` is "on", "off", or "" where none
    is known.
    """

    key: str
    title: str
    kind: str
    state: str = "not connected"
    simulated: bool = False
    supply: str = ""
    lines: tuple[tuple[str, str], ...] = ()

    @property
    def colour(self) -> str:
        """The name of the colour of its dot."""
        return COLOURS[self.state]

    @property
    def spoken(self) -> str:
        """The text for a screen reader."""
        parts = [f"{self.title}: {self.kind}, {self.state}"]
        parts += ["simulated"] if self.simulated else []
        parts += [f"supply {self.supply}"] if self.supply else []
        return ", ".join([*parts, *(f"{name} {value}" for name, value in self.lines)])


@dataclass(slots=True)
class Cards:
    """All cards of a bench."""

    by_key: dict[str, Card] = field(default_factory=dict)

    @classmethod
    def of(cls, resolved: Config) -> Cards:
        """Return the cards of a bench without a connection."""
        cards = [
            Card(
                "dut",
                "Device",
                resolved.sut.kind,
                simulated=is_simulated("sut", resolved.sut),
            )
        ]
        if resolved.monitors:
            cards.append(Card("sync", "SYNC", "wire", "not tested"))
        for rail, choice in resolved.monitors.items():
            title = f"Monitor of {rail}" if rail else "Energy monitor"
            simulated = is_simulated("monitor", choice)
            cards.append(
                Card(f"monitor:{rail}", title, choice.kind, simulated=simulated)
            )
        return cls({card.key: card for card in cards})

    def take(self, what: Any) -> bool:
        """Take an event or a finding; return whether a card changed."""
        match what:
            case Opening(part="sut"):
                self._set("dut", state="opening ...")
            case Opening(part="monitor"):
                self._set(f"monitor:{what.rail}", state="opening ...")
            case PartOpened(part="sut") if isinstance(what.info, SutInfo):
                self._set("dut", state="connected", lines=_of_device(what.info))
                self._set("sync", lines=_of_sync(what.info))
            case PartOpened(part="monitor") if isinstance(what.info, MonitorInfo):
                key = f"monitor:{what.rail}"
                self._set(key, state="connected", lines=_of_monitor(what.info))
            case RailState():
                self._set(f"monitor:{what.rail}", supply="on" if what.on else "off")
            case WireFinding(wire=wire) if wire in _SYNC_ROWS and what.ok is not None:
                self._sync(what.ok, str(wire), what.detail)
            case Finding(kind=FindingKind.SYNC_WIRE):
                self._sync(what.ok, "wire", what.detail)
            case _:
                return False
        return True

    def readings(self, by_rail: dict[str, str]) -> None:
        """Add the readings of the supplies."""
        for rail, reading in by_rail.items():
            card = self.by_key.get(f"monitor:{rail}")
            if card is not None:
                lines = [line for line in card.lines if line[0] != "reads"]
                self._set(card.key, lines=(*lines, ("reads", reading)))

    def over(self, failed: bool) -> None:
        """Note that all ports are closed: a part that was being opened has failed."""
        for key, card in self.by_key.items():
            if failed and card.state == "opening ...":
                self._set(key, state="failed")
            elif card.state in ("connected", "opening ..."):
                self._set(key, state="not connected")

    def _sync(self, ok: bool, name: str, detail: str) -> None:
        card = self.by_key.get("sync")
        if card is None:
            return
        lines = [line for line in card.lines if line[0] != name]
        state = "seen" if ok and card.state != "failed" else "failed"
        self._set("sync", state=state, lines=(*lines, (name, detail)))

    def _set(self, key: str, **changes: Any) -> None:
        if key in self.by_key:
            self.by_key[key] = replace(self.by_key[key], **changes)


def _of_device(info: SutInfo) -> tuple[tuple[str, str], ...]:
    clock = "none: pulses only"
    if info.clock != "edges":
        clock = quantity(info.tick_hz, "Hz")
    facts = [
        ("name", info.name),
        ("firmware", info.firmware),
        ("runs", info.model or info.task),
        ("clock", clock),
        ("line", info.link),
    ]
    return tuple((name, value) for name, value in facts if value)


def _of_sync(info: SutInfo) -> tuple[tuple[str, str], ...]:
    pin = info.details.get("sync_pin", "")
    hold = quantity(info.sync_hold_s, "s") if info.sync_hold_s else ""
    facts = [("pin", str(pin)), ("pulse", hold)]
    return tuple((name, value) for name, value in facts if value)


def _of_monitor(info: MonitorInfo) -> tuple[tuple[str, str], ...]:
    accuracy = info.accuracy
    year = f", {accuracy.year}" if accuracy.year else ""
    verified = "" if accuracy.verified else " (not verified)"
    versions = []
    for name, value in info.details.items():
        if "version" in name or name == "firmware":
            versions.append(str(value))
    facts = [
        ("name", info.name),
        ("serial number", info.serial),
        ("firmware", ", ".join(versions)),
        ("limits from", f"{accuracy.source}{year}{verified}"),
        ("samples", f"{quantity(info.sample_hz, 'Hz')}; SYNC by {info.sync}"),
    ]
    return tuple((name, value) for name, value in facts if value)
