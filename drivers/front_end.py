# SPDX-License-Identifier: Apache-2.0
"""The analog front end of simulated instruments: the world's log, seen through a clock
of its own. Only simulators use it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rig.simulation.world import NS_PER_S, World

Floats = NDArray[np.float64]

#: A jitter is cut off there, as a delay has no end otherwise; one of 5e8 is.
_MOST_DEVIATIONS = 6.0


@dataclass(frozen=True)
class AnalogBlock:
    """`count` samples from number `first` on, as the log has them whose states lie
    here; each property is computed when it is first asked for.
    """

    first: int
    count: int
    period_s: float
    per_sample: int
    share: float
    times_s: Floats
    edge_times_s: Floats
    state_power_w: Floats
    state_levels: NDArray[np.uint8]

    @cached_property
    def power_w(self) -> Floats:
        """The mean power of each sample."""
        power_w = self._means(self.times_s, self.state_power_w)
        power_w *= self.share
        return power_w

    @cached_property
    def high(self) -> Floats:
        """The share of each sample that SYNC was high."""
        return self._means(self.edge_times_s, self.state_levels.astype(np.float64))

    @cached_property
    def levels(self) -> NDArray[np.uint8]:
        """The line's levels, `per_sample` to a sample, at its beginning and
        evenly after."""
        per = self.per_sample
        count = self.count * per
        starts = _places(
            self.edge_times_s, self.period_s / per, self.first * per, count
        )
        # The log has no entry before its first state: the line is at rest.
        starts[0] = 0
        return np.repeat(self.state_levels, np.diff(starts, append=count))

    @cached_property
    def falls(self) -> Floats:
        """The falling edges in the block, in samples from the beginning of the
        recording, with their fraction.
        """
        times_s = self.edge_times_s[1:]
        begin_s, end_s = (
            self.first * self.period_s,
            (self.first + self.count) * self.period_s,
        )
        falling = np.diff(self.state_levels.view(np.int8)) < 0
        falls: Floats = (
            times_s[(times_s >= begin_s) & (times_s < end_s) & falling] / self.period_s
        )
        return falls

    def _means(self, times_s: Floats, values: Floats) -> Floats:
        bounds_s = np.arange(self.first, self.first + self.count + 1, dtype=np.float64)
        bounds_s *= self.period_s
        # A value is constant between states, so its integral is a broken line: exact at
        # every boundary.
        areas = np.diff(times_s) * values[:-1]
        integral = np.concatenate([[0.0], np.cumsum(areas)])
        reached = np.interp(bounds_s, times_s, integral)
        beyond = np.searchsorted(bounds_s, times_s[-1])
        reached[beyond:] += (bounds_s[beyond:] - times_s[-1]) * values[-1]
        means: Floats = np.diff(reached)
        means /= self.period_s
        return means


def _places(
    times_s: Floats, step_s: float, first: int, count: int
) -> NDArray[np.int64]:
    """Return how many of `count` instants, number `first` and the next of those that
    lie a step apart, come before each time.
    """
    passed = np.ceil(times_s / step_s) - first
    places: NDArray[np.int64] = np.clip(passed, 0, count).astype(np.int64)
    # A quotient may be rounded to the next whole number.
    places -= (places > 0) & ((first + places - 1) * step_s >= times_s)
    places += (places < count) & ((first + places) * step_s < times_s)
    return places


class FrontEnd:
    """Samples that an ideal converter would take of the log: box means by cumulative
    energy, levels at the sampling instants.

    `clock_ppm`: error of the instrument's clock. `start_ns`: true time of the first
    sample, now unless given. `jitter_s`: standard deviation of the time of an edge,
    limited to six of them; samples are due six of them later. `edge_delay_s`: lag of
    SYNC after power, negative if it leads. `share`: the part of the DUT's power that
    flows through this instrument. The instrument adds gains, offsets, noise and steps
    of its converter. Not thread-safe.
    """

    def __init__(
        self,
        world: World,
        sample_hz: float,
        *,
        clock_ppm: float = 0.0,
        start_ns: int | None = None,
        per_sample: int = 1,
        jitter_s: float = 0.0,
        edge_delay_s: float = 0.0,
        share: float = 1.0,
        random: np.random.Generator | None = None,
    ) -> None:
        self._world = world
        self._per_sample = per_sample
        self._jitter_s = jitter_s
        self._share = share
        self._start_ns = world.now_ns() if start_ns is None else start_ns
        # Delays are relative to the earliest path: an edge is never seen before it
        # happens.
        self._edge_lag_s, self._power_lag_s = (
            max(edge_delay_s, 0.0),
            max(-edge_delay_s, 0.0),
        )
        # A jitter moves an edge into earlier samples, which therefore wait for the log.
        self._margin_s = _MOST_DEVIATIONS * jitter_s
        self._random = random if random is not None else np.random.default_rng(0)
        self.period_s = 1 / (1 + clock_ppm * 1e-6) / sample_hz
        self._at = 0
        self._fetched = 0
        self._times_s: Floats = np.zeros(0)
        self._edge_times_s: Floats = np.zeros(0)
        self._power_w: Floats = np.zeros(0)
        self._levels: NDArray[np.uint8] = np.zeros(0, dtype=np.uint8)
        self._late: list[tuple[int, int]] = []

    @property
    def at(self) -> int:
        """The number of the next sample."""
        return self._at

    def due(self, horizon_ns: int) -> int:
        """Return how many samples end before `horizon_ns`, a true time, and have not
        been taken."""
        complete_s = (horizon_ns - self._start_ns) / NS_PER_S - self._margin_s
        return max(int(complete_s / self.period_s) - self._at, 0)

    def take(self, count: int) -> AnalogBlock:
        """Return the next `count` samples; they must be due."""
        self._fetch()
        block = AnalogBlock(
            first=self._at,
            count=count,
            period_s=self.period_s,
            per_sample=self._per_sample,
            share=self._share,
            times_s=self._times_s,
            edge_times_s=self._edge_times_s,
            state_power_w=self._power_w,
            state_levels=self._levels,
        )
        self._at += count
        self._forget(self._at * self.period_s)
        return block

    def skip(self, count: int) -> None:
        """Leave out samples, as an instrument does that loses them."""
        self._fetch()
        self._at += count
        self._forget(self._at * self.period_s)

    def late(self) -> Iterator[tuple[int, int]]:
        """Return and clear the spans of samples that were taken before the log had a
        state in them. At the end of a recording no later sample would show these."""
        self._fetch()
        late = self._late
        self._late = []
        yield from late

    def _fetch(self) -> None:
        states = self._world.states(self._fetched)
        if not states:
            return
        times_s = np.array(
            [(state.time_ns - self._start_ns) / NS_PER_S for state in states]
        )
        first = int(times_s[0] / self.period_s)
        if self._fetched and first < self._at:
            self._late.append((first, self._at))
        self._fetched += len(states)
        jitter_s = self._jitters_s(len(states))
        self._times_s = np.concatenate([self._times_s, times_s + self._power_lag_s])
        self._edge_times_s = np.maximum.accumulate(
            np.concatenate([self._edge_times_s, times_s + self._edge_lag_s + jitter_s])
        )
        self._power_w = np.concatenate(
            [self._power_w, [state.power_w for state in states]]
        )
        levels = np.array([state.level for state in states], dtype=np.uint8)
        self._levels = np.concatenate([self._levels, levels])

    def _jitters_s(self, count: int) -> Floats:
        if not self._jitter_s:
            return np.zeros(count)
        deviations = self._random.standard_normal(count)
        return self._jitter_s * np.clip(deviations, -_MOST_DEVIATIONS, _MOST_DEVIATIONS)

    def _forget(self, before_s: float) -> None:
        """Drop states that no later sample needs; the last one before `before_s` stays,
        and one exactly there: its edge is to come.
        """
        needed_to_s = np.maximum(self._times_s, self._edge_times_s)
        past = int(np.searchsorted(needed_to_s, before_s, side="left"))
        keep = max(past - 1, 0)
        self._times_s = self._times_s[keep:]
        self._edge_times_s = self._edge_times_s[keep:]
        self._power_w = self._power_w[keep:]
        self._levels = self._levels[keep:]
