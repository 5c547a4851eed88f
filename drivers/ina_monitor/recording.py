# SPDX-License-Identifier: Apache-2.0
"""One measurement of an ina_monitor: its lines become a trace."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import numpy as np

from drivers.ina_monitor.chips import InaChip, VoltageRange
from drivers.ina_monitor.link import ANSWER_S, TRY, InaLink, content
from drivers.ina_monitor.settings import InaMonitorSettings
from drivers.stream_recording import RecordingClock, StreamRecording
from rig.errors import BenchError, DeadlineError, RemoteProtocolError
from rig.interfaces.monitor import MonitorInfo

#: The firmware counts time in steps of so much.
STEP_S = 0.5e-6
_SILENCE_S = 3.0
_SAMPLE = re.compile(r"d([0-9A-F]{8})([0-9A-F]{6})([0-9A-F]{6})")
_UNREAD = re.compile(r"i([0-9A-F]{8})")
_EDGE = re.compile(r"e([0-9A-F]{10})")
_END = re.compile(r"x([0-9A-F]{8})")
BEYOND = "beyond the measuring range"


class InaRecording(StreamRecording):
    """One measurement: a thread that takes the lines apart and appends them to the
    trace. Samples are numbered, and damaged lines are dropped: a number that is missing
    is a gap.
    """

    def __init__(
        self,
        link: InaLink,
        info: MonitorInfo,
        folder: Path,
        *,
        clock: RecordingClock,
        settings: InaMonitorSettings,
        chip: InaChip,
        row: VoltageRange,
        start: str,
    ) -> None:
        super().__init__(link, info, folder, clock, settings)
        self._link = link
        self._shunt_ohm = settings.shunt_ohm
        self._chip = chip
        self._row = row
        self._start = start
        self._rest = b""
        self._registers: list[tuple[int, int]] = []
        self._damaged = 0
        self._ended = False

    def _begin(self) -> None:
        self._link.command(self._start)
        self._begun_ns = self._clock.now_ns()
        self._thread.start()

    def _findings(self) -> dict[str, Any]:
        return {"damaged_lines": self._damaged, "end_told": self._ended}

    @property
    def _complete(self) -> bool:
        return self._ended

    def _record(self) -> None:
        heard_s = time.monotonic()
        while not self._stop.is_set():
            heard_s = self._take(heard_s)
            # The time of a simulated device may stand still.
            if time.monotonic() - heard_s > _SILENCE_S and not self._info.simulated:
                raise DeadlineError("samples of the board", _SILENCE_S, try_next=TRY)
        self._link.send("x")
        heard_s = time.monotonic()
        while not self._ended:
            heard_s = self._take(heard_s)
            if time.monotonic() - heard_s > ANSWER_S:
                raise DeadlineError("end of the samples", ANSWER_S, try_next=TRY)

    def _take(self, heard_s: float) -> float:
        """Take the next lines; return when the last byte came."""
        block = self._link.stream()
        *lines, self._rest = (self._rest + block).split(b"\n")
        for line in lines:
            self._line(content(line))
        self._flush()
        return time.monotonic() if block else heard_s

    def _line(self, text: str | None) -> None:
        if text is None:
            self._damaged += 1
        elif match := _SAMPLE.fullmatch(text):
            self._reach(int(match[1], 16))
            self._registers.append((int(match[2], 16), int(match[3], 16)))
        elif match := _UNREAD.fullmatch(text):
            self._reach(int(match[1], 16))
            self._flush()
            self._writer.skip(1, "the chip did not acknowledge")
        elif match := _EDGE.fullmatch(text):
            self._writer.stamp(int(match[1], 16) * STEP_S)
        elif match := _END.fullmatch(text):
            self._reach(int(match[1], 16))
            self._ended = True
        elif text == "m":
            raise BenchError(
                "SYNC edges came faster than the board takes them",
                try_next="a longer sync_period_us; a wire without noise",
            )

    def _reach(self, number: int) -> None:
        """Note the samples before this one that did not come."""
        missing = number - self._writer.samples - len(self._registers)
        if missing < 0:
            raise RemoteProtocolError(
                "the board counts its samples backwards",
                evidence=f"sample {number} comes {-missing} late",
                try_next=TRY,
            )
        if missing:
            self._flush()
            self._writer.skip(missing, f"{missing} samples by the board's counter")

    def _flush(self) -> None:
        if not self._registers:
            return
        shunt, bus = np.array(self._registers, dtype=np.int64).T
        self._registers = []
        shunt_v = self._chip.shunt_v(shunt, self._row)
        # A register at its end holds any voltage from there on.
        last_v = self._row.end_v - self._row.step_v
        shunt_v[np.abs(shunt_v) >= last_v] = np.nan
        self._writer.analog(
            shunt_v / self._shunt_ohm, self._chip.bus_v(bus), unreadable=BEYOND
        )
        self._began.set()
