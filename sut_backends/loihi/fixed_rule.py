# SPDX-License-Identifier: Apache-2.0
"""A network of stock LIF and Dense in Loihi 2's arithmetic, on a processor: Lava's
bit-accurate models, with states of 24 bits, weights of 8 and decays of 12.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from sut_backends.loihi.fixed_point import STATE_SHIFT, FixedPoint
from sut_backends.loihi.running import Built
from sut_backends.loihi.stock_plan import StockPlan
from sut_backends.loihi.stock_rule import MESSAGE_BITS


@dataclass(frozen=True)
class FileUnits:
    """A variable in whole numbers, read in the units of its file: `one` is the number
    that stands for 1 there."""

    variable: Any
    one: float

    def get(self) -> Any:
        """Return its value."""
        return np.asarray(self.variable.get(), np.float64) / self.one


def build(plan: StockPlan, fixed: FixedPoint, channels: int, ring_steps: int) -> Built:
    """Build the processes of a plan, connected, their ends rings of so many steps."""
    lif: Any = import_module("lava.proc.lif.process").LIF
    dense = import_module("lava.proc.dense.process").Dense
    sink = import_module("lava.proc.io.sink").RingBuffer
    source = import_module("lava.proc.io.source").RingBuffer
    entry = source(data=np.zeros((channels, ring_steps), np.int32))
    made = []
    states = []
    for cells, one in zip(plan.cells, fixed.registers, strict=True):
        rest = np.zeros(len(cells.which), np.int32)
        process = lif(shape=rest.shape, du=one.du, dv=one.dv, vth=one.threshold)
        states += [(process.u, rest), (process.v, rest)]
        made.append(process)
    for synapses, weights in zip(plan.synapses, fixed.weights, strict=True):
        message_bits = MESSAGE_BITS if synapses.source is None else 0
        process = dense(weights=weights, num_message_bits=message_bits)
        before = entry if synapses.source is None else made[synapses.source]
        before.s_out.connect(process.s_in)
        process.a_out.connect(made[synapses.target].a_in)
        states.append((process.a_buff, np.zeros(len(weights), np.int32)))
    exits = []
    membranes = []
    for index in plan.outputs:
        which = plan.cells[index].which
        read = sink(shape=(len(which),), buffer=ring_steps)
        made[index].s_out.connect(read.a_in)
        exits.append((which, read))
        file_one = fixed.registers[index].scale * (1 << STATE_SHIFT)
        membranes.append((which, FileUnits(made[index].v, file_one)))
    return Built(entry, exits, states, membranes, lag_steps=plan.lag_steps)
