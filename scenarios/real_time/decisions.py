# SPDX-License-Identifier: Apache-2.0
"""Decisions of a device in a stream: how soon after a scene's onset it was right, and
how soon after each window.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rig.model.metric import Metric, Prominence
from rig.model.trial import Measured, Sample
from rig.stats.summary import mean
from rig.units import quantity
from scenarios.common.metrics import of_mean
from scenarios.common.stream_windows import percentile

ONSET = "latency_onset"
#: Metrics of the percentiles, and how many percent each is.
ONSET_PERCENTILES = {f"{ONSET}_p{percent}": percent for percent in (50, 90)}
#: So many hops after an onset are listed one by one.
_AGES = 8


@dataclass(frozen=True, slots=True)
class LabelChange:
    """A scene that followed another; `latency_s`: from its onset to the first stable
    right decision, None where there was none.
    """

    label: str
    latency_s: float | None


def changes(measured: Measured, stable: int) -> list[LabelChange]:
    """Return each new scene of each stream; the first scene of a stream follows no
    other, so it is none.

    A decision is stable when it is right, and the `stable` - 1 next ones, of the same
    scene, are right as well.
    """
    times = []
    for stream in measured.streams:
        of_stream = [
            sample for sample in measured.samples if sample.step == stream.step
        ]
        for scene in range(1, len(stream.labels)):
            times.append(
                LabelChange(
                    stream.labels[scene],
                    _first_stable(_of_scene(of_stream, scene), stable),
                )
            )
    return times


def recognition(new: Sequence[LabelChange]) -> dict[str, Metric]:
    """Return the share of new scenes that were recognised, and the latency of those
    that were; of none, there is no latency.
    """
    known_s = [change.latency_s for change in new if change.latency_s is not None]
    metrics = {
        "recognised": Metric.of_share(
            [change.latency_s is not None for change in new], higher_is_better=True
        )
    }
    if known_s:
        metrics[ONSET] = of_mean(known_s, "s", Prominence.HEADLINE)
        for name, percent in ONSET_PERCENTILES.items():
            metrics[name] = percentile(known_s, percent)
    return metrics


def by_age(measured: Measured) -> list[list[bool]]:
    """Return for each hop since the onset of a new scene whether decisions of that age
    were right; the last has all later ones.
    """
    shares: list[list[bool]] = []
    for stream in measured.streams:
        for sample in measured.samples:
            hop = sample.hop
            if sample.step != stream.step or hop is None or hop.scene == 0:
                continue
            captured_s = hop.since_onset.latency_s - hop.response.latency_s
            age = min(int(captured_s / stream.hop_s), _AGES)
            shares += [[] for _ in range(age + 1 - len(shares))]
            shares[age].append(sample.correct)
    return shares


def recognised_line(measured: Measured, stable: int) -> str:
    """Return how many new scenes were recognised, and how soon."""
    new = changes(measured, stable)
    metrics = recognition(new)
    known = sum(change.latency_s is not None for change in new)
    line = (
        f"New scenes recognised, by {stable} right decisions in a row: {known} of"
        f" {len(new)}."
    )
    if known:
        mean_s, p50_s, p90_s = (
            quantity(metrics[name].value, "s") for name in (ONSET, *ONSET_PERCENTILES)
        )
        line += (
            f" From the onset to the first of these decisions: mean {mean_s}, median "
            f"{p50_s}, 90 % within {p90_s}."
        )
    return f"{line} The first scene follows no change, and is not counted."


def by_age_line(measured: Measured) -> str:
    """Return the share of right decisions by the age of the scene when the window was
    captured."""
    hop_s = measured.streams[0].hop_s if measured.streams else 0.0
    cells = []
    for age, right in enumerate(by_age(measured)):
        span = (
            f"{age * hop_s:g} s on"
            if age == _AGES
            else f"{age * hop_s:g} to {(age + 1) * hop_s:g} s"
        )
        cells += (
            [f"{span} {mean([float(ok) for ok in right]):.0%} of {len(right)}"]
            if right
            else []
        )
    return f"Right by time since the onset: {'; '.join(cells) or 'nothing to tell'}."


def _of_scene(samples: Sequence[Sample], scene: int) -> Iterator[Sample]:
    for sample in samples:
        if sample.hop is not None and sample.hop.scene == scene:
            yield sample


def _first_stable(decided: Iterator[Sample], stable: int) -> float | None:
    in_a_row: list[float] = []
    for sample in decided:
        assert sample.hop is not None
        in_a_row = (
            [*in_a_row, sample.hop.since_onset.latency_s] if sample.correct else []
        )
        if len(in_a_row) == stable:
            return in_a_row[0]
    return None
