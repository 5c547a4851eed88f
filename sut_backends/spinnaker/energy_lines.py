# SPDX-License-Identifier: Apache-2.0
"""Append sPyNNaker's energy report of each run to a file, inside the worker that runs
the network; drivers/spinnaker_model follows the file. Standard library alone.

The file: a line of JSON each. The first is {"spinnaker_model": 1, "spynnaker": version,
"opened_ns", "idle_w"}, of an idle machine. A run writes {"began_ns"} before it begins,
then the report's energies with "ended_ns", or {"failed_ns"}. Times are those of
CLOCK_MONOTONIC. The last line is {"closed_ns"}.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

VERSION = 1


class EnergyLines:
    """The file of one worker."""

    def __init__(self, path: str, spynnaker: str, idle_w: float) -> None:
        # A new file, not an old one emptied: its follower sees that by the inode.
        Path(path).unlink(missing_ok=True)
        self._file = Path(path).open("x", encoding="utf-8")  # noqa: SIM115, closed by `close`
        self._write(
            {
                "spinnaker_model": VERSION,
                "spynnaker": spynnaker,
                "opened_ns": time.monotonic_ns(),
                "idle_w": idle_w,
            }
        )

    def began(self) -> None:
        """Note that a run begins now."""
        self._write({"began_ns": time.monotonic_ns()})

    def ended(self, energies: Mapping[str, Any]) -> None:
        """Note that the run has ended, with its report (J and s by name)."""
        self._write({"ended_ns": time.monotonic_ns(), **energies})

    def failed(self) -> None:
        """Note that the run has failed, and has no report."""
        self._write({"failed_ns": time.monotonic_ns()})

    def close(self) -> None:
        """End the file; closing twice is allowed."""
        if not self._file.closed:
            self._write({"closed_ns": time.monotonic_ns()})
            self._file.close()

    def _write(self, line: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()
