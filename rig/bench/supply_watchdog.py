# SPDX-License-Identifier: Apache-2.0
"""A process that outlives a killed rig by a moment, to switch the DUT's supply off.

Ctrl-C and errors are handled by the rig itself. After kill -9, or when the machine runs out of
memory, nothing is left to switch a real instrument off: then this process finds its pipe closed,
opens the instrument again, and closes it, which leaves the supply off.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from rig import typed
from rig.bench import config, plugins
from rig.bench.config import Config
from rig.errors import BenchError, RigError
from rig.interfaces.context import BenchContext
from rig.plain_text import one_line

_RELEASED = "released\n"
#: A killed process's ports are free at once, a USB instrument may need to be found again.
_TRIES = 10
_PAUSE_S = 1.0
#: So long the process may take to end once it is released; then it is killed.
_LEAVE_S = 5.0


@dataclass(frozen=True, slots=True)
class _Order:
    """What the process is to do when the rig is gone: the bench file, and which rails have a
    supply.
    """

    bench: str
    rails: tuple[str, ...]


class SupplyWatchdog:
    """Watch over the instruments of a bench from `watch` until the context is left."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def watch(self, resolved: Config, rails: Sequence[str]) -> None:
        """Start the process for the monitors of these rails; none is needed for simulated ones,
        which die with the rig.
        """
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
        self._say(json.dumps(typed.to_json(_Order(resolved.toml(), tuple(rails)))) + "\n")

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


def switch_off(bench_toml: str, rails: Sequence[str]) -> list[str]:
    """Open and close the monitors of these rails, so that the supply is off; return what went
    wrong, a line a rail.
    """
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "bench.toml"
        path.write_text(bench_toml, encoding="utf-8")
        resolved = config.load(path)
    return [problem for rail in rails if (problem := _switch_off(resolved, rail))]


def _switch_off(resolved: Config, rail: str) -> str:
    choice = resolved.monitors[rail]
    said = ""
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_PAUSE_S)
        try:
            plugins.find("monitor", choice.kind).open(choice.settings, BenchContext()).close()
        except RigError as error:
            said = f"the supply of {rail or 'the DUT'} may still be on: {error.cause}"
        else:
            return ""
    return said


def main() -> int:
    """Wait for the rig's word or its end."""
    first = sys.stdin.readline()
    if not first or sys.stdin.read().endswith(_RELEASED):
        return 0
    order = typed.from_json(_Order, json.loads(first), "the order")
    problems = switch_off(order.bench, order.rails)
    sys.stderr.write("".join(f"{one_line(problem)}\n" for problem in problems))
    return 1 if problems else 0
