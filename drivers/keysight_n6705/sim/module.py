# SPDX-License-Identifier: Apache-2.0
"""One module of the simulated N6705: its settings, its supply, and its part of the data
log."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from drivers.front_end import FrontEnd
from drivers.keysight_n6705.sim.scpi import CONFLICT, ScpiError

Floats = NDArray[np.float64]

#: Bits of the Questionable Status register: switched off by the over-voltage
#: protection; in the positive current limit.
_OV = 1
_LIM = 128


@dataclass(slots=True)
class Channel:
    """Settings of one module and its part of the log."""

    number: int
    model: str
    dut: bool
    sync: bool
    on: bool = False
    volt: float = 0.0
    range_v: float = math.inf
    wanted_v: float | None = None
    wanted_range_v: float | None = None
    limit_a: float = 0.1
    priority: str = "VOLT"
    emulation: str = "PS2Q"
    input: str = "MAIN"
    source: str = "BUS"
    period_s: float = 0.1024
    range_a: float = 3.06
    functions: set[str] = field(default_factory=set)
    set_ns: int = 0
    condition: int = 0
    events: int = 0
    state: str = "idle"
    front_end: FrontEnd | None = None
    trigger: FrontEnd | None = None
    trigger_ns: int = 0
    record_s: float = 0.0
    lost: bool = False
    noise: np.random.Generator = field(default_factory=np.random.default_rng)
    sync_noise: np.random.Generator = field(default_factory=np.random.default_rng)
    fifo: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def smu(self) -> bool:
        """Whether this module sources and measures, with a converter each for
        voltage and current.
        """
        return self.model.startswith("N678")

    @property
    def ranges_v(self) -> tuple[float, ...]:
        """The upper ends of the module's ranges of voltage."""
        return (0.612, 6.12, 20.4) if self.smu else (5.1,)

    @property
    def live(self) -> bool:
        """Whether there is a voltage at its output; whether OUTP? reports a
        protection is not documented, so it does not.
        """
        return self.on and not self.condition & _OV

    def reset(self) -> None:
        """Bring the settings into the state of *RST."""
        self.on = False
        self.volt = 0.0
        self.range_v = math.inf
        self.limit_a = 0.1
        self.priority = "VOLT"
        self.emulation = "PS2Q"
        self.input = "MAIN"
        self.source = "BUS"
        self.period_s = 0.1024
        self.range_a = 3.06
        self.functions.clear()

    def settle(self) -> None:
        """Take over the voltage and its range that a message has set, in the lowest
        range that holds it.

        Raises Refusal, without an effect, where the voltage does not fit the range
        (N6705C operating guide, Coupled Commands; the error number is not stated there:
        SCPI's for this is -221).
        """
        volt = self.volt if self.wanted_v is None else self.wanted_v
        asked_v = self.wanted_range_v
        self.wanted_v = None
        self.wanted_range_v = None
        range_v = (
            self.range_v
            if asked_v is None
            else min(one for one in self.ranges_v if one >= asked_v)
        )
        if volt > range_v:
            raise ScpiError(CONFLICT)
        self.volt = volt
        self.range_v = range_v

    def log_function(self, name: str, on: bool) -> None:
        """Switch a function of the log; a module with one converter logs voltage or
        current."""
        others = {function for function in self.functions if function[:4] != name[:4]}
        if on and others and not self.smu:
            raise ScpiError(CONFLICT)
        (self.functions.add if on else self.functions.discard)(name)

    def supply(self, power_w: Floats) -> tuple[Floats, Floats]:
        """Return voltage and current at the output, for a DUT that draws `power_w` at
        the voltage set.

        At its limit the module holds the current in place of the voltage (N6700 user's
        guide, Source Operating Modes): the DUT is then taken for a resistor.
        """
        volt = np.full(len(power_w), self.volt if self.live else 0.0)
        current = np.zeros(len(power_w))
        if self.dut and self.live and self.volt > 0:
            current_a = power_w / self.volt
            current = np.minimum(current_a, self.limit_a)
            limited = current_a > self.limit_a
            volt[limited] *= self.limit_a / current_a[limited]
            if limited.any():
                self._become(_LIM)
            self._become(_LIM if limited[-1] else 0)
        return volt, current

    def trip(self) -> None:
        """Switch the output off until the protection is cleared."""
        self._become(_OV)

    def clear_protection(self) -> None:
        """Restore the output to its state before a protection switched it off."""
        self._become(self.condition & ~_OV)

    def take_events(self) -> int:
        """Return and forget the bits of the condition that have been set since the last
        call."""
        events = self.events
        self.events = 0
        return events

    def _become(self, condition: int) -> None:
        self.events |= condition & ~self.condition
        self.condition = condition
