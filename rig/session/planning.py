# SPDX-License-Identifier: Apache-2.0
"""Plans: opened, listed, and seeded, with no device."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path

from rig.bench import config
from rig.bench.compatibility import refuse_unsuited
from rig.bench.config import Config
from rig.bench.parts import open_part, open_task
from rig.errors import ConfigError
from rig.interfaces.monitor import MonitorInfo
from rig.interfaces.scenario import Scenario
from rig.interfaces.sut import SutInfo
from rig.interfaces.task import Task
from rig.kinds import registry as kinds
from rig.measure.problems import SHORT_PERIODS, is_short, shortest_s, wait_s
from rig.model.completion import Completion
from rig.model.steps import Step
from rig.results import claim
from rig.units import quantity


def open_plan(
    path: Path | str, overrides: Sequence[str] = ()
) -> tuple[Scenario, Task, Config]:
    """Open only the parts that a plan needs: no device is touched."""
    resolved = config.load(Path(path), overrides, monitor_needed=False)
    task, context = open_task(resolved)
    scenario = open_part("scenario", resolved, context)
    refuse_claim(resolved, scenario, task)
    return scenario, task, resolved


def refuse_claim(
    resolved: Config, scenario: Scenario, task: Task, phases: Sequence[str] = ()
) -> None:
    """Raise ConfigError for a claim that no trial could meet, before a device is
    powered or measured.
    """
    if resolved.claim:
        monitored = bool(resolved.monitors)
        claim.refuse(
            resolved.claim,
            scenario,
            task,
            steps(scenario, task, 0),
            phases,
            monitored=monitored,
        )


def refuse_unresolved(
    listed: Sequence[Step], sut: SutInfo, monitors: Sequence[MonitorInfo]
) -> None:
    """Raise ConfigError where a step states a length that the monitors cannot resolve:
    every trial would be invalid.
    """
    rates_hz = [min(info.edge_hz, info.sample_hz) for info in monitors]
    slowest_hz = float(min(rates_hz, default=sut.tick_hz))
    least_s = shortest_s(slowest_hz, sut.sync_hold_s)
    stated = [(kinds.of(step).stated_s(step), step) for step in listed]
    short = [
        (length_s, step)
        for length_s, step in stated
        if length_s is not None and is_short(length_s, least_s)
    ]
    if not short:
        return
    length_s, step = min(short, key=lambda pair: pair[0])
    needed_hz = math.ceil(SHORT_PERIODS / length_s)
    longest_hold_s = length_s / wait_s(1.0)
    ways = []
    if slowest_hz < needed_hz:
        ways.append(f"a monitor that samples at {quantity(float(needed_hz), 'Hz')}")
    if sut.sync_hold_s > longest_hold_s:
        ways.append(f"a SYNC pulse of {quantity(longest_hold_s, 's')} or less")
    raise ConfigError(
        f"{len(short)} steps of a trial are too short to be measured: the shortest is"
        f" {kinds.of(step).describe(step)}",
        path="scenario",
        evidence=(
            f"more than {quantity(least_s, 's')} are needed: {SHORT_PERIODS} samples at"
            f" {quantity(slowest_hz, 'Hz')}, and twice the SYNC pulse of"
            f" {quantity(sut.sync_hold_s, 's')}"
        ),
        try_next=f"{' and '.join(ways)}; or longer steps",
        see="window-too-short",
    )


def trial_seed(seed: int, number: int) -> int:
    """Draw the seed of a trial: fixed by the bench's seed and the trial's number."""
    return random.Random(f"{seed}/{number}").getrandbits(32)


def steps(
    scenario: Scenario,
    task: Task,
    seed: int,
    answer: Callable[[Step], Completion] = lambda step: Completion(()),
) -> list[Step]:
    """List the steps of a plan without doing any: each is answered by `answer`, with an
    empty completion where there is none.
    """
    plan = scenario.plan(task, seed)
    listed: list[Step] = []
    try:
        step = next(plan)
        while True:
            refuse_unsuited(step, scenario.name, task)
            listed.append(step)
            step = plan.send(answer(step))
    except StopIteration:
        return listed
