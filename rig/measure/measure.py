# SPDX-License-Identifier: Apache-2.0
"""Measure the windows of a trial: latency and energy per phase, idle windows, and
problems, from the completions and the traces. Pure but for reading the trace.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import chain, takewhile

from rig.kinds import registry as kinds
from rig.kinds.span import Span, Timed, Windows
from rig.measure import problems as faults
from rig.measure.problems import Energy, RailEnergies
from rig.model.effects import Effects, merged, of_rail
from rig.model.step_record import StepRecord
from rig.model.trial import Counts, Measured, Window
from rig.problems import Problem
from rig.timebase.align import Alignment
from rig.timebase.attach import at_nominal_rate, attach, shifted
from rig.timebase.edge_clock import EDGE_CLOCK, ticks_of_edges
from rig.timebase.timebase import Timebase
from rig.trace.trace import Integral, Trace
from rig.uncertainty import unwired
from rig.uncertainty.accuracy import Accuracy
from rig.uncertainty.window_effects import beyond, of_energy, ranges_a


@dataclass(frozen=True, slots=True)
class Rail:
    """The recording of one supply by one monitor, with its limits of error; its name is
    empty when it is the only one.
    """

    name: str
    trace: Trace
    accuracy: Accuracy


@dataclass(frozen=True, slots=True)
class MeasuredTrial:
    """A trial as computed from its raw data; `rails` are the time bases of all monitors
    that saw the marks, `counts` those of the first.
    """

    measured: Measured
    timebase: Timebase | None
    rails: dict[str, Timebase]
    problems: tuple[Problem, ...]
    retransmissions: int
    counts: Counts


def measure(
    done: Sequence[StepRecord],
    phases: Sequence[str],
    tick_hz: float,
    hold_s: float,
    rails: Sequence[Rail],
    clock: str = "",
    open_end: bool = False,
    device_clock_ppm: float = 0.0,
    trial: int = 0,
    alignments: Sequence[Alignment] | None = None,
) -> MeasuredTrial:
    """Attach the device's marks to the edges of each monitor, integrate each window,
    and sum over the rails.

    hold_s: length of a SYNC pulse
    clock: the host's clock that the ticks count, or empty
    open_end: the trace goes on after the given steps, and the rest is ignored
    device_clock_ppm: stated limit of the device's clock, the time base without rails
    trial: the one of interleaved trials whose windows are measured
    alignments: those of `attached`, the same for all interleaved trials

    Latency is by the first rail's clock. If no edges confirm the ticks, latencies are
    those that the device reports, there is no energy, and the problem stays.
    """
    if clock == EDGE_CLOCK:
        return _by_edges(
            done, phases, tick_hz, hold_s, rails, open_end=open_end, trial=trial
        )
    of_trial_items = [item for item in done if item.trial in (0, trial)]
    ticks = _ticks(done)
    if alignments is None:
        alignments = attached(
            done, tick_hz, hold_s, rails, clock=clock, open_end=open_end
        )
    first = (
        alignments[0] if rails else at_nominal_rate(ticks, tick_hz, device_clock_ppm)
    )
    of_clocks = _of_rails(rails, alignments) if rails else list(first.problems)
    problems = [*of_clocks, *faults.of_steps(of_trial_items, phases)]
    if not clock:
        problems += faults.late_marks(of_trial_items, tick_hz, hold_s)
    timebase = first.timebase or Timebase.nominal(ticks[0] if ticks else 0, tick_hz)
    spans: list[Span] = []
    for item in of_trial_items:
        spans.extend(_spans(item, phases))
    accuracy = rails[0].accuracy if rails and first.timebase else None
    energies = _energies(
        spans, rails, [each.timebase for each in alignments], tick_hz, problems
    )
    rates_hz = [min(rail.trace.edge_hz, rail.trace.sample_hz) for rail in rails]
    slowest_hz = min(rates_hz, default=tick_hz)
    limit_s = faults.shortest_s(slowest_hz, hold_s)
    rail_name = rails[0].name if rails else ""
    wait_s = faults.wait_s(hold_s)
    timed = Timed(
        timebase=timebase,
        tick_hz=tick_hz,
        accuracy=accuracy,
        rail=rail_name,
        shortest_s=limit_s,
        wait_s=wait_s,
    )
    windows = []
    for span, energy in zip(spans, energies, strict=True):
        window = _window(span, timebase, timed.effects(span.ticks), energy)
        windows.append((span, window))
    counted = [pair for pair in windows if faults.counts(pair[0])]
    problems += faults.short(counted, limit_s, bool(rails))
    timebases = {}
    for rail, alignment in zip(rails, alignments, strict=True):
        if alignment.timebase is not None:
            timebases[rail.name] = alignment.timebase
    placed = [
        _placed(problem, of_trial_items, rail_name, timebases) for problem in problems
    ]
    return MeasuredTrial(
        measured=_measured(windows, timed),
        timebase=first.timebase if rails else None,
        rails=timebases,
        problems=tuple(placed),
        retransmissions=sum(item.completion.retransmissions for item in of_trial_items),
        counts=Counts(first.marks, first.edges, first.pairs),
    )


def _placed(
    problem: Problem,
    done: Sequence[StepRecord],
    first_rail: str,
    timebases: Mapping[str, Timebase],
) -> Problem:
    """Complete the place of a problem: the first rail if it has none, and the time of
    its step.
    """
    problem = replace(problem, rail=problem.rail or first_rail)
    timebase = timebases.get(problem.rail)
    if problem.step is None or problem.start_s is not None or timebase is None:
        return problem
    step = next(item for item in done if item.number == problem.step)
    ticks = [mark.tick for mark in step.completion.marks]
    if not ticks:
        return problem
    start_s = timebase.seconds(min(ticks))
    stop_s = timebase.seconds(max(ticks))
    return replace(problem, start_s=start_s, stop_s=stop_s)


def attached(
    done: Sequence[StepRecord],
    tick_hz: float,
    hold_s: float,
    rails: Sequence[Rail],
    clock: str,
    open_end: bool,
) -> list[Alignment]:
    """Attach the marks of all steps to the edges of each rail."""
    ticks = _ticks(done)
    alignments = []
    for rail in rails:
        alignments.append(
            attach(rail.trace, ticks, tick_hz, hold_s, clock=clock, open_end=open_end)
        )
    return alignments


def _ticks(done: Sequence[StepRecord]) -> list[int]:
    marks = chain.from_iterable(item.completion.marks for item in done)
    return [mark.tick for mark in marks]


def _energies(
    spans: list[Span],
    rails: Sequence[Rail],
    timebases: Sequence[Timebase | None],
    tick_hz: float,
    problems: list[Problem],
) -> list[Energy | None]:
    """Return the energy of each span, summed over the rails, and add the problems found
    to `problems`; the energies are None where a rail has no time base.
    """
    known = [timebase for timebase in timebases if timebase is not None]
    if not rails or len(known) < len(rails):
        return [None] * len(spans)
    parts = [
        _integrate(spans, rail, timebase, tick_hz)
        for rail, timebase in zip(rails, known, strict=True)
    ]
    energies = []
    for rail, timebase, part in zip(rails, known, parts, strict=True):
        # A crossing lies in the window of its search, which is checked as a whole.
        pairs = zip(spans, part, strict=True)
        whole = [(span, energy) for span, energy in pairs if span.whole]
        of_rail = RailEnergies(rail.name, rail.trace, timebase, whole)
        problems += faults.gaps(of_rail)
        problems += faults.unreadable(of_rail)
        problems += faults.beyond(of_rail)
        problems += shifted(timebase, [span.ticks for span, _ in whole])
        energies.append(of_rail)
    problems += faults.powerless(energies)
    return [_summed(of_span) for of_span in zip(*parts, strict=True)]


def _spans(item: StepRecord, phases: Sequence[str]) -> Iterator[Span]:
    """Yield the spans of a step, unless its marks are not the expected ones."""
    if not faults.mark_fault(item, phases):
        yield from kinds.of(item.step).spans(item, item.step, phases)


def _measured(windows: Windows, timed: Timed) -> Measured:
    """Measure all steps, each by its kind; the parts are in the order of the kinds."""
    by_step: dict[int, list[tuple[Span, Window]]] = {}
    for span, window in windows:
        by_step.setdefault(span.item.number, []).append((span, window))
    by_kind: dict[str, list[Measured]] = {kind.step.kind: [] for kind in kinds.known()}
    for step_windows in by_step.values():
        item = step_windows[0][0].item
        kind = kinds.of(item.step)
        by_kind[item.step.kind].append(
            kind.measure(item, item.step, step_windows, timed)
        )
    return joined(list(chain.from_iterable(by_kind.values())))


def joined(parts: Sequence[Measured]) -> Measured:
    """Join the parts of a trial in order, field by field."""
    values = {}
    for field in fields(Measured):
        items = [getattr(part, field.name) for part in parts]
        values[field.name] = tuple(chain.from_iterable(items))
    return Measured(**values)


def covered(
    done: Sequence[StepRecord],
    tick_hz: float,
    hold_s: float,
    rails: Sequence[Rail],
    clock: str = "",
) -> int:
    """Return the number of the last step that all traces of a cut-off segment contain;
    0 if there is no such step.
    """
    if clock == EDGE_CLOCK:
        # Without the device's own time, it is unknown which edge belongs to which mark
        # when the last ones are missing.
        return 0

    def timebases(items: Sequence[StepRecord]) -> list[Timebase | None]:
        ends_open = attached(items, tick_hz, hold_s, rails, clock=clock, open_end=True)
        return [alignment.timebase for alignment in ends_open]

    in_traces = partial(_held, rails=rails, timebases=timebases(done))
    whole = list(takewhile(in_traces, done))
    # A burst alone fits the edges after it in more than one way, and has no window.
    planned = any(kinds.planned(item.step) for item in whole)
    if not planned or None in timebases(whole):
        return 0
    return whole[-1].number


def _held(
    item: StepRecord, rails: Sequence[Rail], timebases: Sequence[Timebase | None]
) -> bool:
    """Check whether all marks of a step lie within all traces."""
    for rail, timebase in zip(rails, timebases, strict=True):
        if timebase is None:
            return False
        for mark in item.completion.marks:
            if timebase.seconds(mark.tick) > rail.trace.reach_s:
                return False
    return True


def together(segments: Sequence[MeasuredTrial], word: str = "segment") -> MeasuredTrial:
    """Join the outcomes of a trial that was recorded in several segments.

    Its time base is that of the first segment. `word` is how its problems call a
    segment.
    """
    first = segments[0]
    if len(segments) == 1:
        return first
    problems = []
    for number, outcome in enumerate(segments, start=1):
        for problem in outcome.problems:
            detail = f"{word} {number}: {problem.detail}"
            problems.append(replace(problem, detail=detail, segment=number))
    measured = joined([outcome.measured for outcome in segments])
    retransmissions = sum(outcome.retransmissions for outcome in segments)
    counts = Counts.sum_of(outcome.counts for outcome in segments)
    return replace(
        first,
        measured=measured,
        problems=tuple(problems),
        retransmissions=retransmissions,
        counts=counts,
    )


def _by_edges(
    done: Sequence[StepRecord],
    phases: Sequence[str],
    host_hz: float,
    hold_s: float,
    rails: Sequence[Rail],
    open_end: bool,
    trial: int,
) -> MeasuredTrial:
    """Measure a device that reports no time: give its marks the times of the first
    rail's edges."""
    trace = rails[0].trace
    host_ticks = _ticks(done)
    ticks = ticks_of_edges(host_ticks, host_hz, trace.falls_s, trace.edge_hz)
    if isinstance(ticks, Problem):
        return MeasuredTrial(
            measured=Measured((), ()),
            timebase=None,
            rails={},
            problems=(ticks,),
            retransmissions=sum(item.completion.retransmissions for item in done),
            counts=Counts(len(host_ticks), len(trace.falls_s)),
        )
    edge_ticks = iter(ticks)
    timed = []
    for item in done:
        marks = tuple(
            replace(mark, tick=next(edge_ticks)) for mark in item.completion.marks
        )
        timed.append(replace(item, completion=replace(item.completion, marks=marks)))
    return measure(
        timed, phases, trace.edge_hz, hold_s, rails, open_end=open_end, trial=trial
    )


def _of_rails(rails: Sequence[Rail], alignments: Sequence[Alignment]) -> list[Problem]:
    """Collect the problems of each alignment; of several rails, each problem names its
    own.
    """
    problems = []
    for rail, alignment in zip(rails, alignments, strict=True):
        for problem in alignment.problems:
            if rail.name:
                detail = f"{rail.name}: {problem.detail}"
                problem = replace(problem, detail=detail, rail=rail.name)
            problems.append(problem)
    return problems


def _window(
    span: Span, timebase: Timebase, latency: Effects, energy: Energy | None
) -> Window:
    start_s, stop_s = span.seconds(timebase)
    effects = latency
    energy_j = None
    if energy is not None:
        effects = merged([latency, energy.effects])
        energy_j = energy.energy_j / span.repeat
    return Window(
        phase=span.phase,
        start_s=start_s,
        stop_s=stop_s,
        latency_s=timebase.interval_s(*span.ticks) / span.repeat,
        energy_j=energy_j,
        effects=effects.scaled(1 / span.repeat),
    )


def _integrate(
    spans: list[Span], rail: Rail, timebase: Timebase, tick_hz: float
) -> list[Energy | None]:
    """Return energy and its uncertainties for each span on one rail; None where samples
    were lost at its ends, or many of them.
    """
    trace = rail.trace
    times_s = [span.seconds(timebase) for span in spans]
    whole = [trace.lost_between(*pair) is not None for pair in times_s]
    inside = [pair for pair, ok in zip(times_s, whole, strict=True) if ok]
    ranges = ranges_a(rail.accuracy)
    integrals = iter(trace.integrals(inside, ranges, steps_at_ends=True, bridged=True))
    # A mark was made somewhere within its tick.
    tick_u_s = 1 / tick_hz / math.sqrt(12.0)
    energies: list[Energy | None] = []
    for span, ok in zip(spans, whole, strict=True):
        if not ok:
            energies.append(None)
            continue
        integral = next(integrals)
        start, stop = span.ticks
        start_u_s = math.hypot(timebase.seconds_u_s(start), tick_u_s)
        stop_u_s = math.hypot(timebase.seconds_u_s(stop), tick_u_s)
        effects = of_energy(
            integral,
            rail.accuracy,
            trace.sample_hz,
            (start_u_s, stop_u_s),
            timebase.nominal_rate,
        )
        effects = of_rail(effects, rail.name)
        beyond_range = beyond(integral, rail.accuracy)
        unwired_j = _unwired_j(integral, rail)
        energies.append(Energy(integral.energy_j, effects, beyond_range, unwired_j))
    return energies


def _unwired_j(integral: Integral, rail: Rail) -> float:
    """Return the largest energy that the monitor may show with no wire connected: all
    of the window's if it is one half of a noise.
    """
    accuracy = rail.accuracy
    limit_j = unwired.unwired_j(integral, accuracy, rail.trace.sample_hz)
    if integral.energy_j <= limit_j:
        return limit_j
    if unwired.may_be_one_sided(integral, accuracy):
        _, power_w = rail.trace.power_w(integral.start_s, integral.stop_s)
        if unwired.one_sided(power_w, integral, accuracy):
            return integral.energy_j
    return limit_j


def _summed(parts: Sequence[Energy | None]) -> Energy | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return Energy(
        sum(part.energy_j for part in known), merged([part.effects for part in known])
    )
