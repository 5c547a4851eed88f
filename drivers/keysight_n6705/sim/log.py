# SPDX-License-Identifier: Apache-2.0
"""The external data log of the simulated N6705: what its modules measure of a simulated
table, in a buffer of 20 s.

In a live world the buffer runs over when it is not fetched; in a virtual one it fills
and the rest waits, since its time is not the client's.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from drivers.front_end import FrontEnd
from drivers.keysight_n6705.sim.module import Channel
from drivers.keysight_n6705.sim.scpi import CONFLICT, STALE, ScpiError
from drivers.keysight_n6705.sim.settings import N6705SimulatorSettings
from rig.simulation.world import NS_PER_S, World

Floats = NDArray[np.float64]

_STEP_S = 20.48e-6
_PARAMETER_S = 102.4e-6
#: Numbers as text take the instrument about this much longer.
_ASCII_TIMES = 5
_CHUNK = 20_000
_BACKLOG = 100_000
_OVERLOAD = 9.9e37
#: A client that has not fetched for so long does not hold virtual time any more; a
#: horizon is not waited for longer than that.
_TIMEOUT_S = 2.0
_HORIZON_S = 1.0


class SimulatedLog:
    """All channels' logs; calls come from the server's thread, but for the one that
    holds virtual time.
    """

    def __init__(
        self,
        errors: N6705SimulatorSettings,
        world: World,
        channels: list[Channel],
        seed: int,
    ) -> None:
        self._errors = errors
        self._world = world
        self._channels = channels
        self._seed = seed
        self._faults = errors.faults
        self._starts = 0
        self._begun_ns: int | None = None
        self._dropped = False
        self._queued: list[str] = []
        self._pins: dict[int, str] = {}
        self._polarities: dict[int, str] = {}
        self._changed = threading.Condition()
        self._heard = time.monotonic()
        self._end_watch: Callable[[], None] = lambda: None

    def is_on(self, channel: Channel, name: str, hidden: bool) -> bool:
        """Check whether a function is logged, as a query reports it."""
        return name in channel.functions or (
            not hidden
            and not channel.dut
            and not channel.sync
            and self._faults.stuck > 0
        )

    def told_period_s(self, channel: Channel, real: bool) -> float:
        """Return the period as a query reports it."""
        return self._period_s(
            channel, real, 0 if self._faults.stuck_hidden else self._faults.stuck
        )

    def initiate(self, channels: list[Channel], real: bool) -> None:
        """Make channels wait for their trigger."""
        self._starts += 1
        self._begun_ns = None
        for channel in channels:
            if not channel.functions:
                raise ScpiError(CONFLICT)
            channel.state = "waiting"
            channel.front_end = None
            channel.lost = False
            channel.record_s = self._period_s(channel, real, self._faults.stuck)
            channel.fifo = np.zeros((0, self._width(channel)))
            seeds = f"{self._seed} {self._errors.seed} {channel.number} {self._starts}"
            random = np.random.default_rng(list(f"n6705 {seeds}".encode()))
            # A generator of its own, so that a seed yields the same records for any
            # sequence of fetches.
            channel.noise, channel.sync_noise = random.spawn(2)
            if channel.source.startswith(("EXT", "PIN")):
                channel.trigger_ns = self._world.now_ns()
                channel.trigger = FrontEnd(
                    self._world,
                    1 / _STEP_S,
                    clock_ppm=self._errors.clock_ppm,
                    start_ns=channel.trigger_ns,
                )
        if any(channel.source == "IMM" for channel in channels):
            self.trigger([channel for channel in channels if channel.source == "IMM"])
        self._end_watch()
        self._end_watch = self._world.watch(self._hold)

    def trigger(self, channels: list[Channel]) -> None:
        """Start the logs that wait, at the same instant."""
        self._start(
            [channel for channel in channels if channel.state == "waiting"],
            self._world.now_ns(),
        )

    def abort(self, channels: list[Channel]) -> None:
        """End logs; their records stay in the buffer."""
        if any(channel.state == "running" for channel in channels):
            self.catch_up(wait=True)
        for channel in channels:
            channel.state = "idle"
        if all(channel.state == "idle" for channel in self._channels):
            self._end_watch()
        with self._changed:
            self._changed.notify_all()

    def release(self) -> None:
        """Let virtual time go: the client is gone."""
        self._end_watch()
        with self._changed:
            self._heard = 0.0
            self._changed.notify_all()

    def fetch(self, channel: Channel, count: int) -> Floats:
        """Take up to `count` records, current before voltage; raises Refusal where
        there has been no log.
        """
        if channel.state == "idle" and channel.front_end is None:
            raise ScpiError(STALE)
        self.catch_up()
        with self._changed:
            taken = channel.fifo[:count]
            channel.fifo = channel.fifo[count:]
            self._heard = time.monotonic()
            self._changed.notify_all()
        if channel.state == "running" and len(taken) < count:
            self._measure(channel, self._world.horizon_ns())
            with self._changed:
                more = channel.fifo[: count - len(taken)]
                channel.fifo = channel.fifo[count - len(taken) :]
            taken = np.concatenate([taken, more])
        return taken.ravel()

    def take_error(self) -> str:
        """Return the next error that the log itself has put into the queue, empty if
        there is none."""
        return self._queued.pop(0) if self._queued else ""

    def dropped(self) -> bool:
        """Check whether the connection has ended by now: once, unless the instrument
        stays away."""
        at_s = self._faults.drop_at_s
        if (
            not at_s
            or self._begun_ns is None
            or (self._world.now_ns() - self._begun_ns) / NS_PER_S < at_s
        ):
            return False
        before = self._dropped
        self._dropped = True
        return not before or self._faults.stays_away

    def set_pin(self, pin: int, function: str) -> None:
        """Set the function of a pin of the digital port."""
        self._pins[pin] = function

    def set_polarity(self, pin: int, polarity: str) -> None:
        """Set which edge of a pin of the digital port counts."""
        self._polarities[pin] = polarity

    def catch_up(self, wait: bool = False) -> None:
        """Measure all samples that are due; `wait` until the log of a live world is
        complete up to now."""
        if wait and self._world.live:
            now_ns = self._world.now_ns()
            deadline_s = time.monotonic() + _HORIZON_S
            while self._world.horizon_ns() < now_ns and time.monotonic() < deadline_s:
                time.sleep(0.005)
        # One horizon for all: channels that end together have measured equally long.
        horizon_ns = self._world.horizon_ns()
        self._look_for_triggers(horizon_ns)
        for channel in self._channels:
            if channel.state == "running":
                self._measure(channel, horizon_ns)

    def _period_s(self, channel: Channel, real: bool, stuck: int) -> float:
        parameters = stuck
        for logged in self._channels:
            ends = [name for name in logged.functions if "MINM" in name]
            parameters += len(logged.functions) + len(ends)
        least_s = _PARAMETER_S * parameters * (1 if real else _ASCII_TIMES)
        return round(max(channel.period_s, least_s) / _STEP_S) * _STEP_S

    def _width(self, channel: Channel) -> int:
        width = 0
        for name in ("CURR", "VOLT"):
            if name in channel.functions:
                width += 3 if f"{name}:MINM" in channel.functions else 1
        return width

    def _start(self, channels: list[Channel], at_ns: int) -> None:
        points = {channel.number: self._points(channel) for channel in channels}
        for channel in channels:
            channel.state = "running"
            self._begun_ns = at_ns
            channel.front_end = FrontEnd(
                self._world,
                1 / channel.record_s,
                clock_ppm=self._errors.clock_ppm,
                start_ns=at_ns,
                per_sample=max(2 * points[channel.number], 1),
                edge_delay_s=self._errors.edge_delay_s,
                share=0.0 if self._errors.fed_v else self._errors.share,
            )

    def _points(self, channel: Channel) -> int:
        return (
            round(channel.record_s / self._errors.point_s)
            if self._errors.point_s and channel.sync
            else 0
        )

    def _look_for_triggers(self, horizon_ns: int) -> None:
        for channel in self._channels:
            while channel.state == "waiting" and channel.trigger is not None:
                count = min(channel.trigger.due(horizon_ns), _CHUNK)
                if not count:
                    break
                self._trigger_at(channel, channel.trigger, count)

    def _trigger_at(self, channel: Channel, trigger: FrontEnd, count: int) -> None:
        """Look for the first falling edge among the next points; the log begins with a
        point, after the latency.
        """
        if channel.source.startswith("PIN"):
            pin = int(channel.source[3:])
            if (self._pins.get(pin), self._polarities.get(pin)) != ("TINP", "NEG"):
                trigger.skip(count)
                return
        falls = trigger.take(count).falls
        if len(falls):
            at = np.ceil(falls[0] + self._errors.trigger_s / trigger.period_s)
            self._start(
                [channel],
                channel.trigger_ns + round(float(at) * trigger.period_s * NS_PER_S),
            )

    def _measure(self, channel: Channel, horizon_ns: int) -> None:
        front_end = channel.front_end
        assert front_end is not None
        room = max(round(self._errors.fifo_s / channel.record_s), 1)
        while True:
            due = front_end.due(horizon_ns)
            count = min(
                due,
                _CHUNK if self._world.live else min(_CHUNK, room - len(channel.fifo)),
            )
            if count <= 0:
                return
            rows = self._records(channel, front_end, count)
            with self._changed:
                channel.fifo = np.concatenate([channel.fifo, rows])[-room:]

    def _records(self, channel: Channel, front_end: FrontEnd, count: int) -> Floats:
        errors = self._errors
        first = front_end.at
        block = front_end.take(count)
        volt, current = channel.supply(block.power_w)
        if channel.dut and not channel.live:
            volt += self._errors.fed_v
        self._trip(channel, first, volt, current)
        volt = volt * (1 + errors.voltage_gain)
        current = (
            current * (1 + errors.gain)
            + errors.offset_a
            + errors.noise_a * channel.noise.standard_normal(count)
        )
        if channel.sync and (channel.input == "AUX" or channel.emulation == "VMET"):
            points = self._points(channel)
            # Of two levels a point the second: a point is taken in its middle.
            if points:
                share = block.levels.reshape(count, 2 * points)[:, 1::2].mean(axis=1)
            else:
                share = block.high
            volt = (
                share * errors.sync_high_v
                + errors.sync_noise_v * channel.sync_noise.standard_normal(count)
            )
        current[np.abs(current) > 1.05 * channel.range_a] = _OVERLOAD
        measured = {"CURR": current, "VOLT": volt}
        self._overload(channel, first, measured)
        columns: list[Floats] = []
        for name in reversed(measured) if self._faults.columns_swapped else measured:
            if name in channel.functions:
                columns += [measured[name]] * (
                    3 if f"{name}:MINM" in channel.functions else 1
                )
        return self._overwritten(channel, first, np.stack(columns, axis=1))

    def _trip(
        self,
        channel: Channel,
        first: int,
        volt: Floats,
        current: Floats,
    ) -> None:
        at = round(self._faults.trip_at_s / channel.record_s) - first
        if channel.dut and channel.live and self._faults.trip_at_s and at < len(volt):
            volt[max(at, 0) :] = current[max(at, 0) :] = 0.0
            channel.trip()
            self._world.supply_on = False

    def _overload(
        self, channel: Channel, first: int, measured: dict[str, Floats]
    ) -> None:
        faults = self._faults
        if faults.overload_records and (
            channel.sync if faults.overload_of == "sync" else channel.dut
        ):
            begin = round(faults.overload_at_s / channel.record_s) - first
            values = measured["CURR" if faults.overload_of == "current" else "VOLT"]
            values[max(begin, 0) : max(begin + faults.overload_records, 0)] = float(
                faults.overload_as
            )

    def _overwritten(self, channel: Channel, first: int, rows: Floats) -> Floats:
        """Leave out the records that a buffer which ran over has lost."""
        faults = self._faults
        at = round(self._faults.lose_at_s / channel.record_s)
        if (
            not faults.lose_records
            or channel.number not in faults.lose_of
            or first + len(rows) <= at
        ):
            return rows
        if faults.lose_error and not channel.lost and channel.dut:
            self._queued.append(faults.lose_error)
        channel.lost = True
        numbers = np.arange(first, first + len(rows))
        return rows[(numbers < at) | (numbers >= at + faults.lose_records)]

    def _hold(self) -> None:
        """Hold virtual time until few records are left to fetch."""
        with self._changed:
            while any(
                self._behind(channel) > _BACKLOG
                for channel in self._channels
                if channel.state == "running"
            ):
                if (
                    time.monotonic() - self._heard > _TIMEOUT_S
                    or not self._changed.wait(_TIMEOUT_S)
                ):
                    return

    def _behind(self, channel: Channel) -> int:
        front_end = channel.front_end
        return len(channel.fifo) + (
            front_end.due(self._world.horizon_ns()) if front_end is not None else 0
        )
