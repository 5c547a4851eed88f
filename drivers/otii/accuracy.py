# SPDX-License-Identifier: Apache-2.0
"""Qoitech's statements about an Arc and an Ace as limits of error."""

from __future__ import annotations

from drivers.otii.settings import OtiiSettings
from rig.uncertainty.accuracy import Accuracy, Range

#: Samples of the voltage a second, as an Arc takes them; an Ace is set to that. How
#: often the digital inputs are looked at is not stated: this often, at least, is
#: assumed.
VOLTAGE_HZ = 1000
#: Gain and offset (A) of the low range.
_LOW = {"Arc": (0.001, 50e-9), "Ace": (0.0005, 25e-9)}
_LOW_END_A = 19e-3
_HIGH_END_A = 5.0
_HIGH_OFFSET_A = 150e-6
_MOST_V = 25.0
_SOURCE = (
    "current below 19 mA: 0.1 % and 50 nA of an Arc, 0.05 % and 25 nA of an Ace, for"
    " low currents, said by the maker in qoitech.com (How accurate is your low current"
    " measurement), read; NOT from the data sheet; the end of that range is assumed"
    " from 20 mA in an article (Elektor Labs, Otii Arc); above it the same gain and"
    " 150 uA are assumed; voltage 0.1 % and 2 mV, clock 50 ppm and SYNC within a"
    " period of the voltage are assumed; noise and steps are not stated. Give a"
    " calibration file for real work"
)


def promised(settings: OtiiSettings, model: str) -> Accuracy:
    """Return the limits of a model in the ranges that may be in use."""
    gain, offset_a = _LOW[model]
    high = Range(_HIGH_END_A, gain, _HIGH_OFFSET_A)
    low = Range(_LOW_END_A, gain, offset_a)
    current = (low, high) if settings.current_range == "low" else (high,)
    voltage = (Range(_MOST_V, 0.001, 0.002),)
    return Accuracy(
        current=current,
        voltage=voltage,
        clock_ppm=50.0,
        source=_SOURCE,
        verified=False,
        edge_s=1 / VOLTAGE_HZ,
    )
