# SPDX-License-Identifier: Apache-2.0
"""One recording of an Otii server, fetched when it has ended: its channels become a
trace.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivers.otii.answers import OtiiChange, OtiiTimes, read
from drivers.otii.link import TRY, OtiiLink
from drivers.otii.settings import OtiiSettings
from drivers.stream_recording import RecordingClock, StreamRecording
from rig.arrays import Reals
from rig.errors import BenchError, DeviceLost, RemoteProtocolError, RigError
from rig.interfaces.monitor import MonitorInfo
from rig.simulation.world import NS_PER_S
from rig.trace.trace import Gap

CURRENT = "mc"
VOLTAGE = "mv"
#: The maker's client fetches so many at once.
_CHUNK = 40_000
_LOOK_S = 0.5
#: How long the server may take for a chunk, and to start or end a recording.
_FETCH_S = 60.0
#: How long samples may still come after the end was acknowledged.
_SETTLE_S = 5.0
_POLL_S = 0.1
#: A recording goes on this long after the last step. How long a sample is under way to
#: the server is not stated.
_TAIL_S = 0.05
#: Start and end of a recording are known to the answers of the server alone, and two
#: clocks drift apart: less is no evidence.
_LIMIT_S = 1.0
_DRIFT = 200e-6
#: Times of edges that all are whole periods to so much are those of samples.
_GRID_S = 1e-6


class OtiiRecording(StreamRecording):
    """One recording: a thread looks whether it runs, and fetches it at its end."""

    def __init__(
        self,
        link: OtiiLink,
        info: MonitorInfo,
        folder: Path,
        *,
        clock: RecordingClock,
        settings: OtiiSettings,
        project: int,
        device: str,
    ) -> None:
        super().__init__(None, info, folder, clock, settings)
        self._link = link
        self._project = project
        self._device = device
        self._sync = f"i{settings.sync}"
        self._recording_id = -1
        self._ended = False
        self._started_ns = 0
        self._found: dict[str, Any] = {}

    def _begin(self) -> None:
        self._link.request(
            "project_start_recording", _FETCH_S, project_id=self._project
        )
        self._started_ns = self._begun_ns = self._clock.now_ns()
        self._recording_id = self._link.value(
            "project_get_last_recording", "recording_id", project_id=self._project
        )
        self._thread.start()

    def _await_all(self) -> None:
        """Go on until the last edge has been looked at, and its sample sent."""
        self._clock.wait(round(_TAIL_S * NS_PER_S))

    def _findings(self) -> dict[str, Any]:
        return dict(self._found)

    @property
    def _complete(self) -> bool:
        return self._ended

    def _record(self) -> None:
        running = True
        while running and not self._stop.wait(_LOOK_S):
            running = self._is_running()
        stopped_ns = self._clock.now_ns()
        running = running and self._is_running()
        if running:
            self._link.request(
                "project_stop_recording", _FETCH_S, project_id=self._project
            )
        self._ended = True
        self._settle()
        self._fetch()
        if not running:
            raise DeviceLost(
                "the Otii recording has ended before its time",
                evidence="the server says that it does not run",
                try_next=f"{TRY}; what came until then is kept",
            )
        self._require_time((stopped_ns - self._started_ns) / NS_PER_S)
        # The trace has it now; a session of an hour fills the server's memory.
        self._link.request("recording_delete", recording_id=self._recording_id)

    def _drain(self) -> None:
        """Have the server end a recording."""
        with suppress(RigError):
            self._link.request("project_stop_recording", project_id=self._project)

    def _discard(self) -> None:
        """Leave the rest to the server: it holds up no bench."""

    def _is_running(self) -> bool:
        return bool(self._ask("recording_is_running", "running"))

    def _ask(self, name: str, key: str, **more: Any) -> Any:
        return self._link.value(name, key, recording_id=self._recording_id, **more)

    def _count(self, channel: str) -> int:
        about = {"device_id": self._device, "channel": channel}
        return int(self._ask("recording_get_channel_data_count", "count", **about))

    def _settle(self) -> None:
        """Wait until no more samples come."""
        arrived = -1
        end_s = time.monotonic() + _SETTLE_S
        while (count := self._count(CURRENT)) != arrived and time.monotonic() < end_s:
            arrived = count
            time.sleep(_POLL_S)

    def _fetch(self) -> None:
        voltage_v, voltage_at_s, voltage_step_s = self._whole(VOLTAGE)
        began_s = -1.0
        before = 0
        for at_s, step_s, current_a in self._chunks(CURRENT):
            self._require_step(step_s)
            if began_s < 0:
                began_s = at_s
            self._skip_to(round((at_s - began_s) / step_s), before)
            before = self._writer.samples
            times_s = at_s + np.arange(len(current_a)) * step_s
            places = np.floor((times_s - voltage_at_s) / voltage_step_s + 1e-6)
            self._writer.analog(current_a, _held(voltage_v, places.astype(np.int64)))
        if began_s < 0:
            raise BenchError(
                "the Otii recording has no samples of the current",
                evidence=f"{CURRENT} of device {self._device}",
                try_next=TRY,
            )
        self._stamp(began_s)

    def _require_step(self, step_s: float) -> None:
        hz = self._info.sample_hz
        if abs(step_s * hz - 1) > 1e-3:
            raise BenchError(
                f"the Otii recording does not have {hz:g} samples a second",
                evidence=f"the interval of {CURRENT} is {step_s:g} s",
                try_next="sample_hz in the bench file",
            )

    def _skip_to(self, sample: int, before: int) -> None:
        """Note the samples before this one that did not come: somewhere in the piece
        that began at sample `before`, as only its first sample has a time.
        """
        written = self._writer.samples
        missing = sample - written
        if missing < 0:
            raise RemoteProtocolError(
                "the times of the Otii recording go backwards",
                evidence=f"sample {sample} comes {-missing} late",
                try_next=TRY,
            )
        if missing:
            cause = f"{missing} samples are missing, by the times of the server"
            self._writer.gap(Gap(before, written, f"{cause}, somewhere in here"))
            self._writer.skip(missing, cause)

    def _stamp(self, began_s: float) -> None:
        """Write the falling edges of SYNC. Where all of their times are those of
        samples, an edge happened in the period before: its middle is taken.
        """
        falls_s = [fall_s - began_s for fall_s in self._falls()]
        steps_s = (1 / self._info.edge_hz / 2, 1 / self._info.sample_hz)
        grid_s = next(
            (each for each in steps_s if falls_s and _all_on(falls_s, each)), 0.0
        )
        self._found = {"sync_grid_s": grid_s}
        for fall_s in falls_s:
            self._writer.stamp(fall_s - grid_s / 2)

    def _falls(self) -> Iterator[float]:
        """Yield the times of the falling edges; a first value may be that before any
        edge."""
        high = True
        first = True
        count = self._count(self._sync)
        for index in range(0, count, _CHUNK):
            for row in self._data(self._sync, index, min(_CHUNK, count - index)):
                change = read(OtiiChange, row)
                at_rest = first and change.timestamp <= 0
                if high and not change.value and not at_rest:
                    yield change.timestamp
                high = change.value
                first = False

    def _data(self, channel: str, index: int, count: int) -> list[Any]:
        return list(self._part(channel, index, count).get("values", ()))

    def _part(self, channel: str, index: int, count: int) -> dict[str, Any]:
        part: dict[str, Any] = self._link.request(
            "recording_get_channel_data",
            _FETCH_S,
            recording_id=self._recording_id,
            device_id=self._device,
            channel=channel,
            index=index,
            count=count,
        )
        if len(part.get("values", ())) != count:
            raise RemoteProtocolError(
                f"the Otii server does not send what it has of {channel}",
                evidence=f"{len(part.get('values', ()))} of {count} from {index} on",
                try_next=TRY,
            )
        return part

    def _chunks(self, channel: str) -> Iterator[tuple[float, float, Reals]]:
        """Yield time and period (s) and values of each piece of an analog channel."""
        count = self._count(channel)
        for index in range(0, count, _CHUNK):
            part = self._part(channel, index, min(_CHUNK, count - index))
            # JSON has no number that is none: it may be null.
            values = np.array(part.get("values"), dtype=np.float64)
            times = read(OtiiTimes, part)
            yield times.timestamp, times.interval, values

    def _whole(self, channel: str) -> tuple[Reals, float, float]:
        """Return values, time and period of a channel."""
        parts = list(self._chunks(channel))
        if not parts:
            raise BenchError(
                "the Otii recording has no samples of the voltage",
                evidence=f"{channel} of device {self._device}",
                try_next=TRY,
            )
        values = np.concatenate([each[2] for each in parts])
        start_s, period_s, _ = parts[0]
        return values, start_s, period_s

    def _require_time(self, passed_s: float) -> None:
        """Note all as a gap where samples and the host's time do not agree."""
        missing_s = passed_s - self._writer.samples / self._info.sample_hz
        if missing_s > _LIMIT_S + _DRIFT * passed_s:
            cause = (
                f"about {missing_s:.1f} s of samples are missing, by the host's clock,"
                " and where is not known"
            )
            self._writer.gap(Gap(0, self._writer.samples, cause))


def _held(voltage_v: Reals, places: NDArray[np.int64]) -> Reals:
    """Return the voltages at places; a period at either end without one has the next
    one's, and more has none."""
    last = len(voltage_v) - 1
    held = voltage_v[np.clip(places, 0, last)]
    held[(places < -1) | (places > last + 1)] = np.nan
    return held


def _all_on(times_s: list[float], step_s: float) -> bool:
    """Check whether all times are whole steps."""
    steps = np.array(times_s) / step_s
    return bool((np.abs(steps - np.rint(steps)) * step_s < _GRID_S).all())
