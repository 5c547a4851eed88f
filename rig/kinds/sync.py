# SPDX-License-Identifier: Apache-2.0
"""SYNC bursts: pulses that attach the device's clock to the monitors'; they are no
window.
"""

from __future__ import annotations

from collections.abc import Sequence

from rig.kinds.kind import StepKind
from rig.model.step_record import StepRecord
from rig.model.steps import Sync


class SyncKind(StepKind[Sync]):
    """Any number of marks is valid."""

    step = Sync
    planned = False

    def due(
        self, item: StepRecord, step: Sync, phases: Sequence[str]
    ) -> list[int] | None:
        """Require no particular marks."""
        return None

    def total(self, steps: Sequence[Sync]) -> str:
        """Count them; empty where there are none."""
        return f"{len(steps)} SYNC bursts" if steps else ""
