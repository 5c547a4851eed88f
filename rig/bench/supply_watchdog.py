# SPDX-License-Identifier: Apache-2.0
"""A process that outlives a killed rig by a moment, to switch the DUT's supply off.

Ctrl-C and errors are handled by the rig itself. After kill -9, or when the machine runs
out of memory, only another process can switch a real instrument off: it finds its pipe
closed, opens the instrument again, and closes it, which leaves the supply off.

It imports the monitors' drivers and reports that it is ready before power goes on. If
it dies early, the rig stops: a supply is never on without it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from rig.host.python_child import READY, PythonChild
from rig.host.stop import Stop

if TYPE_CHECKING:
    from rig.bench.config import Config
    from rig.interfaces.monitor import EnergyMonitor

_RELEASED = "released\n"
#: So long the process may take to end once it is released; then it is killed.
_LEAVE_S = 5.0
_WHAT = "the process that watches over the supply"


def switching(monitors: Mapping[str, EnergyMonitor]) -> list[str]:
    """Return the rails whose monitors switch a supply: not those of simulated ones,
    which die with the rig, nor of counters and recordings, which switch none.
    """
    infos = {rail: monitor.info for rail, monitor in monitors.items()}
    return [
        rail for rail, info in infos.items() if info.switches and not info.simulated
    ]


class SupplyWatchdog:
    """Watch over the instruments of a bench from `watch` until the context is left."""

    def __init__(self) -> None:
        self._child: PythonChild | None = None

    def watch(self, resolved: Config, rails: Sequence[str], stop: Stop) -> None:
        """Start the process for the monitors of these rails, and wait until it is
        ready; from then on what hears `stop` ends where the process has ended. Raises
        BenchError.
        """
        if not rails:
            return
        order = json.dumps({"bench": resolved.toml(), "rails": list(rails)})
        self._child = PythonChild(__name__, (), _WHAT, first=f"{order}\n")
        stop.guard(self._child.ended)

    def __enter__(self) -> SupplyWatchdog:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._child is not None:
            self._child.say(_RELEASED)
            self._child.close(_LEAVE_S)


def main() -> int:
    """Get ready for an order, and wait for the rig's word or its end."""
    from rig.bench import supply_off
    from rig.files.plain_text import one_line

    first = sys.stdin.readline()
    if not first:
        return 0
    ready = supply_off.prepare(first)
    sys.stdout.write(f"{READY}\n")
    sys.stdout.flush()
    if sys.stdin.read().endswith(_RELEASED):
        return 0
    problems = ready.carry_out()
    sys.stderr.write("".join(f"{one_line(problem)}\n" for problem in problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
