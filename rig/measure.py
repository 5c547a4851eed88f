# SPDX-License-Identifier: Apache-2.0
"""Completions x trace -> windows with latency and energy per phase, idle windows, problems. Pure but for reading the trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rig.align import align
from rig.clock import Timebase
from rig.plan import Idle, Query, Score, Step
from rig.sut import Completion
from rig.trace import Trace
from rig.trial import Measured, Problem, Sample, Window

#: A window of fewer SYNC samples has its length known no better than 2 % (two edges of a uniform error over one period each).
SHORT_PERIODS = 20


@dataclass(frozen=True, slots=True)
class Done:
    """One step that is done: its number in the trial, what was asked, what the device said. A SYNC burst has no step."""

    number: int
    step: Step | None
    completion: Completion
    score: Score | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a trial's raw data say."""

    measured: Measured
    timebase: Timebase | None
    problems: tuple[Problem, ...]
    retransmissions: int
    counts: dict[str, int]


def measure(done: Sequence[Done], phases: Sequence[str], tick_hz: int, trace: Trace) -> Outcome:
    """Tie the device's marks to the monitor's edges and integrate each window."""
    ticks = [mark.tick for item in done for mark in item.completion.marks]
    alignment = align(ticks, tick_hz, trace.falls_s, trace.edge_hz)
    problems = [*alignment.problems, *_mark_counts(done, phases), *_disturbed(done)]
    timebase = alignment.timebase
    samples: tuple[Sample, ...] = ()
    idles: tuple[Window, ...] = ()
    if timebase is not None:
        spans = [span for item in done for span in _spans(item, phases, timebase)]
        windows = _integrate(spans, trace)
        problems += _gap_problems(windows, trace) + _short_problems(windows, trace)
        samples = tuple(_samples(windows))
        idles = tuple(window for span, window in windows if isinstance(span.item.step, Idle))
    counts = {"marks": alignment.marks, "edges": alignment.edges, "pairs": alignment.pairs}
    return Outcome(
        Measured(samples, idles), timebase, tuple(problems), sum(item.completion.retransmissions for item in done), counts
    )


@dataclass(frozen=True, slots=True)
class _Span:
    item: Done
    phase: str
    start_s: float
    stop_s: float
    latency_s: float
    repeat: int


def _expected_marks(item: Done, phases: Sequence[str]) -> int | None:
    if isinstance(item.step, Query):
        return len(phases) + 1
    return 2 if isinstance(item.step, Idle) else None


def _spans(item: Done, phases: Sequence[str], timebase: Timebase) -> Iterator[_Span]:
    marks = item.completion.marks
    if len(marks) != _expected_marks(item, phases):
        return
    names = list(phases) if isinstance(item.step, Query) else ["idle"]
    repeat = item.step.repeat if isinstance(item.step, Query) else 1
    for name, begin, end in zip(names, marks, marks[1:], strict=False):
        latency_s = (end.tick - begin.tick) * timebase.s_per_tick / repeat
        yield _Span(item, name, timebase.seconds(begin.tick), timebase.seconds(end.tick), latency_s, repeat)


def _integrate(spans: list[_Span], trace: Trace) -> list[tuple[_Span, Window]]:
    whole = [trace.gap_between(span.start_s, span.stop_s) is None for span in spans]
    energies = iter(trace.energies_j([(span.start_s, span.stop_s) for span, ok in zip(spans, whole, strict=True) if ok]))
    return [
        (span, Window(span.phase, span.start_s, span.stop_s, span.latency_s, next(energies) / span.repeat if ok else None))
        for span, ok in zip(spans, whole, strict=True)
    ]


def _samples(windows: list[tuple[_Span, Window]]) -> Iterator[Sample]:
    grouped: dict[int, list[tuple[_Span, Window]]] = {}
    for span, window in windows:
        if isinstance(span.item.step, Query) and not span.item.step.warmup:
            grouped.setdefault(span.item.number, []).append((span, window))
    for number, group in grouped.items():
        item = group[0][0].item
        assert isinstance(item.step, Query)
        score = item.score or Score(False, "", "")
        yield Sample(
            number,
            item.step.indices,
            item.step.repeat,
            tuple(window for _, window in group),
            score.label,
            score.answer,
            score.label == score.answer,
        )


def _mark_counts(done: Sequence[Done], phases: Sequence[str]) -> list[Problem]:
    wrong = [item for item in done if _expected_marks(item, phases) not in (None, len(item.completion.marks))]
    if not wrong:
        return []
    first = wrong[0]
    have, due = len(first.completion.marks), _expected_marks(first, phases)
    detail = f"step {first.number} has {have} marks where {due} were due ({len(wrong)} such steps)"
    return [Problem("clock", detail)]


def _disturbed(done: Sequence[Done]) -> list[Problem]:
    hit = [item for item in done if item.completion.rx_in_window_b]
    if not hit:
        return []
    heard_b = sum(item.completion.rx_in_window_b for item in hit)
    detail = f"{heard_b} bytes reached the device inside {len(hit)} windows, first in step {hit[0].number}"
    return [Problem("link", detail)]


def _gap_problems(windows: list[tuple[_Span, Window]], trace: Trace) -> list[Problem]:
    hit = [(span, window) for span, window in windows if window.energy_j is None]
    if not hit:
        return []
    span, window = hit[0]
    gap = trace.gap_between(window.start_s, window.stop_s)
    cause = f"samples {gap.start} to {gap.stop}: {gap.cause}" if gap else ""
    return [Problem("gap", f"{len(hit)} of {len(windows)} windows, first {span.phase} of step {span.item.number} ({cause})")]


def _short_problems(windows: list[tuple[_Span, Window]], trace: Trace) -> list[Problem]:
    limit_s = SHORT_PERIODS / trace.edge_hz
    short = [(span, window) for span, window in windows if window.stop_s - window.start_s < limit_s]
    if not short:
        return []
    span, window = min(short, key=lambda pair: pair[1].stop_s - pair[1].start_s)
    have_s = window.stop_s - window.start_s
    needed = max(int(limit_s / max(have_s, 1e-9) * span.repeat) + 1, span.repeat + 1)
    detail = (
        f"{len(short)} of {len(windows)} windows, shortest {span.phase} of step {span.item.number} with {have_s * 1e6:.1f} us; "
        f"{limit_s * 1e6:.1f} us are needed: raise the scenario's repeat to {needed} or the monitor's sample rate"
    )
    return [Problem("short", detail)]
