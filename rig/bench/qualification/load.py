# SPDX-License-Identifier: Apache-2.0
"""Loads at the output of a monitor that is checked: none, a resistor, or a resistor
that the SYNC line switches; and the hands that wire them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rig.errors import ConfigError
from rig.simulation.world import NS_PER_S, World
from rig.units import quantity

_PREFIXES = {"": 1.0, "m": 1e-3, "k": 1e3, "M": 1e6}
_OHM = re.compile(r"([0-9.eE+-]+) ?([mkM]?)(?:ohm|Ohm|Ω|)")
_SHARE = re.compile(r"([0-9.eE+-]+) ?%")
_VOLT = re.compile(r"([0-9.eE+-]+) ?(m?)V")
_EXAMPLE = "1kohm,0.1% or 1kohm,0.1%,2.4871V"
#: A simulated switch is closed for so long, and open for as long: no multiple of any
#: monitor's sample.
_CLOSED_NS = 3_141_593


@dataclass(frozen=True, slots=True)
class Resistor:
    """A resistor: its value, the limit of its relative error, and the voltage over it
    where a voltmeter showed that."""

    ohm: float
    tolerance: float
    volts: float | None = None

    @property
    def name(self) -> str:
        """The resistor in words."""
        return f"{self.ohm:g} ohm, {self.tolerance * 100:.3g} %"


@dataclass(frozen=True, slots=True)
class OutputLoad:
    """A load at the output, which is open without a resistor; `switched`: SYNC
    closes its circuit while it is low."""

    resistor: Resistor | None = None
    switched: bool = False


class Hands(Protocol):
    """Wires loads to the output of a monitor whose supply is off, and reads a
    voltmeter."""

    def wire(self, load: OutputLoad) -> None:
        """Make the load the only thing at the output; called before the monitor is
        opened."""

    def act(self, load: OutputLoad, world: World, duration_s: float) -> None:
        """Let a simulated load draw its current for so long, the supply being on."""

    def voltage_v(self, load: OutputLoad) -> float | None:
        """Return the reading of a voltmeter over the resistor; None: there is none."""


@dataclass
class SimulatedHands:
    """Hands at a simulated instrument, with the true values of their resistors.

    true_ohm: of the resistors, in their order; the others are as they are named
    voltmeter: relative error of the voltmeter, None: there is none
    leaves: resistance (ohm) that stays at the output when it is to be open
    """

    true_ohm: Sequence[float] = ()
    voltmeter: float | None = None
    leaves: float = math.inf
    _true: dict[float, float] = field(default_factory=dict)
    _supply_v: float = 0.0

    def wire(self, load: OutputLoad) -> None:
        """Take the next resistor."""
        if load.resistor is not None and load.resistor.ohm not in self._true:
            at = len(self._true)
            known = at < len(self.true_ohm)
            self._true[load.resistor.ohm] = (
                self.true_ohm[at] if known else load.resistor.ohm
            )

    def act(self, load: OutputLoad, world: World, duration_s: float) -> None:
        """Draw the current of the true resistance."""
        self._supply_v = world.supply_v
        ohm = self.leaves if load.resistor is None else self._true[load.resistor.ohm]
        power_w = world.supply_v**2 / ohm
        now_ns = world.now_ns()
        if not load.switched:
            world.put(now_ns, True, power_w)
            return
        end_ns = now_ns + round(duration_s * NS_PER_S)
        at_ns = now_ns + _CLOSED_NS
        while at_ns + 2 * _CLOSED_NS < end_ns:
            world.put(at_ns, False, power_w)
            world.put(at_ns + _CLOSED_NS, True, 0.0)
            at_ns += 2 * _CLOSED_NS

    def voltage_v(self, load: OutputLoad) -> float | None:
        """Return the true voltage with the voltmeter's error."""
        if self.voltmeter is None:
            return None
        return self._supply_v * (1 + self.voltmeter)


def parse(text: str) -> Resistor:
    """Return the resistor of "1kohm,0.1%" or "1kohm,0.1%,2.4871V"; raises
    ConfigError.
    """
    parts = [part.strip() for part in text.split(",")]
    ohm = _OHM.fullmatch(parts[0])
    share = _SHARE.fullmatch(parts[1]) if len(parts) > 1 else None
    volts = _VOLT.fullmatch(parts[2]) if len(parts) > 2 else None
    is_whole = len(parts) <= 3 and (len(parts) == 3) == bool(volts)
    if ohm is None or share is None or not is_whole:
        raise _no_resistor(text)
    try:
        resistance_ohm = float(ohm[1]) * _PREFIXES[ohm[2]]
        tolerance = float(share[1]) / 100
        measured_v = float(volts[1]) * _PREFIXES[volts[2]] if volts else None
        resistor = Resistor(resistance_ohm, tolerance, measured_v)
    except ValueError as error:
        raise _no_resistor(text) from error
    numbers = [
        resistor.ohm,
        resistor.tolerance,
        1.0 if resistor.volts is None else resistor.volts,
    ]
    if not all(math.isfinite(each) and each > 0 for each in numbers):
        raise _no_resistor(text)
    if resistor.tolerance >= 1:
        raise _no_resistor(text)
    return resistor


def percent(text: str, option: str) -> float:
    """Return the share of "0.05%"; raises ConfigError."""
    share = _SHARE.fullmatch(text.strip())
    try:
        value = float(share[1]) / 100 if share else math.nan
    except ValueError:
        value = math.nan
    if not 0 < value < 1:
        raise ConfigError(
            f"{text!r} is no percentage", path=option, try_next="as 0.05%"
        )
    return value


def heats(resistor: Resistor, volts: float) -> str:
    """Return the current and the power that a resistor takes."""
    return (
        f"{quantity(volts / resistor.ohm, 'A', digits=3)},"
        f" {quantity(volts**2 / resistor.ohm, 'W', digits=3)}"
    )


def _no_resistor(text: str) -> ConfigError:
    return ConfigError(
        f"{text!r} is no resistor",
        path="--resistor",
        evidence="it is a value, the limit of its error, and perhaps its voltage",
        try_next=f"as {_EXAMPLE}",
    )
