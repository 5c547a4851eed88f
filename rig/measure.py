# SPDX-License-Identifier: Apache-2.0
"""Completions x trace -> windows with latency and energy per phase, idle windows, problems. Pure but for reading the trace."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from rig.accuracy import Accuracy
from rig.align import Alignment
from rig.clock import Timebase
from rig.edge_clock import EDGE_CLOCK, ticks_of_edges
from rig.plan import Idle, Query, Score, Step
from rig.sut import BATCH, END, IDLE, Completion
from rig.tie import shifted, tie
from rig.trace import Trace
from rig.trial import Measured, Problem, Sample, Window
from rig.uncertainty import Effects, merged, named, of_energy, of_latency, ranges_a

#: A window of fewer SYNC samples has its length known no better than 2 % (two edges of a uniform error over one period each).
SHORT_PERIODS = 20
#: Clocks differ and ticks are whole: how close to twice the pulse a window may come before it is taken for one stretched to it.
SHORT_MARGIN = 0.02


@dataclass(frozen=True, slots=True)
class Done:
    """One step that is done: its number in the trial, what was asked, what the device said.

    A SYNC burst has no step; of a batch, `each` of its samples has a score.
    """

    number: int
    step: Step | None
    completion: Completion
    score: Score | None = None
    each: tuple[Score, ...] = ()


@dataclass(frozen=True, slots=True)
class Rail:
    """What one monitor recorded of one supply, and what it promises of its readings; its name is empty when it is the only one."""

    name: str
    trace: Trace
    accuracy: Accuracy


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a trial's raw data say; `rails` are the time bases of all monitors that saw the marks, `counts` those of the first."""

    measured: Measured
    timebase: Timebase | None
    rails: dict[str, Timebase]
    problems: tuple[Problem, ...]
    retransmissions: int
    counts: dict[str, int]


def measure(
    done: Sequence[Done], phases: Sequence[str], tick_hz: float, hold_s: float, rails: Sequence[Rail], clock: str = ""
) -> Outcome:
    """Tie the device's marks to the edges of each monitor, integrate each window, and sum over the rails.

    `hold_s` is the length of a SYNC pulse, `clock` the host's clock that the ticks count, or empty. Latency is told by the first
    rail's clock. Where no edges confirm the ticks, latencies come from the device's word alone, there is no energy, and the
    problem stays.
    """
    if clock == EDGE_CLOCK:
        return _by_edges(done, phases, tick_hz, hold_s, rails)
    ticks = [mark.tick for item in done for mark in item.completion.marks]
    alignments = [tie(rail.trace, ticks, tick_hz, hold_s, clock) for rail in rails]
    problems = [*_of_rails(rails, alignments), *_bad_marks(done, phases), *_miscounted(done), *_disturbed(done), *_restarted(done)]
    first = alignments[0]
    timebase = first.timebase or Timebase.nominal(ticks[0] if ticks else 0, tick_hz)
    spans = [span for item in done for span in _spans(item, phases)]
    accuracy = rails[0].accuracy if first.timebase else None
    energies: list[tuple[float, Effects] | None] = [None] * len(spans)
    if all(alignment.timebase is not None for alignment in alignments):
        parts = [
            _integrate(spans, rail, alignment.timebase, tick_hz)
            for rail, alignment in zip(rails, alignments, strict=True)
            if alignment.timebase is not None
        ]
        energies = [_summed(of_span) for of_span in zip(*parts, strict=True)]
        for rail, alignment, part in zip(rails, alignments, parts, strict=True):
            assert alignment.timebase is not None
            problems += _gap_problems(spans, part, rail, alignment.timebase) + _dead_problems(spans, part, rail)
            problems += shifted(alignment.timebase, [span.ticks for span in spans])
    windows = [
        (span, _window(span, timebase, named(of_latency(span.ticks, timebase, tick_hz, accuracy), rails[0].name), energy))
        for span, energy in zip(spans, energies, strict=True)
    ]
    slowest_hz = min(min(rail.trace.edge_hz, rail.trace.sample_hz) for rail in rails)
    problems += _short_problems([pair for pair in windows if _counts(pair[0].item.step)], slowest_hz, hold_s)
    samples = tuple(_samples(windows))
    idles = tuple(window for span, window in windows if isinstance(span.item.step, Idle))
    counts = {"marks": first.marks, "edges": first.edges, "pairs": first.pairs}
    return Outcome(
        Measured(samples, idles),
        first.timebase,
        {rail.name: a.timebase for rail, a in zip(rails, alignments, strict=True) if a.timebase is not None},
        tuple(problems),
        sum(item.completion.retransmissions for item in done),
        counts,
    )


def _by_edges(done: Sequence[Done], phases: Sequence[str], host_hz: float, hold_s: float, rails: Sequence[Rail]) -> Outcome:
    """Measure a device that tells no time: give its marks the times of the first rail's edges."""
    trace = rails[0].trace
    host_ticks = [mark.tick for item in done for mark in item.completion.marks]
    ticks = ticks_of_edges(host_ticks, host_hz, trace.falls_s, trace.edge_hz)
    if isinstance(ticks, Problem):
        counts = {"marks": len(host_ticks), "edges": len(trace.falls_s), "pairs": 0}
        return Outcome(Measured((), ()), None, {}, (ticks,), sum(item.completion.retransmissions for item in done), counts)
    at = iter(ticks)
    told = []
    for item in done:
        marks = tuple(replace(mark, tick=next(at)) for mark in item.completion.marks)
        told.append(replace(item, completion=replace(item.completion, marks=marks)))
    return measure(told, phases, trace.edge_hz, hold_s, rails)


def _of_rails(rails: Sequence[Rail], alignments: Sequence[Alignment]) -> list[Problem]:
    """Collect what is wrong with each alignment; of several rails, each problem names its own."""
    return [
        Problem(problem.code, f"{rail.name}: {problem.detail}" if rail.name else problem.detail)
        for rail, alignment in zip(rails, alignments, strict=True)
        for problem in alignment.problems
    ]


@dataclass(frozen=True, slots=True)
class _Span:
    item: Done
    phase: str
    ticks: tuple[int, int]
    repeat: int

    def seconds(self, timebase: Timebase) -> tuple[float, float]:
        """Return start and stop in a monitor's time."""
        return timebase.seconds(self.ticks[0]), timebase.seconds(self.ticks[1])


def _expected_phases(item: Done, phases: Sequence[str]) -> list[int] | None:
    """Return the phase codes due in a step, or None where any will do (a SYNC burst): docs/PROTOCOL.md section 4."""
    if isinstance(item.step, Query) and item.step.batch:
        return [BATCH, END]
    if isinstance(item.step, Query):
        return [*range(1, len(phases) + 1), END]
    return [IDLE, END] if isinstance(item.step, Idle) else None


def _spans(item: Done, phases: Sequence[str]) -> Iterator[_Span]:
    marks = item.completion.marks
    # A SYNC burst has no window: its pulses are for the time base alone.
    if item.step is None or _mark_fault(item, phases):
        return
    names = list(phases) if isinstance(item.step, Query) else ["idle"]
    repeat = item.step.repeat if isinstance(item.step, Query) else 1
    for name, begin, end in zip(names, marks, marks[1:], strict=False):
        yield _Span(item, name, (begin.tick, end.tick), repeat)


def _window(span: _Span, timebase: Timebase, latency: Effects, energy: tuple[float, Effects] | None) -> Window:
    start_s, stop_s = span.seconds(timebase)
    latency_s = timebase.interval_s(*span.ticks) / span.repeat
    effects = (latency if energy is None else merged([latency, energy[1]])).scaled(1 / span.repeat)
    return Window(span.phase, start_s, stop_s, latency_s, None if energy is None else energy[0] / span.repeat, effects)


def _integrate(spans: list[_Span], rail: Rail, timebase: Timebase, tick_hz: float) -> list[tuple[float, Effects] | None]:
    """Return energy and its uncertainties for each span on one rail; None where samples were lost at its ends, or
    many of them."""
    trace = rail.trace
    times_s = [span.seconds(timebase) for span in spans]
    whole = [trace.lost_between(*pair) is not None for pair in times_s]
    inside = [pair for pair, ok in zip(times_s, whole, strict=True) if ok]
    found = iter(trace.integrals(inside, ranges_a(rail.accuracy), steps_at_ends=True, bridged=True))
    energies: list[tuple[float, Effects] | None] = []
    for span, ok in zip(spans, whole, strict=True):
        if not ok:
            energies.append(None)
            continue
        integral = next(found)
        # A mark was made somewhere within its tick.
        ends_u_s = tuple(math.hypot(timebase.seconds_u_s(tick), 1 / tick_hz / math.sqrt(12.0)) for tick in span.ticks)
        effects = of_energy(integral, rail.accuracy, trace.sample_hz, (ends_u_s[0], ends_u_s[1]), timebase.on_trust)
        energies.append((integral.energy_j, named(effects, rail.name)))
    return energies


def _summed(parts: Sequence[tuple[float, Effects] | None]) -> tuple[float, Effects] | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return sum(energy_j for energy_j, _ in known), merged(effects for _, effects in known)


def _samples(windows: list[tuple[_Span, Window]]) -> Iterator[Sample]:
    grouped: dict[int, list[tuple[_Span, Window]]] = {}
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


def _miscounted(done: Sequence[Done]) -> list[Problem]:
    """Compare the runs of each query that the device counted with those that were asked for: a latency is divided by them."""
    wrong = []
    for item in done:
        if isinstance(item.step, Query) and item.completion.iterations is not None:
            due = item.step.repeat * len(item.step.indices)
            if item.completion.iterations != due:
                wrong.append((item.number, item.completion.iterations, due))
    if not wrong:
        return []
    number, got, due = wrong[0]
    return [Problem("clock", f"in step {number} the device ran {got} times where {due} were asked for ({len(wrong)} such steps)")]


def _disturbed(done: Sequence[Done]) -> list[Problem]:
    hit = [item for item in done if item.completion.rx_in_window_b]
    if not hit:
        return []
    heard_b = sum(item.completion.rx_in_window_b for item in hit)
    detail = f"{heard_b} bytes reached the device inside {len(hit)} windows, first in step {hit[0].number}"
    return [Problem("link", detail)]


def _restarted(done: Sequence[Done]) -> list[Problem]:
    hit = [item for item in done if item.completion.restarts]
    if not hit:
        return []
    count = sum(item.completion.restarts for item in hit)
    where = f"first in or right before step {hit[0].number}"
    detail = f"{count} restarts, {where}: the device's ticks begin anew there, and what it was doing was done again"
    return [Problem("restart", detail)]


def _gap_problems(
    spans: list[_Span], energies: Sequence[tuple[float, Effects] | None], rail: Rail, timebase: Timebase
) -> list[Problem]:
    gaps = [rail.trace.gap_between(*span.seconds(timebase)) for span in spans]
    hit = [(span, gap) for span, gap in zip(spans, gaps, strict=True) if gap is not None]
    if not hit:
        return []
    (span, gap), without = hit[0], sum(energy is None for energy in energies)
    where = f"{rail.name}: " if rail.name else ""
    detail = f"{len(hit)} of {len(spans)} windows, first {span.phase} of step {span.item.number}"
    detail += f" (samples {gap.start} to {gap.stop}: {gap.cause})" + (f"; {without} have no energy" if without else "")
    return [Problem("gap", where + detail)]


def _dead_problems(spans: list[_Span], energies: Sequence[tuple[float, Effects] | None], rail: Rail) -> list[Problem]:
    measured = [(span, energy[0]) for span, energy in zip(spans, energies, strict=True) if energy is not None]
    dead = [(span, energy_j) for span, energy_j in measured if energy_j <= 0.0]
    if not dead:
        return []
    span, energy_j = dead[0]
    where = f"{rail.name}: " if rail.name else ""
    detail = (
        f"{len(dead)} of {len(measured)} windows, first {span.phase} of step {span.item.number} with {energy_j / span.repeat} J"
    )
    return [Problem("power", f"{where}{detail}: is the current wired, and the supply on?")]


def _counts(step: Step | None) -> bool:
    """Say whether the length of a step's windows matters: a warm-up is not counted, an untimed query gives an answer only."""
    return not isinstance(step, Query) or (step.timed and not step.warmup)


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
    if isinstance(span.item.step, Query) and span.item.step.batch:
        more = "min_duration_s"
    return [Problem("short", f"{detail}raise the scenario's {more} or the monitor's sample rate")]
