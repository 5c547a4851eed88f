# SPDX-License-Identifier: Apache-2.0
"""The converter of a simulated PPK2: currents become codes in the range that the
instrument is in.

A code is found by solving the quadratic equation of the range for it, so that this and
the driver, which evaluates it, have no line in common.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from drivers.nordic_ppk2.sim.settings import Ppk2SimulatorSettings

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Of a real unit, as several open clients quote it; numbers only.
CONSTANTS = {
    "R": (1003.3506, 101.5865, 10.3027, 0.9636, 0.0564),
    "GS": (0.0, 112.7890, 18.0115, 2.4217, 0.0729),
    "GI": (1.0, 0.9695, 0.9609, 0.9519, 0.9582),
    "O": (112.9420, 75.4627, 64.6020, 50.4983, 87.2177),
    "S": (0.000000048, 0.000000596, 0.000005281, 0.000062577, 0.002940743),
    "I": (-0.000000104, -0.000001443, 0.000036439, -0.000374119, -0.009388455),
}
_ENDS_A = np.array([50e-6, 500e-6, 5e-3, 50e-3])
_TOP = 4
#: 1.8 V of the converter in steps of a quarter of a code, after a gain of ten.
_REFERENCE_V = 1.8
_FULL_STEPS = 163_840
_LAST_CODE = (1 << 14) - 1
#: A spike after a switch decays by this from sample to sample.
_DECAY = 0.4
_SPIKE_SAMPLES = 3


class Converter:
    """Ranges with hysteresis, and codes; `supply_v` is the set voltage."""

    def __init__(self, settings: Ppk2SimulatorSettings, supply_v: float) -> None:
        self._settings = settings
        self._supply_v = supply_v
        self._range = 0

    def convert(self, current_a: Floats) -> tuple[Ints, Ints]:
        """Return the range and the code of each sample."""
        ranges = self._ranges(current_a)
        shown_a = current_a + self._spikes(ranges, current_a)
        codes = np.zeros(len(current_a), dtype=np.int64)
        for number in range(_TOP + 1):
            at = ranges == number
            codes[at] = self._codes(number, shown_a[at])
        self._range = int(ranges[-1])
        return ranges, codes

    def _ranges(self, current_a: Floats) -> Ints:
        """Return the ranges: one is left upward at its end, and downward once the
        current is well below the end of the next."""
        least = np.searchsorted(_ENDS_A, np.abs(current_a))
        most = np.searchsorted(_ENDS_A * self._settings.down, np.abs(current_a))
        ranges = np.zeros(len(current_a), dtype=np.int64)
        changes = (np.diff(least) != 0) | (np.diff(most) != 0)
        bounds = [0, *(np.flatnonzero(changes) + 1).tolist(), len(current_a)]
        present = self._range
        for begin, end in pairwise(bounds):
            present = max(int(least[begin]), min(present, int(most[begin])))
            ranges[begin:end] = present
        return ranges

    def _spikes(self, ranges: Ints, current_a: Floats) -> Floats:
        spikes = np.zeros(len(ranges))
        if not self._settings.spike:
            return spikes
        for at in np.flatnonzero(np.diff(ranges, prepend=self._range)).tolist():
            for after in range(min(_SPIKE_SAMPLES, len(ranges) - at)):
                share = self._settings.spike * _DECAY**after
                spikes[at + after] = share * current_a[at + after]
        return spikes

    def _codes(self, number: int, current_a: Floats) -> Ints:
        shunt_ohm = CONSTANTS["R"][number]
        square = CONSTANTS["GS"][number]
        linear = CONSTANTS["GI"][number]
        zero = CONSTANTS["O"][number]
        by_supply = CONSTANTS["S"][number]
        fixed = CONSTANTS["I"][number]
        linear_a = current_a / self._settings.user_gain - fixed
        linear_a = linear_a - by_supply * self._supply_v
        # square * x**2 + linear * x = linear_a, the root near zero, in the form that
        # loses no digits.
        root = np.sqrt(np.maximum(linear * linear + 4 * square * linear_a, 0.0))
        raw_a = 2 * linear_a / (linear + root)
        steps = raw_a * shunt_ohm / _REFERENCE_V * _FULL_STEPS + zero
        return np.clip(np.rint(steps / 4), 0, _LAST_CODE).astype(np.int64)


def metadata(settings: Ppk2SimulatorSettings, mode: int, millivolts: int) -> bytes:
    """Return the text that a PPK2 with these settings tells."""
    lines = [f"Calibrated: {settings.calibrated}"]
    for name in ("R", "GS", "GI", "O"):
        lines += _family(settings, name, CONSTANTS[name])
    lines += [f"VDD: {millivolts}", "HW: 9173", f"mode: {mode}"]
    for name in ("S", "I"):
        lines += _family(settings, name, CONSTANTS[name])
    lines += _family(settings, "UG", (settings.user_gain,) * (_TOP + 1))
    lines.append("IA: 56")
    text = "\n".join([*lines, "END", ""]).encode()
    cut_b = settings.faults.metadata_cut_b
    return text if cut_b < 0 else text[:cut_b]


def _family(
    settings: Ppk2SimulatorSettings, name: str, values: tuple[float, ...]
) -> list[str]:
    missing = settings.faults.not_numbers
    lines = []
    for number, value in enumerate(values):
        shown = math.nan if f"{name}{number}" in missing else value
        text = "-nan" if math.isnan(shown) else f"{shown:.9f}"
        lines.append(f"{name}{number}: {text}")
    return lines
