# SPDX-License-Identifier: Apache-2.0
"""A network of stock LIF and Dense in Loihi 2's whole numbers: registers, weights, what
that costs.

It is computed here, for the chip and Lava's model of its arithmetic (stock_rule.py)
and for a report without either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sut_backends.loihi.stock_plan import Cells, StockPlan
from sut_backends.workers.inside import layers

#: Weights of both signs are even numbers within these limits.
WEIGHT_MIN = -256
WEIGHT_MAX = 254
#: A matrix without a positive weight has no bit for the sign: Lava cuts it off at -255.
INHIBITORY_MIN = -254
THRESHOLD_MAX = (1 << 17) - 1
DECAY_ONE = 1 << 12
#: Weights and thresholds stand so many bits above the lowest bit of the 24 of a state.
STATE_SHIFT = 6


@dataclass(frozen=True)
class Registers:
    """Whole numbers of a process's cells, as in a chip's registers: its decays, its
    threshold, and the factor of the file's weights and thresholds."""

    du: int
    dv: int
    threshold: int
    scale: float


@dataclass(frozen=True)
class FixedPoint:
    """A plan in whole numbers, and what that changes."""

    registers: list[Registers]
    weights: list[Any]
    report: list[dict[str, Any]]


def fixed_point(plan: StockPlan) -> FixedPoint:
    """Compute the registers and weights of a plan.

    Each process has a scale of its own, which its weights and its threshold share: as
    large as both allow. A scale that is a power of two keeps whole weights whole.
    """
    registers = []
    report = []
    weights: list[Any] = [None] * len(plan.synapses)
    for index, cells in enumerate(plan.cells):
        into = [
            number for number, one in enumerate(plan.synapses) if one.target == index
        ]
        scale = _scale(cells, [plan.synapses[number].weights for number in into])
        worst = 0.0
        for number in into:
            exact = plan.synapses[number].weights * scale
            weights[number] = layers.changed(exact, _even)
            error = layers.numbers(weights[number]) - layers.numbers(exact)
            worst = max(worst, float(np.abs(error).max(initial=0.0)) / scale)
        exact_du = float(cells.du[0])
        exact_dv = float(cells.dv[0])
        du = int(np.clip(round(DECAY_ONE * exact_du) - 1, 0, DECAY_ONE - 1))
        dv = int(np.clip(round(DECAY_ONE * exact_dv), 0, DECAY_ONE - 1))
        threshold = round(float(cells.threshold[0]) * scale)
        registers.append(Registers(du, dv, threshold, scale))
        report.append(
            {
                "node": cells.node,
                "cells": len(cells.which),
                "scale": scale,
                "largest error of a weight": worst,
                "error of du": abs((du + 1) / DECAY_ONE - exact_du),
                "error of dv": abs(dv / DECAY_ONE - exact_dv),
            }
        )
    return FixedPoint(registers, weights, report)


def _scale(cells: Cells, weights: list[Any]) -> float:
    """Find the largest power of two that keeps weights and threshold within their
    limits."""
    threshold = float(cells.threshold[0])
    if threshold <= 0:
        raise ValueError(
            f"{cells.node} has a threshold of {threshold:g}, a chip's is above 0"
        )
    largest = (float(layers.numbers(one).max(initial=0.0)) for one in weights)
    upper = max(largest, default=0.0) / WEIGHT_MAX
    lower = max((_share_of_lowest(one) for one in weights), default=0.0)
    scale = float(
        2.0 ** np.floor(-np.log2(max(upper, lower, threshold / THRESHOLD_MAX)))
    )
    if threshold * scale < 1:
        raise ValueError(
            f"{cells.node} has weights {max(upper, lower) * WEIGHT_MAX / threshold:.3g}"
            " times its threshold: 8 bits do not hold both"
        )
    return scale


def _share_of_lowest(weights: Any) -> float:
    """Compute the lowest weight of a matrix as a share of the lowest that the matrix
    can hold."""
    numbers = layers.numbers(weights)
    lowest = WEIGHT_MIN if numbers.max(initial=0.0) > 0 else INHIBITORY_MIN
    return float(numbers.min(initial=0.0)) / lowest


def _even(numbers: Any) -> Any:
    return (2 * np.rint(numbers / 2)).astype(np.int32)
