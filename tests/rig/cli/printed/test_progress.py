# SPDX-License-Identifier: Apache-2.0
"""Progress of a running session on a terminal."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from rig.cli.printed.progress import RunProgress
from rig.session.session import open_bench
from rig.store.events import Event, StepBegun
from tests.conftest import VIRTUAL_NULL

QUICK = ["task.null.samples=6", "scenario.single_stream.idle_s=0.1"]


def shown(root: Path, *settings: str) -> list[str]:
    """Return the line of progress at each step of two trials."""
    console = Console(
        file=io.StringIO(), force_terminal=True, width=160, color_system=None
    )
    seen: list[str] = []

    with RunProgress(console) as progress:

        def look(event: Event) -> None:
            if isinstance(event, StepBegun):
                drawn = Console(file=io.StringIO(), width=160)
                with drawn.capture() as captured:
                    drawn.print(progress._progress.get_renderable())
                seen.append(captured.get())

        with open_bench(VIRTUAL_NULL, [*QUICK, *settings], (progress, look)) as bench:
            bench.run(2, root)
    return seen


def test_it_shows_trial_queries_time_and_the_metric_so_far(tmp_path: Path) -> None:
    seen = shown(tmp_path)
    assert seen[0].startswith("trial 1 ") and "left unknown" in seen[0]
    last = seen[-1]
    assert last.startswith("trial 2, ") and " ms " in last and "±" not in seen[0]
    assert "0:00:0" in last.partition("left")[2]


def test_interleaved_trials_are_counted_as_the_one_recording_that_they_are(
    tmp_path: Path,
) -> None:
    seen = shown(tmp_path, "scenario.single_stream.interleaved=true")
    assert all(line.startswith("interleaved ") for line in seen)
    assert " 0/16 " in seen[0] and " 16/16 " in seen[-1]
