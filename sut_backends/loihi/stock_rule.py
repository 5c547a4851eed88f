# SPDX-License-Identifier: Apache-2.0
"""A network of Lava's own LIF and Dense on a processor, in floating point."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from sut_backends.loihi.running import Built
from sut_backends.loihi.stock_plan import StockPlan

#: Spikes of an input are counts; Dense takes whole numbers of so many bits.
MESSAGE_BITS = 8


def build(plan: StockPlan, channels: int, ring_steps: int) -> Built:
    """Build the processes of a plan, connected, their ends rings of so many steps."""
    lif: Any = import_module("lava.proc.lif.process").LIF
    dense = import_module("lava.proc.dense.process").Dense
    sink = import_module("lava.proc.io.sink").RingBuffer
    entry = import_module("lava.proc.io.source").RingBuffer(
        data=np.zeros((channels, ring_steps))
    )
    made = []
    states = []
    for cells in plan.cells:
        rest = np.zeros(len(cells.which))
        # In floating point Lava hands decays and thresholds to numpy as they are:
        # arrays too.
        process = lif(shape=rest.shape, du=cells.du, dv=cells.dv, vth=cells.threshold)
        states += [(process.u, rest), (process.v, rest)]
        made.append(process)
    for synapses in plan.synapses:
        process = dense(weights=synapses.weights, num_message_bits=MESSAGE_BITS)
        source = entry if synapses.source is None else made[synapses.source]
        source.s_out.connect(process.s_in)
        process.a_out.connect(made[synapses.target].a_in)
        states.append((process.a_buff, np.zeros(len(synapses.weights))))
    exits = []
    for index in plan.outputs:
        which = plan.cells[index].which
        read = sink(shape=(len(which),), buffer=ring_steps)
        made[index].s_out.connect(read.a_in)
        exits.append((which, read))
    membranes = [(plan.cells[index].which, made[index].v) for index in plan.outputs]
    return Built(entry, exits, states, membranes, lag_steps=plan.lag_steps)
