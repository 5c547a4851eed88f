# SPDX-License-Identifier: Apache-2.0
"""Time, power and activity of Loihi 2 by the board's own sensors, through Lava's
profiler.

The profiler is configured for one run, and its time probe disturbs the power that is
read: time, power while active, power while idle and activity are therefore a run each,
each of a newly built network. Every reading is a mean over a run: there is no trace, no
phase and no SYNC. By the interface that published programs use (`execution_time_probe`,
`energy_probe`, `activity_probe`, then `execution_time`, `power_breakdown`,
`energy_breakdown`); no chip was used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from sut_backends.loihi import stock_plan, stock_rule
from sut_backends.loihi.fixed_point import fixed_point
from sut_backends.loihi.running import LavaProcesses
from sut_backends.workers.inside import layers
from sut_backends.workers.inside.job import Job
from sut_backends.workers.inside.plain_network import PlainNetwork, read
from sut_backends.workers.inside.unrolled import unrolled

ORIGIN = "board's own sensor"
#: In the order of energy_breakdown().
ENERGIES = ("total", "dynamic", "static", "vdd", "vdd_m", "vdd_io")
BUFFER_SIZE = 1024


class Powers(NamedTuple):
    """Mean powers of a run, in the order of power_breakdown()."""

    total_w: float
    dynamic_w: float
    static_w: float
    vdd_w: float
    vdd_m_w: float
    vdd_io_w: float


@dataclass(frozen=True)
class SenseSettings:
    """Address of the chip, and the number of steps."""

    host: str = ""
    sense_steps: int = 0


def probe(network: PlainNetwork, spikes: Any, steps: int) -> dict[str, Any]:
    """Read the board's sensors for a network with `spikes` (steps, channels) repeated
    for so many steps, and of the same network without spikes.

    ValueError where this Lava has no profiler for the chip.
    """
    time = _profiled(
        network,
        spikes,
        steps,
        lambda one: one.execution_time_probe(num_steps=steps, buffer_size=BUFFER_SIZE),
    )
    active = _profiled(
        network, spikes, steps, lambda one: one.energy_probe(num_steps=steps)
    )
    idle = _profiled(
        network, spikes * 0, steps, lambda one: one.energy_probe(num_steps=steps)
    )
    activity = _profiled(network, spikes, steps, lambda one: one.activity_probe())
    step_s = np.asarray(time.execution_time, np.float64).reshape(-1)
    active_w = Powers(*map(float, active.power_breakdown()))
    idle_w = Powers(*map(float, idle.power_breakdown()))
    total_s = float(step_s.sum())
    _refuse_nonsense(step_s, [*active_w, *idle_w], steps)
    counted = getattr(activity, "activity", None)
    return {
        "origin": {"time": ORIGIN, "energy": ORIGIN},
        "steps": steps,
        "samples": steps / len(spikes),
        "time_s": total_s,
        "step_s": {"median": float(np.median(step_s)), "largest": float(step_s.max())},
        "active": active_w._asdict(),
        "idle": idle_w._asdict(),
        "energy_j": active_w.total_w * total_s,
        "dynamic_energy_j": (active_w.total_w - idle_w.total_w) * total_s,
        "energy as the board states it": dict(
            zip(ENERGIES, map(float, active.energy_breakdown()), strict=True)
        ),
        "activity": None if counted is None else np.asarray(counted).tolist(),
        "say": (
            "means over a run, each of its own: time, active, idle, activity; energy is"
            " mean power times the time of the run without the power probe"
        ),
    }


def _profiled(
    network: PlainNetwork, spikes: Any, steps: int, ask: Callable[[Any], None]
) -> Any:
    """Run a network once under a profiler that was asked for one thing; return the
    profiler."""
    config = import_module("lava.magma.core.run_configs").Loihi2HwCfg()
    try:
        profiler = import_module("lava.utils.profiler").Profiler.init(config)
    except NotImplementedError as error:
        raise ValueError(f"this Lava has no profiler for Loihi 2: {error}") from error
    ask(profiler)
    plan = stock_plan.plan(network, vectors=False)
    channels = layers.channels(network)
    built = stock_rule.build(plan, channels, len(spikes), fixed_point(plan), chip=True)
    running = LavaProcesses(built, len(spikes), config)
    try:
        running.loop(spikes, steps)
    finally:
        running.close()
    return profiler


def _refuse_nonsense(step_s: Any, powers_w: list[float], steps: int) -> None:
    is_finite = np.all(np.isfinite([*step_s, *powers_w]))
    if not is_finite or len(step_s) == 0 or step_s.min() < 0:
        raise ValueError("the board's readings hold NaN, infinity or negative times")
    if len(step_s) != steps:
        raise ValueError(f"the board timed {len(step_s)} steps, {steps} were run")


def sense_network(job: Job) -> dict[str, Any]:
    """Read the board's sensors for the first sample."""
    settings = job.settings_as(SenseSettings)
    stock_rule.require_chip(settings.host)
    network = unrolled(read(job.plain))
    layers.refuse(network, "Lava")
    spikes = np.load(job.spikes, allow_pickle=False)[0]
    spikes = spikes.reshape(len(spikes), -1)
    return probe(network, spikes, settings.sense_steps)
