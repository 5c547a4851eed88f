# SPDX-License-Identifier: Apache-2.0
"""The lines of completions.jsonl, written and read: a step, the device's report, and
its score.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rig.files import typed
from rig.kinds import registry as kinds
from rig.model.completion import Completion, Mark
from rig.model.scores import Costs, Score
from rig.model.step_record import StepRecord
from rig.store.session_folder import COMPLETIONS, read_lines


@dataclass(frozen=True, slots=True)
class StepLine:
    """A line's first part. The second has the fields of its kind (rig/kinds: `form`).
    `trial` is there where trials were interleaved.
    """

    step: int
    kind: str
    trial: int = typed.optional(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostsLine:
    """Costs of a search's answer; in sessions of before there were two targets `target`
    is the best known one.
    """

    cost: int
    official: int | None = None
    claimed: int
    best_known: int | None = None
    target: int | None = typed.optional()
    measure: str = typed.optional("")
    value: float | None = typed.optional()

    @classmethod
    def of(cls, costs: Costs) -> CostsLine:
        """Return costs as a line has them."""
        return cls(**asdict(costs))

    def costs(self) -> Costs:
        """Return the costs."""
        best_known = self.best_known if self.target is None else self.target
        return Costs(
            cost=self.cost,
            official=self.official,
            claimed=self.claimed,
            best_known=best_known,
            measure=self.measure,
            value=self.value,
        )


@dataclass(frozen=True, slots=True)
class ScoreLine:
    """How the answer to one sample of a batch scored."""

    label: str
    answer: str
    scores: tuple[float, ...] = typed.optional(())
    case: str | None = typed.optional()
    costs: CostsLine | None = typed.optional()
    fault: str | None = typed.optional()

    @classmethod
    def of(cls, score: Score) -> ScoreLine:
        """Return a score as a line has it; its case only where something is judged by
        it."""
        costs = CostsLine.of(score.costs) if score.costs else None
        judged = score.scores or costs or score.fault
        case = score.case if judged else None
        scores = tuple(score.scores)
        return typed.like(
            cls,
            score,
            scores=scores,
            case=case,
            costs=costs,
            fault=score.fault or None,
        )

    def score(self) -> Score:
        """Return the score."""
        costs = self.costs.costs() if self.costs else None
        correct = costs.met if costs else self.label == self.answer and not self.fault
        scores = tuple(map(float, self.scores))
        return typed.like(
            Score,
            self,
            correct=correct,
            scores=scores,
            case=self.case or "",
            costs=costs,
            fault=self.fault or "",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeLine:
    """A line's third part: the device's report."""

    refusal: str = typed.optional("")
    marks: tuple[tuple[int, int], ...]
    output: bytes
    retransmissions: int
    rx_in_window_b: int
    iterations: int | None = None
    restarts: int = 0
    faults: tuple[str, ...] = typed.optional(())
    known: tuple[int, ...] | None = typed.optional()

    @classmethod
    def of(cls, completion: Completion) -> OutcomeLine:
        """Return a completion as a line has it."""
        marks = tuple((mark.phase, mark.tick) for mark in completion.marks)
        return typed.like(cls, completion, marks=marks)

    def completion(self) -> Completion:
        """Return the completion."""
        marks = tuple(Mark(phase, tick) for phase, tick in self.marks)
        return typed.like(Completion, self, marks=marks)


@dataclass(frozen=True, slots=True)
class BatchLine:
    """A line's last part, after its score: the scores of the samples of a batch."""

    each: tuple[ScoreLine, ...] = typed.optional(())


def to_json(done: StepRecord) -> dict[str, Any]:
    """Return one line of completions.jsonl."""
    kind = kinds.of(done.step)
    parts: list[Any] = [StepLine(done.number, done.step.kind, done.trial)]
    parts += [kind.to_form(done.step), OutcomeLine.of(done.completion)]
    if done.score:
        parts.append(ScoreLine.of(done.score))
    parts.append(BatchLine(tuple(map(ScoreLine.of, done.each))))
    line: dict[str, Any] = {}
    for part in parts:
        line |= typed.to_json(part)
    return line


def from_json(line: Mapping[str, Any], place: str = COMPLETIONS) -> StepRecord:
    """Return the step record that a line of completions.jsonl is; raise DataError."""
    keys = dict(line)
    begin = typed.take(StepLine, keys, place)
    kind = kinds.named(begin.kind)
    form = typed.take(kind.form or kind.step, keys, place)
    outcome = typed.take(OutcomeLine, keys, place)
    batch = typed.take(BatchLine, keys, place)
    score = typed.from_json(ScoreLine, keys, place).score() if keys else None
    return StepRecord(
        number=begin.step,
        step=kind.from_form(form),
        completion=outcome.completion(),
        score=score,
        each=tuple(line.score() for line in batch.each),
        trial=begin.trial,
    )


def read(folder: Path) -> list[StepRecord]:
    """Read the step records of a trial that were written whole; raise DataError."""
    path = folder / COMPLETIONS
    return [from_json(line, str(path)) for line in read_lines(path)]
