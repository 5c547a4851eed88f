# SPDX-License-Identifier: Apache-2.0
"""Completions x trace -> windows with latency and energy per phase, idle windows,
problems. Pure but for reading the trace.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import takewhile

from rig.kinds import registry as kinds
from rig.kinds.span import Span, Timed, Windows
from rig.measure import problems as faults
from rig.measure.problems import Energy
from rig.model.effects import Effects, merged, named
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
class Outcome:
    """A trial as its raw data give it; `rails` are the time bases of all monitors that
    saw the marks, `counts` those of the first.
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
) -> Outcome:
    """Attach the device's marks to the edges of each monitor, integrate each window,
    and sum over the rails.

    `hold_s` is the length of a SYNC pulse, `clock` the host's clock that the ticks
    count, or empty; `open_end`: more happened behind the steps that are given, and does
    not count. Latency is by the first rail's clock. Where no edges confirm the ticks,
    latencies come from the device's word alone, there is no energy, and the problem
    stays. Without any rail the device's clock is the time base, and `device_clock_ppm`
    the stated limit of its error. `trial`: of interleaved trials the one whose windows
    are wanted; all marks tie the clocks, so their `alignments` are those of `attached`
    for each trial.
    """
    if clock == EDGE_CLOCK:
        return _by_edges(done, phases, tick_hz, hold_s, rails, open_end, trial)
    own = [item for item in done if item.trial in (0, trial)]
    ticks = _ticks(done)
    if alignments is None:
        alignments = attached(done, tick_hz, hold_s, rails, clock, open_end)
    first = (
        alignments[0] if rails else at_nominal_rate(ticks, tick_hz, device_clock_ppm)
    )
    of_clocks = _of_rails(rails, alignments) if rails else list(first.problems)
    problems = [*of_clocks, *faults.of_steps(own, phases)]
    if not clock:
        problems += faults.late_marks(own, tick_hz, hold_s)
    timebase = first.timebase or Timebase.nominal(ticks[0] if ticks else 0, tick_hz)
    spans = [span for item in own for span in _spans(item, phases)]
    accuracy = rails[0].accuracy if rails and first.timebase else None
    energies = _energies(
        spans, rails, [each.timebase for each in alignments], tick_hz, problems
    )
    slowest_hz = min(
        (min(rail.trace.edge_hz, rail.trace.sample_hz) for rail in rails),
        default=tick_hz,
    )
    limit_s = faults.shortest_s(slowest_hz, hold_s)
    rail_name = rails[0].name if rails else ""
    timed = Timed(
        timebase, tick_hz, accuracy, rail_name, limit_s, faults.wait_s(hold_s)
    )
    windows = [
        (span, _window(span, timebase, timed.effects(span.ticks), energy))
        for span, energy in zip(spans, energies, strict=True)
    ]
    problems += faults.short(
        [pair for pair in windows if faults.counts(pair[0])], limit_s, bool(rails)
    )
    each = zip(rails, alignments, strict=True)
    timebases = {
        rail.name: one.timebase for rail, one in each if one.timebase is not None
    }
    counts = Counts(first.marks, first.edges, first.pairs)
    return Outcome(
        _measured(windows, timed),
        first.timebase if rails else None,
        timebases,
        tuple(_placed(problem, own, rail_name, timebases) for problem in problems),
        sum(item.completion.retransmissions for item in own),
        counts,
    )


def _placed(
    problem: Problem,
    done: Sequence[StepRecord],
    first_rail: str,
    timebases: Mapping[str, Timebase],
) -> Problem:
    """Complete the place of a problem: the first rail where it is of no other, and the
    time of its step where it has none.
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
    return [
        attach(rail.trace, ticks, tick_hz, hold_s, clock, open_end) for rail in rails
    ]


def _ticks(done: Sequence[StepRecord]) -> list[int]:
    return [mark.tick for item in done for mark in item.completion.marks]


def _energies(
    spans: list[Span],
    rails: Sequence[Rail],
    timebases: Sequence[Timebase | None],
    tick_hz: float,
    problems: list[Problem],
) -> list[Energy | None]:
    """Return the energy of each span, summed over the rails, and add what is wrong to
    `problems`; none where a rail has no time base.
    """
    known = [timebase for timebase in timebases if timebase is not None]
    if not rails or len(known) < len(rails):
        return [None] * len(spans)
    parts = [
        _integrate(spans, rail, timebase, tick_hz)
        for rail, timebase in zip(rails, known, strict=True)
    ]
    for rail, timebase, part in zip(rails, known, parts, strict=True):
        # A crossing lies in the window of its search, which is looked at as a whole.
        whole = [
            (span, energy)
            for span, energy in zip(spans, part, strict=True)
            if span.whole
        ]
        problems += faults.gaps(*_apart(whole), rail.trace, timebase, rail.name)
        problems += faults.beyond(*_apart(whole), timebase, rail.name)
        problems += shifted(timebase, [span.ticks for span, _ in whole])
    problems += _powerless(spans, rails, parts, known)
    return [_summed(of_span) for of_span in zip(*parts, strict=True)]


def _spans(item: StepRecord, phases: Sequence[str]) -> Iterator[Span]:
    """Yield the spans of a step; none where its marks are not those that are due."""
    if not faults.mark_fault(item, phases):
        yield from kinds.of(item.step).spans(item, item.step, phases)


def _measured(windows: Windows, timed: Timed) -> Measured:
    """Return what came of all steps, kind by kind."""
    of_steps: dict[int, list[tuple[Span, Window]]] = {}
    for span, window in windows:
        of_steps.setdefault(span.item.number, []).append((span, window))
    of_kinds: dict[str, list[Measured]] = {kind.step.kind: [] for kind in kinds.known()}
    for own in of_steps.values():
        item = own[0][0].item
        kind = kinds.of(item.step)
        of_kinds[item.step.kind].append(kind.measure(item, item.step, own, timed))
    return joined([part for parts in of_kinds.values() for part in parts])


def joined(parts: Sequence[Measured]) -> Measured:
    """Return what several parts of a trial measured, one behind the other."""
    return Measured(
        **{
            part.name: tuple(item for one in parts for item in getattr(one, part.name))
            for part in fields(Measured)
        }
    )


def covered(
    done: Sequence[StepRecord],
    tick_hz: float,
    hold_s: float,
    rails: Sequence[Rail],
    clock: str = "",
) -> int:
    """Return the number of the last step up to which the traces of a cut-off segment
    hold everything; 0 where they hold nothing.
    """
    if clock == EDGE_CLOCK:
        # without the device's own time, it is unknown which edge belongs to which mark
        # when the last ones are missing
        return 0

    def ties(items: Sequence[StepRecord]) -> list[Timebase | None]:
        told = [mark.tick for item in items for mark in item.completion.marks]
        return [
            attach(rail.trace, told, tick_hz, hold_s, clock, open_end=True).timebase
            for rail in rails
        ]

    whole = list(takewhile(partial(_held, rails=rails, timebases=ties(done)), done))
    # A burst alone fits the edges behind it in more than one way, and has nothing to
    # measure.
    if not any(kinds.planned(item.step) for item in whole) or None in ties(whole):
        return 0
    return whole[-1].number


def _held(
    item: StepRecord, rails: Sequence[Rail], timebases: Sequence[Timebase | None]
) -> bool:
    """Return whether all marks of a step lie within all traces."""
    return all(
        timebase is not None
        and all(
            timebase.seconds(mark.tick) <= rail.trace.reach_s
            for mark in item.completion.marks
        )
        for rail, timebase in zip(rails, timebases, strict=True)
    )


def together(segments: Sequence[Outcome], word: str = "segment") -> Outcome:
    """Return the outcome of a trial that was recorded in several segments; its time
    base is that of the first. `word` is what its problems call them.
    """
    first = segments[0]
    if len(segments) == 1:
        return first
    return replace(
        first,
        measured=joined([one.measured for one in segments]),
        problems=tuple(
            replace(
                problem,
                detail=f"{word} {number}: {problem.detail}",
                segment=number,
            )
            for number, one in enumerate(segments, start=1)
            for problem in one.problems
        ),
        retransmissions=sum(one.retransmissions for one in segments),
        counts=Counts.sum_of(one.counts for one in segments),
    )


def _by_edges(
    done: Sequence[StepRecord],
    phases: Sequence[str],
    host_hz: float,
    hold_s: float,
    rails: Sequence[Rail],
    open_end: bool,
    trial: int,
) -> Outcome:
    """Measure a device that reports no time: give its marks the times of the first
    rail's edges."""
    trace = rails[0].trace
    host_ticks = [mark.tick for item in done for mark in item.completion.marks]
    ticks = ticks_of_edges(host_ticks, host_hz, trace.falls_s, trace.edge_hz)
    if isinstance(ticks, Problem):
        counts = Counts(len(host_ticks), len(trace.falls_s))
        return Outcome(
            Measured((), ()),
            None,
            {},
            (ticks,),
            sum(item.completion.retransmissions for item in done),
            counts,
        )
    at = iter(ticks)
    told = []
    for item in done:
        marks = tuple(replace(mark, tick=next(at)) for mark in item.completion.marks)
        told.append(replace(item, completion=replace(item.completion, marks=marks)))
    return measure(
        told, phases, trace.edge_hz, hold_s, rails, open_end=open_end, trial=trial
    )


def _of_rails(rails: Sequence[Rail], alignments: Sequence[Alignment]) -> list[Problem]:
    """Collect what is wrong with each alignment; of several rails, each problem names
    its own."""
    return [
        replace(problem, detail=f"{rail.name}: {problem.detail}", rail=rail.name)
        if rail.name
        else problem
        for rail, alignment in zip(rails, alignments, strict=True)
        for problem in alignment.problems
    ]


def _window(
    span: Span, timebase: Timebase, latency: Effects, energy: Energy | None
) -> Window:
    start_s, stop_s = span.seconds(timebase)
    latency_s = timebase.interval_s(*span.ticks) / span.repeat
    effects = (latency if energy is None else merged([latency, energy.effects])).scaled(
        1 / span.repeat
    )
    return Window(
        span.phase,
        start_s,
        stop_s,
        latency_s,
        None if energy is None else energy.energy_j / span.repeat,
        effects,
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
    found = iter(
        trace.integrals(
            inside, ranges_a(rail.accuracy), steps_at_ends=True, bridged=True
        )
    )
    energies: list[Energy | None] = []
    for span, ok in zip(spans, whole, strict=True):
        if not ok:
            energies.append(None)
            continue
        integral = next(found)
        # A mark was made somewhere within its tick.
        ends_u_s = tuple(
            math.hypot(timebase.seconds_u_s(tick), 1 / tick_hz / math.sqrt(12.0))
            for tick in span.ticks
        )
        effects = of_energy(
            integral,
            rail.accuracy,
            trace.sample_hz,
            (ends_u_s[0], ends_u_s[1]),
            timebase.nominal_rate,
        )
        over = beyond(integral, rail.accuracy)
        energies.append(
            Energy(
                integral.energy_j,
                named(effects, rail.name),
                over,
                _unwired_j(integral, rail),
            )
        )
    return energies


def _unwired_j(integral: Integral, rail: Rail) -> float:
    """Return how much of a window's energy may be shown with nothing wired: all of it
    where it is half of a noise.
    """
    limit_j = unwired.unwired_j(integral, rail.accuracy, rail.trace.sample_hz)
    if integral.energy_j > limit_j and unwired.may_be_one_sided(
        integral, rail.accuracy
    ):
        _, power_w = rail.trace.power_w(integral.start_s, integral.stop_s)
        if unwired.one_sided(power_w, integral, rail.accuracy):
            return integral.energy_j
    return limit_j


def _summed(parts: Sequence[Energy | None]) -> Energy | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return Energy(
        sum(part.energy_j for part in known), merged(part.effects for part in known)
    )


def _powerless(
    spans: Sequence[Span],
    rails: Sequence[Rail],
    parts: Sequence[Sequence[Energy | None]],
    timebases: Sequence[Timebase],
) -> list[Problem]:
    places = [place for place, span in enumerate(spans) if span.whole]
    of_rails = {
        rail.name: [part[place] for place in places]
        for rail, part in zip(rails, parts, strict=True)
    }
    names = [rail.name for rail in rails]
    of_names = dict(zip(names, timebases, strict=True))
    return faults.powerless([spans[place] for place in places], of_rails, of_names)


def _apart(
    whole: list[tuple[Span, Energy | None]],
) -> tuple[list[Span], list[Energy | None]]:
    return [span for span, _ in whole], [energy for _, energy in whole]
