# SPDX-License-Identifier: Apache-2.0
"""Trials laid over each other: the power of the same step in each, aligned on the edge with which
it begins, to fractions of a sample; what differs, and which trial is the odd one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rig.api.traces.spans import Spans
from rig.api.traces.statistics import Cancelled, Stopped
from rig.errors import DataError
from rig.trace.levels import Hidden
from rig.trace.trace import Trace, reading

if TYPE_CHECKING:
    from rig.api.sessions.session import Session

Array = NDArray[np.float64]

_BLOCK = 1 << 20
#: A step is shown with so much of its length before and after.
_MARGIN = 0.1
#: A trial is the odd one that is so many times as far from the median of all as the others are in
#: the middle, and differs by more than a share of the mean power.
_ODD_TIMES = 3.0
_ODD_SHARE = 0.002
#: Fewer have no middle from which one is off.
_LEAST_TRIALS = 3


@dataclass(frozen=True, slots=True)
class OverlaidTrial:
    """One trial of an overlay: its step, the sample it is of, and where in its trace it begins.

    `distance_w` is how far its power is from the median of all trials (root mean square).
    """

    trial: int
    step: int
    sample: int | None
    start_s: float
    stop_s: float
    power_w: Array
    difference_w: Array
    distance_w: float

    @property
    def length_s(self) -> float:
        """Return how long the step took."""
        return self.stop_s - self.start_s


@dataclass(frozen=True, slots=True)
class Overlay:
    """Trials over each other: mean power in columns from `start_s` to `stop_s`, seconds after the
    edge with which the step begins.

    `difference_w` of a trial is its power less the mean of the others. `odd` is the trial that is
    far from the others, None where there is none, or fewer than three; `remark` says what to know,
    `labels` are those of the session.
    """

    rail: str
    start_s: Array
    stop_s: Array
    trials: tuple[OverlaidTrial, ...]
    odd: int | None
    remark: str
    labels: tuple[str, ...] = ()

    @property
    def middle_s(self) -> Array:
        """Return the middles of the columns."""
        return (self.start_s + self.stop_s) / 2


def overlay(
    session: Session,
    trials: Sequence[int],
    step: int,
    rail: str | None = None,
    columns: int = 1400,
    stopped: Stopped | None = None,
) -> Overlay:
    """Lay the trials of a session over each other in one step of the first of them.

    Of the other trials it is the step with the same sample, as often as that came before, or else
    the step with the same number. `rail` left out is the first. Raises DataError, Cancelled.
    """
    if not trials:
        raise DataError("an overlay of no trials", try_next="two trials or more")
    name = next(iter(session.rails), "") if rail is None else rail
    of_trials = [session.spans(trial, name) for trial in trials]
    places = [
        _same(of_trials[0], spans, step, trial)
        for trial, spans in zip(trials, of_trials, strict=True)
    ]
    longest_s = max(stop_s - start_s for _, _, start_s, stop_s in places)
    margin_s = _MARGIN * longest_s
    traces = []
    for trial in trials:
        with session.trace(trial, name) as trace:
            traces.append(trace.recorded)
    count = max(min(columns, math.ceil(1.2 * longest_s * traces[0].sample_hz)), 1)
    borders_s = np.linspace(-margin_s, longest_s + margin_s, count + 1)
    rows = np.array(
        [
            mean_power(trace, start_s + borders_s, stopped)
            for trace, (_, _, start_s, _) in zip(traces, places, strict=True)
        ]
    )
    distances_w, odd = _odd(rows, trials)
    laid = tuple(
        OverlaidTrial(
            trial, *places[at], rows[at], rows[at] - _mean_of_others(rows, at), distances_w[at]
        )
        for at, trial in enumerate(trials)
    )
    return Overlay(
        name, borders_s[:-1], borders_s[1:], laid, odd, _remark(laid, odd), session.labels
    )


def mean_power(trace: Trace, borders_s: Array, stopped: Stopped | None = None) -> Array:
    """Return the mean power between each two instants, samples at the borders by their fraction;
    NaN where a sample is lost, or outside the trace.
    """
    at = borders_s * trace.sample_hz
    first = max(math.floor(at[0]), 0)
    last = min(math.ceil(at[-1]), trace.length)
    energy = np.full(len(at), np.nan)
    before = np.zeros(len(at), dtype=np.int64)
    until = np.zeros(len(at), dtype=np.int64)
    hidden = Hidden(trace.gaps)
    total = 0.0
    lost = 0
    with reading(trace.path) as reader:
        for begin in range(first, last, _BLOCK):
            if stopped is not None and stopped():
                raise Cancelled
            current, voltage = trace.samples(reader, begin, min(_BLOCK, last - begin))
            hidden.hide(begin, current, voltage)
            power = np.multiply(current, voltage, dtype=np.float64)
            known = np.isfinite(power)
            power = np.where(known, power, 0.0)
            # Sums up to each sample of the block, and the samples that are lost among them.
            sums = total + np.concatenate([[0.0], np.cumsum(power)])
            losses = lost + np.concatenate([[0], np.cumsum(~known)])
            end = begin + len(power)
            inside = np.flatnonzero((at >= begin) & (at <= end))
            whole = np.minimum(np.floor(at[inside]).astype(np.int64) - begin, len(power) - 1)
            share = at[inside] - begin - whole
            energy[inside] = sums[whole] + share * power[whole]
            # Lost samples before that of the border, and with it where it is cut.
            before[inside] = losses[whole]
            until[inside] = losses[whole] + (share > 0) * ~known[whole]
            total, lost = float(sums[-1]), int(losses[-1])
    mean_w: Array = np.diff(energy) / np.diff(at)
    mean_w[until[1:] > before[:-1]] = np.nan
    return mean_w


def _same(
    reference: Spans, spans: Spans, step: int, trial: int
) -> tuple[int, int | None, float, float]:
    """Return step, sample, start and stop of what in a trial is the step of the reference."""
    wanted = _of_step(reference, step)
    if wanted is None:
        raise DataError(
            f"step {step} has no window", try_next="a step with windows, as `spans` has them"
        )
    number = step
    sample = int(reference.sample[wanted[0]])
    kind = int(reference.kind[wanted[0]])
    # Steps of interleaved trials are numbered through.
    apart = _of_step(spans, step) is None
    if (sample >= 0 or apart) and spans is not reference:
        earlier = _steps_with(reference, kind, sample)
        same = _steps_with(spans, kind, sample)
        if step in earlier and earlier.index(step) < len(same):
            number = same[earlier.index(step)]
    found = _of_step(spans, number)
    if found is None:
        raise DataError(
            f"trial {trial} has no window in step {number}",
            try_next="an overlay without this trial",
        )
    of_sample = int(spans.sample[found[0]])
    ends = float(spans.start_s[found].min()), float(spans.stop_s[found].max())
    return number, of_sample if of_sample >= 0 else None, *ends


def _of_step(spans: Spans, step: int) -> NDArray[np.intp] | None:
    found = np.flatnonzero(spans.step == step)
    return found if len(found) else None


def _steps_with(spans: Spans, kind: int, sample: int) -> list[int]:
    """Return the steps of one kind with a sample, in the order of time."""
    inside = (spans.kind == kind) & (spans.sample == sample)
    return list(dict.fromkeys(spans.step[inside].tolist()))


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
    limit = max(
        _ODD_TIMES * float(np.median(others)), _ODD_SHARE * abs(float(rows[:, known].mean()))
    )
    return distances.tolist(), trials[farthest] if distances[farthest] > limit else None


def _remark(laid: Sequence[OverlaidTrial], odd: int | None) -> str:
    said = []
    if len({one.sample for one in laid}) > 1:
        said.append("the trials have other samples in this step: they may differ by what they do")
    if odd is not None:
        [one] = [one for one in laid if one.trial == odd]
        others = [other.length_s for other in laid if other.trial != odd]
        longer = one.length_s / float(np.mean(others)) - 1
        said.append(
            f"trial {odd} is off: {one.distance_w * 1e3:.3g} mW from the median of all, and its "
            f"step took {longer:+.2%} of the others' time"
        )
    return "; ".join(said)
