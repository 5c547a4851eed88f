# SPDX-License-Identifier: Apache-2.0
"""What quantising a network cost: rounding by node, and how far its answers agree with
those in floating point.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rig.network.conventions import Conventions
from rig.network.fixed.form import (
    FACTOR_MAX,
    KEEP_ONE,
    STATE_MAX,
    Convolution,
    Dense,
    FixedNetwork,
    FixedNode,
    Ints,
    Population,
    Scaling,
)
from rig.network.fixed.interpreter import answers
from rig.network.fixed.interpreter import run as run_fixed
from rig.network.fixed.rates import rates
from rig.network.graph import Network, NodePlace
from rig.network.interpreter import parts
from rig.network.interpreter import run as run_float
from rig.network.shapes import SPIKING

Floats = NDArray[np.float64]
#: So many values of all nodes together are kept at a time.
_VALUES_MAX = 20_000_000


@dataclass(frozen=True, slots=True)
class NodeReport:
    """What became of a node. `rounding`: the largest error of a parameter, as a share
    of the largest one of its kind; `clipped`: parameters that did not fit;
    `weight_max`: the largest whole weight. With inputs: values that were limited;
    spikes in floating point; and how many spikes are too many or too few, step by step.
    """

    name: str
    kind: str
    scale: float
    rounding: float
    clipped: int
    weight_max: int
    saturated: int = 0
    spikes: int = 0
    differing: int = 0
    spiking: bool = False


@dataclass(frozen=True, slots=True)
class QuantisationReport:
    """Reports of all nodes, and the number of samples with the decision of floating
    point. No samples: the network was not run, and its agreement is not known.
    """

    nodes: tuple[NodeReport, ...]
    samples: int = 0
    same_decisions: int = 0
    limited_inputs: int = 0


def largest_values(
    network: Network, values: Floats, dt_s: float, how: Conventions
) -> dict[str, float]:
    """Return the largest absolute value that each node gives in floating point."""
    names = [place.name for place in network.places]
    largest = dict.fromkeys(names, 0.0)
    for part in parts(network, values, _VALUES_MAX):
        done = run_float(network, by_input(network, part), dt_s, how, names)
        for name in names:
            seen = float(np.max(np.abs(done.values[name]), initial=0.0))
            largest[name] = max(largest[name], seen)
    return largest


def to_inputs(fixed: FixedNetwork, values: Floats) -> tuple[Ints, int]:
    """Return real inputs (samples, steps, channels) as whole numbers, and how many were
    limited."""
    nodes = [fixed.node(name) for name in fixed.inputs]
    scales = np.concatenate([np.full(node.outputs, node.scale) for node in nodes])
    numbers = np.rint(values / scales)
    least = 0 if fixed.input_b == 1 else -fixed.input_max - 1
    limited = np.clip(numbers, least, fixed.input_max)
    return limited.astype(np.int64), int(np.count_nonzero(limited != numbers))


def rounding_report(
    network: Network, fixed: FixedNetwork, how: Conventions
) -> QuantisationReport:
    """Return the report of a network that was not run."""
    nodes = []
    for place in network.places:
        node = fixed.node(place.name)
        errors = list(_errors(place, node, fixed.dt_s, how))
        weight = (
            node.body.weight
            if isinstance(node.body, Dense | Convolution)
            else np.zeros(0)
        )
        nodes.append(
            NodeReport(
                name=node.name,
                kind=node.kind,
                scale=node.scale,
                rounding=max((error for error, _ in errors), default=0.0),
                clipped=sum(clipped for _, clipped in errors),
                weight_max=int(np.max(np.abs(weight), initial=0)),
                spiking=isinstance(place.node, SPIKING),
            )
        )
    return QuantisationReport(tuple(nodes))


def compared(
    report: QuantisationReport,
    network: Network,
    fixed: FixedNetwork,
    how: Conventions,
    values: Floats,
) -> QuantisationReport:
    """Return a report with the agreement of both networks over inputs (samples, steps,
    channels) in real numbers.
    """
    spiking = [
        place.name for place in network.places if isinstance(place.node, SPIKING)
    ]
    saturated: Counter[str] = Counter()
    spikes: Counter[str] = Counter()
    differing: Counter[str] = Counter()
    same = 0
    limited_inputs = 0
    for part in parts(network, values, _VALUES_MAX):
        inputs, limited = to_inputs(fixed, part)
        limited_inputs += limited
        whole = run_fixed(fixed, inputs, spiking)
        real = run_float(network, by_input(network, part), fixed.dt_s, how, spiking)
        for name in spiking:
            spikes[name] += round(float(real.values[name].sum()))
            differing[name] += int(np.abs(real.values[name] - whole.values[name]).sum())
        saturated.update(whole.saturated)
        sums, last = whole.answers(fixed)
        scales = _answer_scales(fixed)
        real_sums, real_last = answers(fixed, real.values, real.membranes)
        ours = decisions(sums * scales[0], last * scales[1])
        theirs = decisions(real_sums, real_last)
        same += int(np.count_nonzero(ours == theirs))
    nodes = []
    for node in report.nodes:
        name = node.name
        counted = replace(
            node,
            saturated=saturated[name],
            spikes=spikes[name],
            differing=differing[name],
        )
        nodes.append(counted)
    return replace(
        report,
        nodes=tuple(nodes),
        samples=len(values),
        same_decisions=same,
        limited_inputs=limited_inputs,
    )


def decisions(sums: Floats, last: Floats) -> Ints:
    """Return for each sample the place of the largest sum; of equal ones that of the
    largest last membrane, then the first.
    """
    best = sums == sums.max(axis=1, keepdims=True)
    candidates = np.where(best, last, -np.inf)
    found: Ints = np.argmax(candidates, axis=1).astype(np.int64)
    return found


def _answer_scales(fixed: FixedNetwork) -> tuple[Floats, Floats]:
    sums = []
    last = []
    for name, source in zip(fixed.outputs, fixed.membranes, strict=True):
        node = fixed.node(name)
        sums.append(np.full(node.outputs, node.scale))
        state_scale = fixed.node(source).state_scale if source else node.scale
        last.append(np.full(node.outputs, state_scale))
    return np.concatenate(sums), np.concatenate(last)


def by_input(network: Network, values: Floats) -> dict[str, Floats]:
    """Return inputs side by side (samples, steps, channels) as those of each Input
    node."""
    given = {}
    at = 0
    for name in network.inputs:
        shape = network.place(name).shape_out
        count = int(np.prod(shape))
        part = values[:, :, at : at + count]
        given[name] = part.reshape(*values.shape[:2], *shape)
        at += count
    return given


def _errors(
    place: NodePlace, node: FixedNode, dt_s: float, how: Conventions
) -> Iterator[tuple[float, int]]:
    """Give the largest error of each kind of parameter, and how many did not fit."""
    body = node.body
    if isinstance(body, Dense | Convolution):
        real = np.asarray(place.node.weight, np.float64).ravel()
        yield _error(real / node.weight_scale, body.weight, FACTOR_MAX)
        bias = getattr(place.node, "bias", None)
        if bias is not None:
            unit = node.weight_scale * node.scale_in / 2**body.up
            yield _error(np.asarray(bias, np.float64) / unit, body.bias, FACTOR_MAX)
    elif isinstance(body, Scaling):
        exact = (
            np.asarray(place.node.scale) * node.scale_in / node.scale * 2.0**body.shift
        )
        yield _error(exact, body.multiplier, FACTOR_MAX)
    elif isinstance(body, Population):
        parameters = rates(place, dt_s, how)
        yield _error((1 - parameters.share) * KEEP_ONE, body.keep, KEEP_ONE)
        if body.synaptic:
            yield _error(
                (1 - parameters.share_current) * KEEP_ONE, body.keep_current, KEEP_ONE
            )
        for real, whole in (
            (parameters.threshold, body.threshold),
            (parameters.reset, body.reset),
            (parameters.leak, body.leak),
            (parameters.start, body.start),
        ):
            yield _error(real / node.state_scale, whole, STATE_MAX)


def _error(exact: Floats, whole: Ints, most: int) -> tuple[float, int]:
    """Return the largest error as a share of the largest number, and how many are
    beyond reach."""
    flat = np.asarray(exact, np.float64).ravel()
    largest = float(np.max(np.abs(flat), initial=0.0))
    clipped = int(np.count_nonzero(np.abs(flat) > most + 0.5))
    if largest == 0.0:
        return 0.0, clipped
    return float(np.max(np.abs(flat - whole.ravel()))) / largest, clipped
