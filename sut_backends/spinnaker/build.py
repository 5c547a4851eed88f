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
    made = {
        plan.input: sim.Population(
            plan.channels * input_spikes_max,
            sim.SpikeSourceArray(spike_times=_times(plan, spikes, input_spikes_max)),
            label=plan.input,
        )
    }
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
            listed = [
                (int(pre), int(post), float(part[post, pre]), plan.dt_ms)
                for post, pre in zip(outputs, inputs, strict=True)
            ]
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
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in parameters.items()
    }


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
    into = [
        np.repeat(
            one.weights, input_spikes_max if one.source == plan.input else 1, axis=1
        )
        for one in plan.projections
        if one.target == population.node
    ]
    weights = np.concatenate(into, axis=1)
    facts: dict[str, Any] = {"node": population.node, "mv": population.mv}
    for name, part, scale in (
        ("excitatory", np.maximum(weights, 0), excitatory),
        ("inhibitory", np.maximum(-weights, 0), inhibitory),
    ):
        raw = part * scale
        there = int(np.count_nonzero(part))
        facts[name] = {
            "largest": float(raw.max(initial=0.0)),
            "saturated": int(np.sum(raw > RAW_MAX)),
            "rounded to 0": int(np.sum((part > 0) & (raw < 0.5))),
            "of": there,
            "sum of a step at most": float(raw.sum(axis=1).max(initial=0.0)),
            "a step can overflow": bool(raw.sum(axis=1).max(initial=0.0) > RAW_MAX),
        }
    return facts
