# SPDX-License-Identifier: Apache-2.0
"""The place of a trace in a session: its trial, rail and segment."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from rig.store.segments import segments
from rig.store.session_folder import PROVENANCE
from rig.trace.trace import PARTIAL, TRACE

_TRIAL = re.compile(r"trial-([1-9][0-9]{0,5})")


@dataclass(frozen=True, slots=True)
class TracePlace:
    """The place of a trace: session folder, trial, rail and segment."""

    session: Path
    trial: int
    rail: str = ""
    segment: int = 1


def place_of(path: Path) -> TracePlace | None:
    """Return the place of a trace, or of its folder; None where it is of no session."""
    if path.is_file() and path.name not in (TRACE, PARTIAL):
        return None
    folder = path.resolve() if path.is_dir() else path.resolve().parent
    for trial in (folder, *folder.parents[:2]):
        number = _TRIAL.fullmatch(trial.name)
        if number is None or not (trial.parent / PROVENANCE).exists():
            continue
        for place, of_segment in enumerate(segments(trial), start=1):
            if folder == of_segment:
                return TracePlace(trial.parent, int(number[1]), "", place)
            if folder.parent == of_segment:
                return TracePlace(trial.parent, int(number[1]), folder.name, place)
    return None
