# SPDX-License-Identifier: Apache-2.0
"""Propagation of window errors to metrics by finite differences (GUM 5.1.3). Pure.

It holds for any scenario, as it makes no assumption on how metrics are computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from rig.arrays import Bools, Float64s, Int64s
from rig.model.columns import MeasuredColumns
from rig.model.metric import Metric, Statistic
from rig.model.trial import Measured, Sample, Varied, Window

Summarise = Callable[[Measured], Mapping[str, Metric]]


@dataclass(frozen=True, slots=True, eq=False)
class Movable:
    """The windows of some groups ("samples", "idles", "streams") of a trial in a row:
    their latencies, energies (NaN where there is none), and the `names` of phases,
    which `phases` refers to. `columns` gives those of the trial.
    """

    measured: Measured
    groups: Sequence[str]
    columns: Callable[[], MeasuredColumns]
    windows: Sequence[Window]
    latency_s: Float64s
    energy_j: Float64s
    names: Sequence[str]
    phases: Int64s

    @classmethod
    def of(
        cls,
        measured: Measured,
        groups: Sequence[str],
        columns: Callable[[], MeasuredColumns],
    ) -> Movable:
        """Collect the windows of these groups."""
        windows = windows_of(measured, groups)
        energies_j = [window.energy_j for window in windows]
        numbers: dict[str, int] = {}
        phases = [numbers.setdefault(window.phase, len(numbers)) for window in windows]
        return cls(
            measured=measured,
            groups=groups,
            columns=columns,
            windows=windows,
            latency_s=np.array([window.latency_s for window in windows], np.float64),
            energy_j=np.array(energies_j, np.float64),
            names=list(numbers),
            phases=np.array(phases, np.int64),
        )

    def moved(self, by_s: Float64s, by_j: Float64s) -> Varied:
        """Return the trial with other latencies and energies of its windows."""
        latency_s = self.latency_s + by_s
        energy_j = self.energy_j + by_j
        columns = partial(self._moved_columns, latency_s, energy_j)
        return Varied(
            whole=partial(_moved, self.measured, self.groups, latency_s, energy_j),
            columns=columns,
        )

    def _moved_columns(
        self, latency_s: Float64s, energy_j: Float64s
    ) -> MeasuredColumns:
        columns = self.columns()
        at = 0
        tables = {"samples": columns.samples, "idles": columns.idles}
        moved: dict[str, Any] = {}
        for group, table in tables.items():
            if group in self.groups:
                part = slice(at, at + table.latency_s.size)
                moved[group] = table.moved(latency_s[part], energy_j[part])
                at = part.stop
        streams = len(self.measured.streams) if "streams" in self.groups else 0
        if at + streams != len(latency_s):
            raise ValueError("samples with crossings, or of streams, have no columns")
        return replace(columns, **moved)


@dataclass(frozen=True, slots=True)
class Moving:
    """A component of the effects on windows, and the metrics that it moves."""

    movable: Movable
    metrics: Mapping[str, Metric]
    summarise: Summarise
    component: str

    def deltas(self, by_s: Float64s, by_j: Float64s) -> dict[str, float]:
        """Compute the change of each metric when every window's latency and energy
        change by these.
        """
        shifted = self.summarise(self.movable.moved(by_s, by_j))
        return {
            name: shifted[name].value - metric.value
            for name, metric in self.metrics.items()
        }

    def effects(self) -> tuple[Float64s, Float64s, Bools]:
        """Return the component's effects on latency and energy of each window, and
        which windows have any.
        """
        found = [
            window.effects.of.get(self.component) for window in self.movable.windows
        ]
        latencies_s = [effect.latency_s if effect else 0.0 for effect in found]
        energies_j = [effect.energy_j if effect else 0.0 for effect in found]
        effects_s = np.array(latencies_s, np.float64)
        effects_j = np.array(energies_j, np.float64)
        known = np.array([effect is not None for effect in found], np.bool_)
        return effects_s, effects_j, known

    def count(self, metric: Metric) -> int:
        """Return the number of windows in a metric, which may depend on some samples
        only; one window decides a percentile.
        """
        if metric.statistic is Statistic.PERCENTILE:
            return 1
        groups = self.movable.groups
        windows = len(getattr(self.movable.measured, groups[0]))
        return max(min(windows, metric.n), 1) if "samples" in groups else windows


def correlated(moving: Moving) -> dict[str, float]:
    """Propagate one error that is common to all windows, with the size of each window's
    effect.
    """
    effects_s, effects_j, _ = moving.effects()
    return moving.deltas(effects_s, effects_j)


def independent(moving: Moving) -> dict[str, float]:
    """Propagate errors u that are independent between windows: the root of the sum of
    (c * u)**2, with the sensitivity c of the metric to each window (GUM 5.1.2).

    A mean, a sum and a ratio of sums have the same c for all their windows of one
    phase. The sum is therefore c times the metric's change if each window changes by
    u**2, and c is its change if all windows change by one, divided by their number.
    "samples", "idles" and "streams" must be moved separately.
    """
    effects_s, effects_j, known = moving.effects()
    phases = moving.movable.phases
    squares = dict.fromkeys(moving.metrics, 0.0)
    for phase in dict.fromkeys(phases[known].tolist()):
        of_phase = phases == phase
        concerned = of_phase & known
        unit_s = _largest(effects_s[concerned])
        unit_j = _largest(effects_j[concerned])
        by_squares = moving.deltas(
            _squared(effects_s, concerned, unit_s),
            _squared(effects_j, concerned, unit_j),
        )
        by_units = moving.deltas(
            np.where(of_phase, unit_s, 0.0), np.where(of_phase, unit_j, 0.0)
        )
        for name, metric in moving.metrics.items():
            squares[name] += abs(by_squares[name] * by_units[name]) / moving.count(
                metric
            )
    return {name: math.sqrt(square) for name, square in squares.items()}


def windows_of(measured: Measured, groups: Sequence[str]) -> list[Window]:
    """Return all windows of some groups."""
    windows: list[Window] = []
    if "samples" in groups:
        for sample in measured.samples:
            windows += sample.windows
            windows += [
                crossing.window
                for crossing in sample.crossings
                if crossing.window is not None
            ]
            windows += (
                [sample.hop.response, sample.hop.since_onset]
                if sample.hop is not None
                else []
            )
    if "idles" in groups:
        windows += measured.idles
    if "streams" in groups:
        windows += [stream.whole for stream in measured.streams]
    return windows


def _largest(effects: Float64s) -> float:
    """Return the size of the largest effect that is a number."""
    return float(np.fmax.reduce(np.abs(effects), initial=0.0))


def _squared(effects: Float64s, concerned: Bools, unit: float) -> Float64s:
    """Square some effects, in units of the largest; the others are 0."""
    squares = np.zeros(len(effects))
    if unit:
        # Not of NumPy, whose squares differ in the last digit now and then.
        squares[concerned] = [
            effect**2 / unit for effect in effects[concerned].tolist()
        ]
    return squares


def _moved(
    measured: Measured, groups: Sequence[str], latency_s: Float64s, energy_j: Float64s
) -> Measured:
    """Return a trial with other latencies and energies, ordered as by `windows_of`."""
    numbers = zip(latency_s.tolist(), energy_j.tolist(), strict=True)
    if "samples" in groups:
        samples = tuple(_sample(sample, numbers) for sample in measured.samples)
        measured = replace(measured, samples=samples)
    if "idles" in groups:
        idles = tuple(_window(window, numbers) for window in measured.idles)
        measured = replace(measured, idles=idles)
    if "streams" in groups:
        streams = [
            replace(stream, whole=_window(stream.whole, numbers))
            for stream in measured.streams
        ]
        measured = replace(measured, streams=tuple(streams))
    return measured


def _sample(sample: Sample, numbers: Iterator[tuple[float, float]]) -> Sample:
    windows = tuple(_window(window, numbers) for window in sample.windows)
    crossings = tuple(
        replace(crossing, window=crossing.window and _window(crossing.window, numbers))
        for crossing in sample.crossings
    )
    hop = sample.hop
    if hop is not None:
        response = _window(hop.response, numbers)
        since_onset = _window(hop.since_onset, numbers)
        hop = replace(hop, response=response, since_onset=since_onset)
    return replace(sample, windows=windows, hop=hop, crossings=crossings)


def _window(window: Window, numbers: Iterator[tuple[float, float]]) -> Window:
    latency_s, energy_j = next(numbers)
    # As dataclasses.replace, in a third of its time: every window moves with every
    # component.
    return Window(
        phase=window.phase,
        start_s=window.start_s,
        stop_s=window.stop_s,
        latency_s=latency_s,
        energy_j=None if window.energy_j is None else energy_j,
        effects=window.effects,
    )
