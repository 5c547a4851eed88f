# SPDX-License-Identifier: Apache-2.0
"""Problems of the steps of a trial and of its windows: one Problem of each kind, with
its count and its first place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from rig.kinds import registry as kinds
from rig.kinds.span import Span
from rig.model.effects import Effects
from rig.model.step_record import StepRecord
from rig.model.trial import Window
from rig.problems import Problem
from rig.timebase.timebase import Timebase
from rig.trace.gaps import Gap
from rig.trace.trace import Trace

#: The length of a window of fewer SYNC samples is known no better than to 2 % (two
#: edges, each uniform over one period).
SHORT_PERIODS = 20
#: Longest time that a mark takes, except for waiting for the pulse before it.
MARK_S = 1e-4
#: Clocks differ and ticks are integers: a window this close to twice the pulse is taken
#: for one that was stretched to it.
SHORT_MARGIN = 0.02
#: The clocks of device and monitor may differ by so much: 20 samples by the one clock
#: are not 20 by the other.
_CLOCKS_DIFFER = 1e-3


class Energy(NamedTuple):
    """The energy of a window, in joules; its effects; a statement of the part beyond
    the instrument's ranges; and the largest energy that the instrument may show without
    a wire.
    """

    energy_j: float
    effects: Effects
    beyond: str = ""
    unwired_j: float = 0.0


@dataclass(frozen=True, slots=True)
class RailEnergies:
    """The whole spans of a trial on one rail, whose name is empty where it is the only
    one, each with its energy; None where samples were lost.
    """

    rail: str
    trace: Trace
    timebase: Timebase
    windows: Sequence[tuple[Span, Energy | None]]

    @property
    def known(self) -> list[tuple[Span, Energy]]:
        """Spans with a known energy."""
        return [(span, energy) for span, energy in self.windows if energy is not None]

    def problem(
        self, code: str, hit: Sequence[Span], detail: str, *, named: bool = True
    ) -> Problem:
        """Make a problem of some of the spans at the place of the first; of one of
        several rails, its detail is `named`."""
        span = hit[0]
        start_s, stop_s = span.seconds(self.timebase)
        if named and self.rail:
            detail = f"{self.rail}: {detail}"
        return Problem(
            code,
            detail,
            rail=self.rail,
            step=span.item.number,
            start_s=start_s,
            stop_s=stop_s,
        )

    def first_of(self, hit: Sequence[Span]) -> str:
        """Count some of the spans, and name the first."""
        return (
            f"{len(hit)} of {len(self.windows)} windows, first {hit[0].phase} of step"
            f" {hit[0].item.number}"
        )


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
    late = []
    for item in done:
        kind = kinds.of(item.step)
        fault = kind.late_mark(item, item.step, hold_ticks, slack_ticks)
        if fault:
            late.append((item.number, fault))
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
    wrong = []
    for item in done:
        got = item.completion.iterations
        due = kinds.of(item.step).iterations_due(item.step)
        if None not in (got, due) and got != due:
            wrong.append((item.number, got, due))
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
    heard = [item for item in done if item.completion.rx_in_window_b]
    hit = [item for item in heard if kinds.of(item.step).link_is_silent(item.step)]
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


def gaps(energies: RailEnergies) -> list[Problem]:
    """Return the problem of lost samples inside windows."""
    trace = energies.trace
    hit: list[Span] = []
    touched: list[Gap] = []
    for span, _ in energies.windows:
        gap = trace.gap_between(*span.seconds(energies.timebase))
        if gap is not None:
            hit.append(span)
            touched.append(gap)
    if not hit:
        return []
    gap = touched[0]
    without = len(energies.windows) - len(energies.known)
    detail = (
        f"{energies.first_of(hit)} (samples {gap.start} to {gap.stop}: {gap.cause})"
    )
    if without:
        detail += f"; {without} have no energy"
    problem = energies.problem("gap", hit, detail)
    start_s, stop_s = gap.start / trace.sample_hz, gap.stop / trace.sample_hz
    return [replace(problem, start_s=start_s, stop_s=stop_s)]


def unreadable(energies: RailEnergies) -> list[Problem]:
    """Return the problem of samples that are not finite outside of gaps."""
    hit = [
        span for span, energy in energies.known if not math.isfinite(energy.energy_j)
    ]
    if not hit:
        return []
    detail = (
        f"{energies.first_of(hit)}, have no energy: samples in them are no numbers, and"
        " no gap tells of it"
    )
    return [energies.problem("gap", hit, detail)]


def beyond(energies: RailEnergies) -> list[Problem]:
    """Return the problem of windows beyond the ranges with known limits of error."""
    hit = [(span, energy.beyond) for span, energy in energies.known if energy.beyond]
    if not hit:
        return []
    spans = [span for span, _ in hit]
    detail = (
        f"{energies.first_of(spans)}, where {hit[0][1]}: no limits of error are known"
        " there; choose a higher range, or another instrument"
    )
    return [energies.problem("range", spans, detail)]


def powerless(rails: Sequence[RailEnergies]) -> list[Problem]:
    """Return the problems of windows whose power cannot be distinguished from that of
    an open input.

    Of several rails, one may be idle for a while: their sum counts. A rail that never
    draws power is named, and so is one whose current flows backwards.
    """
    problems = []
    totals = []
    for windows in zip(*(rail.windows for rail in rails), strict=True):
        known = _finite(windows)
        if len(known) == len(rails):
            energy_j = sum(energy.energy_j for _, energy in known)
            unwired_j = sum(energy.unwired_j for _, energy in known)
            totals.append((known[0][0], energy_j, unwired_j))
    hit = [row for row in totals if row[1] <= row[2]]
    if hit:
        first = _indistinct(*hit[0])
        detail = f"{len(hit)} of {len(totals)} windows, first {first}"
        problems.append(rails[0].problem("power", [hit[0][0]], detail, named=False))
    if len(rails) > 1:
        for rail in rails:
            problems += _powerless_rail(rail)
    return problems


def _powerless_rail(rail: RailEnergies) -> list[Problem]:
    known = _finite(rail.windows)
    backwards = [pair for pair in known if pair[1].energy_j < -pair[1].unwired_j]
    if backwards:
        span, energy = backwards[0]
        detail = (
            f"{len(backwards)} of {len(known)} windows, first {span.phase} of step"
            f" {span.item.number} with {energy.energy_j / span.repeat:.3g} J: it flows"
            " backwards"
        )
        return [rail.problem("power", [span], detail)]
    if not known or any(energy.energy_j > energy.unwired_j for _, energy in known):
        return []
    span, energy = max(known, key=_of_unwired)
    most = _indistinct(span, energy.energy_j, energy.unwired_j)
    detail = (
        f"nothing is drawn from it in any of {len(known)} windows; the most is {most},"
        " and the bench can leave the rail out"
    )
    return [rail.problem("power", [span], detail)]


def _of_unwired(window: tuple[Span, Energy]) -> float:
    """Return a window's energy as a share of the most that an open input shows."""
    _, energy = window
    return energy.energy_j / max(energy.unwired_j, 1e-30)


def _finite(
    windows: Sequence[tuple[Span, Energy | None]],
) -> list[tuple[Span, Energy]]:
    known = [(span, energy) for span, energy in windows if energy is not None]
    return [pair for pair in known if math.isfinite(pair[1].energy_j)]


def _indistinct(span: Span, energy_j: float, unwired_j: float) -> str:
    return (
        f"{span.phase} of step {span.item.number} with"
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
        if is_short(window.stop_s - window.start_s, limit_s)
    ]
    if not short:
        return []
    span, window = min(short, key=lambda pair: pair[1].stop_s - pair[1].start_s)
    have_s = window.stop_s - window.start_s
    unit = "samples" if monitored else "ticks"
    setting = kinds.of(span.item.step).lengthened_by(span, span.item.step)
    faster = " or the monitor's sample rate" if monitored else ""
    remedy = (
        f"raise the scenario's {setting}{faster}"
        if setting
        else "raise the monitor's sample rate, or shorten the SYNC pulse"
    )
    detail = (
        f"{len(short)} of {len(windows)} windows, shortest {span.phase} of step"
        f" {span.item.number} with {have_s * 1e6:.1f} us; more than {limit_s * 1e6:.1f}"
        f" us are needed ({SHORT_PERIODS} {unit}, and twice the SYNC pulse): {remedy}"
    )
    problem = Problem(
        "short",
        detail,
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


def is_short(length_s: float, limit_s: float) -> bool:
    """Check whether a window is not resolved; one at the limit by another clock is."""
    return length_s < limit_s * (1 - _CLOCKS_DIFFER)


def wait_s(hold_s: float) -> float:
    """Return the longest distance of two marks at which the second may have waited for
    the first.
    """
    # A device delays a mark until the pulse before it is over and the line was high for
    # the same time: a phase of that length may be shorter.
    return 2 * hold_s * (1 + SHORT_MARGIN)
