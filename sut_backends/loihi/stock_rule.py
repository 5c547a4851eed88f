# SPDX-License-Identifier: Apache-2.0
"""A network of Lava's own LIF and Dense: on a processor in floating point or by Lava's
bit-accurate models of Loihi 2's arithmetic, or on the chip, its ends at adapters.

The chip's part is written from Lava 0.10, its fixed-point model of LIF, and programs
that others published; what runs on the chip itself (lava-loihi) is given out to members
of Intel's research community alone. No chip was used: it is tested against a stand-in.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from sut_backends.loihi.fixed_point import STATE_SHIFT, FixedPoint
from sut_backends.loihi.running import Built
from sut_backends.loihi.stock_plan import StockPlan

#: Spikes of an input are counts; Dense takes whole numbers of so many bits.
MESSAGE_BITS = 8
MEMBRANE_MIN = -(1 << 23) + 1


@dataclass(frozen=True)
class FileUnits:
    """A variable in whole numbers, read in the units of its file: `one` is the number
    that stands for 1 there."""

    variable: Any
    one: float

    def get(self) -> Any:
        """Return its value."""
        return np.asarray(self.variable.get(), np.float64) / self.one


def require_chip(host: str = "") -> None:
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


def build(
    plan: StockPlan,
    channels: int,
    ring_steps: int,
    fixed: FixedPoint | None = None,
    *,
    chip: bool = False,
) -> Built:
    """Build the processes of a plan, connected, their ends rings of so many steps; in
    whole numbers where `fixed` has them, which a chip needs.
    """
    lif: Any = import_module("lava.proc.lif.process").LIF
    number: Any = np.float64 if fixed is None else np.int32
    ring = np.zeros((channels, ring_steps), np.float64 if chip else number)
    entry = import_module("lava.proc.io.source").RingBuffer(data=ring)
    inputs = _onto_chip(entry, channels) if chip else entry.s_out
    made = []
    states = []
    silence = []
    # In floating point Lava hands decays and thresholds to numpy as they are: arrays
    # too.
    registers: list[Any] = [*plan.cells] if fixed is None else [*fixed.registers]
    for cells, held in zip(plan.cells, registers, strict=True):
        rest = np.zeros(len(cells.which), number)
        process = lif(shape=rest.shape, du=held.du, dv=held.dv, vth=held.threshold)
        states += [(process.u, rest), (process.v, rest)]
        silence.append((process.v, rest + MEMBRANE_MIN))
        made.append(process)
    stated = [synapses.weights for synapses in plan.synapses]
    matrices = stated if fixed is None else fixed.weights
    for synapses, weights in zip(plan.synapses, matrices, strict=True):
        counts = fixed is None or synapses.source is None
        kind = "Sparse" if hasattr(weights, "tocsr") else "Dense"
        processes = import_module(f"lava.proc.{kind.lower()}.process")
        bits = MESSAGE_BITS if counts else 0
        process = getattr(processes, kind)(weights=weights, num_message_bits=bits)
        source = inputs if synapses.source is None else made[synapses.source].s_out
        source.connect(process.s_in)
        process.a_out.connect(made[synapses.target].a_in)
        if not chip:
            states.append((process.a_buff, np.zeros(weights.shape[0], number)))
    exits = []
    membranes: list[tuple[Any, Any]] = []
    for index in plan.outputs:
        which = plan.cells[index].which
        exits.append((which, _sink(made[index].s_out, len(which), ring_steps, chip)))
        variable: Any = made[index].v
        if fixed is not None:
            one = fixed.registers[index].scale * (1 << STATE_SHIFT)
            variable = FileUnits(variable, one)
        membranes.append((which, variable))
    if not chip:
        return Built(entry, exits, states, membranes, plan.lag_steps)
    # A Dense on the chip holds the spikes of the last step, and cannot be cleared:
    # between samples a step without spikes is run. The chip's membranes are in its own
    # scale, not in the file's.
    return Built(entry, exits, states, [], plan.lag_steps, silence=tuple(silence))


def _onto_chip(entry: Any, channels: int) -> Any:
    """Put an adapter after the entry; return its port."""
    adapters = import_module("lava.proc.embedded_io.spike")
    onto = adapters.PyToNxAdapter(shape=(channels,), num_message_bits=MESSAGE_BITS)
    entry.s_out.connect(onto.inp)
    return onto.out


def _sink(port: Any, size: int, ring_steps: int, chip: bool) -> Any:
    """Return a ring for the spikes of a port, of a chip with an adapter between."""
    if chip:
        adapters = import_module("lava.proc.embedded_io.spike")
        off = adapters.NxToPyAdapter(shape=(size,))
        port.connect(off.inp)
        port = off.out
    read = import_module("lava.proc.io.sink").RingBuffer(
        shape=(size,), buffer=ring_steps
    )
    port.connect(read.a_in)
    return read
