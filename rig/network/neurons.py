# SPDX-License-Identifier: Apache-2.0
"""Neurons as difference equations: I, IF, LI, LIF, CubaLI, CubaLIF."""

from __future__ import annotations

from typing import Any

import nir
import numpy as np
from numpy.typing import NDArray

from rig.errors import DataError
from rig.network.conventions import Conventions, Current, Gains, Reset, Scheme, Start
from rig.network.graph import NodePlace
from rig.network.shapes import SPIKING

Floats = NDArray[np.float64]


class Neurons:
    """The neurons of one node, many samples side by side.

    `membrane` and `synaptic` are their states (batch, *shape); `step` takes the input
    of one time step and returns spikes, or the membrane of neurons that do not spike.
    """

    def __init__(
        self, place: NodePlace, dt_s: float, how: Conventions, batch: int
    ) -> None:
        node = place.node
        self._how = how
        self._spiking = isinstance(node, SPIKING)
        self._cuba = isinstance(node, nir.CubaLI | nir.CubaLIF)
        self._leaky = not isinstance(node, nir.I | nir.IF)
        self._gain = number(node.r) if how.gains is Gains.FILE else np.float64(1.0)
        leak = getattr(node, "v_leak", None)
        self._leak = number(0.0 if leak is None else leak)
        tau = getattr(node, "tau_mem", getattr(node, "tau", None))
        # An integrator gains dt r i a step.
        self._share = number(dt_s) if tau is None else share(tau, dt_s, how.scheme)
        self._kept = number(1.0) if tau is None else 1.0 - self._share
        if self._cuba:
            self._share_synaptic = share(node.tau_syn, dt_s, how.scheme)
            self._weight_in = (
                number(node.w_in) if how.gains is Gains.FILE else np.float64(1.0)
            )
        if self._spiking:
            self._threshold = number(node.v_threshold)
            self._reset = number(0.0 if node.v_reset is None else node.v_reset)
            self._spikes_max = float(spikes_max(node, how))
            self._taken = taken(place.name, self._threshold, self._kept, how.reset)
        shape = (batch, *place.shape_in)
        begin = self._leak if how.start is Start.LEAK and self._leaky else 0.0
        self.membrane: Floats = np.broadcast_to(
            np.asarray(begin, np.float64), shape
        ).copy()
        self.synaptic: Floats = np.zeros(shape)

    def step(self, values: Floats) -> Floats:
        """Go on by one time step."""
        drive = self._synapse(values) if self._cuba else values
        unit = self._how.gains is not Gains.FILE
        if not self._leaky:
            self.membrane += drive if unit else self._share * self._gain * drive
        elif unit:
            kept = self.membrane * (1.0 - self._share)
            self.membrane = kept + self._share * self._leak + drive
        else:
            self.membrane += self._share * (
                self._leak + self._gain * drive - self.membrane
            )
        return self._fired() if self._spiking else self.membrane.copy()

    def _synapse(self, values: Floats) -> Floats:
        last = self.synaptic
        if self._how.gains is Gains.UNIT:
            self.synaptic = (last + values) * (1.0 - self._share_synaptic)
        elif self._how.gains is Gains.WHOLE:
            self.synaptic = last * (1.0 - self._share_synaptic) + values
        else:
            self.synaptic = last + self._share_synaptic * (
                self._weight_in * values - last
            )
        return self.synaptic if self._how.current is Current.NEW else last

    def _fired(self) -> Floats:
        if self._spikes_max > 1:
            return self._fired_often()
        above = self._how.above
        fires = (
            self.membrane > self._threshold
            if above
            else self.membrane >= self._threshold
        )
        if self._how.reset is Reset.VALUE:
            self.membrane = np.where(fires, self._reset, self.membrane)
        else:
            self.membrane -= fires * self._taken
        return fires.astype(np.float64)

    def _fired_often(self) -> Floats:
        times = np.maximum(self.membrane, 0.0) // self._threshold
        if self._how.above:
            times -= (times > 0) & (times * self._threshold == self.membrane)
        spikes: Floats = np.minimum(times, self._spikes_max)
        self.membrane -= spikes * self._threshold
        return spikes


def taken(name: str, threshold: Floats, kept: Floats, reset: Reset) -> Floats:
    """Return the amount that a spike subtracts from a membrane that keeps the share
    `kept` in a step: the threshold; so much that the threshold is missing after the
    next leak; zero. Raises DataError where a membrane keeps no share from which a
    threshold could be subtracted.
    """
    if reset is Reset.NONE:
        return np.zeros_like(threshold)
    if reset is not Reset.SUBTRACT_NEXT:
        return threshold
    if bool(np.any(kept <= 0)):
        raise DataError(
            f"{name} keeps nothing of its membrane, so that nothing is left to subtract"
            " from in the next step",
            evidence="its time constant is not longer than the time step",
            try_next=(
                "--reset subtract, or a smaller --dt; in a bench file reset and dt_s"
            ),
        )
    return threshold / kept


def spikes_max(node: Any, how: Conventions) -> int:
    """Return how many spikes a neuron may fire in a step."""
    if how.reset is not Reset.SUBTRACT or how.spikes_max == 1:
        return 1
    about = node.metadata if isinstance(node.metadata, dict) else {}
    return int(about.get("spikes_max") or how.spikes_max)


def number(value: Any) -> Floats:
    """Return a parameter in double precision."""
    return np.asarray(value, np.float64)


def share(tau: Any, dt_s: float, scheme: Scheme) -> Floats:
    """Return the share of its distance to the end that a state goes in one step."""
    steps = dt_s / number(tau)
    return steps if scheme is Scheme.EULER else -np.expm1(-steps)
