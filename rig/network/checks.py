# SPDX-License-Identifier: Apache-2.0
"""Checks that `nir` does not make: errors in a file, and doubtful parts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import nir
import numpy as np

from rig.errors import DataError
from rig.network.graph import Network, network, taken_apart
from rig.network.shapes import NEURONS, PARAMETERS

#: Times of a file by the node's type.
TIMES = {
    nir.LI: ("tau",),
    nir.LIF: ("tau",),
    nir.CubaLI: ("tau_syn", "tau_mem"),
    nir.CubaLIF: ("tau_syn", "tau_mem"),
}
#: A neuron with a longer time constant hardly leaks in a second: the file may be in
#: milliseconds.
_LONG_S = 1.0


@dataclass(frozen=True, slots=True)
class ModelFinding:
    """A remark about a node; `wrong`: the network cannot be run so, else it is
    doubtful."""

    wrong: bool
    node: str
    what: str
    try_next: str = ""

    def __str__(self) -> str:
        try_next = f"; try: {self.try_next}" if self.try_next else ""
        return (
            f"{'wrong' if self.wrong else 'doubtful'}: {self.node}:"
            f" {self.what}{try_next}"
        )


def findings(graph: Any, dt_s: float | None = None) -> list[ModelFinding]:
    """Return the errors and doubtful parts of a NIR graph, for a time step where one is
    known.
    """
    listed: list[ModelFinding] = []
    try:
        nodes, edges = taken_apart(graph)
    except DataError as error:
        return [ModelFinding(True, "graph", error.with_evidence, error.try_next)]
    if len(graph.edges) != len(set(map(tuple, graph.edges))):
        listed.append(
            ModelFinding(False, "graph", "an edge is there twice; it counts once")
        )
    numbers_known = True
    for name, node in nodes.items():
        mine = list(_of_numbers(name, node))
        numbers_known &= not mine
        listed += mine
        listed += _of_bias(name, node)
        listed += _of_neuron(name, node)
    listed += _of_reach(nodes, edges)
    try:
        known = network(graph)
    except DataError as error:
        listed.append(ModelFinding(True, "graph", error.with_evidence, error.try_next))
        return listed
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        listed.append(ModelFinding(True, "graph", f"it has no shapes: {error!r}"))
        return listed
    step_s = known.dt_s if dt_s is None else dt_s
    if step_s is None:
        listed.append(
            ModelFinding(
                True,
                "graph",
                "the file states no time step",
                "--dt SECONDS, in a bench file dt_s",
            )
        )
    elif numbers_known:
        listed += _of_times(known, step_s)
    return listed


def require_sound(graph: Any, dt_s: float | None = None) -> None:
    """Raise DataError where something in a graph is wrong."""
    wrong = [str(finding) for finding in findings(graph, dt_s) if finding.wrong]
    if wrong:
        raise DataError(
            "the network cannot be run as it is",
            evidence="; ".join(wrong[:5]),
            try_next="rig model check, which lists all that is wrong or doubtful",
        )


def _of_numbers(name: str, node: Any) -> Iterator[ModelFinding]:
    for parameter in PARAMETERS:
        value = getattr(node, parameter, None)
        if value is None:
            continue
        numbers = np.asarray(value)
        if numbers.dtype.kind not in "fiub":
            yield ModelFinding(True, name, f"{parameter} holds no numbers")
        elif not bool(np.all(np.isfinite(numbers))):
            lost = int(np.sum(~np.isfinite(numbers)))
            yield ModelFinding(
                True,
                name,
                f"{parameter} holds NaN or infinity, {lost} of {numbers.size} values",
            )
    for parameter in TIMES.get(type(node), ()):
        times_s = np.asarray(getattr(node, parameter), np.float64)
        if bool(np.any(times_s <= 0)):
            yield ModelFinding(
                True, name, f"{parameter} is {np.min(times_s):.6g} s, not positive"
            )
    if isinstance(node, nir.Delay) and bool(np.any(np.asarray(node.delay) < 0)):
        yield ModelFinding(True, name, f"a delay of {np.min(node.delay):.6g} s")


def _of_bias(name: str, node: Any) -> Iterator[ModelFinding]:
    bias = getattr(node, "bias", None)
    if bias is None or not hasattr(node, "weight"):
        return
    weight = np.shape(node.weight)
    outputs = weight[-2] if isinstance(node, nir.Affine) else weight[0]
    if np.shape(bias) != (outputs,):
        yield ModelFinding(
            True,
            name,
            f"the bias has the shape {np.shape(bias)}, the weight gives {outputs}"
            " values",
        )


def _of_neuron(name: str, node: Any) -> Iterator[ModelFinding]:
    if not isinstance(node, NEURONS):
        return
    gain = np.asarray(node.r, np.float64)
    if bool(np.any(gain <= 0)):
        yield ModelFinding(
            False, name, f"r is {np.min(gain):.6g}: an input lowers the membrane"
        )
    threshold = getattr(node, "v_threshold", None)
    if threshold is None:
        return
    reset = node.v_reset if node.v_reset is not None else np.zeros_like(threshold)
    if bool(np.any(np.asarray(reset) > np.asarray(threshold))):
        yield ModelFinding(
            True,
            name,
            "v_reset lies above v_threshold: a neuron would fire in every step",
        )
    leak = getattr(node, "v_leak", None)
    if leak is not None and bool(np.any(np.asarray(leak) > np.asarray(threshold))):
        yield ModelFinding(
            False, name, "v_leak lies above v_threshold: neurons fire without any input"
        )


def _of_reach(
    nodes: dict[str, Any], edges: list[tuple[str, str]]
) -> Iterator[ModelFinding]:
    inputs = {name for name, node in nodes.items() if isinstance(node, nir.Input)}
    outputs = {name for name, node in nodes.items() if isinstance(node, nir.Output)}
    forward = _reached(inputs, edges)
    backward = _reached(outputs, [(other, one) for one, other in edges])
    for name in nodes:
        if inputs and name not in forward:
            yield ModelFinding(True, name, "no input reaches it")
        elif outputs and name not in backward:
            yield ModelFinding(False, name, "it reaches no output")


def _reached(starts: set[str], edges: list[tuple[str, str]]) -> set[str]:
    reached = set(starts)
    waiting = list(starts)
    while waiting:
        name = waiting.pop()
        new = {other for one, other in edges if one == name} - reached
        reached |= new
        waiting += new
    return reached


def _of_times(known: Network, dt_s: float) -> Iterator[ModelFinding]:
    if not (math.isfinite(dt_s) and dt_s > 0):
        yield ModelFinding(True, "graph", f"a time step of {dt_s:.6g} s")
        return
    for place in known.places:
        for parameter in TIMES.get(type(place.node), ()):
            times_s = np.asarray(getattr(place.node, parameter), np.float64)
            least_s = float(np.min(times_s))
            if least_s < dt_s * (1 - 1e-6):
                yield ModelFinding(
                    True,
                    place.name,
                    f"{parameter} is {least_s:.6g} s, less than the time step of"
                    f" {dt_s:.6g} s",
                    "a smaller time step (--dt, in a bench file dt_s); a file in"
                    " milliseconds must be turned into seconds",
                )
            elif float(np.max(times_s)) > _LONG_S:
                yield ModelFinding(
                    False,
                    place.name,
                    f"{parameter} is {np.max(times_s):.6g} s: the file may be in"
                    " milliseconds",
                )
        if isinstance(place.node, nir.Delay):
            steps = np.asarray(place.node.delay, np.float64) / dt_s
            if bool(np.any(np.abs(steps - np.rint(steps)) > 1e-3)):
                yield ModelFinding(
                    False,
                    place.name,
                    f"a delay of {np.min(place.node.delay):.6g} s is no whole number of"
                    f" steps of {dt_s:.6g} s; it is rounded",
                )
