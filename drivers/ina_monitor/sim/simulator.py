# SPDX-License-Identifier: Apache-2.0
"""A simulated board with one chip on a pseudo terminal: lines in, lines out, as of
firmware/ina_monitor, and registers as TI's data sheets have them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from drivers.front_end import FrontEnd
from drivers.ina_monitor.settings import InaMonitorSimulatorSettings
from drivers.terminal_device import SimulatedStream, TerminalDevice
from rig.interfaces.context import BenchContext

_FRAMES_S = 0.002
_TX_B = 65_536
_STEPS_HZ = 2_000_000
#: A chip sees its shunt during some of so many parts of a period.
_PARTS = 20
_BLOCK = 2_000


@dataclass(frozen=True, slots=True)
class _Registers:
    """Registers of a chip: volts of a step of the shunt's by its range, its last step,
    volts of a step of the bus voltage's, the lowest bit of both, and the registers that
    name the chip.
    """

    shunt_step_v: tuple[float, ...]
    last_step: int
    bus_step_v: float
    shunt_lowest: int = 0
    bus_lowest: int = 0
    names: Mapping[int, int] = field(default_factory=dict)


_CHIPS = {
    "ina219": _Registers(
        shunt_step_v=(1e-5,) * 4,
        last_step=32_000,
        bus_step_v=0.004,
        bus_lowest=3,
    ),
    "ina226": _Registers(
        shunt_step_v=(2.5e-6,),
        last_step=32_767,
        bus_step_v=0.00125,
        names={0xFE: 0x5449, 0xFF: 0x2260},
    ),
    "ina228": _Registers(
        shunt_step_v=(312.5e-9, 78.125e-9),
        shunt_lowest=4,
        last_step=524_287,
        bus_step_v=195.3125e-6,
        bus_lowest=4,
        names={0x3E: 0x5449, 0x3F: 0x2281},
    ),
}
#: Microseconds of the shunt's conversion by the code in the chip's register.
_TIMES_US = {
    "ina219": {3: 532, 9: 1060, 10: 2130, 11: 4260, 12: 8510, 13: 17_020},
    "ina226": dict(enumerate((140, 204, 332, 588, 1100, 2116, 4156, 8244))),
    "ina228": dict(enumerate((50, 84, 150, 280, 540, 1052, 2074, 4120))),
}


class InaMonitorSimulator(TerminalDevice):
    """One simulated board in a thread of its own."""

    _measurement: _Measurement | None

    def __init__(
        self,
        settings: InaMonitorSimulatorSettings,
        chip: str,
        shunt_ohm: float,
        context: BenchContext,
    ) -> None:
        super().__init__("ina_monitor", context.world, _FRAMES_S)
        self._settings = settings
        self._chip = settings.faults.chip or chip
        self._shunt_ohm = shunt_ohm
        self._random = np.random.default_rng([context.seed, settings.seed])
        self._written: dict[int, int] = {}
        if settings.faults.streaming:
            self._tx += b"d00001234000010000A10*AC\n" * 40
        self._thread.start()

    def _switch(self, on: bool) -> None:
        """Leave the supply as it is: the board feeds no DUT."""

    def _obey_received(self) -> None:
        *lines, rest = bytes(self._rx).split(b"\n")
        self._rx = bytearray(rest)
        for line in lines:
            letter, *words = line.decode("ascii", "replace").split(" ") or [""]
            self._obey(letter, [int(word, 16) for word in words])

    def _obey(self, letter: str, values: list[int]) -> None:
        if letter == "v":
            self._say("vneurorig ina-monitor 1 simulated")
        elif letter == "x" and self._measurement is not None:
            self._measurement.stop_ns = self._world.now_ns()
        elif letter == "x":
            self._say("x00000000")
        elif letter == "w" and self._chip != "none":
            self._written[values[1]] = values[2]
            self._say("w1")
        elif letter == "r" and self._chip != "none":
            self._say(f"r{self._register(values[1]):06X}")
        elif letter in "wr" and letter:
            self._say("w0" if letter == "w" else "r")
        elif letter == "s" and self._measurement is None:
            self._say("s")
            self._measurement = _Measurement(self, values)
        else:
            self._say("?")

    def _register(self, number: int) -> int:
        if self._chip == "ina219" and self._written.get(0) == 0x8000:
            return 0x399F
        return _CHIPS[self._chip].names.get(number, self._written.get(number, 0))

    def _say(self, text: str) -> None:
        self._tx += f"{text}*{sum(text.encode()) & 0xFF:02X}\n".encode()

    def _sample(self) -> None:
        measurement = self._measurement
        if measurement is None or len(self._tx) >= _TX_B:
            return
        for line in measurement.lines():
            self._say(line)
        damage = self._settings.faults.damage_at
        if damage >= 0:
            self._tx = self._tx.replace(
                f"d{damage:08X}0".encode(), f"d{damage:08X}8".encode()
            )
        self._strike(self._settings.faults, measurement.elapsed_s)
        if measurement.over:
            self._say(f"x{measurement.count:08X}")
            self._measurement = None


class _Measurement(SimulatedStream):
    """Samples of the front end become registers of the chip."""

    def __init__(self, board: InaMonitorSimulator, values: list[int]) -> None:
        value, period = values[2], values[7]
        self._board = board
        self._settings = board._settings
        self._period = period
        self._hz = _STEPS_HZ / period
        self._registers = _CHIPS[board._chip]
        bit = 6 if board._chip == "ina228" else 3
        code = value >> bit & (0xF if board._chip == "ina219" else 7)
        shunt_us = _TIMES_US[board._chip][code]
        self._seen = max(round(_PARTS * shunt_us * 1e-6 * self._hz), 1)
        self._range = (
            board._written.get(0, 0) >> 4 & 1 if board._chip == "ina228" else 0
        )
        front_end = FrontEnd(
            board._world,
            self._hz * _PARTS,
            clock_ppm=self._settings.clock_ppm,
            share=self._settings.share,
            random=board._random,
        )
        super().__init__(board._world, front_end)
        self.count = 0

    @property
    def elapsed_s(self) -> float:
        return self.count / self._hz

    @property
    def over(self) -> bool:
        return self.stopped and self._front_end.due(self.horizon_ns) < _PARTS

    def lines(self) -> list[str]:
        """Return the lines that are due."""
        count = min(self._front_end.due(self.horizon_ns) // _PARTS, _BLOCK)
        faults = self._settings.faults
        for at_s in (faults.unplugged_at_s, faults.mute_at_s):
            if at_s >= 0:
                count = min(count, max(round(at_s * self._hz) - self.count, 0))
        if not count:
            return []
        block = self._front_end.take(count * _PARTS)
        power_w = block.power_w.reshape(count, _PARTS)[:, : self._seen].mean(axis=1)
        shunts, bus = self._converted(power_w)
        events = [
            (fall / _PARTS, f"e{round(fall / _PARTS * self._period):010X}")
            for fall in block.falls
        ]
        for at, shunt in enumerate(shunts.tolist(), start=self.count):
            if faults.lose_at <= at < faults.lose_at + faults.lose_samples:
                continue
            line = (
                f"i{at:08X}"
                if at == faults.unread_at
                else f"d{at:08X}{shunt:06X}{bus:06X}"
            )
            events.append((at + 1, line))
        self.count += count
        return [line for _, line in sorted(events)]

    def _converted(self, power_w: NDArray[np.float64]) -> tuple[NDArray[np.int64], int]:
        settings = self._settings
        chip = self._registers
        current_a = (
            power_w / settings.supply_v * (1 + settings.gain) + settings.offset_a
        )
        current_a = current_a + settings.noise_a * self._board._random.standard_normal(
            len(current_a)
        )
        steps = np.rint(
            current_a * self._board._shunt_ohm / chip.shunt_step_v[self._range]
        )
        steps = np.clip(steps, -chip.last_step - 1, chip.last_step).astype(np.int64)
        bits = 24 if chip.shunt_lowest else 16
        registers = (steps << chip.shunt_lowest) & ((1 << bits) - 1)
        return registers, round(settings.supply_v / chip.bus_step_v) << chip.bus_lowest
