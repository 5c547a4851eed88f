# SPDX-License-Identifier: Apache-2.0
"""Searches of a loaded workload for a vector of low cost, with marks at thresholds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rig.errors import RemoteProtocolError
from rig.interfaces.sut import SutInfo
from rig.interfaces.task import OptimizationTask, Task
from rig.kinds import thresholds
from rig.kinds.crossings import crossings
from rig.kinds.kind import StepKind
from rig.kinds.span import Span, Timed, Windows
from rig.model.completion import Completion, Mark
from rig.model.scores import Score
from rig.model.step_record import StepRecord
from rig.model.steps import Solve
from rig.model.trial import Measured, Sample
from rig.problems import Problem

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

    def takes_s(self, step: Solve, rates_s: Mapping[str, float]) -> float | None:
        """Return its time-out, where no target may end it before."""
        return step.timeout_s if step.target is None else None

    def total(self, steps: Sequence[Solve]) -> str:
        """Count them, with their longest time; empty where there are none."""
        search_s = sum(step.timeout_s for step in steps)
        searches = "1 search" if len(steps) == 1 else f"{len(steps)} searches"
        return f"{searches} ({search_s:g} s at most)" if steps else ""

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
    pairs = zip(step.thresholds, thresholds.marked(marks, step), strict=True)
    reached = [cost for cost, at in pairs if at is not None]
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
