# SPDX-License-Identifier: Apache-2.0
"""Steps of a scenario's plan, with a device that a test plays."""

from __future__ import annotations

from collections.abc import Callable, Generator

from rig.model.completion import Completion
from rig.model.steps import Step


def steps_of(
    plan: Generator[Step, Completion | None, None],
    answer: Callable[[Step], Completion | None],
) -> list[Step]:
    """Return the steps of a plan that receives a device's answers."""
    steps = []
    completion = None
    while True:
        try:
            step = plan.send(completion)
        except StopIteration:
            return steps
        steps.append(step)
        completion = answer(step)
