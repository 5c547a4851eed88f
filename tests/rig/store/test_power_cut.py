# SPDX-License-Identifier: Apache-2.0
"""What events.jsonl says of a finished trial is on the disk before the line is: a power
cut takes the current trial at most.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from rig.session.session import open_bench
from tests.conftest import VIRTUAL_NULL


@pytest.mark.skipif(sys.platform != "linux", reason="files are known by /proc")
def test_files_of_a_trial_are_on_the_disk_before_its_line_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    lines: list[int] = []

    def fsync(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        synced.append(path)
        lines.append(
            len(path.read_bytes().splitlines()) if path.name == "events.jsonl" else 0
        )

    monkeypatch.setattr(os, "fsync", fsync)
    with open_bench(VIRTUAL_NULL, ["task.null.samples=2"]) as bench:
        folder = bench.run(2, tmp_path).folder
    events = [
        json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()
    ]
    due = 0
    for number, event in enumerate(events, start=1):
        if event["event"] not in (
            "session_started",
            "trial_finished",
            "session_finished",
        ):
            continue
        trial = folder / f"trial-{event['trial']}" if "trial" in event else folder
        at = next(
            k
            for k, path in enumerate(synced)
            if path == folder / "events.jsonl" and lines[k] == number
        )
        assert {trial / name for name in event["files"]} <= set(synced[:at])
        assert trial in synced[:at] and trial.parent in synced[:at]
        due += 1
    assert due == 4
