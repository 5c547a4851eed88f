# SPDX-License-Identifier: Apache-2.0
"""Compatibility of the parts of a bench: device and task, device and monitors, scenario
and task; raises where not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from rig.bench.config import NO_MONITOR
from rig.errors import BenchError, ConfigError, LocalProtocolError
from rig.interfaces.monitor import MonitorInfo
from rig.interfaces.scenario import Scenario
from rig.interfaces.sut import HOST_CLOCK, SutInfo
from rig.interfaces.task import Task
from rig.kinds import registry as kinds
from rig.model.steps import Step
from rig.timebase.edge_clock import EDGE_CLOCK
from rig.units import quantity


def refuse_mismatch(info: SutInfo, task: Task) -> None:
    """Raise where the device runs another workload or another model than the bench
    says."""
    if not task.accepts(info):
        raise LocalProtocolError(
            f"the device runs {info.task or info.model!r}, the bench asks for"
            f" {task.name!r}",
            evidence="" if info.task else f"the model it names: {info.model}",
            try_next="flash the other workload, or change [task.*]",
            see="other-workload",
        )
    model = task.provenance().get("model", "")
    if info.task not in ("any", "") and model and info.model != model:
        raise LocalProtocolError(
            f"the device runs model {info.model!r}, the bench says {model!r}",
            try_next=(
                "flash the other image, or name the device's model:"
                f" task.{task.name}.model"
            ),
            see="other-workload",
        )


def refuse_invisible_pulses(
    sut: SutInfo, kind: str, monitors: Mapping[str, tuple[str, MonitorInfo]]
) -> None:
    """Raise where a monitor cannot see the signal or clock that aligns it with a SUT of
    this kind; `monitors` are kind and info of each rail.

    Without a monitor the SUT's own time stamps are the clock: then it must have some.
    """
    if not monitors and sut.clock == EDGE_CLOCK:
        raise ConfigError(
            f"{sut.name} reports no time, it only pulses SYNC, and there is no monitor"
            " to see that",
            path=f"monitor.{NO_MONITOR}",
            try_next=(
                "firmware built for performance mode; or a monitor that sees edges (rig"
                " list)"
            ),
            see="device-tells-no-time",
        )
    if monitors and not sut.has_sync_line and sut.clock != HOST_CLOCK:
        raise BenchError(
            "the device has no SYNC line, so energy cannot be aligned with its phases",
            try_next=(
                "give its port a mark() and a pin; or [monitor.none], which measures"
                " accuracy and latency alone"
            ),
        )
    for rail, (monitor, info) in monitors.items():
        if info.sync == "clock" and sut.clock == HOST_CLOCK:
            # the device is the host, and its marks count the clock that the monitor
            # reads
            continue
        section = f"rail.{rail}" if rail else "monitor"
        _refuse_without_edges(sut, info, f"{section}.{monitor}")
        _refuse_short_pulse(sut, info, f"sut.{kind}.sync_hold_us")


def _refuse_without_edges(sut: SutInfo, info: MonitorInfo, path: str) -> None:
    if not sut.has_sync_line and not info.simulated:
        raise ConfigError(
            f"{sut.name} has no SYNC line for {info.name} to see",
            path=path,
            try_next=(
                "a monitor that reads this host's own clock (rapl, nvml, ina3221),"
                " or a simulated one for a try"
            ),
        )
    if info.sync in ("none", "clock"):
        why, hint = info.no_sync
        hint = hint or "a monitor that sees edges (rig list)"
        if info.sync == "clock":
            hint += (
                ", or a SUT that is this host and counts its clock: [sut.cpu], or"
                " [sut.posix] host_clock = true"
            )
        raise ConfigError(
            f"{info.name} sees no SYNC line, so energy cannot be aligned with phases",
            path=path,
            evidence=why,
            try_next=hint,
        )


def _refuse_short_pulse(sut: SutInfo, info: MonitorInfo, path: str) -> None:
    needed_s = info.min_pulse_s or 2 / info.edge_hz
    hold_s = sut.sync_hold_s
    if hold_s and hold_s < needed_s * (1 - 1e-9):
        raise ConfigError(
            f"a SYNC pulse of {quantity(hold_s, 's')} can be missed by {info.name},"
            f" which needs {quantity(needed_s, 's')}",
            path=path,
            try_next=f"{math.ceil(needed_s * 1e6 - 1e-6)} or more, or a faster monitor",
        )


def refuse_unmetered(scenario: Scenario, monitors: int) -> None:
    """Raise where a scenario's result is an energy, and there is no monitor."""
    if scenario.needs_energy and not monitors:
        raise ConfigError(
            f"scenario {scenario.name} asks for energy, and there is no monitor",
            path=f"monitor.{NO_MONITOR}",
            try_next=(
                "an energy monitor (rig list); or a mode of the scenario that needs"
                " none"
            ),
        )


def refuse_unsuited(step: Step, scenario: str, task: Task) -> None:
    """Raise if a scenario needs a property that the task does not have."""
    kinds.of(step).refuse_unsuited(step, scenario, task)
