# SPDX-License-Identifier: Apache-2.0
"""Queries: loaded samples are processed, phase by phase, or as a batch in one
window.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rig.errors import ConfigError, RemoteProtocolError
from rig.files import typed
from rig.interfaces.sut import SutInfo
from rig.interfaces.task import OptimizationTask, Task
from rig.kinds.kind import StepKind
from rig.kinds.span import Span, Timed, Windows
from rig.model.completion import BATCH, END, Completion
from rig.model.scores import Score
from rig.model.step_record import StepRecord
from rig.model.steps import Query
from rig.model.trial import Measured, Sample


@dataclass(frozen=True, slots=True)
class QueryForm:
    """A query in completions.jsonl; rare fields are there only where they are set."""

    indices: tuple[int, ...]
    repeat: int
    limit_s: float
    warmup: bool
    timed: bool = typed.optional(True)
    batch: bool = typed.optional(False)
    window: int | None = typed.optional()


class QueryKind(StepKind[Query]):
    """A mark at the start of each phase, or of the batch, and one at the end."""

    step = Query
    form = QueryForm
    measured = True

    def describe(self, step: Query) -> str:
        """Name the samples, and the number of runs."""
        remarks = [
            f"{step.repeat} times" if step.repeat > 1 else "",
            "warm-up" if step.warmup else "",
        ]
        which = ", ".join(map(str, step.indices))
        return f"query sample {which} " + ", ".join(filter(None, remarks))

    def takes_s(self, step: Query, rates_s: Mapping[str, float]) -> float | None:
        """Return the time of all its runs, where that of one is stated."""
        each_s = rates_s.get(step.kind)
        return None if each_s is None else step.repeat * len(step.indices) * each_s

    def total(self, steps: Sequence[Query]) -> str:
        """Count them."""
        return f"{len(steps)} queries"

    def refuse_unsuited(self, step: Query, scenario: str, task: Task) -> None:
        """Raise ConfigError for a task whose samples are workloads to search."""
        if isinstance(task, OptimizationTask):
            raise ConfigError(
                f"{task.name} has workloads to search, no samples to answer",
                path=f"scenario.{scenario}",
                try_next="[scenario.optimization]",
            )

    def lacks(self, info: SutInfo) -> str:
        """Refuse a device whose answers depend on the windows before."""
        if not info.details.get("stateful"):
            return ""
        return (
            "answers for the windows of a stream alone, as each answer depends on those"
            " before it: [scenario.events]"
        )

    def own_phases(self, step: Query) -> tuple[str, ...]:
        """Name the one window of a batch."""
        return ("batch",) if step.batch else ()

    def scored(
        self, task: Task, number: int, step: Query, completion: Completion
    ) -> StepRecord:
        """Score the answer; those of a batch follow each other, all of one length."""
        if not step.batch:
            score = task.score(step.indices[0], completion.output)
            return StepRecord(number, step, completion, score)
        length_b, rest_b = divmod(len(completion.output), len(step.indices))
        if rest_b:
            raise RemoteProtocolError(
                f"{len(completion.output)} bytes are no outputs of one length for "
                f"{len(step.indices)} samples"
            )
        each = []
        for at, index in enumerate(step.indices):
            output = completion.output[at * length_b : (at + 1) * length_b]
            each.append(task.score(index, output))
        return StepRecord(number, step, completion, each=tuple(each))

    def due(
        self, item: StepRecord, step: Query, phases: Sequence[str]
    ) -> list[int] | None:
        """Require the marks of the phases, or of the batch, and of the end."""
        return [BATCH, END] if step.batch else [*range(1, len(phases) + 1), END]

    def spans(
        self, item: StepRecord, step: Query, phases: Sequence[str]
    ) -> Iterator[Span]:
        """Yield each phase."""
        for name, (begin, end) in zip(
            phases, pairwise(item.completion.marks), strict=False
        ):
            yield Span(item, name, (begin.tick, end.tick), step.repeat)

    def iterations_due(self, step: Query) -> int | None:
        """Require the runs that were asked for: a latency is divided by them."""
        return step.repeat * len(step.indices)

    def must_be_resolved(self, span: Span, step: Query) -> bool:
        """Exempt warm-up, and untimed queries, whose answers alone count."""
        return step.timed and not step.warmup

    def lengthened_by(self, span: Span, step: Query) -> str:
        """Name the scenario's repetitions, or the least duration of its batch."""
        return "min_duration_s" if step.batch else f"repeat, now {span.repeat},"

    def measure(
        self, item: StepRecord, step: Query, windows: Windows, timed: Timed
    ) -> Measured:
        """Make a sample with a window for each phase; none for a warm-up."""
        if step.warmup:
            return Measured((), ())
        all_correct = bool(item.each) and all(one.correct for one in item.each)
        score = item.score or Score(all_correct, "", "")
        sample = Sample(
            step=item.number,
            indices=step.indices,
            repeat=step.repeat,
            windows=tuple(window for _, window in windows),
            label=score.label,
            answer=score.answer,
            correct=score.correct if item.each else score.label == score.answer,
            scores=score.scores,
            case=score.case,
            timed=step.timed,
            each=item.each,
        )
        return Measured((sample,), ())

    def to_form(self, step: Query) -> QueryForm:
        """Keep its settings."""
        return typed.like(QueryForm, step)

    def from_form(self, form: QueryForm) -> Query:
        """Make the query."""
        return typed.like(Query, form)
