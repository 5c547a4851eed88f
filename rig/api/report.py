# SPDX-License-Identifier: Apache-2.0
"""The report of a session, written from any state of its files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rig.model.trial import Trial
from rig.store.session_folder import damage_named


def write_report(
    folder: Path, hashed: bool = False, trials: Sequence[Trial] = ()
) -> Path:
    """Write the report of a session; raises DataError where a file of it is damaged.

    `hashed`: the caller knows already that the traces are as they were recorded;
    `trials`: all of the session's, where they are at hand.
    """
    # Here, because it brings matplotlib: half a second that others need not wait for.
    from rig.report import report

    with damage_named(folder):
        return report.write_report(folder, hashed, trials)
