# SPDX-License-Identifier: Apache-2.0
"""The nodes of a network on a device, in the order of a step. Written for the worker:
torch alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sut_backends.gpu.neurons import KINDS, FloatNeurons, IntegerNeurons, TorchDevice
from sut_backends.gpu.stages import Delay, has_state, stage
from sut_backends.workers.inside.plain_network import PlainNetwork, PlainNode


class Layers:
    """A network whose parameters are on a device, in floating point or in whole
    numbers."""

    def __init__(
        self, board: TorchDevice, network: PlainNetwork, integer: bool
    ) -> None:
        self._board = board
        self._network = network
        self._nodes = {node.name: node for node in network.nodes}
        self._states: dict[str, FloatNeurons | IntegerNeurons | Delay] = {}
        self._stages: dict[str, Any] = {}
        for node in network.nodes:
            if not has_state(node):
                self._stages[node.name] = stage(board, node)
            elif node.type not in KINDS:
                self._states[node.name] = Delay(board, node, network.dt_s)
            elif integer:
                self._states[node.name] = IntegerNeurons(board, node)
            else:
                how = network.conventions
                self._states[node.name] = FloatNeurons(board, node, how, network.dt_s)
        self._late = any(node.late_sources for node in network.nodes)
        self._last = self._last_neurons()

    def run(self, given: Any) -> tuple[Any, Any]:
        """Run from rest over the spikes (batch, steps, *shape); return the output's
        values (batch, steps, outputs) and the last membranes (batch, outputs) or None,
        on the device.
        """
        batch, steps = given.shape[:2]
        with self._board.torch.inference_mode():
            for state in self._states.values():
                state.begin(batch)
            values = (
                self._step_by_step(given) if self._late else self._node_by_node(given)
            )
            last: Any = self._states.get(self._last)
            membranes = None if last is None else last.membrane.reshape(batch, -1)
            return values.reshape(batch, steps, -1), membranes

    def _node_by_node(self, given: Any) -> Any:
        """Take a node through all steps before the next one begins; nodes without a
        state take all steps at once.
        """
        batch, steps = given.shape[:2]
        left: dict[str, Any] = {}
        for node in self._network.nodes:
            entered = (
                _sum([left[name] for name in node.sources]) if node.sources else given
            )
            state = self._states.get(node.name)
            if state is None:
                values = self._stages[node.name](
                    entered.reshape(batch * steps, *node.shape_in)
                )
                left[node.name] = values.reshape(batch, steps, *node.shape_out)
            else:
                rows = map(state.step, state.before(entered).unbind(1))
                left[node.name] = state.behind(
                    self._board.torch.stack(list(rows), dim=1)
                )
        return left[self._network.outputs[0]]

    def _step_by_step(self, given: Any) -> Any:
        """Take every node through a step before the next one begins, as cycles need
        it."""
        batch, steps = given.shape[:2]
        zero = self._board.torch.zeros(
            (), dtype=self._board.dtype, device=self._board.device
        )
        now = {
            node.name: zero.expand(batch, *node.shape_out)
            for node in self._network.nodes
        }
        rows = []
        for step in range(steps):
            before = now
            now = {}
            for node in self._network.nodes:
                parts = [now[name] for name in node.sources]
                parts += [before[name] for name in node.late_sources]
                entered = _sum(parts) if parts else given[:, step]
                state = self._states.get(node.name)
                if state is None:
                    now[node.name] = self._stages[node.name](entered)
                else:
                    now[node.name] = state.behind(state.step(state.before(entered)))
            rows.append(now[self._network.outputs[0]])
        return self._board.torch.stack(rows, dim=1)

    def _last_neurons(self) -> str:
        """Return the neurons whose values leave the network unchanged; empty where
        something else stands before the output.
        """
        node: PlainNode = self._nodes[self._network.outputs[0]]
        while node.type in ("Output", "Flatten") and len(node.sources) == 1:
            node = self._nodes[node.sources[0]]
        return node.name if node.type in KINDS else ""


def _sum(parts: Sequence[Any]) -> Any:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
