# SPDX-License-Identifier: Apache-2.0
"""A network of stock LIF and Dense on Loihi 2, its ends at adapters.

Written from Lava 0.10, its fixed-point model of LIF, and programs that others
published; what runs on the chip itself (lava-loihi) is given out to members of Intel's
research community alone. No chip was used: it is tested against the stand-in in `sim`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from sut_backends.loihi.fixed_point import FixedPoint
from sut_backends.loihi.running import Built
from sut_backends.loihi.stock_plan import StockPlan

MESSAGE_BITS = 8
MEMBRANE_MIN = -(1 << 23) + 1


def require(host: str = "") -> None:
    """Raise ValueError where Lava's extension for Loihi 2 is missing; go to the board
    at `host` where one is named, else to the one that Lava's environment names (SLURM,
    BOARD, PARTITION).
    """
    loihi = import_module("lava.utils.loihi")
    if not loihi.is_installed():
        raise ValueError(
            "hardware = true needs lava-loihi, Lava's extension for Loihi 2, which is"
            " not installed; members of Intel's research community get it. Without it:"
            " hardware = false"
        )
    if host:
        loihi.use_ethernet_host(host)


def build(plan: StockPlan, fixed: FixedPoint, channels: int, ring_steps: int) -> Built:
    """Build the processes of a plan, connected, with adapters between host and chip."""
    lif: Any = import_module("lava.proc.lif.process").LIF
    dense = import_module("lava.proc.dense.process").Dense
    sink = import_module("lava.proc.io.sink").RingBuffer
    adapters = import_module("lava.proc.embedded_io.spike")
    entry = import_module("lava.proc.io.source").RingBuffer(
        data=np.zeros((channels, ring_steps))
    )
    onto = adapters.PyToNxAdapter(shape=(channels,), num_message_bits=MESSAGE_BITS)
    entry.s_out.connect(onto.inp)
    made = []
    states = []
    silence = []
    for cells, one in zip(plan.cells, fixed.registers, strict=True):
        rest = np.zeros(len(cells.which), np.int32)
        process = lif(shape=rest.shape, du=one.du, dv=one.dv, vth=one.threshold)
        states += [(process.u, rest), (process.v, rest)]
        silence.append((process.v, rest + MEMBRANE_MIN))
        made.append(process)
    for synapses, weights in zip(plan.synapses, fixed.weights, strict=True):
        if synapses.source is None:
            process = dense(weights=weights, num_message_bits=MESSAGE_BITS)
            onto.out.connect(process.s_in)
        else:
            process = dense(weights=weights, num_message_bits=0)
            made[synapses.source].s_out.connect(process.s_in)
        process.a_out.connect(made[synapses.target].a_in)
    exits = []
    for index in plan.outputs:
        which = plan.cells[index].which
        read = sink(shape=(len(which),), buffer=ring_steps)
        off = adapters.NxToPyAdapter(shape=(len(which),))
        made[index].s_out.connect(off.inp)
        off.out.connect(read.a_in)
        exits.append((which, read))
    # A Dense on the chip holds the spikes of the last step, and cannot be cleared:
    # between samples a step without spikes is run. The chip's membranes are in its own
    # scale, not in the file's.
    return Built(
        entry,
        exits,
        states,
        membranes=[],
        lag_steps=plan.lag_steps,
        silence=tuple(silence),
    )
