# SPDX-License-Identifier: Apache-2.0
"""Loads: a sample is written into the device's memory, untimed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rig.interfaces.task import Task
from rig.kinds.kind import StepKind
from rig.model.steps import Load


@dataclass(frozen=True, slots=True)
class LoadForm:
    """A load in completions.jsonl."""

    index: int


class LoadKind(StepKind[Load]):
    """No marks; recorded only where the device refused it."""

    step = Load
    loads = True

    def describe(self, step: Load) -> str:
        """Name the sample."""
        return f"load  sample {step.index}"

    def total(self, steps: Sequence[Load]) -> str:
        """Count them."""
        return f"{len(steps)} loads"

    def payloads(self, task: Task, step: Load) -> Sequence[bytes]:
        """Return the sample's payload."""
        return (task.payload(step.index),)

    def may_be_refused(self, step: Load) -> bool:
        """Check whether it is optional."""
        return step.optional

    def to_form(self, step: Load) -> LoadForm:
        """Keep the sample."""
        return LoadForm(step.index)

    def from_form(self, form: LoadForm) -> Load:
        """Make an optional load: no other is recorded."""
        return Load(form.index, optional=True)
