# SPDX-License-Identifier: Apache-2.0
"""A process that outlives a killed rig by a moment, to switch the DUT's supply off.

Ctrl-C and errors are handled by the rig itself. After kill -9, or when the machine runs out of
memory, nothing is left to switch a real instrument off: then this process finds its pipe closed,
opens the instrument again, and closes it, which leaves the supply off.

It waits beside whatever is measured, and is to take little of the computer: what it needs to switch
off (rig/bench/supply_off.py), it imports only then.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

from rig.errors import BenchError

if TYPE_CHECKING:
    from rig.bench.config import Config
    from rig.interfaces.monitor import EnergyMonitor

_RELEASED = "released\n"
#: So long the process may take to end once it is released; then it is killed.
_LEAVE_S = 5.0


def switching(monitors: Mapping[str, EnergyMonitor]) -> list[str]:
    """Return the rails whose monitors switch a supply: not those of simulated ones, which die with
    the rig, nor of counters and recordings, which switch none.
    """
    infos = {rail: monitor.info for rail, monitor in monitors.items()}
    return [rail for rail, info in infos.items() if info.switches and not info.simulated]


class SupplyWatchdog:
    """Watch over the instruments of a bench from `watch` until the context is left."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def watch(self, resolved: Config, rails: Sequence[str]) -> None:
        """Start the process for the monitors of these rails."""
        if not rails:
            return
        command = [
            sys.executable,
            "-c",
            "import sys; from rig.bench.supply_watchdog import main; sys.exit(main())",
        ]
        try:
            # In a session of its own: Ctrl-C is for the rig, which switches off by itself.
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, text=True, start_new_session=True
            )
        except OSError as error:
            raise BenchError(
                "no process can be started to watch over the supply", evidence=str(error)
            ) from error
        self._say(json.dumps({"bench": resolved.toml(), "rails": list(rails)}) + "\n")

    def __enter__(self) -> SupplyWatchdog:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self._say(_RELEASED)
            with suppress(OSError):
                assert self._process.stdin is not None
                self._process.stdin.close()
            try:
                self._process.wait(_LEAVE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def _say(self, line: str) -> None:
        assert self._process is not None and self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.write(line)
            self._process.stdin.flush()


def main() -> int:
    """Wait for the rig's word or its end."""
    first = sys.stdin.readline()
    if not first or sys.stdin.read().endswith(_RELEASED):
        return 0
    from rig.bench.supply_off import carry_out
    from rig.plain_text import one_line

    problems = carry_out(first)
    sys.stderr.write("".join(f"{one_line(problem)}\n" for problem in problems))
    return 1 if problems else 0
