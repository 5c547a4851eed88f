# SPDX-License-Identifier: Apache-2.0
"""Readings that an instrument may show without any current, by its limits of error.
Pure.

A window with no larger reading shows no power: the DUT may be fed by another cable, or
draw less than this instrument resolves.
"""

from __future__ import annotations

import math

import numpy as np

from rig.arrays import Float64s
from rig.trace.trace import Integral
from rig.uncertainty.accuracy import Accuracy, Range

#: The noise of a mean over many samples is below this many standard deviations, 997
#: times in 1000.
_SIGMAS = 3.0
#: Readings scatter about zero if the largest is at most this many times the size of the
#: smallest, which corresponds to 1.5 to 4 standard deviations.
_EVEN = 2.5
_LEAST_SIGMAS = 2.0
#: Half of a symmetric noise lies above its median; by chance one reading may have this
#: much more.
_HALF = 0.5
_CHANCE = 1.5
#: Largest distance between the distribution of the readings and half a normal one
#: (Kolmogorov); larger for few readings.
_DISTANCE = 0.1
_DISTANCE_OF_ONE = 1.0
#: Noise stays below this many standard deviations; a burst of current does not.
_MOST_SIGMAS = 8.0
#: Number of readings that determines the shape of a distribution.
_MANY = 4096
_FEW = 8


def unwired_j(integral: Integral, accuracy: Accuracy, sample_hz: float) -> float:
    """Return the largest energy of a window without current, or without voltage, in
    joules.
    """
    samples = max(integral.duration_s * sample_hz, 1.0)
    volt_s = integral.volt_s
    limit_j = noise2 = 0.0
    for row, part_vs in zip(accuracy.current, integral.range_volt_s, strict=True):
        share = abs(part_vs / volt_s) if volt_s else 0.0
        limit_j += abs(part_vs) * _still(row)
        noise2 += (row.noise * abs(part_vs)) ** 2 / (share * samples) if share else 0.0
    volts = abs(volt_s) / integral.duration_s if integral.duration_s else 0.0
    voltage = next(
        (row for row in accuracy.voltage if volts <= row.up_to), accuracy.voltage[-1]
    )
    of_voltage_j = abs(integral.charge_c) * (
        _still(voltage) + _SIGMAS * voltage.noise / math.sqrt(samples)
    )
    return max(
        limit_j + max(_SIGMAS * math.sqrt(noise2), _seen_noise_j(integral, samples)),
        of_voltage_j,
    )


def _seen_noise_j(integral: Integral, samples: float) -> float:
    """Return the largest energy of a window of readings about zero by a noise that no
    data sheet states; readings below zero show its size.
    """
    if not 0 < integral.most_w <= _EVEN * -integral.least_w:
        return 0.0
    return -integral.least_w * _LEAST_SIGMAS * integral.duration_s / math.sqrt(samples)


def may_be_one_sided(integral: Integral, accuracy: Accuracy) -> bool:
    """Check whether a window has readings near zero and none below it, so that those
    above may be the upper half of a noise.
    """
    return 0.0 <= integral.least_w <= _lowest_w(integral, accuracy)


def one_sided(power_w: Float64s, integral: Integral, accuracy: Accuracy) -> bool:
    """Check whether the readings of a window are the upper half of a noise about zero,
    as of an instrument that shows no negative values.

    The mean of half a noise is no power, even if the stated offset is small. At least
    half of the readings must be within that offset, and the others distributed as half
    a normal distribution.
    """
    known = power_w[np.isfinite(power_w)]
    lowest_w = _lowest_w(integral, accuracy)
    if not len(known) or known.min() < 0:
        return False
    if np.mean(known > lowest_w) > _HALF + _CHANCE / math.sqrt(len(known)):
        return False
    known = known[:: max(len(known) // _MANY, 1)]
    above = np.sort(known[known > lowest_w] - lowest_w)
    if len(above) < _FEW:
        return False
    sigma_w = math.sqrt(float(np.mean(above**2)))
    sigmas = [value / sigma_w for value in above.tolist()]
    due = np.array([math.erf(value / math.sqrt(2.0)) for value in sigmas])
    steps = np.arange(len(above) + 1) / len(above)
    before_step = float(np.max(np.abs(due - steps[:-1])))
    after_step = float(np.max(np.abs(due - steps[1:])))
    distance = max(before_step, after_step)
    narrow = integral.most_w - lowest_w <= _MOST_SIGMAS * sigma_w
    return narrow and distance <= _DISTANCE + _DISTANCE_OF_ONE / math.sqrt(len(above))


def _still(row: Range) -> float:
    """Return the largest reading of a range at zero input."""
    return row.offset + row.lsb / 2


def _lowest_w(integral: Integral, accuracy: Accuracy) -> float:
    volts = abs(integral.volt_s) / integral.duration_s if integral.duration_s else 0.0
    return _still(accuracy.current[0]) * volts
