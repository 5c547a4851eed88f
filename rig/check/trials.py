# SPDX-License-Identifier: Apache-2.0
"""The trials of a session recomputed, each from its raw files alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.check import files, older_schema
from rig.check.cut_off import cut_off
from rig.check.reasons import cannot, to_blame
from rig.check.replay import Replay
from rig.check.written_again import in_its_words, of_lines, of_samples
from rig.files import foreign_files
from rig.model.finding import Finding
from rig.model.trial import Trial
from rig.problems import Problem
from rig.results import document, results
from rig.results.results import Context
from rig.session.turns import seed_of
from rig.store import strict_json
from rig.store.journal import Journal
from rig.store.session_folder import (
    COMPLETIONS,
    EVENTS,
    RESULTS,
    SessionFolder,
)
from rig.trace.recovery import Begun
from rig.trace.trace import TRACE

#: A trial that cannot be recomputed is None.
Recomputed = tuple[Trial | None, list[Finding]]
#: Traces that cannot be read, with the reasons.
_Broken = Mapping[Path, str]

#: The claims of a journal may need any amount of time: only so many interleaved plans
#: are made again.
_TRIALS_MAX = 1000


@dataclass(frozen=True, slots=True)
class Trials:
    """The trials of a session whose settings can be read; `begun` as of `check`."""

    folder: SessionFolder
    journal: Journal
    context: Context
    replay: Replay | None
    begun: Begun | None = None

    @classmethod
    def of(cls, path: Path) -> Trials:
        """Return those of a session that can be read."""
        folder = SessionFolder(path)
        context = Context.of(folder)
        replay, _ = replay_of(context)
        return cls(folder, folder.journal(), context, replay)

    @property
    def due(self) -> int:
        """Number of trials that events.jsonl asks for."""
        return sum(event.trials for event in self.journal.events)

    def outcome(
        self,
        number: int,
        found: Sequence[Finding],
        broken: _Broken,
    ) -> Recomputed:
        """Recompute a trial. `found` are the findings so far, `broken` its traces that
        cannot be read, with the reasons.
        """
        try:
            return self._trial(number, found, broken)
        # Any failure that an untrusted file causes in its reader is a finding, and no
        # crash.
        except Exception as error:
            return None, [Finding(f"trial-{number}", False, cannot("it", error))]

    def _trial(
        self,
        number: int,
        found: Sequence[Finding],
        broken: _Broken,
    ) -> Recomputed:
        path = self.folder.trial(number)
        recorded = self.folder.recorded(number)
        finished = self.journal.of_trial("trial_finished", number)
        seed = seed_of(self.context.scenario, self.context.config.bench.seed, number)
        if finished is None and recorded != path:
            said = (
                f"was recorded in {recorded.name}, and never measured: rig resume"
                " does it"
            )
            return None, [Finding(path.name, False, said)]
        if finished is None:
            return cut_off(self.context, path, number, seed, self.begun)
        own = []
        started = self.journal.of_trial("trial_started", number)
        if started is None or started.seed != seed:
            told = None if started is None else started.seed
            own.append(
                Finding(
                    EVENTS,
                    False,
                    f"the seed of trial {number} is {told}, bench.toml and its number"
                    f" give {seed}",
                )
            )
        if unread := [*self._unread(recorded.name, found, broken)]:
            return None, [*own, *unread]
        if self.replay is not None and recorded == path:
            count = min(self.due, _TRIALS_MAX)
            own += self.replay.findings(self.context, path, seed, count)
        of_recording = files.changed(
            own if recorded == path else found, f"{recorded.name}/"
        )
        if any(name.endswith(COMPLETIONS) for name in of_recording):
            # What no plan has asked for may ask for any amount of time and memory.
            return None, [
                *own,
                Finding(
                    path.name,
                    False,
                    "not recomputed: its steps or answers are not those of its plan",
                ),
            ]
        try:
            trial = results.reduce_trial(self.context, recorded, number, seed)
        except Exception as error:
            return None, [*own, Finding(path.name, False, cannot("it", error))]
        if _told(finished.problems) != _told(trial.problems):
            text = (
                f"problems of trial {number} are {_told(finished.problems)}, recomputed"
                f" {_told(trial.problems)}"
            )
            own.append(Finding(EVENTS, False, text))
        trial = in_its_words(path, trial, self.context.provenance)
        older = self._is_older()
        return trial, [*own, *of_samples(path, trial, older), *of_lines(path, trial)]

    def _is_older(self) -> bool:
        """Check whether the results are of a schema with other budgets."""
        path = self.folder.path / RESULTS
        if not path.exists():
            return False
        stored = foreign_files.read_text(path, errors="replace")
        return schema_of(stored) < older_schema.METHODS_SINCE

    def _unread(
        self, name: str, found: Sequence[Finding], broken: _Broken
    ) -> Iterator[Finding]:
        """Yield the reasons why a trial's traces are not read, if there are any."""
        damaged = [
            file for file in files.changed(found, f"{name}/") if file.endswith(TRACE)
        ]
        if damaged:
            # The reader of a damaged trace may crash this process: the changes are
            # reported, and no number is computed from it.
            yield Finding(
                name, False, f"not recomputed, because {damaged[0]} was changed"
            )
        elif broken:
            said = [str(one.relative_to(self.folder.path)) for one in broken]
            for file, why in zip(said, broken.values(), strict=True):
                yield Finding(file, False, f"cannot be read: {why}")
            yield Finding(
                name, False, f"not recomputed, because {said[0]} cannot be read"
            )


def replay_of(context: Context) -> tuple[Replay | None, list[Finding]]:
    """Return what makes plans and scores of a session once more, None where there is
    none, and the reason.
    """
    try:
        replay = Replay.of(context)
    except Exception as error:
        text = cannot("plans and scores", error)
        return None, [Finding(to_blame(error), False, text)]
    if replay is None:
        kind = context.config.task.kind
        said = (
            f"plans and scores are not recomputed: the task {kind} offers no"
            " stand-in (rig.interfaces.task.Task.replica)"
        )
        return None, [Finding(COMPLETIONS, True, said)]
    return replay, []


def schema_of(stored: str) -> int:
    """Return the schema in whose form stored results are compared."""
    try:
        told = document.schema_of(strict_json.parse(stored))
    except ValueError:
        return document.SCHEMA
    return told if told in document.READ else document.SCHEMA


def _told(problems: Sequence[Problem]) -> str:
    return (
        "; ".join(f"{problem.code}: {problem.detail}" for problem in problems) or "none"
    )
