# SPDX-License-Identifier: Apache-2.0
"""The layer of integer.py for training in torch: the forward pass is the integer
arithmetic, the gradients are surrogates.

Every state is a whole number below 2^24, so float32 holds it exactly and the trained
network is the one that runs on the device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from scenarios.tasks.asc.model import STATE_MAX, NetworkLayer

try:
    import torch
except ModuleNotFoundError as problem:
    raise ImportError(
        "training needs torch: pip install -r lab/requirements.txt, or its CPU build"
    ) from problem

WEIGHT_MAX = 127
WEIGHT_UNIT = 32.0
THRESHOLD_PER_GAIN = 96.0
THRESHOLD_MAX = 16_384.0
# How fast the surrogate gradient falls off; a wide one keeps silent neurons teachable.
EDGE_SHARPNESS = 1.0

# Decay shifts of synapse and membrane.
Dashes = tuple[tuple[int, int], ...]


def loss_of(value: Any, share: Any) -> Any:
    """Return the loss of a state in a step: floor(value share), but at least 1 towards
    zero.
    """
    exact = torch.floor(value * share)
    return exact + ((exact == 0) & (value > 0))


def limited(value: Any) -> Any:
    """Limit a state to 16 bit."""
    return value.clamp(-STATE_MAX - 1, STATE_MAX)


def inside(value: Any) -> Any:
    """Return 1 where a state is within 16 bit, else 0."""
    return (value.abs() <= STATE_MAX).to(value.dtype)


def spike_slope(ratio: Any, spikes_max: int) -> Any:
    """Return the surrogate derivative of the spikes by membrane / threshold: 1 between,
    1/(1 + x^2) at a distance x outside.
    """
    below = (ratio - 1).clamp(max=0)
    beyond = (ratio - 1 - spikes_max).clamp(min=0)
    return 1 / (1 + (EDGE_SHARPNESS * (below - beyond)) ** 2)


# torch is not followed by the type checker
class SurrogateNeurons(torch.autograd.Function):  # type: ignore[misc]
    """Spiking neurons over time: drive (steps, slices, neurons) -> spikes of the same
    shape, last membrane (slices, neurons).
    """

    @staticmethod
    def forward(
        ctx: Any,
        drive: Any,
        share_syn: Any,
        share_mem: Any,
        threshold: Any,
        spikes_max: int,
    ) -> tuple[Any, Any]:
        """Run the integer arithmetic; keep the states before they are limited."""
        current = torch.zeros_like(drive[0])
        membrane = torch.zeros_like(drive[0])
        currents, changes, membranes, spikes = (
            torch.empty_like(drive) for _ in range(4)
        )
        for step, driven in enumerate(drive):
            torch.add(current, driven, out=currents[step])
            current = limited(currents[step])
            current = current - loss_of(current, share_syn)
            torch.sub(current, loss_of(membrane, share_mem), out=changes[step])
            torch.add(membrane, limited(changes[step]), out=membranes[step])
            membrane = limited(membranes[step])
            spikes[step] = torch.floor(membrane / threshold).clamp(0, spikes_max)
            membrane = membrane - spikes[step] * threshold
        shares = (share_syn, share_mem)
        ctx.save_for_backward(currents, changes, membranes, *shares, threshold)
        ctx.spikes_max = spikes_max
        return spikes, membrane

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Any, None, None, None, None]:
        """Go back in time; the subtraction by a spike counts as a constant, rounding as
        none at all.
        """
        currents, changes, membranes, share_syn, share_mem, threshold = (
            ctx.saved_tensors
        )
        by_spikes, by_membrane = gradients
        direct = (
            by_spikes * spike_slope(membranes / threshold, ctx.spikes_max) / threshold
        )
        membrane_free = inside(membranes)
        change_free = inside(changes)
        current_free = inside(currents) * (1 - share_syn)
        membrane_kept = 1 - share_mem * change_free
        by_drive = torch.empty_like(currents)
        by_current = torch.zeros_like(by_membrane)
        for step in reversed(range(len(currents))):
            by_membrane = (by_membrane + direct[step]) * membrane_free[step]
            by_current = (by_current + change_free[step] * by_membrane) * current_free[
                step
            ]
            by_membrane = by_membrane * membrane_kept[step]
            by_drive[step] = by_current
        return by_drive, None, None, None, None


@dataclass(slots=True)
class SpikingLayer:
    """Trainable weights (neurons, inputs) in units of WEIGHT_UNIT, and fixed decays and
    thresholds (neurons,).
    """

    weight: Any
    dash_syn: Any
    dash_mem: Any
    threshold: Any
    spikes_max: int

    @classmethod
    def random(
        cls,
        neurons: int,
        inputs: int,
        dashes: Dashes,
        spikes_max: int,
        input_rate: float,
    ) -> SpikingLayer:
        """Make a layer whose neurons take the pairs of `dashes` in turn and fire
        moderately at `input_rate` spikes a step.
        """
        pairs = torch.tensor(
            [dashes[number % len(dashes)] for number in range(neurons)],
            dtype=torch.float32,
        )
        gain = torch.exp2(pairs.sum(dim=1))
        threshold = torch.clamp(THRESHOLD_PER_GAIN * gain, max=THRESHOLD_MAX)
        spread = threshold / gain / (input_rate * inputs**0.5 * WEIGHT_UNIT)
        weight = (torch.randn(neurons, inputs) * spread[:, None]).requires_grad_(True)
        return cls(weight, pairs[:, 0], pairs[:, 1], threshold, spikes_max)

    def whole_weight(self) -> Any:
        """Return the weights as whole numbers within -127..127; the gradient passes
        straight through the rounding.
        """
        scaled = (self.weight * WEIGHT_UNIT).clamp(-WEIGHT_MAX, WEIGHT_MAX)
        return scaled + (torch.round(scaled) - scaled).detach()

    def run(self, spikes: Any) -> tuple[Any, Any]:
        """Run over spikes (steps, slices, inputs) -> spikes (steps, slices, neurons),
        last membrane (slices, neurons).
        """
        # Adding and subtracting the rounded part leaves an error in the last float
        # digit; the rounding makes the drive exact again.
        drive = spikes @ self.whole_weight().T
        drive = drive + (torch.round(drive) - drive).detach()
        shares = torch.exp2(-self.dash_syn), torch.exp2(-self.dash_mem)
        spikes, membrane = SurrogateNeurons.apply(
            drive, *shares, self.threshold, self.spikes_max
        )
        return spikes, membrane

    def integers(self) -> NetworkLayer:
        """Return the layer as integers."""
        weight = torch.round(self.whole_weight()).detach().numpy().astype(np.int8)
        dash_syn, dash_mem = (
            dash.numpy().astype(np.uint8) for dash in (self.dash_syn, self.dash_mem)
        )
        return NetworkLayer(
            weight,
            dash_syn,
            dash_mem,
            self.threshold.numpy().astype(np.int16),
            self.spikes_max,
        )
