# SPDX-License-Identifier: Apache-2.0
"""INA219, INA226 and INA228: their registers, conversions and limits of error.

Sources: TI SBOS448G (INA219), SBOS547B (INA226), SBOSA20A and SLYS022A (INA228).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rig.arrays import Array, Reals
from rig.errors import ConfigError
from rig.uncertainty.accuracy import Accuracy, Range

#: No conversion takes longer than its typical time by more than this factor.
_LONGEST = 1.11
#: The command, the readings and their lines: two thirds of this on a simulated board.
_READING_S = 0.6e-3
#: How far from 25 degrees the limits hold.
_AWAY_K = 20.0


@dataclass(frozen=True, slots=True)
class VoltageRange:
    """One range of the shunt voltage: its end (V), one step of its register (V), the
    limit of its offset (V), and the bits that choose it.
    """

    end_v: float
    step_v: float
    offset_v: float
    bits: int


@dataclass(frozen=True, slots=True)
class InaConversion:
    """Conversions of one sample: the shunt's time and that of both (s), at most, and
    the value of the register that starts them.
    """

    shunt_s: float
    both_s: float
    trigger: int


@dataclass(frozen=True, slots=True)
class InaChip:
    """One kind of chip.

    `identity`: a register, its size and its value. `registers` start a conversion and
    hold those of shunt and bus; `setup` holds the bits of the range, where that is not
    the one that starts. `shunt_codes`: codes of the shunt's conversion by its time (s);
    `bus_s`: time of the bus voltage. `gain` and `bus_gain` are relative limits with 20
    K, `bus_offset_v` in V; `drift_v` is the shunt's offset for 20 K and from 0 V on the
    bus.
    """

    name: str
    identity: tuple[int, int, int]
    size_b: int
    shift: int
    registers: tuple[int, int, int]
    setup: int | None
    trigger: int
    shunt_bit: int
    shunt_codes: Mapping[float, int]
    bus_s: float
    bus_step_v: float
    bus_shift: int
    ranges: tuple[VoltageRange, ...]
    gain: float
    drift_v: float
    bus_gain: float
    bus_offset_v: float
    bus_end_v: float

    def range_for(self, most_v: float) -> VoltageRange:
        """Return the smallest range for a voltage of the shunt; raises ConfigError."""
        for row in self.ranges:
            if most_v <= row.end_v:
                return row
        raise ConfigError(
            f"{most_v * 1e3:g} mV over the shunt",
            path="monitor.ina_monitor.most_a",
            try_next=f"an {self.name} measures to {self.ranges[-1].end_v * 1e3:g} mV",
        )

    def conversion(self, sample_hz: float, row: VoltageRange) -> InaConversion:
        """Return the longest conversion that a period has time for; raises
        ConfigError."""
        for shunt_s, code in sorted(self.shunt_codes.items(), reverse=True):
            both_s = _LONGEST * (shunt_s + self.bus_s)
            if both_s + _READING_S <= 1 / sample_hz:
                bits = row.bits if self.setup is None else 0
                return InaConversion(
                    shunt_s, both_s, self.trigger | code << self.shunt_bit | bits
                )
        least_s = _LONGEST * (min(self.shunt_codes) + self.bus_s) + _READING_S
        raise ConfigError(
            f"{sample_hz} Hz",
            path="monitor.ina_monitor.sample_hz",
            try_next=f"an {self.name} has time for {int(1 / least_s)} Hz",
        )

    def shunt_v(self, registers: Array, row: VoltageRange) -> Reals:
        """Return the voltage over the shunt."""
        bits = 8 * self.size_b
        signed = (registers ^ 1 << bits - 1) - (1 << bits - 1)
        volts: Reals = (signed >> self.shift) * row.step_v
        return volts

    def bus_v(self, registers: Array) -> Reals:
        """Return the voltage of the DUT."""
        volts: Reals = (registers >> self.bus_shift) * self.bus_step_v
        return volts


CHIPS = {
    "ina219": InaChip(
        name="INA219",
        # It has no name: this is its configuration after a reset.
        identity=(0x00, 2, 0x399F),
        size_b=2,
        shift=0,
        registers=(0x00, 0x01, 0x02),
        setup=None,
        trigger=0x2000 | 0b0011 << 7 | 0b011,
        shunt_bit=3,
        shunt_codes={
            532e-6: 0b0011,
            1.06e-3: 0b1001,
            2.13e-3: 0b1010,
            4.26e-3: 0b1011,
            8.51e-3: 0b1100,
            17.02e-3: 0b1101,
        },
        bus_s=532e-6,
        bus_step_v=4e-3,
        bus_shift=3,
        ranges=(
            VoltageRange(0.04, 10e-6, 100e-6, 0 << 11),
            VoltageRange(0.08, 10e-6, 125e-6, 1 << 11),
            VoltageRange(0.16, 10e-6, 150e-6, 2 << 11),
            VoltageRange(0.32, 10e-6, 200e-6, 3 << 11),
        ),
        gain=0.01,
        drift_v=0.1e-6 * _AWAY_K + 12 * 10e-6,
        bus_gain=0.01,
        bus_offset_v=0.0,
        bus_end_v=26.0,
    ),
    "ina226": InaChip(
        name="INA226",
        identity=(0xFF, 2, 0x2260),
        size_b=2,
        shift=0,
        registers=(0x00, 0x01, 0x02),
        setup=None,
        trigger=0x4000 | 0b011,
        shunt_bit=3,
        shunt_codes={
            140e-6: 0,
            204e-6: 1,
            332e-6: 2,
            588e-6: 3,
            1.1e-3: 4,
            2.116e-3: 5,
            4.156e-3: 6,
            8.244e-3: 7,
        },
        bus_s=140e-6,
        bus_step_v=1.25e-3,
        bus_shift=0,
        ranges=(VoltageRange(0.0819175, 2.5e-6, 10e-6, 0),),
        gain=0.001 + 50e-6 * _AWAY_K,
        drift_v=0.1e-6 * _AWAY_K + 12 * 0.5e-6,
        bus_gain=0.001 + 50e-6 * _AWAY_K,
        bus_offset_v=7.5e-3 + 40e-6 * _AWAY_K,
        bus_end_v=36.0,
    ),
    "ina228": InaChip(
        name="INA228",
        identity=(0x3F, 2, 0x2280),
        size_b=3,
        shift=4,
        registers=(0x01, 0x04, 0x05),
        setup=0x00,
        trigger=0x3000,
        shunt_bit=6,
        shunt_codes={
            50e-6: 0,
            84e-6: 1,
            150e-6: 2,
            280e-6: 3,
            540e-6: 4,
            1.052e-3: 5,
            2.074e-3: 6,
            4.12e-3: 7,
        },
        bus_s=50e-6,
        bus_step_v=195.3125e-6,
        bus_shift=4,
        ranges=(
            VoltageRange(0.04096, 78.125e-9, 1e-6, 1 << 4),
            VoltageRange(0.16384, 312.5e-9, 1e-6, 0),
        ),
        gain=0.0005 + 20e-6 * _AWAY_K,
        drift_v=0.01e-6 * _AWAY_K + 48 * 0.02e-6,
        # Of the INA238, which is of the same family: that of the INA228 was not found.
        bus_gain=0.001 + 25e-6 * _AWAY_K,
        bus_offset_v=5e-3 + 40e-6 * _AWAY_K,
        bus_end_v=85.0,
    ),
}


def promised(
    chip: InaChip,
    row: VoltageRange,
    shunt_ohm: float,
    tolerance: float,
    period_s: float,
) -> Accuracy:
    """Return the limits of error; `period_s` is that of the samples."""
    return Accuracy(
        current=(
            Range(
                row.end_v / shunt_ohm,
                chip.gain + tolerance,
                (row.offset_v + chip.drift_v) / shunt_ohm,
                lsb=row.step_v / shunt_ohm,
            ),
        ),
        voltage=(
            Range(
                chip.bus_end_v,
                chip.bus_gain,
                chip.bus_offset_v,
                lsb=chip.bus_step_v,
            ),
        ),
        clock_ppm=100.0,
        source=(
            f"TI's data sheet of the {chip.name}: limits of gain and offset at 25"
            f" degrees, {_AWAY_K:g} K of drift, the bus from 0 V on; bus voltage of the"
            " INA228: limits of the INA238; shunt: its tolerance as the bench file has"
            " it; noise: none stated; clock: 100 ppm assumed, with a crystal; SYNC"
            " against current: one period of the samples"
        ),
        verified=False,
        edge_s=period_s,
    )
