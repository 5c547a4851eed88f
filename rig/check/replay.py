# SPDX-License-Identifier: Apache-2.0
"""A trial's steps and answers once more, without device and data: the plan by its seed,
the scores by the bytes in the session.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from rig.bench import plugins
from rig.check.reasons import cause
from rig.check.written_again import SHOWN, difference_of
from rig.errors import DataError, NotInSession
from rig.interfaces.scenario import Scenario
from rig.interfaces.sut import SutInfo
from rig.interfaces.task import OptimizationTask, Task
from rig.kinds import registry as kinds
from rig.model.completion import Completion
from rig.model.finding import Finding
from rig.model.step_record import StepRecord
from rig.model.steps import Step
from rig.results.results import Context
from rig.session.execute import done
from rig.session.turns import turns
from rig.store import completion_lines
from rig.store.segments import segments
from rig.store.session_folder import COMPLETIONS, PROVENANCE, read_lines


@dataclass(frozen=True, slots=True)
class Replay:
    """The scenario as it was fitted to the device, and the task without its data."""

    scenario: Scenario
    task: Task

    @classmethod
    def of(cls, context: Context) -> Replay | None:
        """Return it from a session; None where the task offers no stand-in.

        Raises DataError where the session contradicts itself.
        """
        choice = context.config.task
        facts: Mapping[str, Any] = context.provenance.task.stored
        kind = plugins.find("task", choice.kind)
        task = kind.replica(choice.settings, facts, context.catalogue)
        if task is None:
            return None
        _refuse_other(task, facts)
        info = context.provenance.sut
        return cls(context.scenario.fitted(info), task)

    def findings(
        self, context: Context, trial: Path, seed: int, trials: int
    ) -> Iterator[Finding]:
        """Score a trial's answers again, and compare its steps with the plan of its
        seed, or of all `trials` where they are interleaved.
        """
        name = f"{trial.name}/{COMPLETIONS}"
        read: list[list[StepRecord]] = []
        count, wrong = yield from self._scored(trial, read)
        if wrong > SHOWN:
            yield Finding(name, False, f"{wrong - SHOWN} more lines differ")
        if wrong:
            return
        context.recordings.keep(trial, read)
        told = list(chain.from_iterable(context.recordings.steps(trial)))
        try:
            differences = list(self.differences(seed, told, trials))
        except NotInSession as error:
            said = f"{count} lines scored again; the plan is not made again"
            yield Finding(name, True, f"{said}: {error.cause}")
            return
        except Exception as error:
            yield Finding(name, False, f"its plan cannot be recomputed: {cause(error)}")
            return
        yield from (Finding(name, False, text) for text in differences)
        phases = self.phases(context.provenance.sut, told)
        if context.phases != phases:
            said = f"phases are {context.phases}, those of {trial.name} are {phases}"
            yield Finding(PROVENANCE, False, said)
        if not differences:
            said = (
                f"{count} lines scored again, and the plan of seed {seed} found again"
            )
            yield Finding(name, True, said)

    def _scored(
        self, trial: Path, read: list[list[StepRecord]]
    ) -> Generator[Finding, None, tuple[int, int]]:
        """Yield the first lines that score otherwise; return how many lines there are,
        and how many differ. The steps of each segment are added to `read`.
        """
        count = 0
        wrong = 0
        for place in segments(trial):
            name = str((place / COMPLETIONS).relative_to(trial.parent))
            at = 0
            read.append([])
            try:
                lines = read_lines(place / COMPLETIONS)
                for at, (item, line, again) in enumerate(self.rescored(lines), start=1):
                    count += 1
                    read[-1].append(item)
                    if text := difference_of(line, again):
                        wrong += 1
                        if wrong <= SHOWN:
                            said = f"line {at}, step {item.number}: {text}"
                            yield Finding(name, False, said)
            except Exception as error:
                wrong += 1
                said = f"line {at + 1} cannot be scored again: {cause(error)}"
                yield Finding(name, False, said)
        return count, wrong

    def score(self, item: StepRecord) -> StepRecord:
        """Return a step that is done with the scores that its output has; raise
        RigError where it can have none.
        """
        again = done(self.task, item.number, item.step, item.completion)
        return dataclasses.replace(again, trial=item.trial)

    def rescored(
        self, lines: Sequence[Mapping[str, Any]]
    ) -> Iterator[tuple[StepRecord, Mapping[str, Any], Any]]:
        """Yield for each line of completions.jsonl its step, itself, and the line as it
        must be.
        """
        for line in lines:
            item = completion_lines.from_json(dict(line))
            _refuse_strange(item, len(self.task))
            again = completion_lines.to_json(self.score(item))
            if again != line:
                # As JSON has it: a tuple is a list there.
                again = json.loads(json.dumps(again))
            yield item, line, again

    def differences(
        self, seed: int, told: Sequence[StepRecord], trials: int
    ) -> Iterator[str]:
        """Yield the first step of a trial, or of all `trials` where they are
        interleaved, that differs from the plan of its seed.
        """
        known = {item.number: item for item in told if kinds.planned(item.step)}
        if len(known) < sum(kinds.planned(item.step) for item in told):
            yield "a step was done twice"
            return
        plan = turns(self.scenario, self.task, seed, trials)
        number = 0
        completion = None
        while True:
            try:
                turn = plan.send(completion)
            except StopIteration:
                break
            number += 1
            step = turn.step
            item = known.pop(number, None)
            if item is None and kinds.of(step).loads:
                completion = None
                continue
            if item is None or item.step != step:
                yield (
                    f"step {number} was {_shown(item.step if item else None)}, the plan"
                    f" of seed {seed} has {_shown(step)}"
                )
                return
            if item.trial != turn.trial:
                yield (
                    f"step {number} was asked {_whose(item.trial)}, the plan asks it "
                    f"{_whose(turn.trial)}"
                )
                return
            completion = item.completion
        if known:
            yield (
                f"step {min(known)} is none of the plan of seed {seed}, which has"
                f" {number}"
            )
        elif not _is_between_bursts(told, number):
            yield "the trial does not begin and end with a SYNC burst"

    def phases(self, info: SutInfo, told: Sequence[StepRecord]) -> list[str]:
        """Return the names of the phases that the device's marks stand for."""
        marked = self.task.phases if info.marks_phases else self.task.phases[-1:]
        return list(kinds.own_phases(item.step for item in told) or marked)


def _refuse_other(task: Task, facts: Mapping[str, Any]) -> None:
    """Raise DataError where the provenance names another task than the bench file, or
    other workloads.
    """
    if isinstance(task, OptimizationTask):
        names = [task.workload(index) for index in range(len(task))]
    else:
        names = None
    due = {"name": task.name, "samples": len(task), "names": names}
    for key, value in due.items():
        if facts.get(key) != value:
            raise DataError(
                f"provenance.json has the task's {key} as {str(facts.get(key))[:60]!r},"
                f" it is {str(value)[:60]!r}"
            )


def _refuse_strange(item: StepRecord, samples: int) -> None:
    """Raise DataError where a step asks for a sample that there is not."""
    for index in item.step.samples_named:
        if type(index) is not int or not 0 <= index < samples:
            raise DataError(
                f"step {item.number} asks for sample {index!r:.20} of {samples}"
            )


def _is_between_bursts(told: Sequence[StepRecord], planned: int) -> bool:
    """Decide whether a trial begins and ends with a SYNC burst outside its plan of
    `planned` steps.
    """
    if not told or told[0].number != 0 or told[-1].number <= planned:
        return False
    return not kinds.planned(told[0].step) and not kinds.planned(told[-1].step)


def _whose(trial: int) -> str:
    return (
        f"for trial {trial} of interleaved ones"
        if trial
        else "for no interleaved trial"
    )


def _shown(step: Step | Completion | None) -> str:
    return "nothing" if step is None else str(step)[:120]
