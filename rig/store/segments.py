# SPDX-License-Identifier: Apache-2.0
"""A trial that was cut off and went on later was recorded in several segments.

The only segment of a trial lies in its folder; of several, each has a folder of its own
in it, `segment-N`, and its own trace, attached to the device's ticks by itself. The
first SYNC burst of a later segment has the number of the last step that counts of the
one before.

Sessions of before have folders `sitting-N`, and say "sitting" where others say
"segment": they are read as they are.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

from rig.model.step_record import StepRecord
from rig.store import completion_lines
from rig.store.journal import OLD_SEGMENT

#: Names of the parts of a trial: in new sessions, and in earlier ones.
SEGMENT = "segment"
_NAME = re.compile(rf"(?:{SEGMENT}|{OLD_SEGMENT})-([1-9][0-9]{{0,5}})")


def segment(folder: Path, number: int) -> Path:
    """Return the folder of a segment of a trial that has several."""
    return folder / f"{SEGMENT}-{number}"


def segments(folder: Path) -> list[Path]:
    """Return the folders of a trial's segments in order: the trial's own where there is
    but one."""
    numbered = []
    for path in folder.glob("s*-*"):
        found = _NAME.fullmatch(path.name)
        if found:
            numbered.append((int(found[1]), path))
    return [path for _, path in sorted(numbered)] or [folder]


def is_segment(name: str) -> bool:
    """Check whether a folder of a trial has the name of a segment, whole or set
    aside."""
    return name.startswith((f"{SEGMENT}-", f"{OLD_SEGMENT}-"))


def word(folder: Path) -> str:
    """Return the word for the parts of a trial."""
    return OLD_SEGMENT if any(folder.glob(f"{OLD_SEGMENT}-*")) else SEGMENT


def counted(folder: Path) -> list[list[StepRecord]]:
    """Return the step records of a trial for each segment; of a segment that another
    one follows, only those that count.
    """
    return cut([completion_lines.read(place) for place in segments(folder)])


def cut(read: list[list[StepRecord]]) -> list[list[StepRecord]]:
    """Leave out the step records of segments that do not count: all but the last may
    have some.
    """
    for early, late in pairwise(read):
        last = late[0].number if late else 0
        early[:] = [done for done in early if done.number <= last]
    return read
