# SPDX-License-Identifier: Apache-2.0
"""Propagation of window errors to metrics by finite differences (GUM 5.1.3). Pure.

It holds for any scenario, as it makes no assumption on how metrics are computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from rig.model.effects import OWN, Effect
from rig.model.metric import Metric, Statistic
from rig.model.trial import Measured, Sample, Window

Summarise = Callable[[Measured], Mapping[str, Metric]]
Effects = Callable[[Window], Effect | None]


@dataclass(frozen=True, slots=True)
class Moving:
    """A component of the effects on groups of windows ("samples", "idles", "streams"),
    and the metrics that it moves.
    """

    measured: Measured
    metrics: Mapping[str, Metric]
    summarise: Summarise
    component: str
    groups: Sequence[str]

    def deltas(self, effects: Effects) -> dict[str, float]:
        """Compute the change of each metric when every window changes by its effect."""
        shifted = self.summarise(_moved(self.measured, effects, self.groups))
        return {
            name: shifted[name].value - metric.value
            for name, metric in self.metrics.items()
        }

    def of(self, window: Window) -> Effect | None:
        """Return the component's effect on a window."""
        return window.effects.of.get(self.component)

    def count(self, metric: Metric) -> int:
        """Return the number of windows in a metric, which may depend on some samples
        only; one window decides a percentile.
        """
        if metric.statistic is Statistic.PERCENTILE:
            return 1
        windows = len(getattr(self.measured, self.groups[0]))
        return max(min(windows, metric.n), 1) if "samples" in self.groups else windows


def correlated(moving: Moving) -> dict[str, float]:
    """Propagate one error that is common to all windows, with the size of each window's
    effect.
    """
    return moving.deltas(moving.of)


def independent(moving: Moving) -> dict[str, float]:
    """Propagate errors u that are independent between windows: the root of the sum of
    (c * u)**2, with the sensitivity c of the metric to each window (GUM 5.1.2).

    A mean, a sum and a ratio of sums have the same c for all their windows of one
    phase. The sum is therefore c times the metric's change if each window changes by
    u**2, and c is its change if all windows change by one, divided by their number.
    "samples", "idles" and "streams" must be moved separately.
    """
    squares = dict.fromkeys(moving.metrics, 0.0)
    for phase, unit in _units(moving).items():
        by_squares = moving.deltas(_squared(moving, phase, unit))
        by_units = moving.deltas(_each(phase, unit))
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


def _units(moving: Moving) -> dict[str, Effect]:
    """Return the largest effect of the component in each phase that it concerns."""
    units: dict[str, Effect] = {}
    for window in windows_of(moving.measured, moving.groups):
        effect = moving.of(window)
        if effect is not None:
            before = units.get(window.phase, Effect(OWN))
            largest = (
                max(before.latency_s, abs(effect.latency_s)),
                max(before.energy_j, abs(effect.energy_j)),
            )
            units[window.phase] = Effect(OWN, *largest)
    return units


def _each(phase: str, unit: Effect) -> Effects:
    return lambda window: unit if window.phase == phase else None


def _squared(moving: Moving, phase: str, unit: Effect) -> Effects:
    """Square the effects on the windows of a phase, in units of the largest."""

    def square(value: float, of_unit: float) -> float:
        return value**2 / of_unit if of_unit else 0.0

    def effects(window: Window) -> Effect | None:
        effect = moving.of(window)
        if effect is None or window.phase != phase:
            return None
        return Effect(
            OWN,
            square(effect.latency_s, unit.latency_s),
            square(effect.energy_j, unit.energy_j),
        )

    return effects


def _moved(measured: Measured, effects: Effects, groups: Sequence[str]) -> Measured:
    def move(window: Window) -> Window:
        by = effects(window)
        if by is None:
            return window
        energy_j = None if window.energy_j is None else window.energy_j + by.energy_j
        latency_s = window.latency_s + by.latency_s
        # As dataclasses.replace, in a third of its time: every window moves with every
        # component.
        return Window(
            phase=window.phase,
            start_s=window.start_s,
            stop_s=window.stop_s,
            latency_s=latency_s,
            energy_j=energy_j,
            effects=window.effects,
        )

    def moved(sample: Sample) -> Sample:
        windows = tuple(map(move, sample.windows))
        hop = sample.hop
        # Most samples have neither: this is the fast path.
        if hop is None and not sample.crossings:
            return _with_windows(sample, windows)
        if hop is not None:
            hop = replace(
                hop, response=move(hop.response), since_onset=move(hop.since_onset)
            )
        crossings = tuple(
            replace(crossing, window=crossing.window and move(crossing.window))
            for crossing in sample.crossings
        )
        return replace(sample, windows=windows, hop=hop, crossings=crossings)

    if "samples" in groups:
        measured = replace(measured, samples=tuple(map(moved, measured.samples)))
    if "idles" in groups:
        measured = replace(measured, idles=tuple(map(move, measured.idles)))
    if "streams" in groups:
        streams = (
            replace(stream, whole=move(stream.whole)) for stream in measured.streams
        )
        measured = replace(measured, streams=tuple(streams))
    return measured


def _with_windows(sample: Sample, windows: tuple[Window, ...]) -> Sample:
    """Return a sample with other windows; as dataclasses.replace, in half its time."""
    return Sample(
        step=sample.step,
        indices=sample.indices,
        repeat=sample.repeat,
        windows=windows,
        label=sample.label,
        answer=sample.answer,
        correct=sample.correct,
        scores=sample.scores,
        case=sample.case,
        timed=sample.timed,
        each=sample.each,
        hop=sample.hop,
        solve=sample.solve,
        costs=sample.costs,
        crossings=sample.crossings,
    )
