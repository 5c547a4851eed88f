# SPDX-License-Identifier: Apache-2.0
"""The analog front end of simulated instruments: the world's log, seen through a clock of its own.
Only simulators use it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rig.simulation.world import NS_PER_S, World


@dataclass(frozen=True, slots=True)
class AnalogBlock:
    """`count` samples from number `first` on: mean power (W) of each, the share of it that SYNC was
    high, and the line's levels.

    `levels` has `per_sample` entries a sample, at its beginning and evenly after. `falls` are
    falling edges in the block, in samples from the beginning of the recording, with their fraction.
    """

    first: int
    power_w: NDArray[np.float64]
    high: NDArray[np.float64]
    levels: NDArray[np.uint8]
    falls: NDArray[np.float64]


class FrontEnd:
    """Turns the log into what an ideal converter would see: box means by cumulative energy, levels
    at the sampling instants.

    `clock_ppm`: how fast the instrument's clock is. `start_ns`: true time of the first sample, now
    unless given. `jitter_s`: standard deviation of the moment at which an edge is seen.
    `edge_delay_s`: how much later SYNC is seen than power, or earlier where it is negative.
    `share`: the part of the DUT's power that flows through this instrument. Gains, offsets, noise
    and steps of a converter are for the instrument to add. One thread calls it.
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
        # Nothing is seen before it happens: the path that is ahead has no delay.
        self._edge_lag_s, self._power_lag_s = max(edge_delay_s, 0.0), max(-edge_delay_s, 0.0)
        self._random = random if random is not None else np.random.default_rng(0)
        self.period_s = 1 / (1 + clock_ppm * 1e-6) / sample_hz
        self._at = 0
        self._fetched = 0
        self._times_s: NDArray[np.float64] = np.zeros(0)
        self._edge_times_s: NDArray[np.float64] = np.zeros(0)
        self._power_w: NDArray[np.float64] = np.zeros(0)
        self._levels: NDArray[np.uint8] = np.zeros(0, dtype=np.uint8)
        self._late: list[tuple[int, int]] = []

    @property
    def at(self) -> int:
        """Return the number of the next sample."""
        return self._at

    def due(self, horizon_ns: int) -> int:
        """Return how many samples end before `horizon_ns`, a true time, and have not been taken."""
        return max(int((horizon_ns - self._start_ns) / NS_PER_S / self.period_s) - self._at, 0)

    def take(self, count: int) -> AnalogBlock:
        """Return the next `count` samples; they must be due."""
        self._fetch()
        bounds_s: NDArray[np.float64] = (
            self._at + np.arange(count + 1, dtype=np.float64)
        ) * self.period_s
        power_w = self._means(bounds_s, self._times_s, self._power_w) * self._share
        high = self._means(bounds_s, self._edge_times_s, self._levels.astype(np.float64))
        instants_s = (self._at * self._per_sample + np.arange(count * self._per_sample)) * (
            self.period_s / self._per_sample
        )
        # Before its first state the log says nothing: the line is at rest.
        levels = self._levels[
            np.maximum(np.searchsorted(self._edge_times_s, instants_s, side="right") - 1, 0)
        ]
        inside = (self._edge_times_s[1:] >= bounds_s[0]) & (self._edge_times_s[1:] < bounds_s[-1])
        falls = (
            self._edge_times_s[1:][inside & (np.diff(self._levels.view(np.int8)) < 0)]
            / self.period_s
        )
        first = self._at
        self._at = self._at + count
        self._forget(float(bounds_s[-1]))
        return AnalogBlock(first, power_w, high, levels, falls)

    def skip(self, count: int) -> None:
        """Leave out samples, as an instrument does that loses them."""
        self._fetch()
        self._at += count
        self._forget(self._at * self.period_s)

    def late(self) -> Iterator[tuple[int, int]]:
        """Return and forget spans of samples that had been taken before the log told of a state in
        them; at the end of a recording too, where no sample follows that would show it.
        """
        self._fetch()
        late = self._late
        self._late = []
        yield from late

    def _means(
        self,
        bounds_s: NDArray[np.float64],
        times_s: NDArray[np.float64],
        values: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        # A value is constant between states, so its integral is a broken line: exact at every
        # boundary.
        integral = np.concatenate([[0.0], np.cumsum(np.diff(times_s) * values[:-1])])
        beyond = np.clip(bounds_s - times_s[-1], 0.0, None) * values[-1]
        means: NDArray[np.float64] = (
            np.diff(np.interp(bounds_s, times_s, integral) + beyond) / self.period_s
        )
        return means

    def _fetch(self) -> None:
        states = self._world.states(self._fetched)
        if not states:
            return
        times_s = np.array([(state.time_ns - self._start_ns) / NS_PER_S for state in states])
        first = int(times_s[0] / self.period_s)
        if self._fetched and first < self._at:
            self._late.append((first, self._at))
        self._fetched += len(states)
        jitter_s = (
            self._jitter_s * self._random.standard_normal(len(states)) if self._jitter_s else 0.0
        )
        self._times_s = np.concatenate([self._times_s, times_s + self._power_lag_s])
        self._edge_times_s = np.maximum.accumulate(
            np.concatenate([self._edge_times_s, times_s + self._edge_lag_s + jitter_s])
        )
        self._power_w = np.concatenate([self._power_w, [state.power_w for state in states]])
        self._levels = np.concatenate(
            [self._levels, np.array([state.level for state in states], dtype=np.uint8)]
        )

    def _forget(self, before_s: float) -> None:
        """Drop states that no later sample needs; the last one before `before_s` stays, and one
        exactly there: its edge is to come.
        """
        keep = max(
            int(
                np.searchsorted(
                    np.maximum(self._times_s, self._edge_times_s), before_s, side="left"
                )
            )
            - 1,
            0,
        )
        self._times_s = self._times_s[keep:]
        self._edge_times_s = self._edge_times_s[keep:]
        self._power_w = self._power_w[keep:]
        self._levels = self._levels[keep:]
