# SPDX-License-Identifier: Apache-2.0
"""Windows -> the samples and streams of a trial, each with what the device answered. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from rig.measure import stream
from rig.measure.early_crossings import crossings
from rig.measure.spans import STREAMED, Span
from rig.measure.timed import Timed
from rig.model.scores import Score
from rig.model.steps import Query, Solve, Stream
from rig.model.trial import Sample, Streamed, Window

Windows = list[tuple[Span, Window]]


def samples(windows: Windows, timed: Timed, limit_s: float, wait_s: float) -> tuple[Sample, ...]:
    """Return what counts of queries, searches and streams.

    A window shorter than `limit_s` tells nothing, and a mark less than `wait_s` behind another may
    have waited for its pulse.
    """
    return (*_queries(windows), *_searches(windows, timed, limit_s, wait_s), *_hops(windows, timed))


def _queries(windows: Windows) -> Iterator[Sample]:
    grouped: dict[int, Windows] = {}
    for span, window in windows:
        if isinstance(span.item.step, Query) and not span.item.step.warmup:
            grouped.setdefault(span.item.number, []).append((span, window))
    for number, group in grouped.items():
        item = group[0][0].item
        assert isinstance(item.step, Query)
        score = item.score or Score(
            bool(item.each) and all(one.correct for one in item.each), "", ""
        )
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


def _searches(windows: Windows, timed: Timed, limit_s: float, wait_s: float) -> Iterator[Sample]:
    """Yield a sample for each search; a crossing before `limit_s` is not resolved, nor one that a
    pulse may have held up.
    """
    grouped: dict[int, Windows] = {}
    for span, window in windows:
        if isinstance(span.item.step, Solve) and not span.item.step.warmup:
            grouped.setdefault(span.item.number, []).append((span, window))
    for number, ((whole, window), *reached) in grouped.items():
        item = whole.item
        by_ticks = {span.ticks: window for span, window in reached}
        assert isinstance(item.step, Solve)
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
            crossings=crossings(
                item.completion, item.step, window, by_ticks, timed, (limit_s, wait_s)
            ),
        )


def _hops(windows: Windows, timed: Timed) -> Iterator[Sample]:
    """Yield a sample for each window of each stream."""
    for span, _ in windows:
        if span.phase == STREAMED:
            own = [
                window for one, window in windows if one.item is span.item and one.hop is not None
            ]
            assert isinstance(span.item.step, Stream)
            yield from stream.hops(
                span.item.number,
                span.item.step,
                span.item.completion.marks,
                span.item.each,
                own,
                timed,
            )


def streams(windows: Windows, timed: Timed) -> Iterator[Streamed]:
    """Yield each stream as a whole."""
    for span, whole in windows:
        if span.phase == STREAMED and isinstance(span.item.step, Stream):
            yield stream.streamed(span.item.number, span.item.step, span.ticks[0], whole, timed)
