# SPDX-License-Identifier: Apache-2.0
"""Completions x trace -> windows with latency and energy per phase, idle windows, problems. Pure but for reading the trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rig.align import align
from rig.clock import Timebase
from rig.plan import Idle, Query, Score, Step
from rig.sut import END, IDLE, Completion
from rig.trace import Trace
from rig.trial import Measured, Problem, Sample, Window

#: A window of fewer SYNC samples has its length known no better than 2 % (two edges of a uniform error over one period each).
SHORT_PERIODS = 20
#: Clocks differ and ticks are whole: how close to twice the pulse a window may come before it is taken for one stretched to it.
SHORT_MARGIN = 0.02


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


def measure(done: Sequence[Done], phases: Sequence[str], tick_hz: int, hold_s: float, trace: Trace) -> Outcome:
    """Tie the device's marks to the monitor's edges and integrate each window; `hold_s` is the length of a SYNC pulse.

    Where no edges confirm the ticks, latencies come from the device's word alone, there is no energy, and the problem stays.
    """
    ticks = [mark.tick for item in done for mark in item.completion.marks]
    alignment = align(ticks, tick_hz, trace.falls_s, trace.edge_hz)
    problems = [*alignment.problems, *_bad_marks(done, phases), *_disturbed(done)]
    timebase = alignment.timebase or Timebase.nominal(ticks[0] if ticks else 0, tick_hz)
    spans = [span for item in done for span in _spans(item, phases, timebase)]
    if alignment.timebase is None:
        windows = [(span, Window(span.phase, span.start_s, span.stop_s, span.latency_s, None)) for span in spans]
    else:
        windows = _integrate(spans, trace)
        problems += _gap_problems(windows, trace) + _dead_problems(windows)
    problems += _short_problems(windows, min(trace.edge_hz, trace.sample_hz), hold_s)
    samples = tuple(_samples(windows))
    idles = tuple(window for span, window in windows if isinstance(span.item.step, Idle))
    counts = {"marks": alignment.marks, "edges": alignment.edges, "pairs": alignment.pairs}
    return Outcome(
        Measured(samples, idles), alignment.timebase, tuple(problems), sum(item.completion.retransmissions for item in done), counts
    )


@dataclass(frozen=True, slots=True)
class _Span:
    item: Done
    phase: str
    start_s: float
    stop_s: float
    latency_s: float
    repeat: int


def _expected_phases(item: Done, phases: Sequence[str]) -> list[int] | None:
    """Return the phase codes due in a step, or None where any will do (a SYNC burst): docs/PROTOCOL.md section 4."""
    if isinstance(item.step, Query):
        return [*range(1, len(phases) + 1), END]
    return [IDLE, END] if isinstance(item.step, Idle) else None


def _spans(item: Done, phases: Sequence[str], timebase: Timebase) -> Iterator[_Span]:
    marks = item.completion.marks
    if _mark_fault(item, phases):
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


def _mark_fault(item: Done, phases: Sequence[str]) -> str:
    """Say what is wrong with the marks of one step; empty when nothing is."""
    marks, due = item.completion.marks, _expected_phases(item, phases)
    if due is not None and len(marks) != len(due):
        return f"has {len(marks)} marks where {len(due)} were due"
    if due is not None and [mark.phase for mark in marks] != due:
        return f"marks the phases {[mark.phase for mark in marks]} where {due} were due"
    if any(later.tick < earlier.tick for earlier, later in pairwise(marks)):
        return f"has ticks that run backwards: {[mark.tick for mark in marks]}"
    return ""


def _bad_marks(done: Sequence[Done], phases: Sequence[str]) -> list[Problem]:
    faults = [(item, fault) for item in done if (fault := _mark_fault(item, phases))]
    if not faults:
        return []
    item, fault = faults[0]
    return [Problem("clock", f"step {item.number} {fault} ({len(faults)} such steps)")]


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


def _dead_problems(windows: list[tuple[_Span, Window]]) -> list[Problem]:
    measured = [(span, window) for span, window in windows if window.energy_j is not None]
    dead = [(span, window) for span, window in measured if (window.energy_j or 0.0) <= 0.0]
    if not dead:
        return []
    span, window = dead[0]
    detail = f"{len(dead)} of {len(measured)} windows, first {span.phase} of step {span.item.number} with {window.energy_j} J"
    return [Problem("power", f"{detail}: is the current wired, and the supply on?")]


def _short_problems(windows: list[tuple[_Span, Window]], slowest_hz: float, hold_s: float) -> list[Problem]:
    # A device delays a mark until the pulse before it is over and the line was high as long: a phase of that length may be shorter.
    limit_s = max(SHORT_PERIODS / slowest_hz, 2 * hold_s * (1 + SHORT_MARGIN))
    short = [(span, window) for span, window in windows if window.stop_s - window.start_s < limit_s]
    if not short:
        return []
    span, window = min(short, key=lambda pair: pair[1].stop_s - pair[1].start_s)
    have_s = window.stop_s - window.start_s
    detail = (
        f"{len(short)} of {len(windows)} windows, shortest {span.phase} of step {span.item.number} with {have_s * 1e6:.1f} us; "
        f"more than {limit_s * 1e6:.1f} us are needed ({SHORT_PERIODS} samples, and twice the SYNC pulse): "
    )
    more = "idle_s" if isinstance(span.item.step, Idle) else f"repeat, now {span.repeat},"
    return [Problem("short", f"{detail}raise the scenario's {more} or the monitor's sample rate")]
