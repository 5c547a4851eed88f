# SPDX-License-Identifier: Apache-2.0
"""Neurons of the integer model."""

from __future__ import annotations

import numpy as np

from rig.network.fixed.arithmetic import Saturation, shifted
from rig.network.fixed.form import FixedNode, Ints, Population

_KEEP_BITS = 31


class FixedNeurons:
    """The neurons of a node, many samples side by side: `membrane` (batch, *shape), 32
    bit."""

    def __init__(
        self, node: FixedNode, body: Population, batch: int, saturation: Saturation
    ) -> None:
        self._name = node.name
        self._body = body
        self._saturation = saturation
        self._shape = node.shape_in
        self.spiking = body.spiking
        shape = (batch, *node.shape_in)
        self.membrane: Ints = np.broadcast_to(self._each(body.start), shape).copy()
        self._current: Ints = np.zeros(shape, np.int64)

    def step(self, values: Ints) -> Ints:
        """Go on by one time step; return spikes, or membranes in 16 bit."""
        body = self._body
        drive = shifted(values * self._each(body.gain), body.gain_shift)
        if body.synaptic:
            current = self._synapse(drive)
            drive = shifted(current * self._each(body.couple), body.couple_shift)
        left = shifted(self.membrane * self._each(body.keep), _KEEP_BITS)
        self.membrane = self._state(left + drive + self._each(body.leak))
        if body.spiking:
            return self._fired()
        return self._saturation.value(self._name, self.membrane, body.shift)

    def _synapse(self, drive: Ints) -> Ints:
        """Return the current that drives the membrane in this step."""
        body = self._body
        last = self._current
        keep = self._each(body.keep_current)
        if body.together:
            self._current = shifted(self._state(last + drive) * keep, _KEEP_BITS)
        else:
            self._current = self._state(shifted(last * keep, _KEEP_BITS) + drive)
        return last if body.last_current else self._current

    def _fired(self) -> Ints:
        body = self._body
        threshold = self._each(body.threshold)
        if body.spikes_max > 1:
            # Of the excess over the threshold, or 0: 2^31 / 1 is the most there
            # can be.
            counted = np.maximum(self.membrane - (1 if body.above else 0), 0)
            spikes: Ints = np.minimum(counted // threshold, body.spikes_max)
        else:
            fires = (
                self.membrane > threshold if body.above else self.membrane >= threshold
            )
            spikes = fires.astype(np.int64)
        if body.takes:
            self.membrane = self._state(self.membrane - spikes * self._each(body.reset))
        elif body.subtracts:
            self.membrane = self._state(self.membrane - spikes * threshold)
        else:
            self.membrane = np.where(spikes > 0, self._each(body.reset), self.membrane)
        return spikes

    def _each(self, numbers: Ints) -> Ints:
        """Return a parameter as it meets an array of all neurons."""
        return numbers if numbers.size == 1 else numbers.reshape(self._shape)

    def _state(self, numbers: Ints) -> Ints:
        return self._saturation.state(self._name, numbers)
