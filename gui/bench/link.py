# SPDX-License-Identifier: Apache-2.0
"""A connection to a bench in a thread of its own: connect, probe, supply on, prove
wiring, scan. No Qt. The supply is off after each deed, whether `stop`, an error or its
own end finished it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from gui.engine_thread import EngineThread
from rig.bench.power import powered
from rig.bench.probe import probe
from rig.bench.scan import scan
from rig.bench.wiring import expected, prove_wiring
from rig.errors import Stopped
from rig.host.stop import pause
from rig.session.session import open_bench

_LOOK_S = 0.1


class Deed(StrEnum):
    """What can be done with a bench."""

    CONNECT = "connect"
    PROBE = "probe"
    POWER = "power"
    PROVE = "prove"
    SCAN = "scan"


#: What stands above the rows of each.
_CONNECTING = "Connecting"
HEADINGS = {
    Deed.CONNECT: f"{_CONNECTING} ...",
    Deed.PROBE: "Probe",
    Deed.PROVE: "Prove wiring",
    Deed.POWER: "Supply",
    Deed.SCAN: "What is attached",
}


@dataclass(frozen=True, slots=True)
class Told:
    """A message of a link: an event of the engine, a finding, a reading, or the rows to
    come.
    """

    link: BenchLink
    what: Any


@dataclass(frozen=True, slots=True)
class Ready:
    """The bench is connected, or its supply is on; `readings` are those of the
    supplies.
    """

    readings: dict[str, str]


@dataclass(frozen=True, slots=True)
class Due:
    """The rows that a proof will have, by wire and rail."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Over:
    """The deed is over: every port is closed, every supply off; `error` is None where
    it ended well, or because it was asked to.
    """

    error: BaseException | None


class BenchLink(EngineThread):
    """A deed with a bench; calls `post` with Told from its thread."""

    def __init__(
        self, deed: Deed, path: Path | None, post: Callable[[Told], None]
    ) -> None:
        super().__init__(f"rig-bench-{deed}")
        self.deed = deed
        self.path = path
        self.stopped = False
        self._post = post
        self._begin(self._do, self._ended)

    def _tell(self, what: Any) -> None:
        self._post(Told(self, what))

    def _ended(self, error: BaseException | None) -> None:
        self.stopped = isinstance(error, Stopped)
        self._tell(Over(None if self.stopped else error))

    def _do(self) -> None:
        if self.deed is Deed.SCAN:
            self._tell(scan())
            return
        assert self.path is not None
        match self.deed:
            case Deed.PROBE:
                for finding in probe(self.path, (), (self._tell,), self._stop):
                    self._tell(finding)
            case Deed.PROVE:
                self._tell(
                    Due(tuple((str(wire), rail) for wire, rail in expected(self.path)))
                )
                for row in prove_wiring(self.path, (), (self._tell,), self._stop):
                    self._tell(row)
            case Deed.POWER:
                with powered(self.path, (), (self._tell,), self._stop) as bench:
                    self._tell(Ready(bench.read()))
                    while True:
                        pause(_LOOK_S)
            case _:
                with open_bench(self.path, (), (self._tell,), self._stop):
                    self._tell(Ready({}))
                    with self._stop.heard():
                        while True:
                            pause(_LOOK_S)


def outcome(
    deed: Deed, error: BaseException | None, failed: bool, stopped: bool
) -> str:
    """Return the result of a deed in a line; `stopped` says that a person ended it."""
    if deed is Deed.SCAN:
        return HEADINGS[deed]
    if error is not None:
        name = _CONNECTING if deed is Deed.CONNECT else HEADINGS[deed]
        return f"{name}: it could not go on; the supply is off"
    if deed in (Deed.CONNECT, Deed.POWER):
        return "Not connected; the supply is off"
    if stopped:
        return "Stopped; the supply is off"
    if failed:
        return f"{HEADINGS[deed]}: something fails; the supply is off"
    return f"{HEADINGS[deed]}: all is well; the supply is off"
