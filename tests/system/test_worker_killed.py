# SPDX-License-Identifier: Apache-2.0
"""A worker that is killed in the midst of a trial: named, resumed, and the same
result."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from rig.errors import DeviceLost
from rig.session.session import open_bench, resume
from rig.store.events import StepDone
from sut_backends.workers.environments import installed
from tests.checking import check
from tests.conftest import ROOT

SHORT = (
    "scenario.single_stream.idle_s=0.1",
    "scenario.single_stream.warmup=0",
    "scenario.single_stream.repeat=1",
    "task.asc.samples=4",
)
KINDS = {
    "cpu": ("cpu-asc-virtual.toml",),
    "xylo": ("xylosim-asc.toml",),
    "loihi": ("lava-asc.toml",),
    "gpu": ("torch-asc.toml",),
}


def workers() -> list[int]:
    """Return the workers that this process started."""
    result = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            command = (path / "cmdline").read_bytes()
        except OSError:
            continue
        if parent == os.getpid() and b"sut_backends.workers.inside.main" in command:
            result.append(int(path.name))
    return result


class Killer:
    """A subscriber that kills the worker after so many steps of the second trial."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def __call__(self, event: object) -> None:
        """Count steps, and kill at the last."""
        if isinstance(event, StepDone) and event.trial == 2:
            self._left -= 1
            if not self._left:
                (pid,) = workers()
                os.kill(pid, signal.SIGKILL)


def accuracies(content: dict[str, Any]) -> list[Any]:
    """Return what does not depend on this computer's pace."""
    return [trial["value"] for trial in content["metrics"]["accuracy"]["per_trial"]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_worker_is_named_and_the_session_resumed(
    kind: str, tmp_path: Path
) -> None:
    if kind != "cpu" and not installed(kind).exists():
        pytest.skip(f"no environment of its SDK: rig sdk install {kind}")
    bench, *more = KINDS[kind]
    path = ROOT / "benches" / bench
    with (
        pytest.raises(DeviceLost, match="process of the program is gone") as caught,
        open_bench(path, (*SHORT, *more)) as opened,
    ):
        opened.run(3, tmp_path, (Killer(6),))
    assert "killed by signal 9" in caught.value.evidence
    (session,) = tmp_path.iterdir()
    assert not (session / "results.json").exists()
    assert workers() == []
    resumed = resume(session)
    with open_bench(path, (*SHORT, *more)) as opened:
        whole = opened.run(3, tmp_path / "whole")
    assert resumed.content["problems"] == []
    assert accuracies(resumed.content) == accuracies(whole.content)
    assert [trial["valid"] for trial in resumed.content["trials"]] == [True] * 3
    assert check(session).ok
