# SPDX-License-Identifier: Apache-2.0
"""What steps took in an earlier session of the same bench: an expectation where the
settings give none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from rig.bench import config
from rig.bench.config import Config
from rig.errors import RigError
from rig.files import foreign_files
from rig.kinds import registry as kinds
from rig.model.pace import Duration
from rig.session.planned_trial import Row
from rig.store import completion_lines, provenance_file
from rig.store.session_folder import BENCH, COMPLETIONS, SessionFolder

#: So many sessions are looked at, and so many steps of one: a trial may have a million.
_SESSIONS = 20
_STEPS = 500


@dataclass(frozen=True, slots=True)
class Earlier:
    """Mean seconds of the steps of each group, by the device's clock, and the session
    that has them.
    """

    name: str
    seconds: Mapping[str, float]


def of_bench(root: Path, resolved: Config) -> Earlier | None:
    """Return what the newest session in a folder says that is of the same bench,
    device, scenario and task; None where there is none, or it cannot be read.
    """
    folders = sorted(root.glob(f"*-{resolved.bench.name}"), reverse=True)
    for folder in folders[:_SESSIONS]:
        with suppress(
            RigError, OSError, ValueError, LookupError, TypeError, AttributeError
        ):
            if _alike(config.load(folder / BENCH, monitor_needed=False), resolved):
                seconds = _seconds(SessionFolder(folder))
                if seconds:
                    return Earlier(folder.name, seconds)
    return None


def expected(
    rows: Sequence[Row], earlier: Earlier | None, overhead_s: float
) -> tuple[Row, ...]:
    """Return the rows with what an earlier session had, where nothing else is known."""
    return tuple(
        row if earlier is None else _expected(row, earlier, overhead_s) for row in rows
    )


def _expected(row: Row, earlier: Earlier, overhead_s: float) -> Row:
    known_s = earlier.seconds.get(row.group)
    if known_s is None or row.each.expected_s is not None:
        return row
    each = Duration(row.each.least_s, known_s + overhead_s, row.each.most_s)
    return replace(row, each=each, basis=f"as in {earlier.name}")


def _alike(one: Config, other: Config) -> bool:
    return all(
        getattr(one, part).kind == getattr(other, part).kind
        for part in ("sut", "scenario", "task")
    )


def _seconds(folder: SessionFolder) -> dict[str, float]:
    tick_hz = provenance_file.read(folder).sut.tick_hz
    found: dict[str, list[float]] = {}
    with foreign_files.opened(folder.trial(1) / COMPLETIONS, folder.path) as lines:
        for line in islice(lines, _STEPS):
            done = completion_lines.from_json(json.loads(line))
            marks = done.completion.marks
            if len(marks) > 1:
                took_s = (marks[-1].tick - marks[0].tick) / tick_hz
                found.setdefault(kinds.of(done.step).group(done.step), []).append(
                    took_s
                )
    return {group: sum(each_s) / len(each_s) for group, each_s in found.items()}
