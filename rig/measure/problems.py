# SPDX-License-Identifier: Apache-2.0
"""Problems of the steps of a trial and of its windows: one Problem of each kind, with
its count and its first place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from rig.kinds import registry as kinds
from rig.kinds.span import Span
from rig.model.effects import Effects
from rig.model.step_record import StepRecord
from rig.model.trial import Window
from rig.problems import Problem
from rig.timebase.timebase import Timebase
from rig.trace.trace import Trace

#: The length of a window of fewer SYNC samples is known no better than to 2 % (two
#: edges, each uniform over one period).
SHORT_PERIODS = 20
#: Longest time that a mark takes, except for waiting for the pulse before it.
MARK_S = 1e-4
#: Clocks differ and ticks are integers: a window this close to twice the pulse is taken
#: for one that was stretched to it.
SHORT_MARGIN = 0.02


class Energy(NamedTuple):
    """The energy of a window, in joules; its effects; a statement of the part beyond
    the instrument's ranges; and the largest energy that the instrument may show without
    a wire.
    """

    energy_j: float
    effects: Effects
    beyond: str = ""
    unwired_j: float = 0.0


#: None where samples were lost.
Energies = Sequence[Energy | None]


def of_steps(done: Sequence[StepRecord], phases: Sequence[str]) -> list[Problem]:
    """Return the problems of the device's reports."""
    problems = [
        *_bad_marks(done, phases),
        *_miscounted(done),
        *_disturbed(done),
        *_restarted(done),
    ]
    for item in done:
        problems += kinds.of(item.step).problems(item, item.step)
    return problems


def late_marks(
    done: Sequence[StepRecord], tick_hz: float, hold_s: float
) -> list[Problem]:
    """Return the problem of marks that came later than the device reports to have known
    their event: one of the two is wrong.
    """
    hold_ticks = hold_s * tick_hz
    slack_ticks = MARK_S * tick_hz
    late = [
        (item.number, fault)
        for item in done
        if (
            fault := kinds.of(item.step).late_mark(
                item, item.step, hold_ticks, slack_ticks
            )
        )
    ]
    if not late:
        return []
    number, fault = late[0]
    detail = f"step {number} {fault} ({len(late)} such steps)"
    return [Problem("clock", detail, step=number)]


def mark_fault(item: StepRecord, phases: Sequence[str]) -> str:
    """Describe the fault of a step's marks; empty if they are as expected."""
    marks = item.completion.marks
    if fault := kinds.of(item.step).mark_fault(item, item.step, phases):
        return fault
    if any(later.tick < earlier.tick for earlier, later in pairwise(marks)):
        return f"has ticks that run backwards: {[mark.tick for mark in marks]}"
    return ""


def _bad_marks(done: Sequence[StepRecord], phases: Sequence[str]) -> list[Problem]:
    faults = [(item, fault) for item in done if (fault := mark_fault(item, phases))]
    if not faults:
        return []
    item, fault = faults[0]
    detail = f"step {item.number} {fault} ({len(faults)} such steps)"
    return [Problem("clock", detail, step=item.number)]


def _miscounted(done: Sequence[StepRecord]) -> list[Problem]:
    """Compare the runs of each query that the device counted with those requested, by
    which latencies are divided.
    """
    counted = [
        (
            item.number,
            item.completion.iterations,
            kinds.of(item.step).iterations_due(item.step),
        )
        for item in done
    ]
    wrong = [row for row in counted if None not in row and row[1] != row[2]]
    if not wrong:
        return []
    number, got, due = wrong[0]
    return [
        Problem(
            "clock",
            f"in step {number} the device ran {got} times where {due} were asked for"
            f" ({len(wrong)} such steps)",
            step=number,
        )
    ]


def _disturbed(done: Sequence[StepRecord]) -> list[Problem]:
    hit = [
        item
        for item in done
        if item.completion.rx_in_window_b
        and kinds.of(item.step).link_is_silent(item.step)
    ]
    if not hit:
        return []
    heard_b = sum(item.completion.rx_in_window_b for item in hit)
    detail = (
        f"{heard_b} bytes reached the device inside {len(hit)} windows, first in step "
        f"{hit[0].number}"
    )
    return [Problem("link", detail, step=hit[0].number)]


def _restarted(done: Sequence[StepRecord]) -> list[Problem]:
    hit = [item for item in done if item.completion.restarts]
    if not hit:
        return []
    count = sum(item.completion.restarts for item in hit)
    where = f"first in or right before step {hit[0].number}"
    detail = (
        f"{count} restarts, {where}: the device's ticks begin anew there, and what it"
        " was doing was done again"
    )
    return [Problem("restart", detail, step=hit[0].number)]


def gaps(
    spans: list[Span], energies: Energies, trace: Trace, timebase: Timebase, rail: str
) -> list[Problem]:
    """Return the problems of lost samples inside windows, and of samples that are not
    finite outside of gaps.
    """
    return [
        *_lost(spans, energies, trace, timebase, rail),
        *_unreadable(spans, energies, timebase, rail),
    ]


def _lost(
    spans: list[Span], energies: Energies, trace: Trace, timebase: Timebase, rail: str
) -> list[Problem]:
    gaps = [trace.gap_between(*span.seconds(timebase)) for span in spans]
    hit = [
        (span, gap) for span, gap in zip(spans, gaps, strict=True) if gap is not None
    ]
    if not hit:
        return []
    (span, gap), without = hit[0], sum(energy is None for energy in energies)
    detail = (
        f"{len(hit)} of {len(spans)} windows, first {span.phase} of step"
        f" {span.item.number}"
    )
    detail += f" (samples {gap.start} to {gap.stop}: {gap.cause})" + (
        f"; {without} have no energy" if without else ""
    )
    problem = Problem(
        "gap",
        _of_rail(rail) + detail,
        rail=rail,
        step=span.item.number,
        start_s=gap.start / trace.sample_hz,
        stop_s=gap.stop / trace.sample_hz,
    )
    return [problem]


def _of_rail(rail: str) -> str:
    """Return the beginning of evidence about one of several rails."""
    return f"{rail}: " if rail else ""


def _of_span(
    code: str, detail: str, span: Span, timebase: Timebase, rail: str
) -> Problem:
    """Make a problem at the place of a span in the trace of a rail."""
    start_s, stop_s = span.seconds(timebase)
    return Problem(
        code,
        detail,
        rail=rail,
        step=span.item.number,
        start_s=start_s,
        stop_s=stop_s,
    )


def _unreadable(
    spans: list[Span], energies: Energies, timebase: Timebase, rail: str
) -> list[Problem]:
    hit = [
        span
        for span, energy in zip(spans, energies, strict=True)
        if energy is not None and not math.isfinite(energy.energy_j)
    ]
    if not hit:
        return []
    detail = (
        f"{len(hit)} of {len(spans)} windows, first {hit[0].phase} of step "
        f"{hit[0].item.number}, have no energy"
    )
    detail = (
        f"{_of_rail(rail)}{detail}: samples in them are no numbers, and no gap tells of"
        " it"
    )
    return [_of_span("gap", detail, hit[0], timebase, rail)]


def beyond(
    spans: list[Span], energies: Energies, timebase: Timebase, rail: str
) -> list[Problem]:
    """Return the problem of windows beyond the ranges with known limits of error."""
    hit = [
        (span, energy.beyond)
        for span, energy in zip(spans, energies, strict=True)
        if energy is not None and energy.beyond
    ]
    if not hit:
        return []
    span, said = hit[0]
    detail = (
        f"{len(hit)} of {len(spans)} windows, first {span.phase} of step "
        f"{span.item.number}, where {said}"
    )
    detail = (
        f"{_of_rail(rail)}{detail}: no limits of error are known there; choose a higher"
        " range, or another instrument"
    )
    return [_of_span("range", detail, span, timebase, rail)]


def powerless(
    spans: Sequence[Span],
    rails: Mapping[str, Energies],
    timebases: Mapping[str, Timebase],
) -> list[Problem]:
    """Return the problems of windows whose power cannot be distinguished from that of
    an open input.

    Of several rails, one may be idle for a while: their sum counts. A rail that never
    draws power is named, and so is one whose current flows backwards.
    """
    problems = []
    totals = []
    for span, *parts in zip(spans, *rails.values(), strict=True):
        known = _finite(parts)
        if len(known) == len(rails):
            energy_j = sum(energy.energy_j for energy in known)
            unwired_j = sum(energy.unwired_j for energy in known)
            totals.append((span, energy_j, unwired_j))
    hit = [row for row in totals if row[1] <= row[2]]
    if hit:
        detail = f"{len(hit)} of {len(totals)} windows, {_untold(*hit[0])}"
        rail = next(iter(rails))
        problems.append(_of_span("power", detail, hit[0][0], timebases[rail], rail))
    if len(rails) == 1:
        return problems
    for rail, energies in rails.items():
        problem = _powerless_rail(spans, energies, rail, timebases[rail])
        if problem is not None:
            problems.append(problem)
    return problems


def _powerless_rail(
    spans: Sequence[Span], energies: Energies, rail: str, timebase: Timebase
) -> Problem | None:
    known = []
    backwards = []
    for span, energy in zip(spans, energies, strict=True):
        if energy is None or not math.isfinite(energy.energy_j):
            continue
        known.append((span, energy))
        if energy.energy_j < -energy.unwired_j:
            backwards.append((span, energy))
    if backwards:
        span, energy = backwards[0]
        first = (
            f"first {span.phase} of step {span.item.number} with "
            f"{energy.energy_j / span.repeat:.3g} J"
        )
        detail = (
            f"{rail}: {len(backwards)} of {len(known)} windows, {first}: it flows"
            " backwards"
        )
        return _of_span("power", detail, span, timebase, rail)
    if not known or any(energy.energy_j > energy.unwired_j for _, energy in known):
        return None
    span, energy = max(known, key=_of_unwired)
    most = _untold(span, energy.energy_j, energy.unwired_j).removeprefix("first ")
    detail = (
        f"{rail}: nothing is drawn from it in any of {len(known)} windows; the "
        f"most is {most}, and the bench can leave the rail out"
    )
    return _of_span("power", detail, span, timebase, rail)


def _of_unwired(window: tuple[Span, Energy]) -> float:
    """Return a window's energy as a share of the most that an open input shows."""
    _, energy = window
    return energy.energy_j / max(energy.unwired_j, 1e-30)


def _finite(energies: Sequence[Energy | None]) -> list[Energy]:
    known = [energy for energy in energies if energy is not None]
    return [energy for energy in known if math.isfinite(energy.energy_j)]


def _untold(span: Span, energy_j: float, unwired_j: float) -> str:
    return (
        f"first {span.phase} of step {span.item.number} with"
        f" {energy_j / span.repeat:.3g} J, where nothing wired may show"
        f" {unwired_j / span.repeat:.3g} J by the instrument's limits of error: is the"
        " current wired, and the supply on, or is the device fed by another cable? rig"
        " probe compares; where it draws so little, this instrument cannot measure it"
    )


def short(
    windows: list[tuple[Span, Window]], limit_s: float, monitored: bool = True
) -> list[Problem]:
    """Return the problem of windows shorter than `limit_s`; without a monitor their
    length is known to a tick.
    """
    short = [
        (span, window)
        for span, window in windows
        if window.stop_s - window.start_s < limit_s
    ]
    if not short:
        return []
    span, window = min(short, key=lambda pair: pair[1].stop_s - pair[1].start_s)
    have_s = window.stop_s - window.start_s
    unit = "samples" if monitored else "ticks"
    detail = (
        f"{len(short)} of {len(windows)} windows, shortest {span.phase} of step"
        f" {span.item.number} with {have_s * 1e6:.1f} us; more than {limit_s * 1e6:.1f}"
        f" us are needed ({SHORT_PERIODS} {unit}, and twice the SYNC pulse): "
    )
    setting = kinds.of(span.item.step).lengthened_by(span, span.item.step)
    faster = " or the monitor's sample rate" if monitored else ""
    remedy = (
        f"raise the scenario's {setting}{faster}"
        if setting
        else "raise the monitor's sample rate, or shorten the SYNC pulse"
    )
    problem = Problem(
        "short",
        detail + remedy,
        step=span.item.number,
        start_s=window.start_s,
        stop_s=window.stop_s,
    )
    return [problem]


def counts(span: Span) -> bool:
    """Check whether the length of a window is measured."""
    return kinds.of(span.item.step).must_be_resolved(span, span.item.step)


def shortest_s(slowest_hz: float, hold_s: float) -> float:
    """Return the shortest length of a window that is resolved."""
    return max(SHORT_PERIODS / slowest_hz, wait_s(hold_s))


def wait_s(hold_s: float) -> float:
    """Return the longest distance of two marks at which the second may have waited for
    the first.
    """
    # A device delays a mark until the pulse before it is over and the line was high for
    # the same time: a phase of that length may be shorter.
    return 2 * hold_s * (1 + SHORT_MARGIN)
