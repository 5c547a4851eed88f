# SPDX-License-Identifier: Apache-2.0
"""A network of stock LIF and Dense on Loihi 2: its numbers in fixed point, its ends at adapters.

Written from Lava 0.10, its fixed-point model of LIF, and programs that others published; what runs
on the chip itself (lava-loihi) is given out to members of Intel's research community alone. No chip
was used: it is tested against the stand-in in `sim`.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from sut_backends.loihi.running import Built
from sut_backends.loihi.stock_plan import Cells, StockPlan

#: Weights of both signs are even numbers within these limits.
WEIGHT_MIN = -256
WEIGHT_MAX = 254
THRESHOLD_MAX = (1 << 17) - 1
DECAY_ONE = 1 << 12
MESSAGE_BITS = 8
MEMBRANE_MIN = -(1 << 23) + 1


def require(host: str = "") -> None:
    """Raise ValueError where Lava's extension for Loihi 2 is missing; go to the board at `host`
    where one is named, else to the one that Lava's environment names (SLURM, BOARD, PARTITION).
    """
    loihi = import_module("lava.utils.loihi")
    if not loihi.is_installed():
        raise ValueError(
            "hardware = true needs lava-loihi, Lava's extension for Loihi 2, which is not "
            "installed; members of Intel's research community get it. Without it: hardware = false"
        )
    if host:
        loihi.use_ethernet_host(host)


@dataclass(frozen=True)
class Registers:
    """Cells as a chip has them: whole numbers, one decay and threshold for all of a process."""

    du: int
    dv: int
    threshold: int


@dataclass(frozen=True)
class FixedPoint:
    """A plan in whole numbers, and what that changes."""

    registers: list[Registers]
    weights: list[Any]
    report: list[dict[str, Any]]


def fixed_point(plan: StockPlan) -> FixedPoint:
    """Return the registers and weights of a plan.

    Each process has a scale of its own, which its weights and its threshold share: as large as both
    allow. A scale that is a power of two keeps whole weights whole.
    """
    registers = []
    report = []
    weights: list[Any] = [None] * len(plan.synapses)
    for index, cells in enumerate(plan.cells):
        into = [number for number, one in enumerate(plan.synapses) if one.target == index]
        scale = _scale(cells, [plan.synapses[number].weights for number in into])
        worst = 0.0
        for number in into:
            exact = plan.synapses[number].weights * scale
            weights[number] = (2 * np.rint(exact / 2)).astype(np.int32)
            worst = max(worst, float(np.abs(weights[number] - exact).max(initial=0.0)) / scale)
        du = int(np.clip(round(DECAY_ONE * float(cells.du[0])) - 1, 0, DECAY_ONE - 1))
        dv = int(np.clip(round(DECAY_ONE * float(cells.dv[0])), 0, DECAY_ONE - 1))
        threshold = round(float(cells.threshold[0]) * scale)
        registers.append(Registers(du, dv, threshold))
        report.append(
            {
                "node": cells.node,
                "cells": len(cells.which),
                "scale": scale,
                "largest error of a weight": worst,
                "error of du": abs((du + 1) / DECAY_ONE - float(cells.du[0])),
                "error of dv": abs(dv / DECAY_ONE - float(cells.dv[0])),
            }
        )
    return FixedPoint(registers, weights, report)


def _scale(cells: Cells, weights: list[Any]) -> float:
    """Return the largest power of two by which weights and threshold fit."""
    threshold = float(cells.threshold[0])
    if threshold <= 0:
        raise ValueError(f"{cells.node} has a threshold of {threshold:g}, a chip's is above 0")
    upper = max((float(one.max(initial=0.0)) for one in weights), default=0.0) / WEIGHT_MAX
    lower = min((float(one.min(initial=0.0)) for one in weights), default=0.0) / WEIGHT_MIN
    scale = float(2.0 ** np.floor(-np.log2(max(upper, lower, threshold / THRESHOLD_MAX))))
    if threshold * scale < 1:
        raise ValueError(
            f"{cells.node} has weights {max(upper, lower) * WEIGHT_MAX / threshold:.3g} times its "
            "threshold: 8 bits do not hold both"
        )
    return scale


def build(plan: StockPlan, fixed: FixedPoint, channels: int, ring_steps: int) -> Built:
    """Return the processes of a plan, connected, with adapters between host and chip."""
    lif: Any = import_module("lava.proc.lif.process").LIF
    dense = import_module("lava.proc.dense.process").Dense
    sink = import_module("lava.proc.io.sink").RingBuffer
    adapters = import_module("lava.proc.embedded_io.spike")
    entry = import_module("lava.proc.io.source").RingBuffer(data=np.zeros((channels, ring_steps)))
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
    # A Dense on the chip holds the spikes of the last step, and cannot be cleared: between samples
    # goes a step in which no cell fires. The chip's membranes are in its own scale: they are no
    # membranes of the file's.
    return Built(entry, exits, states, [], plan.lag_steps, tuple(silence))
