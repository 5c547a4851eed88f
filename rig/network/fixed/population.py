# SPDX-License-Identifier: Apache-2.0
"""Neurons in whole numbers."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rig.errors import DataError
from rig.network.conventions import Conventions, Current, Reset
from rig.network.fixed.factors import compact, factor, power_of_two, whole
from rig.network.fixed.form import KEEP_ONE, STATE_MAX, Ints, Population
from rig.network.fixed.rates import Rates, rates
from rig.network.graph import NodePlace

#: A threshold becomes such a number, so that a membrane has room for 256 of them.
_THRESHOLD = 2.0**23
#: The largest state that is expected becomes such a number.
_EXPECTED = 2.0**26
#: A membrane that is an output: the largest one expected becomes such a number.
_OUTPUT = 2**14


def population(
    place: NodePlace,
    how: Conventions,
    dt_s: float,
    scale_in: float,
    entering: float,
    expected: float,
) -> tuple[Population, float, float]:
    """Return a population, and the scales of its membranes and of its output."""
    parameters = rates(place, dt_s, how)
    scale = _membrane_scale(parameters, entering)
    current = parameters.current_max(entering) / _EXPECTED
    current_scale = power_of_two(current) if current > 0 else scale
    gain, gain_shift = factor(
        _each(
            parameters.gain
            * scale_in
            / (current_scale if parameters.synaptic else scale),
            place,
        )
    )
    couple, couple_shift = factor(
        _each(parameters.couple * current_scale / scale, place)
    )
    one = np.ones(1, np.int64)
    shift = 0
    if not parameters.spiking and expected > _OUTPUT * scale:
        shift = math.ceil(math.log2(expected / (_OUTPUT * scale)))
    made = Population(
        synaptic=parameters.synaptic,
        spiking=parameters.spiking,
        together=parameters.together,
        last_current=how.current is Current.LAST,
        subtracts=how.reset is Reset.SUBTRACT,
        above=how.above,
        spikes_max=parameters.spikes_max,
        gain=gain,
        gain_shift=gain_shift,
        keep_current=_keep(parameters.share_current, place)
        if parameters.synaptic
        else KEEP_ONE * one,
        couple=couple if parameters.synaptic else one,
        couple_shift=couple_shift if parameters.synaptic else 0,
        keep=_keep(parameters.share, place),
        leak=whole(_each(parameters.leak / scale, place), STATE_MAX),
        start=whole(_each(parameters.start / scale, place), STATE_MAX),
        threshold=_threshold(parameters, scale, place),
        reset=whole(_each(parameters.reset / scale, place), STATE_MAX),
        shift=shift,
        takes=parameters.takes,
    )
    return made, scale, 1.0 if parameters.spiking else scale * 2.0**shift


def _membrane_scale(parameters: Rates, entering: float) -> float:
    drive = parameters.drive_max(entering)
    levels = (
        parameters.threshold,
        parameters.reset,
        parameters.leak,
        parameters.start,
    )
    fixed = max(float(np.max(np.abs(level))) for level in levels)
    if parameters.spiking:
        scale = max(fixed / _THRESHOLD, drive / 2.0**28)
    else:
        scale = max(parameters.membrane_max(entering), fixed) / _EXPECTED
    return power_of_two(scale) if scale > 0 else 1.0


def _threshold(parameters: Rates, scale: float, place: NodePlace) -> Ints:
    """Return the thresholds; each is at least 1 where a neuron may spike several times
    a step.
    """
    thresholds = whole(_each(parameters.threshold / scale, place), STATE_MAX)
    if parameters.spikes_max == 1:
        return thresholds
    if bool(np.any(parameters.threshold <= 0)):
        raise DataError(
            f"{place.name} fires several spikes a step at a threshold that is not"
            " positive",
            evidence=f"v_threshold down to {float(np.min(parameters.threshold)):.6g}",
        )
    return np.maximum(thresholds, 1)


def _keep(share: NDArray[np.float64], place: NodePlace) -> Ints:
    return whole((1.0 - _each(share, place)) * KEEP_ONE, KEEP_ONE)


def _each(values: NDArray[np.float64], place: NodePlace) -> NDArray[np.float64]:
    """Return a number for each neuron, or one where all have the same."""
    return compact(np.broadcast_to(np.asarray(values, np.float64), place.shape_in))
