# SPDX-License-Identifier: Apache-2.0
"""Windows -> the samples and streams of a trial, each with what the device answered. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from rig import searching, streaming
from rig.plan import Query, Score, Solve, Stream
from rig.spans import STREAMED, Span
from rig.timed import Timed
from rig.trial import Crossing, Sample, Streamed, Window

#: A mark of a threshold may be late by this share of its time, where the pulse before it held it up: 5 % are to be told.
LATE_SHARE = 0.05

Windows = list[tuple[Span, Window]]


def samples(windows: Windows, timed: Timed, limit_s: float, wait_s: float) -> tuple[Sample, ...]:
    """Return what counts of queries, searches and streams.

    A window shorter than `limit_s` tells nothing, and a mark less than `wait_s` behind another may have waited for its pulse.
    """
    return (*_queries(windows), *_searches(windows, limit_s, wait_s), *_hops(windows, timed))


def _queries(windows: Windows) -> Iterator[Sample]:
    grouped: dict[int, Windows] = {}
    for span, window in windows:
        if isinstance(span.item.step, Query) and not span.item.step.warmup:
            grouped.setdefault(span.item.number, []).append((span, window))
    for number, group in grouped.items():
        item = group[0][0].item
        assert isinstance(item.step, Query)
        score = item.score or Score(bool(item.each) and all(one.correct for one in item.each), "", "")
        yield Sample(
            number,
            item.step.indices,
            item.step.repeat,
            tuple(window for _, window in group),
            score.label,
            score.answer,
            score.correct if item.each else score.label == score.answer,
            score.scores,
            score.case,
            item.step.timed,
            item.each,
        )


def _searches(windows: Windows, limit_s: float, wait_s: float) -> Iterator[Sample]:
    """Yield a sample for each search; a crossing before `limit_s` is not resolved, nor one that a pulse may have held up."""
    grouped: dict[int, Windows] = {}
    for span, window in windows:
        if isinstance(span.item.step, Solve) and not span.item.step.warmup:
            grouped.setdefault(span.item.number, []).append((span, window))
    for number, ((whole, window), *reached) in grouped.items():
        item, by_ticks = whole.item, {span.ticks: window for span, window in reached}
        assert isinstance(item.step, Solve)
        told = [None if at is None else by_ticks[at] for at in searching.crossings(item.completion.marks, item.step)]
        before, crossings = 0.0, []
        for threshold, one in zip(item.step.thresholds, told, strict=True):
            crossings.append(Crossing(threshold, one, one is None or _resolved(one, before, limit_s, wait_s)))
            following = told[len(crossings)] if len(crossings) < len(told) else None
            before = one.stop_s - one.start_s if one is not None and one is not following else before
        score = item.score or Score(False, "", "")
        yield Sample(
            number,
            (item.step.index,),
            1,
            (window,),
            score.label,
            score.answer,
            score.correct,
            case=score.case,
            solve=item.step,
            costs=score.costs,
            crossings=tuple(crossings),
        )


def _resolved(window: Window, before_s: float, limit_s: float, wait_s: float) -> bool:
    """Say whether a crossing tells its time: the mark before it, `before_s` after the start, may have held it up by `wait_s`."""
    length_s = window.stop_s - window.start_s
    return length_s >= limit_s and (length_s - before_s >= wait_s or wait_s <= LATE_SHARE * length_s)


def _hops(windows: Windows, timed: Timed) -> Iterator[Sample]:
    """Yield a sample for each window of each stream."""
    for span, _ in windows:
        if span.phase == STREAMED:
            own = [window for one, window in windows if one.item is span.item and one.hop is not None]
            assert isinstance(span.item.step, Stream)
            yield from streaming.hops(span.item.number, span.item.step, span.item.completion.marks, span.item.each, own, timed)


def streams(windows: Windows, timed: Timed) -> Iterator[Streamed]:
    """Yield each stream as a whole."""
    for span, whole in windows:
        if span.phase == STREAMED and isinstance(span.item.step, Stream):
            yield streaming.streamed(span.item.number, span.item.step, span.ticks[0], whole, timed)
