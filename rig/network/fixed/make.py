# SPDX-License-Identifier: Apache-2.0
"""From a NIR graph and some inputs to a network in whole numbers and its report."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rig.errors import DataError
from rig.network import conventions, graph
from rig.network.checks import require_sound
from rig.network.conventions import Conventions
from rig.network.fixed.factors import power_of_two
from rig.network.fixed.form import VALUE_MAX, FixedNetwork
from rig.network.fixed.quantise import EXPECTED_MAX, quantise
from rig.network.fixed.report import (
    QuantisationReport,
    compared,
    largest_values,
    rounding_report,
)
from rig.network.graph import Network
from rig.network.input_shape import other_shape
from rig.network.late_spikes import with_late_spikes

Floats = NDArray[np.float64]

BITS_MIN = 2
BITS_MAX = 8


@dataclass(frozen=True, slots=True, eq=False)
class Quantised:
    """A network, its form in whole numbers, and the errors of that form."""

    network: Network
    fixed: FixedNetwork
    report: QuantisationReport


def quantised(
    read: Any,
    values: NDArray[np.generic] | None = None,
    dt_s: float | None = None,
    how: Conventions | None = None,
    bits: int = BITS_MAX,
) -> Quantised:
    """Quantise a NIR graph for inputs (samples, steps, channels or *shape), and compare
    it with floating point over them; without inputs, for spikes at an unknown rate.

    Raises DataError for a graph that cannot be run, or has no form in whole numbers.
    """
    require_sound(read, dt_s)
    network = graph.network(read)
    step_s = network.dt_s if dt_s is None else dt_s
    if step_s is None or not BITS_MIN <= bits <= BITS_MAX:
        raise DataError(
            f"a time step of {step_s} s and weights of {bits} bit",
            try_next=(
                f"--dt SECONDS, in a bench file dt_s; {BITS_MIN} to {BITS_MAX} bits"
            ),
        )
    chosen = how or conventions.stated(graph.taken_apart(read)[0])
    network = with_late_spikes(network, chosen, step_s)
    if values is None:
        fixed = quantise(network, chosen, step_s, bits)
        return Quantised(network, fixed, rounding_report(network, fixed, chosen))
    real = side_by_side(network, values)
    scale, input_b = input_form(real)
    seen = largest_values(network, real, step_s, chosen)
    fixed = quantise(
        network,
        chosen,
        step_s,
        bits=bits,
        seen=seen,
        input_scale=scale,
        input_b=input_b,
    )
    report = rounding_report(network, fixed, chosen)
    return Quantised(network, fixed, compared(report, network, fixed, chosen, real))


def rule_of(fixed: FixedNetwork) -> str:
    """Return the conventions that a network was quantised with, as conventions.of_text
    reads them; raises DataError for some that are not known.
    """
    return conventions.text_of(conventions.from_names(fixed.conventions))


def side_by_side(
    network: Network | FixedNetwork, values: NDArray[np.generic]
) -> Floats:
    """Return inputs (samples, steps, *shape) or (steps, *shape) as (samples, steps,
    channels); those of several Input nodes are side by side already.
    """
    node = network.node if isinstance(network, FixedNetwork) else network.place
    shapes = [node(name).shape_out for name in network.inputs]
    channels = sum(math.prod(shape) for shape in shapes)
    shape = shapes[0] if len(shapes) == 1 else (channels,)
    for wanted in (shape, (channels,)):
        leading = values.ndim - len(wanted)
        if values.shape[-len(wanted) :] == wanted and leading in (1, 2):
            steps = values.shape[-len(wanted) - 1]
            real = np.asarray(values, np.float64).reshape(-1, steps, channels)
            if not bool(np.all(np.isfinite(real))):
                raise DataError("the inputs hold NaN or infinity")
            return real
    raise other_shape("inputs of", values.shape, shape)


def input_form(values: Floats) -> tuple[float, int]:
    """Return the scale of an input and its bytes: whole numbers stay as they are, in 1
    byte where none is negative or above 255; others use half the range of 16 bit.
    """
    least = float(values.min(initial=0.0))
    most = float(np.abs(values).max(initial=0.0))
    if bool(np.all(values == np.rint(values))) and most <= VALUE_MAX:
        return 1.0, 1 if least >= 0 and most <= 255 else 2
    return power_of_two(most / EXPECTED_MAX), 2
