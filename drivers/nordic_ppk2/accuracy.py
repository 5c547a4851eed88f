# SPDX-License-Identifier: Apache-2.0
"""Nordic's statement of the PPK2's accuracy, which is typical, as limits of error."""

from __future__ import annotations

from rig.uncertainty.accuracy import Accuracy, Range

#: Upper end of each range (A), of reading, resolution (A), and shunt (ohm) in Nordic's
#: application.
_RANGES = (
    (50e-6, 0.10, 0.2e-6, 1031.64),
    (500e-6, 0.10, 0.5e-6, 101.65),
    (5e-3, 0.10, 5e-6, 10.15),
    (50e-3, 0.10, 50e-6, 0.94),
    (1.0, 0.15, 1e-3, 0.043),
)
#: A range is left downward at less than its lower end. Where is not published: up to
#: here, the limits of the range above are those that hold.
_DOWN_SHARE = 0.8
_STEP_V = 4 * 1.8 / 163_840
_MOST_V = 5.0
_VOLTAGE_V = 0.05
_CLOCK_PPM = 100.0
_SOURCE = (
    "Nordic's statement of typical accuracies, 10 % (15 % above 50 mA) and the"
    " resolution of each range as its offset, as github.com/tipoLi5890/ppk2lab"
    " (its page calibration.md) transcribes it; typical values are taken as limits,"
    " and rows end at 0.8 of the ranges, as where one is left downward is not stated;"
    " step: a code over the shunt of Nordic's application; voltage: 50 mV, assumed: it"
    " is set and not measured; clock: 100 ppm assumed, one unit was within 10 ppm; SYNC"
    " against current: one sample, assumed. Give a calibration file for real work"
)


def promised() -> Accuracy:
    """Return the limits."""
    rows = []
    for at, (end_a, gain, offset_a, shunt_ohm) in enumerate(_RANGES):
        is_largest = at + 1 == len(_RANGES)
        up_to_a = end_a if is_largest else _DOWN_SHARE * end_a
        rows.append(Range(up_to_a, gain, offset_a, lsb=_STEP_V / shunt_ohm))
    voltage = (Range(_MOST_V, 0.0, _VOLTAGE_V),)
    return Accuracy(
        current=tuple(rows),
        voltage=voltage,
        clock_ppm=_CLOCK_PPM,
        source=_SOURCE,
        verified=False,
        edge_s=10e-6,
    )
