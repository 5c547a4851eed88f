# SPDX-License-Identifier: Apache-2.0
"""A trial that was cut off and went on later was recorded in several sittings.

The only sitting of a trial lies in its folder; of several, each has a folder of its own in it, and
its own trace, tied to the device's ticks by itself. The first SYNC burst of a later sitting has the
number of the last step that counts of the one before.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

from rig.model.step_record import StepRecord
from rig.store import codec

_NAME = re.compile(r"sitting-([1-9][0-9]{0,5})")


def segment(folder: Path, number: int) -> Path:
    """Return the folder of a sitting of a trial that has several."""
    return folder / f"sitting-{number}"


def segments(folder: Path) -> list[Path]:
    """Return the folders of a trial's sittings in order: the trial's own where there is but one."""
    numbers = sorted(
        int(found[1]) for path in folder.glob("sitting-*") if (found := _NAME.fullmatch(path.name))
    )
    return [segment(folder, number) for number in numbers] or [folder]


def counted(folder: Path) -> list[list[StepRecord]]:
    """Return what the device said in a trial, for each sitting; of one that another follows, only
    what counts.
    """
    read = [codec.read_completions(place) for place in segments(folder)]
    for early, late in pairwise(read):
        last = late[0].number if late else 0
        early[:] = [done for done in early if done.number <= last]
    return read
