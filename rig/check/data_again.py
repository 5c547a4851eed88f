# SPDX-License-Identifier: Apache-2.0
"""Data that the rig generates, models that it ships, and files that a session keeps of
its task, made or read once more: labels, hashes, complexity, and the answers of a
device that can only give the right ones.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from rig.bench import plugins
from rig.check.reasons import cannot, cause
from rig.check.streams_again import StreamsAgain, WindowAgain, windows_in
from rig.check.versions import is_this_revision
from rig.check.written_again import difference_of
from rig.errors import DataError, NotInSession, RigError
from rig.files import foreign_files
from rig.interfaces.plugin_classes import Backend
from rig.interfaces.task import Regeneration, Task
from rig.model.finding import Finding
from rig.model.step_record import StepRecord
from rig.model.steps import Query
from rig.results.results import Context
from rig.session import complexity
from rig.store import provenance, strict_json
from rig.store.session_folder import CATALOGUE, KEPT, PROVENANCE, SessionFolder

#: Files of the finished session that may be made by a task's commands.
_DERIVED = ("rescored.json",)


@dataclass(frozen=True, slots=True)
class DataAgain:
    """The data of a session as its bench file determines them, as far as it does."""

    context: Context
    made: Regeneration
    fault: str = ""
    is_kept: bool = False
    _right: dict[int, bytes] = field(default_factory=dict, compare=False, repr=False)
    _streams: list[StreamsAgain] = field(
        default_factory=list, compare=False, repr=False
    )

    @classmethod
    def of(cls, folder: SessionFolder, context: Context) -> DataAgain:
        """Generate the data again, or read them from the files that the session kept;
        `findings` names those that cannot be generated.
        """
        choice = context.config.task
        kind = plugins.find("task", choice.kind)
        if os.path.lexists(folder.path / KEPT):
            return cls._of_kept(folder, context, kind)
        told = f"the task {choice.kind} offers no way to make its data again"
        nothing = cls(context, Regeneration({}, unknown=told))
        if not plugins.speaks_for(kind, "regenerated", "open"):
            return nothing
        try:
            made = kind.regenerated(choice.settings)
            return nothing if made is None else cls(context, made)
        # A cache that cannot be written, or a package that is missing, is no fault of
        # the session.
        except (DataError, OSError, ImportError) as error:
            return cls(context, Regeneration({}, unknown=cause(error)))
        except Exception as error:
            return cls(context, Regeneration({}), cannot("the data", error))

    @classmethod
    def _of_kept(
        cls, folder: SessionFolder, context: Context, kind: type[Task]
    ) -> DataAgain:
        told = f"the task {context.config.task.kind} does not read what it kept"
        unread = cls(context, Regeneration({}, unknown=told))
        if not plugins.speaks_for(kind, "reopened", "open"):
            return unread
        facts = context.provenance.task.stored
        settings = context.config.task.settings
        place = folder.path / KEPT
        try:
            made = kind.reopened(settings, facts, context.catalogue, place)
        except Exception as error:
            # A package that is missing is no fault of the session.
            if isinstance(error.__cause__, ImportError):
                return cls(context, Regeneration({}, unknown=cause(error)))
            return cls(context, Regeneration({}), cannot("the data", error))
        return unread if made is None else cls(context, made, is_kept=True)

    def findings(self) -> Iterator[Finding]:
        """Yield where catalogue and provenance differ from the generated data, and
        which data were not generated.
        """
        if self.fault:
            yield Finding(CATALOGUE, False, self.fault)
            return
        stored = self.context.provenance.task.stored
        versions = [_generator(stored), _generator(self.made.facts)]
        if None not in versions and versions[0] != versions[1]:
            said = (
                f"data of generator version {versions[0]}: not made again by"
                f" {versions[1]}"
            )
            yield Finding(CATALOGUE, True, said, tested=False)
            return
        yield from self._entries()
        yield from self._facts(stored)
        if self.made.unknown:
            said = f"not checked against its data: {self.made.unknown}"
            yield Finding(CATALOGUE, True, said, tested=False)

    def _entries(self) -> Iterator[Finding]:
        due = self.made.entries
        if due is None:
            return
        entries = self.context.catalogue
        if len(entries) != len(due):
            text = f"has {len(entries)} samples, those made again are {len(due)}"
            yield Finding(CATALOGUE, False, text)
            return
        for index, (entry, right) in enumerate(zip(entries, due, strict=True)):
            if entry != right:
                text = (
                    f"line {index + 2} is {str(entry)[:80]}, made again"
                    f" {str(right)[:80]}"
                )
                yield Finding(CATALOGUE, False, text)
                return
        yield Finding(CATALOGUE, True, f"{len(entries)} samples and labels made again")

    def _facts(self, stored: Mapping[str, Any]) -> Iterator[Finding]:
        due = _as_json(self.made.facts)
        if self.made.task is not None:
            due |= _as_json(complexity.facts(self.made.task))
        told = self.context.provenance
        same = is_this_revision(told)
        if not same:
            due = {key: due[key] for key in self.made.lasting if key in due}
        text = difference_of({key: stored.get(key) for key in due}, due)
        # Other packages may round otherwise, and name themselves.
        if text and same and told.packages != provenance.packages():
            lasting = {key: due[key] for key in self.made.lasting if key in due}
            hard = difference_of({key: stored.get(key) for key in lasting}, lasting)
            if not hard:
                yield Finding(
                    PROVENANCE, True, f"task, made again by other packages: {text}"
                )
                return
        if text:
            yield Finding(PROVENANCE, False, f"task, made again: {text}")

    def contents(self) -> Mapping[int, int]:
        """Return the CRC-32 of every sample's payload; empty where they are not
        known."""
        task = self.made.task
        if task is None or len(task) != len(self.context.catalogue):
            return {}
        return {index: crc32(task.payload(index)) for index in range(len(task))}

    def answers(self, name: str, records: Sequence[StepRecord]) -> Iterator[Finding]:
        """Yield the answers that a simulated device cannot have given, and of a model
        that the session keeps how many answers it gives again.
        """
        choice = self.context.config.sut
        kind = plugins.find("sut", choice.kind)
        reference = getattr(self.made.task, "reference", None)
        task = self.made.task
        are_known = plugins.speaks_for(kind, "answers", "do")
        if task is None or not (are_known or self.is_kept):
            return
        if hasattr(task, "listening"):
            yield from self._heard(name, records, task, are_known=are_known)
        if reference is None:
            return
        right = self._right
        same = []
        others: list[StepRecord] = []
        most = self.made.answered_max
        for item in records:
            if not isinstance(item.step, Query) or not item.completion.output:
                continue
            missing = [index for index in item.step.indices if index not in right]
            if len(right) + len(missing) > most:
                said = f"of more than {most} samples not all answers were made again"
                yield Finding(name, True, said)
                break
            right |= {index: reference(task.payload(index)) for index in missing}
            due = b"".join(right[index] for index in item.step.indices)
            same.append(item.completion.output == due)
            others += [] if same[-1] else [item]
            if are_known and not _may_be(item, right, kind, choice.settings):
                yield Finding(
                    name,
                    False,
                    f"step {item.number} has the output"
                    f" {item.completion.output.hex()[:32]}, which [sut.{choice.kind}]"
                    " cannot give: the right one is"
                    f" {right[item.step.indices[0]].hex()[:32]}",
                )
                return
        if self.is_kept and same:
            said = f"{sum(same)} of {len(same)} outputs are those of the model kept"
            said += " in the session, run again"
            left = _not_in_floating_point(others, task)
            unknown = others if left is None else left
            if unknown:
                said += f"; the first other one is {_place_of_other(unknown[0], right)}"
            # A virtual device may err; why another one did, the folder does not show.
            yield Finding(name, True, said, tested=are_known or not unknown)
            if left is not None:
                count = len(others) - len(left)
                said = f"{count} of the other {len(others)} outputs are those of the"
                said += " model kept, run again in floating point"
                yield Finding(name, True, said)

    def _heard(
        self, name: str, records: Sequence[StepRecord], task: Task, *, are_known: bool
    ) -> Iterator[Finding]:
        """Yield the answer to a window of a stream that the device cannot have given,
        and how many are those of the model.
        """
        choice = self.context.config.sut
        kind = plugins.find("sut", choice.kind)
        count = 0
        others: list[WindowAgain] = []
        if not self._streams:
            self._streams.append(StreamsAgain(task, self.made.answered_max))
        try:
            for window in self._streams[0].heard(records):
                count += 1
                if window.output != window.right:
                    others.append(window)
        except (RigError, ValueError) as error:
            yield Finding(name, False, cannot("the answers to its stream", error))
            return
        if not count:
            return
        for window in others if are_known else ():
            possible = kind.answers(choice.settings, window.right)
            if possible is not None and window.output not in possible:
                said = (
                    f"step {window.step} has the output {window.output.hex()[:32]} to"
                    f" window {window.window}, which [sut.{choice.kind}] cannot give:"
                    f" the right one is {window.right.hex()[:32]}"
                )
                yield Finding(name, False, said)
                return
        due = windows_in(records)
        where = "the model kept in the session" if self.is_kept else "the task's model"
        said = (
            f"{count - len(others)} of {count} outputs are those of {where}, run again"
        )
        if others:
            first = others[0]
            said += f"; the first other one is of window {first.window}"
        if count < due:
            said += f"; of {due} windows the other {due - count} were not run again"
        yield Finding(name, True, said)


def _place_of_other(item: StepRecord, right: Mapping[int, bytes]) -> str:
    """Return the step and the sample of the first output that is not the right one."""
    assert isinstance(item.step, Query)
    rest = item.completion.output
    for index in item.step.indices:
        if not rest.startswith(right[index]):
            break
        rest = rest[len(right[index]) :]
    return f"of step {item.number}, sample {index}"


def _not_in_floating_point(
    records: Sequence[StepRecord], task: Task
) -> list[StepRecord] | None:
    """Return those of these records whose outputs are not those of a kept model's
    network in floating point either; None where there are no records, or it has none.
    """
    known: dict[int, bytes | None] = {}
    left: list[StepRecord] = []
    for item in records:
        assert isinstance(item.step, Query)
        for index in item.step.indices:
            if index not in known:
                known[index] = task.in_floating_point(task.payload(index))
        answers = [known[index] or b"" for index in item.step.indices]
        if item.completion.output != b"".join(answers):
            left.append(item)
    return left if any(answer is not None for answer in known.values()) else None


def _may_be(
    item: StepRecord, right: Mapping[int, bytes], kind: type[Backend], settings: Any
) -> bool:
    assert isinstance(item.step, Query)
    rest = item.completion.output
    for index in item.step.indices:
        possible = kind.answers(settings, right[index])
        if possible is None:
            return True
        found = next((each for each in possible if rest.startswith(each)), None)
        if found is None:
            return False
        rest = rest[len(found) :]
    return not rest


def of_derived(folder: SessionFolder, context: Context) -> Iterator[Finding]:
    """Yield whether what commands of the task made of the finished session is the same
    once more.
    """
    kind = plugins.find("task", context.config.task.kind)
    for name in _DERIVED:
        path = folder.path / name
        if not path.exists():
            continue
        try:
            stored = strict_json.parse(
                foreign_files.read_text(path, folder.path, errors="replace")
            )
            again = kind.derived(folder.path, name, stored)
        except NotInSession as error:
            yield Finding(name, True, f"not made again: {error.cause}")
            continue
        except (RigError, ValueError) as error:
            yield Finding(name, False, cannot("it", error))
            continue
        if again is None:
            told = (
                f"not made again: the task {context.config.task.kind} makes no such"
                " file"
            )
            yield Finding(name, False, told)
            continue
        text = difference_of(stored, _as_json(again))
        yield Finding(name, not text, text or "made again, every value equal")


def _generator(facts: Mapping[str, Any]) -> Any:
    told = facts.get("generator")
    return told.get("version") if isinstance(told, Mapping) else None


def _as_json(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tree as a file has it: a tuple is a list there."""
    tree: dict[str, Any] = json.loads(json.dumps(content))
    return tree
