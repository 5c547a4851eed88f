# SPDX-License-Identifier: Apache-2.0
"""Searches of a loaded workload for a vector of low cost, with marks at thresholds.

Crossings of a search's thresholds, also of those too early for the monitor or for
SYNC, with the bounds of their time and energy. Pure.

QUBO.md: "energy" is the average power since the start of the workload, times the
latency. A window too short for the monitor has the average power of the next one that
is long enough, and its energy lies between 0 and all of that window's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rig.errors import RemoteProtocolError
from rig.interfaces.sut import SutInfo
from rig.interfaces.task import OptimizationTask, Task
from rig.kinds import thresholds
from rig.kinds.kind import StepKind
from rig.kinds.span import Span, Ticks, Timed, Windows
from rig.model.completion import Completion, Mark
from rig.model.effects import Effect, Effects
from rig.model.pace import Duration, Pace
from rig.model.scores import Score
from rig.model.step_record import StepRecord
from rig.model.steps import Solve
from rig.model.trial import Crossing, Measured, Sample, Window
from rig.problems import Problem
from rig.stats.summary import NORMAL_95

#: The name of the windows from the start of a search to each mark of a threshold.
CROSSED = "reached"


class SearchKind(StepKind[Solve]):
    """A mark at the start, one for each threshold that is reached, and one at the
    end.
    """

    step = Solve
    measured = True

    def describe(self, step: Solve) -> str:
        """Name workload, time-out, target and seed."""
        target = "" if step.target is None else f", to {step.target}"
        warmup = ", warm-up" if step.warmup else ""
        return (
            f"solve workload {step.index} for {step.timeout_s:g} s{target}, seed "
            f"{step.seed}{warmup}"
        )

    def group(self, step: Solve) -> str:
        """Group by time-out, and by whether a target may end the search before."""
        how = "" if step.target is None else " or until the target"
        return f"search {step.timeout_s:g} s{how}{', warm-up' * step.warmup}"

    def duration(self, step: Solve, pace: Pace, payload_b: float) -> Duration:
        """Take its time-out; only a limit where a target may end it before."""
        if step.target is not None:
            most_s = step.timeout_s + step.limit_s
            return Duration(pace.overhead_s, most_s, expected=False)
        return Duration(step.timeout_s + pace.overhead_s, step.timeout_s + step.limit_s)

    def total(self, steps: Sequence[Solve]) -> str:
        """Count them, with their longest time; empty where there are none."""
        search_s = sum(step.timeout_s for step in steps)
        return f"{len(steps)} searches ({search_s:g} s at most)" if steps else ""

    def lacks(self, info: SutInfo) -> str:
        """Name the ability to search."""
        return "" if info.solves else "cannot search by itself"

    def scored(
        self, task: Task, number: int, step: Solve, completion: Completion
    ) -> StepRecord:
        """Score its vector; an invalid answer makes the trial invalid, and does not end
        the session.
        """
        try:
            score = task.score(step.index, completion.output)
        except RemoteProtocolError as error:
            case = task.cell(step.index) if isinstance(task, OptimizationTask) else ""
            score = Score(False, "", "", case=case, fault=error.cause)
        return StepRecord(number, step, completion, score)

    def mark_fault(self, item: StepRecord, step: Solve, phases: Sequence[str]) -> str:
        """Describe how the marks differ from those of a search."""
        return thresholds.mark_fault(item.completion.marks, step)

    def late_mark(
        self, item: StepRecord, step: Solve, hold_ticks: float, slack_ticks: float
    ) -> str:
        """Describe a mark that came later than the pulse before it explains."""
        return thresholds.late_mark(item.completion, step, hold_ticks, slack_ticks)

    def spans(
        self, item: StepRecord, step: Solve, phases: Sequence[str]
    ) -> Iterator[Span]:
        """Yield the whole search, and its beginning up to each threshold."""
        marks = item.completion.marks
        yield Span(item, phases[0], (marks[0].tick, marks[-1].tick), 1)
        for ticks in dict.fromkeys(thresholds.crossings(item.completion, step)):
            if ticks is not None:
                yield Span(item, CROSSED, ticks, 1, whole=False)

    def problems(self, item: StepRecord, step: Solve) -> list[Problem]:
        """List problems of its answer: no vector of the workload, a cost other than
        claimed or marked, or times of thresholds that contradict its marks.
        """
        if item.score is None:
            return []
        completion = item.completion
        fault = (
            ""
            if thresholds.mark_fault(completion.marks, step)
            else thresholds.known_fault(completion, step)
        )
        contradictions = (
            [Problem("clock", f"step {item.number} {fault}", step=item.number)]
            if fault
            else []
        )
        return [
            *contradictions,
            *_of_costs(item.number, step, completion.marks, item.score),
        ]

    def must_be_resolved(self, span: Span, step: Solve) -> bool:
        """Require it of a search to its time-out: one that ends at its target may be
        short, and a crossing that comes too early is not measured.
        """
        return step.target is None and not step.warmup and span.whole

    def stated_s(self, step: Solve) -> float | None:
        """Return the time-out of a search that goes on until then."""
        return None if step.warmup or step.target is not None else step.timeout_s

    def lengthened_by(self, span: Span, step: Solve) -> str:
        """Name the scenario's time-outs."""
        return "shortest time-out"

    def measure(
        self, item: StepRecord, step: Solve, windows: Windows, timed: Timed
    ) -> Measured:
        """Make a sample with its crossings; none for a warm-up.

        A crossing before `shortest_s` is not resolved, nor one that a pulse may have
        delayed.
        """
        if step.warmup:
            return Measured((), ())
        (_, whole), *reached = windows
        score = item.score or Score(False, "", "")
        sample = Sample(
            step=item.number,
            indices=(step.index,),
            repeat=1,
            windows=(whole,),
            label=score.label,
            answer=score.answer,
            correct=score.correct,
            case=score.case,
            solve=step,
            costs=score.costs,
            crossings=crossings(
                item.completion,
                step,
                whole,
                {span.ticks: at for span, at in reached},
                timed,
            ),
        )
        return Measured((sample,), ())


def _of_costs(
    number: int, step: Solve, marks: Sequence[Mark], score: Score
) -> list[Problem]:
    costs = score.costs
    where = f"step {number}, workload {step.index}"
    if score.fault or costs is None:
        return [Problem("cost", f"{where}: {score.fault or 'no cost'}", step=number)]
    if costs.claimed != costs.cost:
        return [
            Problem(
                "cost",
                f"{where}: the device claims {costs.claimed}, its vector costs"
                f" {costs.cost}",
                step=number,
            )
        ]
    if thresholds.mark_fault(marks, step):
        return []
    reached = [
        cost
        for cost, at in zip(
            step.thresholds, thresholds.marked(marks, step), strict=True
        )
        if at is not None
    ]
    if reached and costs.cost > reached[-1]:
        return [
            Problem(
                "cost",
                f"{where}: the device marks {reached[-1]} as reached, its vector costs "
                f"{costs.cost}",
                step=number,
            )
        ]
    return []


#: A mark may be late by this share of its time, where the pulse before it held it up: 5
#: % are reported.
LATE_SHARE = 0.05


def crossings(
    completion: Completion,
    step: Solve,
    whole: Window,
    by_ticks: Mapping[Ticks, Window],
    timed: Timed,
) -> tuple[Crossing, ...]:
    """Compute a crossing for each threshold of a search, from its windows `by_ticks`
    and `whole`.

    A window shorter than `timed.shortest_s` has no energy; a mark that is less than
    `timed.wait_s` after another may have waited for its pulse.
    """
    limit_s = timed.shortest_s
    wait_s = timed.wait_s
    ticks = thresholds.crossings(completion, step)
    windows = [None if at is None else by_ticks[at] for at in ticks]
    if completion.known is not None and not thresholds.known_fault(completion, step):
        held_s = _held_s(completion, step, timed, wait_s)
        listed = [
            _by_device(cost, window, limit_s, held)
            for cost, window, held in zip(step.thresholds, windows, held_s, strict=True)
        ]
    else:
        listed = _by_marks(step.thresholds, windows, limit_s, wait_s)
    return tuple(
        _bounded(one, listed[place:], whole) for place, one in enumerate(listed)
    )


def _by_device(
    cost: int, window: Window | None, limit_s: float, held_s: float
) -> Crossing:
    if window is None:
        return Crossing(cost, None)
    least_s = max(window.latency_s - held_s, 0.0)
    return Crossing(
        cost, window, _length_s(window) >= limit_s, True, least_s if held_s else None
    )


def _held_s(
    completion: Completion, step: Solve, timed: Timed, wait_s: float
) -> list[float]:
    """Bound for each threshold the delay of the search by earlier marks: they wait for
    SYNC, and the search waits with them.
    """
    assert completion.known is not None
    marks = thresholds.marked(completion.marks, step)
    known = [*completion.known, *[None] * (len(marks) - len(completion.known))]
    waits: dict[int, float] = {}
    held_s = []
    for mark, at in zip(marks, known, strict=True):
        held_s.append(sum(wait for before, wait in waits.items() if before != mark))
        if mark is not None and at is not None:
            waits[mark] = min(timed.timebase.interval_s(at, mark), wait_s)
    return held_s


def _by_marks(
    costs: Sequence[int],
    windows: Sequence[Window | None],
    limit_s: float,
    wait_s: float,
) -> list[Crossing]:
    before_s = 0.0
    listed = []
    for place, (cost, window) in enumerate(zip(costs, windows, strict=True)):
        if window is None:
            listed.append(Crossing(cost, None))
            continue
        length_s = _length_s(window)
        may_have_waited = length_s - before_s < wait_s
        late = may_have_waited and wait_s > LATE_SHARE * length_s
        listed.append(
            Crossing(
                cost,
                window,
                length_s >= limit_s and not late,
                least_s=before_s if may_have_waited else None,
            )
        )
        if place + 1 == len(windows) or windows[place + 1] is not window:
            before_s = length_s
    return listed


def _bounded(one: Crossing, following: Sequence[Crossing], whole: Window) -> Crossing:
    """Give a crossing that is not resolved the energy, and its bounds, of the next
    window that is.
    """
    if one.window is None or one.resolved:
        return one
    wider = next(
        (
            other.window
            for other in following
            if other.window is not None and other.resolved
        ),
        whole,
    )
    if wider.energy_j is None or not wider.latency_s:
        return replace(one, window=replace(one.window, energy_j=None))
    share = min(one.window.latency_s / wider.latency_s, 1.0)
    most_j = wider.energy_j + NORMAL_95 * (wider.energy_u_j or 0.0)
    window = replace(
        one.window,
        energy_j=share * wider.energy_j,
        effects=_effects(one.window, wider, share),
    )
    return replace(one, window=window, bounds_j=(0.0, most_j))


def _effects(short: Window, wider: Window, share: float) -> Effects:
    """Combine the uncertainty of one window's length with a share of another's
    energy.
    """
    mine = short.effects.of
    its = wider.effects.of
    effects = {}
    for name in {**mine, **its}:
        length = mine.get(name)
        energy = its.get(name)
        known = length or energy
        assert known is not None
        latency_s = length.latency_s if length else 0.0
        effects[name] = Effect(
            known.kind,
            latency_s,
            share * energy.energy_j if energy else 0.0,
            known.shape,
        )
    return Effects(effects)


def _length_s(window: Window) -> float:
    return window.stop_s - window.start_s
