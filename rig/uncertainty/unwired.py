# SPDX-License-Identifier: Apache-2.0
"""Readings that an instrument may show while nothing flows through it, by its limits of
error. Pure.

A window with no more than that shows no power: the DUT may be fed by another cable, or
draw less than this instrument can resolve.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rig.trace.trace import Integral
from rig.uncertainty.accuracy import Accuracy, Range

#: Of a mean over many samples the noise is less than so many of its standard
#: deviations, 997 times in 1000.
_SIGMAS = 3.0
#: Readings are about zero where the largest is at most so many times the least one's
#: size; that is 1.5 to 4 standard deviations.
_EVEN = 2.5
_LEAST_SIGMAS = 2.0
#: No more than half of a noise lies above its middle, and by chance so much more of one
#: reading.
_HALF = 0.5
_CHANCE = 1.5
#: How far the readings may be from half a bell, as the largest distance of the two
#: distributions: more where they are few.
_DISTANCE = 0.1
_DISTANCE_OF_ONE = 1.0
#: Noise does not reach so many standard deviations; a burst of current does.
_MOST_SIGMAS = 8.0
#: So many readings determine the shape of a distribution, and fewer than that none.
_MANY = 4096
_FEW = 8


def unwired_j(integral: Integral, accuracy: Accuracy, sample_hz: float) -> float:
    """Return the most energy that a window may show with no current, or with no
    voltage, in joules.
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
    """Return what a window of readings about zero may show by a noise that nothing
    states: those below zero show it.
    """
    if not 0 < integral.most_w <= _EVEN * -integral.least_w:
        return 0.0
    return -integral.least_w * _LEAST_SIGMAS * integral.duration_s / math.sqrt(samples)


def may_be_one_sided(integral: Integral, accuracy: Accuracy) -> bool:
    """Return whether a window has readings near zero and none below it: then what is
    above may be half of a noise.
    """
    return 0.0 <= integral.least_w <= _lowest_w(integral, accuracy)


def one_sided(
    power_w: NDArray[np.float64], integral: Integral, accuracy: Accuracy
) -> bool:
    """Return whether the readings of a window are the upper half of noise about zero,
    as of an instrument that shows nothing below.

    The mean of half a noise is no power, however small the offset that its maker
    states. Half of the readings or more are no higher than that offset, and those above
    it are distributed as half a bell.
    """
    known = power_w[np.isfinite(power_w)]
    lowest_w = _lowest_w(integral, accuracy)
    if (
        not len(known)
        or known.min() < 0
        or np.mean(known > lowest_w) > _HALF + _CHANCE / math.sqrt(len(known))
    ):
        return False
    known = known[:: max(len(known) // _MANY, 1)]
    above = np.sort(known[known > lowest_w] - lowest_w)
    if len(above) < _FEW:
        return False
    sigma_w = math.sqrt(float(np.mean(above**2)))
    due = np.array(
        [math.erf(value / sigma_w / math.sqrt(2.0)) for value in above.tolist()]
    )
    steps = np.arange(len(above) + 1) / len(above)
    distance = max(
        float(np.max(np.abs(due - steps[:-1]))), float(np.max(np.abs(due - steps[1:])))
    )
    narrow = integral.most_w - lowest_w <= _MOST_SIGMAS * sigma_w
    return narrow and distance <= _DISTANCE + _DISTANCE_OF_ONE / math.sqrt(len(above))


def _still(row: Range) -> float:
    """Return how far from zero a range may stand with nothing on it."""
    return row.offset + row.lsb / 2


def _lowest_w(integral: Integral, accuracy: Accuracy) -> float:
    volts = abs(integral.volt_s) / integral.duration_s if integral.duration_s else 0.0
    return _still(accuracy.current[0]) * volts
