# SPDX-License-Identifier: Apache-2.0
"""A meter at work in a thread of its own. No Qt.

However it ends, by `stop`, by an error or with the window, the supply is off then.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gui.engine_thread import EngineThread
from gui.run.frame import LiveFrame, newest
from rig.bench import config
from rig.bench.metering import Metering, alone, meter_supply
from rig.live.meter import Meter
from rig.live.recent import Recent

#: So much can be looked back at.
KEPT_S = 60.0


@dataclass(frozen=True, slots=True)
class MeterSource:
    """The source of a meter: a rail of a bench file, or a kind of monitor with its
    settings.
    """

    path: Path | None = None
    rail: str = ""
    kind: str = ""
    settings: tuple[str, ...] = ()

    def resolved(self) -> config.Config:
        """Return the bench; raises ConfigError."""
        return (
            alone(self.kind, self.settings)
            if self.path is None
            else config.load(self.path)
        )


@dataclass(frozen=True, slots=True)
class MeterSaid:
    """Something that a meter says: an event of the engine, Metering, RecordingEnded,
    NotRecorded."""

    link: MeterLink
    what: Any


@dataclass(frozen=True, slots=True)
class MeterOver:
    """The meter has ended: every port is closed, every supply off; `error` is None
    where it was asked to.
    """

    link: MeterLink
    error: BaseException | None


class MeterLink(EngineThread):
    """One run of a meter; `post` is called from its thread with MeterSaid and
    MeterOver.
    """

    def __init__(self, source: MeterSource, post: Callable[[Any], None]) -> None:
        super().__init__("rig-meter")
        self.source = source
        self.meter: Meter | None = None
        self._post = post
        self._recent = Recent(KEPT_S)
        self._began_s = 0.0

    def start(self) -> None:
        """Begin."""
        self._begin(self._work, lambda error: self._post(MeterOver(self, error)))

    def frame(self, span_s: float, columns: int) -> LiveFrame | None:
        """Return the newest seconds, None while there are none."""
        return newest(self._recent, span_s, columns, is_alive=self.alive)

    @property
    def silent_s(self) -> float:
        """For how long no sample has come, since there was a meter."""
        return min(self._recent.newest_age_s, time.monotonic() - self._began_s)

    def _tell(self, what: Any) -> None:
        if isinstance(what, Metering):
            self.meter = what.meter
            self._began_s = time.monotonic()
        self._post(MeterSaid(self, what))

    def _work(self) -> None:
        observers = (self._recent,)
        resolved = self.source.resolved()
        meter_supply(resolved, self.source.rail, self._tell, self._stop, observers)
