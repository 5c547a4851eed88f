# SPDX-License-Identifier: Apache-2.0
"""A meter at work in a thread of its own. No Qt.

However it ends, by `stop`, by an error or with the window, the supply is off then.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gui.run.frame import Frame, newest
from rig.bench import config
from rig.bench.metering import Metering, alone, meter_supply
from rig.host.stop import Stop
from rig.live.meter import Meter
from rig.live.recent import Recent

#: So much can be looked back at.
KEPT_S = 60.0


@dataclass(frozen=True, slots=True)
class Source:
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


@dataclass(slots=True, eq=False)
class MeterLink:
    """One run of a meter; `post` is called from its thread with MeterSaid and
    MeterOver."""

    source: Source
    post: Callable[[Any], None]
    meter: Meter | None = None
    _recent: Recent = field(default_factory=lambda: Recent(KEPT_S))
    _stop: Stop = field(default_factory=Stop)
    _thread: threading.Thread | None = None
    _told_s: float = 0.0

    def start(self) -> None:
        """Begin."""
        self._thread = threading.Thread(target=self._work, name="rig-meter")
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Return whether it is at work, and the supply may be on."""
        return self._thread is not None and self._thread.is_alive()

    def stop(self) -> None:
        """Ask for the end; returns at once."""
        self._stop.request()

    def wait(self, limit_s: float) -> bool:
        """Wait for the end; return whether it came."""
        if self._thread is not None:
            self._thread.join(limit_s)
        return not self.alive

    def frame(self, span_s: float, columns: int) -> Frame | None:
        """Return the newest seconds, None while there are none."""
        return newest(self._recent, span_s, columns, is_alive=self.alive)

    @property
    def silent_s(self) -> float:
        """Return for how long no sample has come, since there was a meter."""
        return min(self._recent.newest_age_s, time.monotonic() - self._told_s)

    def _tell(self, what: Any) -> None:
        if isinstance(what, Metering):
            self.meter = what.meter
            self._told_s = time.monotonic()
        self.post(MeterSaid(self, what))

    def _work(self) -> None:
        error: BaseException | None = None
        try:
            resolved = self.source.resolved()
            meter_supply(
                resolved, self.source.rail, self._tell, self._stop, (self._recent,)
            )
        except BaseException as failure:
            error = failure
        self.post(MeterOver(self, error))
