# SPDX-License-Identifier: Apache-2.0
"""A runner and programs that behave as vendors' SDKs do: they print, write to the home
folder, call pip, leave processes running, and hang. They need the standard library
alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from rig.interfaces.cpu_program import Routine
from sut_backends.workers.inside.job import Job
from tests.programs import captured

WAITS = "import time; time.sleep(600)"  # longer than anybody waits


def echo() -> Routine:
    """Answer with the first 8 bytes, and say where it runs."""
    about = {
        "version": list(sys.version_info[:2]),
        "home": str(Path.home()),
        "folder": str(Path.cwd()),
        "site": "site" in sys.modules,
        "numpy": "numpy" in sys.modules,
    }
    return Routine(bytes, (lambda block: block[:8],), bytes, about=about)


def noisy() -> Routine:
    """Print to standard output, write into the home folder, start a process, and call
    pip."""
    print('{"bytes": 3}\nnot an answer', flush=True)
    os.write(1, b"not one either\n")
    (Path.home() / ".sdkrc").write_text("first use")
    # In a session of its own, as a daemon is: its group does not show it.
    left = subprocess.Popen([sys.executable, "-c", WAITS], start_new_session=True)
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "-d", ".", "six"]
    asked = captured(pip)
    about = {"left": left.pid, "pip": asked.returncode}
    return Routine(bytes, (lambda block: block[:8],), bytes, about=about)


def hanging(note: str) -> Routine:
    """Start a process that waits, note its number, and hang as it does."""
    left = subprocess.Popen([sys.executable, "-c", WAITS])
    Path(note).write_text(str(left.pid))
    time.sleep(600)  # longer than anybody waits
    raise AssertionError


def forked() -> Routine:
    """Fork a process that waits, as SDKs on multiprocessing do: it holds this one's
    pipes too."""
    if not (left := os.fork()):
        time.sleep(600)  # longer than anybody waits
        os._exit(0)
    return Routine(bytes, (lambda block: block[:8],), bytes, about={"left": left})


def missing() -> Routine:
    """Import a missing module."""
    import no_such_sdk  # type: ignore[import-not-found]

    return Routine(bytes, (no_such_sdk.run,), bytes)


def open_network(job: Job) -> Any:
    """Return a runner that adds the spikes of each channel up, over four outputs."""
    return Sums(job)


class Sums:
    """A network of sorts: output n is the spikes of channel n."""

    def __init__(self, job: Job) -> None:
        from sut_backends.workers.inside import plain_network

        network = plain_network.read(job.plain)
        self.about = {
            "nodes": [node.type for node in network.nodes],
            "dt_s": network.dt_s,
            "settings": dict(job.settings),
        }

    def run(self, spikes: Any) -> tuple[Any, Any]:
        """Return the spikes of the first four channels, no membranes."""
        return spikes[:, :4], None

    def close(self) -> None:
        """Hold no file."""
