# SPDX-License-Identifier: Apache-2.0
"""Recompute every number of a session from its raw files and compare; read the files of
one that was cut off.

The folder is not trusted: it may be forged to pass as genuine, or to harm the computer
that checks it. Every fault becomes a finding, and no content of the folder crashes the
check.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, product
from pathlib import Path

from rig.bench import simulated
from rig.bench.config import REDUCED_RATE
from rig.check import files, older_schema, report_again
from rig.check import traces as check_traces
from rig.check.again import Again
from rig.check.cut_off import cut_off
from rig.check.reasons import cannot, cause, to_blame
from rig.check.replay import Replay
from rig.check.written_again import (
    BYTES,
    ROUNDED,
    difference,
    difference_of,
    in_its_words,
    of_lines,
    of_samples,
)
from rig.files import foreign_files
from rig.model.finding import Finding
from rig.model.trial import Trial
from rig.problems import Problem
from rig.results import document, results
from rig.results.verdict import Outcome
from rig.session.turns import interleaved, seed_of
from rig.store import inventory, strict_json
from rig.store.journal import Journal
from rig.store.segments import segments
from rig.store.session_folder import (
    BENCH,
    COMPLETIONS,
    EVENTS,
    PROVENANCE,
    RESULTS,
    SessionFolder,
)
from rig.trace import fingerprint
from rig.trace.fingerprint import Fingerprint
from rig.trace.recovery import Begun
from rig.trace.trace import TRACE

#: Status of a folder with files that belong into no session.
UNREAD = "not read"

#: The claims of a journal may need any amount of time: only so many interleaved plans
#: are made again.
_TRIALS_MAX = 1000
#: Package of the scenarios that belong to the rig.
_OWN_SCENARIOS = "scenarios."

Read = Callable[[Sequence[Path]], Mapping[Path, Fingerprint]]


@dataclass(frozen=True, slots=True)
class Check:
    """All findings, the session's status, and its complete trials as recomputed; `head`
    stands for the whole session.
    """

    status: str
    findings: tuple[Finding, ...]
    trials: tuple[Trial, ...]
    head: str = ""

    @property
    def ok(self) -> bool:
        """Whether the session is complete and every number was found again."""
        return self.status == "success" and all(finding.ok for finding in self.findings)

    @property
    def outcome(self) -> Outcome:
        """Return PASS where it is, FAIL where something differs; INVALID of a session
        that did not finish: that has no results.
        """
        if self.ok:
            return Outcome.PASS
        return Outcome.FAIL if self.status in ("success", UNREAD) else Outcome.INVALID


def check(
    path: Path,
    read: Read = fingerprint.read,
    is_report_new: bool = False,
    begun: Begun | None = None,
) -> Check:
    """Check one session folder; raises DataError when it is none. `read` returns the
    fingerprints of its traces; a report that the caller has just written is not made
    again. `begun` is called before the trace of a trial that was cut off is recovered,
    as `rig.trace.recovery.recover` does.
    """
    if strange := inventory.strange(path):
        return Check(UNREAD, tuple(strange), ())
    folder = SessionFolder(path)
    folder.refuse_other()
    told = folder.journal()
    try:
        context = results.Context.of(folder)
        rails = list(context.provenance.monitors)
    except Exception as error:
        detail = cannot("the trials", error)
        found = [
            *files.findings(folder, told, ()),
            Finding(to_blame(error), False, detail),
        ]
        return Check(told.status, tuple(found), (), told.head)
    return _Session(
        folder=folder,
        journal=told,
        context=context,
        read=read,
        is_report_new=is_report_new,
        begun=begun,
    ).checked(rails)


@dataclass(frozen=True, slots=True)
class _Session:
    """A session whose settings can be read."""

    folder: SessionFolder
    journal: Journal
    context: results.Context
    read: Read
    is_report_new: bool
    begun: Begun | None

    def checked(self, rails: Sequence[str]) -> Check:
        """Look at everything."""
        interleaved = self.context.interleaved
        found = list(files.findings(self.folder, self.journal, rails, interleaved))
        found += self._provenance()
        again = Again.of(self.folder, self.context)
        found += self._guarded(PROVENANCE, again.of_session)
        replay, of_replay = self._replay()
        found += of_replay
        finished = [
            number
            for number in self.folder.trials()
            if self.journal.of_trial("trial_finished", number)
        ]
        whole = [
            number
            for number in finished
            if not files.changed(found, f"trial-{number}/")
        ]
        traces = {number: self._traces(number, rails) for number in whole}
        prints = self.read(list(chain.from_iterable(traces.values())))
        found += check_traces.findings(
            self.folder.path,
            self.context.provenance.monitors,
            traces,
            prints,
            self.context.config.bench.between_windows == REDUCED_RATE,
        )
        trials = []
        for number in self.folder.trials():
            recorded = 1 if self.context.interleaved else number
            broken = {
                path: prints[path].fault
                for path in traces.get(recorded, ())
                if prints[path].fault
            }
            try:
                trial, of_trial = self._trial(number, replay, found, broken)
            # Any failure that an untrusted file causes in its reader is a finding,
            # and no crash.
            except Exception as error:
                trial = None
                of_trial = [Finding(f"trial-{number}", False, cannot("it", error))]
            found += of_trial
            if recorded == number and self.journal.of_trial("trial_finished", number):
                path = self.folder.trial(number)
                found += self._guarded(path.name, partial(again.of_trial, path))
            trials += [trial] if trial is not None else []
        found += self._complete()
        try:
            found += self._results(trials)
        except Exception as error:
            found.append(Finding(RESULTS, False, cannot("it", error)))
        if all(finding.ok for finding in found) and not self.is_report_new:
            # A page is remembered by the versions of this package's plug-ins only.
            plugin = type(self.context.scenario).__module__
            is_remembered = plugin.startswith(_OWN_SCENARIOS)
            found += report_again.compared(
                self.folder.path, self.context.provenance, trials, is_remembered
            )
        return Check(
            self.journal.status, tuple(found), tuple(trials), self.journal.head
        )

    def _guarded(
        self, name: str, findings: Callable[[], Iterable[Finding]]
    ) -> list[Finding]:
        """Return findings; an exception that an untrusted file causes becomes a
        finding.
        """
        try:
            return list(findings())
        except Exception as error:
            return [Finding(name, False, cannot("it", error))]

    def _provenance(self) -> Iterator[Finding]:
        """Compare the provenance with the bench file."""
        block = foreign_files.read_bytes(self.folder.path / BENCH, self.folder.path)
        digest = hashlib.sha256(block).hexdigest()
        if self.context.provenance.bench_sha256 != digest:
            yield Finding(
                PROVENANCE,
                False,
                f"bench_sha256 is of another {BENCH}: that has {digest[:16]}...",
            )
        if self.context.interleaved is not interleaved(self.context.scenario):
            yield Finding(
                PROVENANCE,
                False,
                f"says interleaved {self.context.interleaved}, {BENCH} has the other"
                " order",
            )
        try:
            for text in simulated.contradictions(
                self.context.config, self.context.provenance
            ):
                yield Finding(PROVENANCE, False, text)
        except Exception as error:
            yield Finding(
                PROVENANCE, False, f"does not say what is simulated: {cause(error)}"
            )

    def _replay(self) -> tuple[Replay | None, list[Finding]]:
        try:
            replay = Replay.of(self.context)
        except Exception as error:
            text = cannot("plans and scores", error)
            return None, [Finding(to_blame(error), False, text)]
        if replay is None:
            kind = self.context.config.task.kind
            said = (
                f"plans and scores are not recomputed: the task {kind} offers no"
                " stand-in (rig.interfaces.task.Task.replica)"
            )
            return None, [Finding(COMPLETIONS, True, said)]
        return replay, []

    def _traces(self, number: int, rails: Sequence[str]) -> list[Path]:
        places = product(segments(self.folder.trial(number)), rails)
        paths = [place / rail / TRACE for place, rail in places]
        return [path for path in paths if path.exists()]

    def _due(self) -> int:
        return sum(event.trials for event in self.journal.events)

    def _complete(self) -> Iterator[Finding]:
        """Compare the number of trials with the number in events.jsonl."""
        due = self._due()
        there = self.folder.trials()
        if self.journal.status == "success" and there != list(range(1, due + 1)):
            yield Finding(
                EVENTS,
                False,
                f"says {due} trials, there are {', '.join(map(str, there)) or 'none'}",
            )

    def _trial(
        self,
        number: int,
        replay: Replay | None,
        found: Sequence[Finding],
        broken: Mapping[Path, str],
    ) -> tuple[Trial | None, list[Finding]]:
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
        if replay is not None and recorded == path:
            count = min(self._due(), _TRIALS_MAX)
            own += replay.findings(self.context, path, seed, count)
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
        return _schema(stored) < older_schema.METHODS_SINCE

    def _unread(
        self, name: str, found: Sequence[Finding], broken: Mapping[Path, str]
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

    def _results(self, trials: Sequence[Trial]) -> Iterator[Finding]:
        path = self.folder.path / RESULTS
        if not path.exists():
            return
        if len(trials) < len(self.folder.trials()):
            yield Finding(
                RESULTS, False, "not recomputed, because a trial could not be"
            )
            return
        stored = foreign_files.read_text(path, errors="replace")
        schema = _schema(stored)
        again = document.text(results.derive(self.context, trials), schema)
        if schema < older_schema.METHODS_SINCE:
            yield self._older_results(stored, again)
            return
        different = "" if stored == again else difference(stored, again)
        yield Finding(
            RESULTS,
            not different,
            different
            or f"every number recomputed, {BYTES if stored == again else ROUNDED}",
        )

    def _older_results(self, stored: str, again: str) -> Finding:
        """Compare results of an older schema, as far as its methods are those of
        today."""
        other = older_schema.comparable(strict_json.parse(again))
        one = older_schema.without_settings(
            older_schema.comparable(strict_json.parse(stored)), other
        )
        different = difference_of(one, other)
        how = BYTES if one == other else ROUNDED
        said = f"every value recomputed, {how}; {older_schema.NOT_COMPARED}"
        return Finding(RESULTS, not different, different or said)


def _schema(stored: str) -> int:
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
