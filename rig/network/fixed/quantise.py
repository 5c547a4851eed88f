# SPDX-License-Identifier: Apache-2.0
"""A network of a NIR file turned into whole numbers: docs/reference/FIXED_POINT.md,
section 3."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import nir
import numpy as np

from rig.errors import DataError
from rig.network.conventions import Conventions, by_name
from rig.network.fixed.bounds import bounds, entering
from rig.network.fixed.checks import require_whole
from rig.network.fixed.factors import (
    MULTIPLIER_SHIFT_MAX,
    compact,
    multiplier,
    power_of_two,
    whole,
)
from rig.network.fixed.form import (
    VALUE_MAX,
    Above,
    Body,
    Delaying,
    FixedNetwork,
    FixedNode,
    NodeInput,
    Pass,
    Pool,
    Population,
    Scaling,
)
from rig.network.fixed.population import population
from rig.network.fixed.weights import weighted, window
from rig.network.graph import Network, NodePlace, membrane_of
from rig.network.shapes import NEURONS, SPIKING, pair

#: The scale of values leaves the largest one expected half the room.
EXPECTED_MAX = 2**14
#: Inputs of several sources get so many more bits than the finest of them, at most.
_MORE_BITS = 8


def quantise(
    network: Network,
    how: Conventions,
    dt_s: float,
    bits: int = 8,
    seen: Mapping[str, float] | None = None,
    input_scale: float = 1.0,
    input_b: int = 1,
) -> FixedNetwork:
    """Return a network in whole numbers.

    `bits`: of a weight, 2 to 8. `seen`: the largest absolute value of each node in a
    run in floating point. `input_scale`: the value of one unit of the input. Raises
    DataError for a node that has no form in whole numbers.
    """
    largest = bounds(network, dt_s, how, seen or {})
    made: dict[str, FixedNode] = {}
    # The largest whole number that can come out of each node.
    hard: dict[str, int] = {}
    for place in network.places:
        if place.name in network.inputs:
            made[place.name] = _input(place, input_scale)
            hard[place.name] = 255 if input_b == 1 else VALUE_MAX
            continue
        scale_in = _entering_scale(place, network, made, entering(place, largest))
        made[place.name] = _node(
            place,
            network,
            how,
            dt_s=dt_s,
            bits=bits,
            scale_in=scale_in,
            largest=largest,
            hard=hard,
            made=made,
        )
        hard[place.name] = _hard(made[place.name], hard)
    fixed = FixedNetwork(
        nodes=tuple(_with_edges(place, made) for place in network.places),
        inputs=network.inputs,
        outputs=network.outputs,
        membranes=tuple(membrane_of(network, name) for name in network.outputs),
        input_b=input_b,
        dt_s=dt_s,
        weight_bits=bits,
        conventions=by_name(how),
    )
    require_whole(fixed)
    return fixed


def _input(place: NodePlace, scale: float) -> FixedNode:
    return FixedNode(
        name=place.name,
        kind="Input",
        edges=(),
        shape_in=place.shape_in,
        shape_out=place.shape_out,
        scale_in=scale,
        scale=scale,
        state_scale=0.0,
        weight_scale=0.0,
        body=Pass(),
    )


def _known_scale(
    network: Network, made: Mapping[str, FixedNode], name: str
) -> float | None:
    if name in made:
        return made[name].scale
    whole_ones = (*SPIKING, nir.Threshold)
    return 1.0 if isinstance(network.place(name).node, whole_ones) else None


def _entering_scale(
    place: NodePlace, network: Network, made: Mapping[str, FixedNode], largest: float
) -> float:
    """Return the scale of a node's input: that of its only source; of several the
    finest, or finer where they differ and the range allows it, or coarser where it does
    not.
    """
    scales = [
        _known_scale(network, made, one)
        for one in (*place.sources, *place.late_sources)
    ]
    known = [scale for scale in scales if scale is not None]
    if len(scales) == 1 and known:
        return known[0]
    finest = min(known)
    room = largest / EXPECTED_MAX
    if finest < room:
        return power_of_two(room)
    if len(known) == len(scales) and all(scale == finest for scale in known):
        return finest
    return (
        finest / 2 ** min(math.floor(math.log2(finest / room)), _MORE_BITS)
        if room
        else finest
    )


def _node(
    place: NodePlace,
    network: Network,
    how: Conventions,
    dt_s: float,
    bits: int,
    scale_in: float,
    largest: Mapping[str, float],
    hard: Mapping[str, int],
    made: Mapping[str, FixedNode],
) -> FixedNode:
    node = place.node
    body: Body = Pass()
    scale = scale_in
    state_scale = weight_scale = 0.0
    expected = largest[place.name]
    if isinstance(node, NEURONS):
        entered = entering(place, largest)
        body, state_scale, scale = population(
            place, how, dt_s, scale_in=scale_in, entering=entered, expected=expected
        )
    elif hasattr(node, "weight"):
        most = _hard_in(place, scale_in, hard, made)
        body, weight_scale, scale = weighted(place, bits, scale_in, expected, most)
    elif isinstance(node, nir.SumPool2d | nir.AvgPool2d):
        sides = pair(node.kernel_size, 2)
        count = sides[0] * sides[1] if isinstance(node, nir.AvgPool2d) else 1
        shift = room_shift(expected / (scale_in / count))
        body, scale = Pool(shift, window(node, 2)), scale_in / count * 2**shift
    elif isinstance(node, nir.Scale):
        values = np.asarray(node.scale, np.float64)
        scale = power_of_two(expected / EXPECTED_MAX) if expected > 0 else scale_in
        if (
            bool(np.all(values == np.rint(values)))
            and expected <= EXPECTED_MAX * scale_in
        ):
            scale = scale_in
        body = Scaling(*multiplier(_own(values * scale_in / scale, place)))
    elif isinstance(node, nir.Threshold):
        above = np.floor(_own(np.asarray(node.threshold, np.float64), place) / scale_in)
        body, scale = Above(whole(above, VALUE_MAX + 1)), 1.0
    elif isinstance(node, nir.Delay):
        steps = np.rint(_own(np.asarray(node.delay, np.float64), place) / dt_s)
        body = Delaying(steps.astype(np.int64))
    elif not isinstance(node, nir.Input | nir.Output | nir.Flatten):
        raise DataError(
            f"{place.name} is a {type(node).__name__}: it has no form in whole numbers"
        )
    return FixedNode(
        name=place.name,
        kind=type(node).__name__,
        edges=(),
        shape_in=place.shape_in,
        shape_out=place.shape_out,
        scale_in=scale_in,
        scale=float(scale),
        state_scale=float(state_scale),
        weight_scale=float(weight_scale),
        body=body,
    )


def room_shift(expected: float) -> int:
    """Return the shift that brings an expected number into the range of values."""
    return (
        max(math.ceil(math.log2(expected / EXPECTED_MAX)), 0)
        if expected > EXPECTED_MAX
        else 0
    )


def _own(values: Any, place: NodePlace) -> Any:
    return compact(np.broadcast_to(values, place.shape_in))


def _hard_in(
    place: NodePlace,
    scale_in: float,
    hard: Mapping[str, int],
    made: Mapping[str, FixedNode],
) -> int:
    """Return the largest whole number that can enter a node."""
    if len(place.sources) == 1 and not place.late_sources:
        return hard[place.sources[0]]
    if place.late_sources:
        return VALUE_MAX + 1
    most = sum(hard[one] * made[one].scale / scale_in for one in place.sources)
    return min(math.ceil(most) + len(place.sources), VALUE_MAX + 1)


def _hard(node: FixedNode, hard: Mapping[str, int]) -> int:
    """Return the largest whole number that can leave a node."""
    if isinstance(node.body, Population) and node.body.spiking:
        return node.body.spikes_max
    return 1 if isinstance(node.body, Above) else VALUE_MAX + 1


def _with_edges(place: NodePlace, made: Mapping[str, FixedNode]) -> FixedNode:
    node = made[place.name]
    if not place.sources and not place.late_sources:
        return node
    edges = []
    sources = [(name, False) for name in place.sources]
    sources += [(name, True) for name in place.late_sources]
    for name, late in sources:
        ratio = made[name].scale / node.scale_in
        # One that is the same but for rounding is the same.
        if abs(ratio - 1) < 2**-MULTIPLIER_SHIFT_MAX:
            edges.append(NodeInput(name, late))
            continue
        numbers, shift = multiplier(np.asarray([ratio]))
        edges.append(NodeInput(name, late, int(numbers[0]), shift))
    return replace(node, edges=tuple(edges))
