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
from rig.check import files, older_schema, report_again, trial_processes
from rig.check import traces as check_traces
from rig.check.again import Again
from rig.check.reasons import cannot, cause, to_blame
from rig.check.trials import Trials, replay_of, schema_of
from rig.check.written_again import (
    BYTES,
    ROUNDED,
    difference,
    difference_of,
)
from rig.files import foreign_files
from rig.model.finding import Finding
from rig.model.trial import Trial
from rig.results import document, results
from rig.results.verdict import Outcome
from rig.session.turns import interleaved
from rig.store import inventory, strict_json
from rig.store.journal import Journal
from rig.store.segments import segments
from rig.store.session_folder import (
    BENCH,
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
    session = _Session(
        folder=folder,
        journal=told,
        context=context,
        read=read,
        is_report_new=is_report_new,
        begun=begun,
    )
    return session.checked(rails)


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
        replay, of_replay = replay_of(self.context)
        found += of_replay
        whole = []
        for number in self.folder.trials():
            finished = self.journal.of_trial("trial_finished", number)
            if finished and not files.changed(found, f"trial-{number}/"):
                whole.append(number)
        traces = {number: self._traces(number, rails) for number in whole}
        prints = self.read(list(chain.from_iterable(traces.values())))
        monitors = self.context.provenance.monitors
        may_be_reduced = self.context.config.bench.between_windows == REDUCED_RATE
        found += check_traces.findings(
            self.folder.path, monitors, traces, prints, may_be_reduced
        )
        faults = {path: one.fault for path, one in prints.items() if one.fault}
        sound = []
        for number in whole:
            is_changed = interleaved or files.changed(found, f"trial-{number}/")
            if not is_changed and faults.keys().isdisjoint(traces[number]):
                sound.append(number)
        of_trials = Trials(self.folder, self.journal, self.context, replay, self.begun)
        trials = []
        with trial_processes.begun(self.folder.path, sound) as beside:
            for number in self.folder.trials():
                recorded = 1 if self.context.interleaved else number
                own = [path for path in traces.get(recorded, ()) if path in faults]
                broken = {path: faults[path] for path in own}
                recompute = beside.get(number) or partial(
                    of_trials.outcome, number, found, broken
                )
                trial, of_trial = recompute()
                found += of_trial
                finished = self.journal.of_trial("trial_finished", number)
                if recorded == number and finished:
                    path = self.folder.trial(number)
                    found += self._guarded(path.name, partial(again.of_trial, path))
                trials += [trial] if trial is not None else []
        found += self._complete(of_trials.due)
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

    def _traces(self, number: int, rails: Sequence[str]) -> list[Path]:
        places = product(segments(self.folder.trial(number)), rails)
        paths = [place / rail / TRACE for place, rail in places]
        return [path for path in paths if path.exists()]

    def _complete(self, due: int) -> Iterator[Finding]:
        """Compare the number of trials with the number that is due by events.jsonl."""
        there = self.folder.trials()
        if self.journal.status == "success" and there != list(range(1, due + 1)):
            yield Finding(
                EVENTS,
                False,
                f"says {due} trials, there are {', '.join(map(str, there)) or 'none'}",
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
        schema = schema_of(stored)
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
