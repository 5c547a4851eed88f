# SPDX-License-Identifier: Apache-2.0
"""Uncertainty of a mean voltage by the limits of the instrument. Pure."""

from __future__ import annotations

import math

from rig.uncertainty.accuracy import Accuracy

#: A uniform error of one whole step has this standard deviation.
_UNIFORM = 1 / math.sqrt(12.0)

#: Relative rounding error of a mean.
_ROUNDED = 1e-6


def mean_voltage_u_v(
    mean_v: float, samples: float, accuracy: Accuracy, lost_v: float = 0.0
) -> float | None:
    """Return the standard uncertainty of a mean voltage over so many samples, in volts;
    None beyond the ranges of the instrument.

    lost_v: width of the interval that the mean lies in for any values of the lost
        samples

    Its parts are those that a voltage has in the uncertainty of an energy; the clock
    and the ends of the window change no constant voltage.
    """
    size_v = abs(mean_v)
    last = accuracy.voltage[-1]
    if not size_v <= last.up_to * (1 + _ROUNDED):
        return None
    limits = next((row for row in accuracy.voltage if size_v <= row.up_to), last)
    step_v = max(limits.lsb, limits.lsb_relative * size_v)
    averaged = math.sqrt(max(samples, 1.0))
    # Without noise, a constant voltage meets the same step in every sample.
    steps = averaged if limits.noise >= step_v / 2 else 1.0
    return math.hypot(
        limits.gain * size_v / accuracy.divisor,
        limits.offset / accuracy.divisor,
        limits.noise / averaged,
        step_v * _UNIFORM / steps,
        lost_v * _UNIFORM,
    )
