# SPDX-License-Identifier: Apache-2.0
"""Trials laid over each other: the power of the same sample in each, aligned on its
first edge, to fractions of a sample; their differences, and the odd trial.

Trials take the samples in orders of their own, so that a step number has another sample
in each. They have in common a sample, and its repetition.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rig.api.traces.samples import blocks
from rig.api.traces.spans import CROSSING, KINDS, NONE, SAMPLE, WARM_UP, Spans
from rig.errors import DataError
from rig.store.segments import segments
from rig.store.session_folder import SessionFolder
from rig.trace.levels import Stopped
from rig.trace.trace import Trace

if TYPE_CHECKING:
    from rig.api.sessions.session import Session

Array = NDArray[np.float64]
#: Kind, sample and repetition.
_Identity = tuple[str, int | None, int]

_BLOCK = 1 << 20
#: A sample is shown with so much of its length before and after.
_MARGIN = 0.1
#: A trial is the odd one that is so many times as far from the median of all as the
#: others are in the middle, and differs by more than a share of the mean power.
_ODD_TIMES = 3.0
_ODD_SHARE = 0.002
#: Fewer have no middle from which one is off.
_LEAST_TRIALS = 3


@dataclass(frozen=True, slots=True)
class Occasion:
    """A sample, or another kind of step, in the course of a trial: `repetition` counts
    those of one kind and sample from 1, in the order of time. Where it lies: segment,
    step, and its time in the trace of the segment.
    """

    kind: str
    sample: int | None
    repetition: int
    segment: int
    step: int
    start_s: float
    stop_s: float

    @property
    def identity(self) -> _Identity:
        """The identity that trials have in common: kind, sample and
        repetition."""
        return self.kind, self.sample, self.repetition

    def __str__(self) -> str:
        if self.sample is None:
            return f"{self.kind} {self.repetition}"
        again = f", time {self.repetition}" if self.repetition > 1 else ""
        warm_up = "warm-up, " if self.kind == KINDS[WARM_UP] else ""
        return f"{warm_up}sample {self.sample}{again}"


@dataclass(frozen=True, slots=True)
class OverlaidTrial:
    """One trial of an overlay: the segment and step of the sample in it, and where in
    the trace it begins.

    `distance_w` is how far its power is from the median of all trials (root mean
    square).
    """

    trial: int
    segment: int
    step: int
    start_s: float
    stop_s: float
    power_w: Array
    difference_w: Array
    distance_w: float

    @property
    def length_s(self) -> float:
        """Return how long it took."""
        return self.stop_s - self.start_s


@dataclass(frozen=True, slots=True)
class Overlay:
    """Trials over each other in one sample: mean power in columns from `start_s` to
    `stop_s`, seconds after the edge with which it begins.

    `difference_w` of a trial is its power less the mean of the others. `odd` is the
    trial that is far from the others, None where there is none, or fewer than three;
    `remark` says what to know, `labels` are those of the session.
    """

    rail: str
    kind: str
    sample: int | None
    repetition: int
    start_s: Array
    stop_s: Array
    trials: tuple[OverlaidTrial, ...]
    odd: int | None
    remark: str
    labels: tuple[str, ...] = ()

    @property
    def middle_s(self) -> Array:
        """The middles of the columns."""
        return (self.start_s + self.stop_s) / 2


def overlay(
    session: Session,
    trials: Sequence[int],
    sample: int | None,
    repetition: int = 1,
    rail: str | None = None,
    *,
    kind: str = KINDS[SAMPLE],
    columns: int = 1400,
    stopped: Stopped | None = None,
) -> Overlay:
    """Lay the trials of a session over each other in the same sample, the
    `repetition`-th time that it comes in each. Of streams and idle times, which have no
    sample, `kind` says it.

    Trials that did not come to it are left out, and `remark` says so. `rail` left out
    is the first. Raises DataError, Cancelled.
    """
    if not trials:
        raise DataError("an overlay of no trials", try_next="two trials or more")
    name = next(iter(session.rails), "") if rail is None else rail
    identity = kind, sample, repetition
    found = {trial: _occasion(session, trial, name, identity) for trial in trials}
    places = {trial: place for trial, place in found.items() if place is not None}
    if not places:
        what = kind if sample is None else f"sample {sample}"
        raise DataError(
            f"no trial has {what} {repetition} times with windows",
            try_next="one that `occasions` has",
        )
    longest_s = max(place.stop_s - place.start_s for place in places.values())
    margin_s = _MARGIN * longest_s
    traces = []
    for trial, place in places.items():
        with session.trace(trial, name, place.segment) as trace:
            traces.append(trace.recorded)
    count = max(min(columns, math.ceil(1.2 * longest_s * traces[0].sample_hz)), 1)
    borders_s = np.linspace(-margin_s, longest_s + margin_s, count + 1)
    pairs = zip(traces, places.values(), strict=True)
    powers_w = []
    for recorded, place in pairs:
        powers_w.append(mean_power(recorded, place.start_s + borders_s, stopped))
    rows = np.array(powers_w)
    distances_w, odd = _odd(rows, list(places))
    laid = []
    for at, (trial, place) in enumerate(places.items()):
        difference_w = rows[at] - _mean_of_others(rows, at)
        overlaid = OverlaidTrial(
            trial=trial,
            segment=place.segment,
            step=place.step,
            start_s=place.start_s,
            stop_s=place.stop_s,
            power_w=rows[at],
            difference_w=difference_w,
            distance_w=distances_w[at],
        )
        laid.append(overlaid)
    missing = [trial for trial in trials if trial not in places]
    remark = _remark(laid, odd, missing)
    starts_s, stops_s = borders_s[:-1], borders_s[1:]
    return Overlay(
        name, *identity, starts_s, stops_s, tuple(laid), odd, remark, session.labels
    )


def occasions(session: Session, trial: int, rail: str = "") -> tuple[Occasion, ...]:
    """Return the samples, streams and idle times of a trial in the order of time, of
    all of its segments; raises DataError.
    """
    places = segments(SessionFolder(session.path).recorded(trial))
    return of_segments(
        session.spans(trial, rail, number) for number in range(1, len(places) + 1)
    )


def of_segments(parts: Iterable[Spans]) -> tuple[Occasion, ...]:
    """Return the samples, streams and idle times of a trial from the spans of each
    segment.
    """
    counts: Counter[tuple[int, int]] = Counter()
    found = []
    for segment, spans in enumerate(parts, start=1):
        for (step, kind, sample), ends_s in _stretches(spans).items():
            counts[kind, sample] += 1
            of = None if sample == NONE else sample
            found.append(
                Occasion(KINDS[kind], of, counts[kind, sample], segment, step, *ends_s)
            )
    return tuple(found)


def mean_power(trace: Trace, borders_s: Array, stopped: Stopped | None = None) -> Array:
    """Return the mean power between each two instants, samples at the borders by their
    fraction; NaN where a sample is lost, or outside the trace.
    """
    at = borders_s * trace.sample_hz
    first = max(math.floor(at[0]), 0)
    last = min(math.ceil(at[-1]), trace.length)
    energy = np.full(len(at), np.nan)
    before = np.zeros(len(at), dtype=np.int64)
    until = np.zeros(len(at), dtype=np.int64)
    total = 0.0
    lost = 0
    for begin, current, voltage in blocks(trace, first, last, _BLOCK, stopped):
        power = np.multiply(current, voltage, dtype=np.float64)
        known = np.isfinite(power)
        power = np.where(known, power, 0.0)
        # Sums up to each sample of the block, and the samples that are lost among them.
        sums = total + np.concatenate([[0.0], np.cumsum(power)])
        losses = lost + np.concatenate([[0], np.cumsum(~known)])
        end = begin + len(power)
        inside = np.flatnonzero((at >= begin) & (at <= end))
        places = np.floor(at[inside]).astype(np.int64) - begin
        whole = np.minimum(places, len(power) - 1)
        share = at[inside] - begin - whole
        energy[inside] = sums[whole] + share * power[whole]
        # Lost samples before that of the border, and with it where it is cut.
        before[inside] = losses[whole]
        until[inside] = losses[whole] + (share > 0) * ~known[whole]
        total, lost = float(sums[-1]), int(losses[-1])
    mean_w: Array = np.diff(energy) / np.diff(at)
    mean_w[until[1:] > before[:-1]] = np.nan
    return mean_w


def _occasion(
    session: Session, trial: int, rail: str, identity: _Identity
) -> Occasion | None:
    every = occasions(session, trial, rail)
    return next((one for one in every if one.identity == identity), None)


def _stretches(spans: Spans) -> dict[tuple[int, int, int], tuple[float, float]]:
    """Return start and stop of all phases of each step, kind and sample, in the order
    of time."""
    stretches: dict[tuple[int, int, int], tuple[float, float]] = {}
    columns = (spans.step, spans.kind, spans.sample, spans.start_s, spans.stop_s)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for step, kind, sample, start_s, stop_s in rows:
        if step != NONE and kind != CROSSING:
            begun_s, reached_s = stretches.get((step, kind, sample), (start_s, stop_s))
            stretches[step, kind, sample] = (
                min(begun_s, start_s),
                max(reached_s, stop_s),
            )
    return stretches


def _mean_of_others(rows: Array, at: int) -> Array:
    others = np.delete(rows, at, axis=0)
    if not len(others):
        return np.full(rows.shape[1], np.nan)
    mean: Array = others.mean(axis=0)
    return mean


def _odd(rows: Array, trials: Sequence[int]) -> tuple[list[float], int | None]:
    """Return how far each trial is from the median of all, and which is the odd one."""
    known = np.isfinite(rows).all(axis=0)
    if not known.any():
        return [math.nan] * len(rows), None
    apart = rows[:, known] - np.median(rows[:, known], axis=0)
    distances = np.sqrt(np.mean(apart**2, axis=1))
    farthest = int(np.argmax(distances))
    others = np.delete(distances, farthest)
    if len(rows) < _LEAST_TRIALS:
        return distances.tolist(), None
    mean_w = float(rows[:, known].mean())
    limit = max(_ODD_TIMES * float(np.median(others)), _ODD_SHARE * abs(mean_w))
    return distances.tolist(), trials[farthest] if distances[farthest] > limit else None


def _remark(
    laid: Sequence[OverlaidTrial], odd: int | None, missing: Sequence[int]
) -> str:
    remarks = [f"trial {trial} did not come to it" for trial in missing]
    if odd is not None:
        [one] = [one for one in laid if one.trial == odd]
        others = [other.length_s for other in laid if other.trial != odd]
        longer = one.length_s / float(np.mean(others)) - 1
        remarks.append(
            f"trial {odd} is off: {one.distance_w * 1e3:.3g} mW from the median of all,"
            f" and it took {longer:+.2%} of the others' time"
        )
    return "; ".join(remarks)
