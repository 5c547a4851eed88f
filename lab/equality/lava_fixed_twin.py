# SPDX-License-Identifier: Apache-2.0
"""A twin in numpy of stock LIF and Dense in Loihi 2's arithmetic, step by step: what
Lava's bit-accurate models must give, from the registers alone.

The rule, of Loihi's documentation and of Lava 0.10: a decay takes 12 bits, rounded
towards 0; weights and thresholds stand 6 bits above the lowest; a current of 24 bits
wraps around, a membrane stops at its ends. Both are then compared with the threshold:
above it a cell fires and goes to 0. A Dense passes its input on a step later.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sut_backends.loihi.fixed_point import FixedPoint
from sut_backends.loihi.stock_plan import StockPlan

ONE = 4096
END = 1 << 23


@dataclass(frozen=True)
class State:
    """After a step: currents, membranes and spikes, of each process in the order of the
    plan."""

    currents: list[Any]
    membranes: list[Any]
    spikes: list[Any]


def steps(plan: StockPlan, fixed: FixedPoint, counts: Any) -> Iterator[State]:
    """Yield the state after each step of a sample (steps, channels), from rest."""
    sizes = [len(cells.which) for cells in plan.cells]
    currents = [np.zeros(size, np.int64) for size in sizes]
    membranes = [np.zeros(size, np.int64) for size in sizes]
    spikes = [np.zeros(size, bool) for size in sizes]
    kept = [np.zeros(len(weights), np.int64) for weights in fixed.weights]
    for row in counts:
        taken = [np.zeros(size, np.int64) for size in sizes]
        for synapses, value in zip(plan.synapses, kept, strict=True):
            taken[synapses.target] = taken[synapses.target] + value
        for index, registers in enumerate(fixed.registers):
            current = _lost(currents[index], registers.du + 1) + 64 * taken[index]
            current[current > END] -= 2 * END
            current[current <= -END] += 2 * END
            membrane = _lost(membranes[index], registers.dv) + current
            membrane = np.minimum(np.maximum(membrane, 1 - END), END - 1)
            spikes[index] = membrane > 64 * registers.threshold
            membrane[spikes[index]] = 0
            currents[index], membranes[index] = current, membrane
        for number, synapses in enumerate(plan.synapses):
            came = row if synapses.source is None else spikes[synapses.source]
            kept[number] = fixed.weights[number].astype(np.int64) @ came.astype(
                np.int64
            )
        yield State(list(currents), list(membranes), list(spikes))


def run(plan: StockPlan, fixed: FixedPoint, counts: Any) -> tuple[Any, Any]:
    """Return spikes (steps, outputs) of a sample, the plan's lag taken off, and last
    membranes in the units of the file.
    """
    silence = np.zeros((plan.lag_steps, counts.shape[1]), np.int64)
    states = list(
        steps(plan, fixed, np.concatenate([counts.astype(np.int64), silence]))
    )
    outputs = sum(len(plan.cells[index].which) for index in plan.outputs)
    trains = np.zeros((len(states), outputs))
    last = np.zeros(outputs)
    for index in plan.outputs:
        which = plan.cells[index].which
        trains[:, which] = [state.spikes[index] for state in states]
        last[which] = states[-1].membranes[index] / (64 * fixed.registers[index].scale)
    return trains[plan.lag_steps :], last


def _lost(value: Any, share: int) -> Any:
    """Return the rest of a state after a decay, rounded towards 0."""
    return np.trunc(value * (ONE - share) / ONE).astype(np.int64)
