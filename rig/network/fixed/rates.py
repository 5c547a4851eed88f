# SPDX-License-Identifier: Apache-2.0
"""The factors of a neuron's step as real numbers, and the largest values that they lead
to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import nir
import numpy as np
from numpy.typing import NDArray

from rig.network.conventions import Conventions, Gains, Reset, Scheme, Start
from rig.network.graph import NodePlace
from rig.network.neurons import number, share, spikes_max, taken
from rig.network.shapes import SPIKING

Floats = NDArray[np.float64]

#: An integrator without a leak has no largest value; so many steps of its largest input
#: are counted.
_STEPS = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Rates:
    """Rates of a step of a population, in the units of the file.

    `share_current` and `share` are lost of current and membrane in a step; `leak` is
    added to the membrane in each.
    """

    synaptic: bool
    spiking: bool
    together: bool
    gain: Floats
    share_current: Floats
    couple: Floats
    share: Floats
    leak: Floats
    start: Floats
    threshold: Floats
    reset: Floats
    spikes_max: int
    takes: bool

    def current_max(self, entering: float) -> float:
        """Return the largest current under a constant input; without currents the
        input's drive."""
        drive = np.abs(self.gain) * entering
        return float(np.max(drive / self.share_current if self.synaptic else drive))

    def membrane_max(self, entering: float) -> float:
        """Return the largest membrane under a constant input, if no spike resets it."""
        drive = self.drive_max(entering)
        ends = drive / self.share if bool(np.all(self.share > 0)) else drive * _STEPS
        divisor = np.where(self.share > 0, self.share, 1.0)
        rest = np.max(np.abs(self.leak) / divisor)
        return float(ends if np.ndim(ends) == 0 else np.max(ends)) + float(rest)

    def drive_max(self, entering: float) -> float:
        """Return the most that a step adds to a membrane."""
        current = self.current_max(entering)
        return (
            float(np.max(np.abs(self.couple))) * current if self.synaptic else current
        )


def rates(place: NodePlace, dt_s: float, how: Conventions) -> Rates:
    """Return the factors of a population's step, by its equations and the
    conventions."""
    node = place.node
    unit = how.gains is not Gains.FILE
    synaptic = isinstance(node, nir.CubaLI | nir.CubaLIF)
    tau = getattr(node, "tau_mem", getattr(node, "tau", None))
    lost = number(0.0) if tau is None else _share(tau, dt_s, how.scheme)
    gain = number(node.r) * (number(dt_s) if tau is None else lost)
    rest = getattr(node, "v_leak", None)
    rest = number(0.0 if rest is None else rest)
    one = number(1.0)
    spiking = isinstance(node, SPIKING)
    share_current = _share(node.tau_syn, dt_s, how.scheme) if synaptic else one
    into_current = (
        one if unit else share_current * number(node.w_in if synaptic else 1.0)
    )
    membrane = one if unit else gain
    return Rates(
        synaptic=synaptic,
        spiking=spiking,
        together=how.gains is Gains.UNIT,
        gain=into_current if synaptic else membrane,
        share_current=share_current,
        couple=membrane if synaptic else one,
        share=lost,
        leak=lost * rest,
        start=rest if how.start is Start.LEAK and tau is not None else number(0.0),
        threshold=number(node.v_threshold) if spiking else number(0.0),
        reset=_reset(place, 1.0 - lost, how) if spiking else number(0.0),
        spikes_max=spikes_max(node, how) if spiking else 1,
        takes=spiking and how.reset in (Reset.SUBTRACT_NEXT, Reset.NONE),
    )


def _reset(place: NodePlace, kept: Floats, how: Conventions) -> Floats:
    """Return the value that a spike resets to, or the amount it subtracts where that is
    not the threshold.
    """
    if how.reset in (Reset.SUBTRACT_NEXT, Reset.NONE):
        return taken(place.name, number(place.node.v_threshold), kept, how.reset)
    return number(0.0 if place.node.v_reset is None else place.node.v_reset)


def _share(tau: Any, dt_s: float, scheme: Scheme) -> Floats:
    # A time constant equal to the time step may come out longer by rounding.
    return np.minimum(share(tau, dt_s, scheme), 1.0)
