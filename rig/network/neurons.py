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
    of one time step and gives spikes, or the membrane of neurons that do not spike.
    """

    def __init__(
        self, place: NodePlace, dt_s: float, how: Conventions, batch: int
    ) -> None:
        node = place.node
        self._how = how
        self._spiking = isinstance(node, SPIKING)
        self._cuba = isinstance(node, nir.CubaLI | nir.CubaLIF)
        self._leaky = not isinstance(node, nir.I | nir.IF)
        self._gain = parameter(node.r) if how.gains is Gains.FILE else number(1.0)
        leak = getattr(node, "v_leak", None)
        self._leak = parameter(0.0 if leak is None else leak)
        self._leaks = bool(np.any(self._leak))
        tau = getattr(node, "tau_mem", getattr(node, "tau", None))
        # An integrator gains dt r i a step.
        self._share = (
            number(dt_s) if tau is None else share(parameter(tau), dt_s, how.scheme)
        )
        self._kept = number(1.0) if tau is None else 1.0 - self._share
        if self._cuba:
            self._share_synaptic = share(parameter(node.tau_syn), dt_s, how.scheme)
            self._weight_in = parameter(node.w_in)
        if self._spiking:
            self._threshold = parameter(node.v_threshold)
            self._reset = parameter(0.0 if node.v_reset is None else node.v_reset)
            self._spikes_max = float(spikes_max(node, how))
            self._taken = taken(place.name, self._threshold, self._kept, how.reset)
        shape = (batch, *place.shape_in)
        begin = self._leak if how.start is Start.LEAK and self._leaky else 0.0
        self.membrane: Floats = np.broadcast_to(
            np.asarray(begin, np.float64), shape
        ).copy()
        self.synaptic: Floats = np.zeros(shape)
        self._last: Floats = np.zeros(shape)
        self._change: Floats = np.empty(shape)
        self._fires = np.empty(shape, np.bool_)

    def step(self, values: Floats, left: Floats) -> None:
        """Go on by one time step; write spikes, or the membranes of neurons that do not
        spike, to `left`.
        """
        drive = self._synapse(values) if self._cuba else values
        membrane, change = self.membrane, self._change
        if self._how.gains is not Gains.FILE:
            if self._leaky:
                membrane *= 1.0 - self._share
                membrane += self._share * self._leak
            membrane += drive
        elif not self._leaky:
            np.multiply(drive, self._share * self._gain, out=change)
            membrane += change
        else:
            ends = _product(drive, self._gain, change)
            if self._leaks:
                ends = np.add(ends, self._leak, out=change)
            np.subtract(ends, membrane, out=change)
            change *= self._share
            membrane += change
        if self._spiking:
            self._fire(left)
        else:
            left[...] = membrane

    def _synapse(self, values: Floats) -> Floats:
        """Take the currents through a step; return those that drive the membranes."""
        late = self._how.current is Current.LAST
        if late:
            self._last[...] = self.synaptic
        current, change = self.synaptic, self._change
        if self._how.gains is Gains.UNIT:
            current += values
            current *= 1.0 - self._share_synaptic
        elif self._how.gains is Gains.WHOLE:
            current *= 1.0 - self._share_synaptic
            current += values
        else:
            ends = _product(values, self._weight_in, change)
            np.subtract(ends, current, out=change)
            change *= self._share_synaptic
            current += change
        return self._last if late else current

    def _fire(self, left: Floats) -> None:
        if self._spikes_max > 1:
            self._fire_often(left)
            return
        above = np.greater if self._how.above else np.greater_equal
        above(self.membrane, self._threshold, out=self._fires)
        left[...] = self._fires
        if self._how.reset is Reset.VALUE:
            if self._reset.ndim:
                np.copyto(self.membrane, self._reset, where=self._fires)
            else:  # the same in a third of the time
                np.putmask(self.membrane, self._fires, self._reset)
        else:
            np.multiply(left, self._taken, out=self._change)
            self.membrane -= self._change

    def _fire_often(self, left: Floats) -> None:
        times = np.maximum(self.membrane, 0.0) // self._threshold
        if self._how.above:
            times -= (times > 0) & (times * self._threshold == self.membrane)
        np.minimum(times, self._spikes_max, out=left)
        np.multiply(left, self._threshold, out=self._change)
        self.membrane -= self._change


def _product(values: Floats, factor: Floats, out: Floats) -> Floats:
    """Return values times a factor: themselves where it is one number, 1."""
    if factor.ndim == 0 and factor == 1.0:
        return values
    return np.multiply(values, factor, out=out)


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


def parameter(value: Any) -> Floats:
    """Return a parameter of each neuron, or one number where all have the same, which
    is quicker.
    """
    each = number(value)
    first = each.reshape(-1)[:1]
    return first.reshape(()) if each.size and bool(np.all(each == first)) else each


def share(tau: Any, dt_s: float, scheme: Scheme) -> Floats:
    """Return the share of its distance to the end that a state goes in one step."""
    steps = dt_s / number(tau)
    return steps if scheme is Scheme.EULER else -np.expm1(-steps)
