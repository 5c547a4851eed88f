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
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.bench import config, plugins
from rig.bench.config import Config
from rig.errors import RigError
from rig.files import typed
from rig.files.plain_text import one_line
from rig.host.python_child import READY, PythonChild
from rig.host.stop import Stop
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import EnergyMonitor

_RELEASED = "released\n"
#: Time for the process to end once it is released; then it is killed.
_LEAVE_S = 5.0
#: A killed process's ports are free at once, a USB instrument may need to be found
#: again.
_TRIES = 10
_PAUSE_S = 1.0
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
        self._stop = Stop()

    def watch(self, resolved: Config, rails: Sequence[str], stop: Stop) -> None:
        """Start the process for the monitors of these rails, and wait until it is
        ready; from then on what hears `stop` ends where the process has ended. Raises
        BenchError.
        """
        if not rails:
            return
        order = json.dumps({"bench": resolved.toml(), "rails": list(rails)})
        self._child = PythonChild(__name__, (), _WHAT, first=f"{order}\n")
        self._stop = stop
        stop.guard(self._child.ended)

    def __enter__(self) -> SupplyWatchdog:
        return self

    def __exit__(self, *_: object) -> None:
        if self._child is not None:
            self._stop.unguard(self._child.ended)
            self._child.say(_RELEASED)
            self._child.close(_LEAVE_S)


@dataclass(frozen=True, slots=True)
class _Order:
    """The task of the process after the end of the rig: the bench file, and the rails
    with a supply.
    """

    bench: str
    rails: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SwitchOff:
    """An order that is ready to be carried out: the bench is read, its drivers are
    imported."""

    resolved: Config
    rails: tuple[str, ...]

    def carry_out(self) -> list[str]:
        """Open and close the monitors of the rails, so that the supply is off; return
        what went wrong, a line a rail.
        """
        problems = [_switch_off(self.resolved, rail) for rail in self.rails]
        return [problem for problem in problems if problem]


def prepare(line: str) -> SwitchOff:
    """Read an order of `watch` and import the drivers that it
    needs."""
    order = typed.from_json(_Order, json.loads(line), "the order")
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "bench.toml"
        path.write_text(order.bench, encoding="utf-8")
        resolved = config.load(path)
    for rail in order.rails:
        plugins.find("monitor", resolved.monitors[rail].kind)
    return SwitchOff(resolved, order.rails)


def _switch_off(resolved: Config, rail: str) -> str:
    choice = resolved.monitors[rail]
    failure = ""
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_PAUSE_S)
        try:
            plugins.find("monitor", choice.kind).open(
                choice.settings, BenchContext()
            ).close()
        except RigError as error:
            failure = (
                f"the supply of {rail or 'the DUT'} may still be on: {error.cause}"
            )
        else:
            return ""
    return failure


def main() -> int:
    """Get ready for an order, and wait for the rig's word or its end."""
    first = sys.stdin.readline()
    if not first:
        return 0
    ready = prepare(first)
    sys.stdout.write(f"{READY}\n")
    sys.stdout.flush()
    if sys.stdin.read().endswith(_RELEASED):
        return 0
    problems = ready.carry_out()
    sys.stderr.write("".join(f"{one_line(problem)}\n" for problem in problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
