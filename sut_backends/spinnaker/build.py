# SPDX-License-Identifier: Apache-2.0
"""A plan as PyNN populations and projections, and what sPyNNaker says of its
mapping."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from sut_backends.spinnaker.pynn_plan import PynnPlan, PynnPopulation

#: A weight is 16 bits, and so is the sum of a step in a ring buffer.
RAW_MAX = 65_535
#: sPyNNaker's own vertices, which a network does not use.
NOT_OURS = ("SYSTEM:", "ChipPowerMonitor")


def build(
    sim: Any, plan: PynnPlan, spikes: Any, input_spikes_max: int
) -> dict[str, Any]:
    """Set sPyNNaker up and return the populations by node; spikes (steps, channels).

    For an input that fires several times a step each channel has several sources, as
    many of which fire.
    """
    sim.setup(timestep=plan.dt_ms, min_delay=plan.dt_ms)
    times = _times(plan, spikes, input_spikes_max)
    source = sim.SpikeSourceArray(spike_times=times)
    size = plan.channels * input_spikes_max
    made = {plan.input: sim.Population(size, source, label=plan.input)}
    for one in plan.populations:
        cells = getattr(sim, one.kind)(**_lists(one.parameters))
        made[one.node] = sim.Population(one.size, cells, label=one.node)
        made[one.node].initialize(v=np.broadcast_to(one.begin_mv, one.size).tolist())
    made[plan.output].record("spikes")
    for projection in plan.projections:
        copies = input_spikes_max if projection.source == plan.input else 1
        weights = np.repeat(projection.weights, copies, axis=1)
        for receptor, part in (("excitatory", weights), ("inhibitory", -weights)):
            outputs, inputs = np.nonzero(part > 0)
            listed = []
            for post, pre in zip(outputs, inputs, strict=True):
                weight = float(part[post, pre])
                listed.append((int(pre), int(post), weight, plan.dt_ms))
            if listed:
                sim.Projection(
                    made[projection.source],
                    made[projection.target],
                    sim.FromListConnector(listed),
                    receptor_type=receptor,
                )
    return made


def _times(plan: PynnPlan, spikes: Any, most: int) -> list[Any]:
    """List the times of each source; one empty list where none fires at all, as
    sPyNNaker 7.4.1 fails on lists that are all empty."""
    if not np.any(spikes):
        return []
    times = []
    for channel in range(plan.channels):
        for number in range(most):
            steps = np.flatnonzero(spikes[:, channel] > number)
            times.append([float(step) * plan.dt_ms for step in steps])
    return times


def _lists(parameters: dict[str, Any]) -> dict[str, Any]:
    lists = {}
    for name, value in parameters.items():
        lists[name] = value.tolist() if isinstance(value, np.ndarray) else value
    return lists


def report(
    plan: PynnPlan, made: dict[str, Any], input_spikes_max: int
) -> dict[str, Any]:
    """Return where sPyNNaker put a network, and what 16 bits do to its weights."""
    view = import_module("spynnaker.pyNN.data").SpynnakerDataView
    placed = [
        place
        for place in view.iterate_placemements()
        if not str(place.vertex.label).startswith(NOT_OURS)
    ]
    return {
        "time_step_ms": plan.dt_ms,
        "cores": len(placed),
        "chips": len({(place.x, place.y) for place in placed}),
        "chips of the machine": view.get_machine().n_chips,
        "placed": [
            f"{place.vertex.label} on {place.x},{place.y},{place.p}" for place in placed
        ],
        "weights": [
            _saturation(plan, one, made[one.node], input_spikes_max)
            for one in plan.populations
        ],
        "rule differs": plan.differs,
        "lag_steps": plan.lag_steps,
    }


def _saturation(
    plan: PynnPlan, population: PynnPopulation, made: Any, input_spikes_max: int
) -> dict[str, Any]:
    """Describe how a population's weights fit into 16 bits: sPyNNaker scales them by
    the sums that it expects at its own mean rate, so that a step with more spikes can
    overflow.
    """
    vertex = made._vertex  # sPyNNaker has no public way to its scales.
    excitatory, inhibitory = map(
        float, vertex.get_weight_scales(vertex.get_ring_buffer_shifts())
    )
    into = []
    for projection in plan.projections:
        if projection.target == population.node:
            copies = input_spikes_max if projection.source == plan.input else 1
            into.append(np.repeat(projection.weights, copies, axis=1))
    weights = np.concatenate(into, axis=1)
    facts: dict[str, Any] = {"node": population.node, "mv": population.mv}
    above = np.maximum(weights, 0)
    below = np.maximum(-weights, 0)
    for name, part, scale in (
        ("excitatory", above, excitatory),
        ("inhibitory", below, inhibitory),
    ):
        raw = part * scale
        there = int(np.count_nonzero(part))
        step_sum = float(raw.sum(axis=1).max(initial=0.0))
        facts[name] = {
            "largest": float(raw.max(initial=0.0)),
            "saturated": int(np.sum(raw > RAW_MAX)),
            "rounded to 0": int(np.sum((part > 0) & (raw < 0.5))),
            "of": there,
            "sum of a step at most": step_sum,
            "a step can overflow": step_sum > RAW_MAX,
        }
    return facts
