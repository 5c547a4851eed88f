# SPDX-License-Identifier: Apache-2.0
"""SYNC bursts: pulses that attach the device's clock to the monitors'; they are no
window.
"""

from __future__ import annotations

from collections.abc import Sequence

from rig.kinds.kind import StepKind
from rig.model.pace import Duration, Pace
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

    def group(self, step: Sync) -> str:
        """Name the burst."""
        return "SYNC burst"

    def duration(self, step: Sync, pace: Pace, payload_b: float) -> Duration:
        """Take the time of its pulses."""
        expected_s = pace.sync_s + pace.overhead_s
        return Duration(expected_s, 2 * expected_s)
