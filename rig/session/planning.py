# SPDX-License-Identifier: Apache-2.0
"""Plans: opened, listed, and seeded, with no device."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

from rig.bench import config
from rig.bench.compatibility import refuse_unsuited
from rig.bench.config import Config
from rig.bench.parts import open_part, open_task
from rig.interfaces.scenario import Scenario
from rig.interfaces.task import Task
from rig.model.completion import Completion
from rig.model.steps import Step
from rig.results import claim


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
        claim.refuse(
            resolved.claim,
            scenario,
            task,
            steps(scenario, task, 0),
            phases,
            monitored=bool(resolved.monitors),
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
