# SPDX-License-Identifier: Apache-2.0
"""Neurons in torch, many samples side by side: in floating point by the conventions of
a network, or in whole numbers as the file's shifts say.

Written for the worker: numpy and torch alone. The equations are those of
docs/reference/MODELS.md and docs/reference/ASC.md section 2. Parameters are on the
device once; `begin` makes the states of a run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sut_backends.workers.inside.plain_network import PlainConventions, PlainNode

SPIKING = ("IF", "LIF", "CubaLIF")
KINDS = ("I", "LI", "CubaLI", *SPIKING)
#: A state of the integer rule has 16 bits.
STATE_MAX = 32_767


@dataclass(frozen=True, slots=True)
class TorchDevice:
    """Device and type of tensors."""

    torch: Any
    device: Any
    dtype: Any

    def tensor(self, value: Any) -> Any:
        """Copy numbers to a tensor on the device."""
        return self.torch.as_tensor(value, dtype=self.dtype, device=self.device)

    def whole(self, value: Any) -> Any:
        """Copy whole numbers to a tensor on the device."""
        return self.torch.as_tensor(value, dtype=self.torch.int32, device=self.device)


class FloatNeurons:
    """Neurons of one node in floating point; `step` takes the input of one time step,
    and returns spikes, or the membrane of neurons that do not spike.
    """

    def __init__(
        self, board: TorchDevice, node: PlainNode, how: PlainConventions, dt_s: float
    ) -> None:
        self._board = board
        self._shape = node.shape_in
        self._how = how
        self._spiking = node.type in SPIKING
        self._cuba = node.type.startswith("Cuba")
        self._leaky = node.type not in ("I", "IF")
        self._unit = how.gains != "file"
        parameters = node.parameters

        def number(name: str, default: float) -> Any:
            value = getattr(parameters, name)
            return board.tensor(default if value is None else value)

        def share(name: str) -> Any:
            steps = dt_s / number(name, 0.0)
            return steps if how.scheme == "euler" else -board.torch.expm1(-steps)

        self._gain = board.tensor(1.0) if self._unit else number("r", 1.0)
        self._leak = number("v_leak", 0.0)
        tau = "tau_mem" if parameters.tau_mem is not None else "tau"
        self._share = (
            board.tensor(dt_s) if getattr(parameters, tau) is None else share(tau)
        )
        self._kept = 1.0 - self._share
        if self._cuba:
            self._share_synaptic = share("tau_syn")
            self._weight_in = board.tensor(1.0) if self._unit else number("w_in", 1.0)
        if self._spiking:
            self._threshold = number("v_threshold", 1.0)
            self._reset = number("v_reset", 0.0)
            several = how.reset == "subtract" and how.spikes_max > 1
            stated = node.metadata.spikes_max or how.spikes_max
            self._spikes_max = float(stated) if several else 1.0
            kept = self._kept if self._leaky else board.tensor(1.0)
            taken = {
                "none": self._threshold * 0.0,
                "subtract-next": self._threshold / kept,
            }
            self._taken = taken.get(how.reset, self._threshold)

    def begin(self, batch: int) -> None:
        """Come to rest."""
        board = self._board
        shape = (batch, *self._shape)
        self._synaptic = board.torch.zeros(
            shape, dtype=board.dtype, device=board.device
        )
        self.membrane = self._synaptic
        if self._how.start == "leak" and self._leaky:
            self.membrane = self._leak.expand(shape)

    def before(self, values: Any) -> Any:
        """Convert inputs to the form that `step` takes."""
        return values

    def behind(self, values: Any) -> Any:
        """Convert the result of `step` to the form of other nodes."""
        return values

    def step(self, values: Any) -> Any:
        """Go on by one time step."""
        drive = self._synapse(values) if self._cuba else values
        if not self._leaky:
            self.membrane = self.membrane + (
                drive if self._unit else self._share * self._gain * drive
            )
        elif self._unit:
            self.membrane = (
                self.membrane * self._kept + self._share * self._leak + drive
            )
        else:
            self.membrane = self.membrane + self._share * (
                self._leak + self._gain * drive - self.membrane
            )
        return self._fired() if self._spiking else self.membrane

    def _synapse(self, values: Any) -> Any:
        last = self._synaptic
        if self._how.gains == "whole":
            self._synaptic = last * (1.0 - self._share_synaptic) + values
        elif self._unit:
            self._synaptic = (last + values) * (1.0 - self._share_synaptic)
        else:
            self._synaptic = last + self._share_synaptic * (
                self._weight_in * values - last
            )
        return self._synaptic if self._how.current == "new" else last

    def _fired(self) -> Any:
        if self._spikes_max > 1:
            return self._fired_often()
        above = self._how.above
        fires = (
            self.membrane > self._threshold
            if above
            else self.membrane >= self._threshold
        )
        spikes = fires.to(self.membrane.dtype)
        if self._how.reset == "value":
            self.membrane = self._board.torch.where(fires, self._reset, self.membrane)
        else:
            self.membrane = self.membrane - spikes * self._taken
        return spikes

    def _fired_often(self) -> Any:
        times = self.membrane.clamp(min=0.0).floor_divide(self._threshold)
        if self._how.above:
            exactly = (times > 0) & (times * self._threshold == self.membrane)
            times = times - exactly.to(times.dtype)
        spikes = times.clamp(max=self._spikes_max)
        self.membrane = self.membrane - spikes * self._threshold
        return spikes


class IntegerNeurons:
    """CubaLIF neurons in whole numbers of 16 bits: decays are shifts by the `dash_syn`
    and `dash_mem` that the file states, each spike takes a threshold off.
    """

    def __init__(self, board: TorchDevice, node: PlainNode) -> None:
        self._board = board
        self._shape = node.shape_in
        about = node.metadata
        self._dash_synaptic = board.whole(about.dash_syn)
        self._dash_membrane = board.whole(about.dash_mem)
        self._threshold = board.whole(node.parameters.v_threshold)
        self._spikes_max = int(about.spikes_max or 1)

    def begin(self, batch: int) -> None:
        """Come to rest."""
        torch = self._board.torch
        shape = (batch, *self._shape)
        self._synaptic = torch.zeros(
            shape, dtype=torch.int32, device=self._board.device
        )
        self.membrane = self._synaptic

    def before(self, values: Any) -> Any:
        """Convert inputs to whole numbers for `step`."""
        return values.to(self._board.torch.int32)

    def behind(self, values: Any) -> Any:
        """Convert the result of `step` to the form of other nodes."""
        return values.to(self._board.dtype)

    def step(self, drive: Any) -> Any:
        """Go on by one time step."""
        synaptic = _saturated(self._synaptic + drive)
        self._synaptic = synaptic - self._decay(synaptic, self._dash_synaptic)
        change = self._synaptic - self._decay(self.membrane, self._dash_membrane)
        membrane = _saturated(self.membrane + _saturated(change))
        times = membrane.floor_divide(self._threshold)
        spikes = times.clamp(0, self._spikes_max)
        self.membrane = membrane - spikes * self._threshold
        return spikes

    def _decay(self, state: Any, dash: Any) -> Any:
        """Compute the decay of a state in one step: the shifted state, but at least 1
        above 0.

        The shift of a state below 0 is not below the state, so that the maximum is the
        shift.
        """
        return self._board.torch.maximum(state >> dash, state.clamp(max=1))


def _saturated(state: Any) -> Any:
    return state.clamp(-STATE_MAX - 1, STATE_MAX)
