# SPDX-License-Identifier: Apache-2.0
"""The SYNC burst: pulses that tie the device's clock to the monitors', and no
window."""

from __future__ import annotations

from collections.abc import Sequence

from rig.kinds.kind import StepKind
from rig.model.pace import Duration, Pace, roughly
from rig.model.step_record import StepRecord
from rig.model.steps import Sync


class SyncKind(StepKind[Sync]):
    """Any number of marks will do."""

    step = Sync
    planned = False

    def due(
        self, item: StepRecord, step: Sync, phases: Sequence[str]
    ) -> list[int] | None:
        """Return None."""
        return None

    def group(self, step: Sync) -> str:
        """Return its name."""
        return "SYNC burst"

    def duration(self, step: Sync, pace: Pace, payload_b: float) -> Duration:
        """Return the time of its pulses."""
        return roughly(pace.sync_s + pace.overhead_s)
