# SPDX-License-Identifier: Apache-2.0
"""Record one channel of a Xylo board's ADC: its events as samples of mean power on an
even grid."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from drivers.host_counters.recording import (
    CounterClock,
    CounterRecording,
    NamedChannel,
    Polling,
)
from drivers.xylo_board.events import ChannelEvents
from rig.errors import BenchError, DeviceLost
from rig.simulation.world import NS_PER_S

#: So many periods, and at least so long, without an event: they have stopped.
_STUCK_PERIODS = 10
_STUCK_S = 1.0


class XyloRecording(CounterRecording):
    """One recording: a thread that takes the events as they come; each value is held
    since the event before. `tied` is called once the clocks are.
    """

    def __init__(
        self,
        events: ChannelEvents,
        clock: CounterClock,
        polling: Polling,
        folder: Path,
        names: tuple[str, str],
        about: dict[str, Any],
        shift_limit_s: float,
        tied: Callable[[], None],
    ) -> None:
        super().__init__(
            counter=NamedChannel(names[0]),
            clock=clock,
            polling=polling,
            folder=folder,
            source=names[0],
            serial=names[1],
            about=about,
        )
        self._events = events
        self._shift_limit_ns = shift_limit_s * NS_PER_S
        self._stuck_ns = round(
            max(_STUCK_PERIODS / polling.poll_hz, _STUCK_S) * NS_PER_S
        )
        self._before_ns: int | None = None
        self._count = events.count
        self._news_ns = 0
        self._from_ns = 0
        self._period_ns = NS_PER_S // polling.poll_hz
        self._tied = tied

    def _poll(self) -> None:
        now_ns = self._clock.read_ns()
        if not self._news_ns:
            self._news_ns = now_ns
        came = self._events.new()
        if self._events.count > self._count:
            self._count = self._events.count
            self._news_ns = now_ns
        if came:
            self._require_tie()
            # Events from before the clocks were attached are no part of the recording.
            self._from_ns = self._from_ns or max(
                self._start_ns, now_ns - 2 * self._period_ns
            )
        elif now_ns - self._news_ns > self._stuck_ns:
            self._say_what_is_missing((now_ns - self._news_ns) / NS_PER_S)
        for time_ns, watts in came:
            before_ns = self._before_ns
            if before_ns is not None and time_ns <= before_ns:
                continue
            self._before_ns = time_ns
            if time_ns < self._from_ns:
                continue
            if before_ns is not None and self._writer is not None:
                self._energy_j += watts * (time_ns - before_ns) / NS_PER_S
            self._put(time_ns)

    def _require_tie(self) -> None:
        tie = self._events.tie
        if tie is not None and tie.stamped and tie.half_width_ns > self._shift_limit_ns:
            raise BenchError(
                "the board's stopwatch and this host's clock cannot be tied well"
                " enough",
                evidence=(
                    f"within {tie.half_width_ns / 1e6:.1f} ms, from the command that"
                    " starts the stopwatch and the earliest event; the limit is"
                    f" {self._shift_limit_ns / 1e6:g} ms"
                ),
                try_next=(
                    "a USB port without a hub and a less busy host; or a larger "
                    "shift_limit_s, which makes energies less certain"
                ),
            )
        self._tied()

    def _say_what_is_missing(self, waited_s: float) -> None:
        events = self._events
        if not events.header:
            raise BenchError(
                "no worker writes power events",
                evidence=f"nothing for {waited_s:.1f} s",
                try_next=(
                    '[sut.xylo] with board = "attached" or "simulated", and the same'
                    " events file as this rail"
                ),
            )
        if not events.count and events.others:
            raise BenchError(
                "the board's ADC tells nothing of this channel",
                evidence=(
                    f"{events.others} events of other channels in {waited_s:.1f} s"
                ),
                try_next="another channel; is it in this board's documents?",
            )
        raise DeviceLost(
            "the board's power events have stopped",
            evidence=f"none for {waited_s:.1f} s, after {events.count}",
            try_next="is the worker alive, and the board plugged in? measure again",
        )
