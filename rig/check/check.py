# SPDX-License-Identifier: Apache-2.0
"""Recompute every number of a session from its raw files and compare; read what is left of one that
was cut off.

The folder is not trusted: it may have been made to pass as genuine, or to harm whoever checks it:
what is found is a finding, and nothing in it is a crash.
"""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from rig.bench import simulated
from rig.check import files
from rig.check import traces as check_traces
from rig.check.replay import Replay
from rig.errors import NotInSession, RigError
from rig.model.finding import Finding
from rig.model.metric import Prominence
from rig.model.trial import Trial
from rig.problems import Problem
from rig.results import document, results
from rig.session.planning import trial_seed
from rig.store import inventory, sample_lines, session_folder, strict_json
from rig.store.journal import Journal
from rig.store.provenance import packages, revision
from rig.store.segments import counted, segments
from rig.store.session_folder import (
    BENCH,
    CATALOGUE,
    COMPLETIONS,
    EVENTS,
    PROVENANCE,
    RECORDED,
    REPORT,
    RESULTS,
    SAMPLES,
    SessionFolder,
)
from rig.trace import fingerprint
from rig.trace.fingerprint import Fingerprint
from rig.trace.recovery import recover
from rig.trace.trace import PARTIAL, TRACE
from rig.units import quantity

_SHOWN = 5
#: Sums of many samples are rounded in the order in which a processor, or a release of numpy, adds
#: them: closer than that is equal.
_RELATIVE = 1e-9
_ABSOLUTE = 1e-15
_BYTES = "byte for byte equal"
_ROUNDED = "equal to 1e-9, not byte for byte: another processor, numpy or rig rounds otherwise"
#: What status a folder has in which something lies that belongs into no session.
UNREAD = "not read"

Read = Callable[[Sequence[Path]], Mapping[Path, Fingerprint]]


@dataclass(frozen=True, slots=True)
class Check:
    """All findings, the session's status, and its complete trials as recomputed; `head` stands for
    the whole session.
    """

    status: str
    findings: tuple[Finding, ...]
    trials: tuple[Trial, ...]
    head: str = ""

    @property
    def ok(self) -> bool:
        """Return whether the session is complete and every number was found again."""
        return self.status == "success" and all(finding.ok for finding in self.findings)


def check(path: Path, read: Read = fingerprint.read) -> Check:
    """Check one session folder; raises DataError when it is none. `read` returns the fingerprints
    of its traces.
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
        found = [
            *files.findings(folder, told, ()),
            Finding(_to_blame(error), False, _cannot("the trials", error)),
        ]
        return Check(told.status, tuple(found), (), told.head)
    return _Session(folder, told, context, read).checked(rails)


def _to_blame(error: Exception) -> str:
    """Return the file that an error of reading a session's settings is of."""
    text = str(error)
    return next((name for name in (BENCH, CATALOGUE, PROVENANCE) if name in text), PROVENANCE)


def _cannot(what: str, error: BaseException) -> str:
    return f"{what} cannot be recomputed: {_cause(error)}"


def _cause(error: BaseException) -> str:
    return error.cause if isinstance(error, RigError) else f"{type(error).__name__} {error}"[:200]


@dataclass(frozen=True, slots=True)
class _Session:
    """A session whose settings can be read."""

    folder: SessionFolder
    journal: Journal
    context: results.Context
    read: Read

    def checked(self, rails: Sequence[str]) -> Check:
        """Look at everything."""
        found = list(files.findings(self.folder, self.journal, rails))
        found += self._provenance()
        replay, of_replay = self._replay()
        found += of_replay
        finished = [
            number
            for number in self.folder.trials()
            if self.journal.of_trial("trial_finished", number)
        ]
        whole = [number for number in finished if not files.changed(found, f"trial-{number}/")]
        traces = {number: self._traces(number, rails) for number in whole}
        prints = self.read([path for paths in traces.values() for path in paths])
        found += check_traces.findings(
            self.folder.path, self.context.provenance.monitors, traces, prints
        )
        trials = []
        for number in self.folder.trials():
            broken = {
                path: prints[path].fault for path in traces.get(number, ()) if prints[path].fault
            }
            try:
                trial, of_trial = self._trial(number, replay, found, broken)
            # Whatever an untrusted file does to the code that reads it is a finding, and no crash.
            except Exception as error:
                trial = None
                of_trial = [Finding(f"trial-{number}", False, _cannot("it", error))]
            found += of_trial
            trials += [trial] if trial is not None else []
        found += self._complete()
        try:
            found += self._results(trials)
        except Exception as error:
            found.append(Finding(RESULTS, False, _cannot("it", error)))
        if all(finding.ok for finding in found):
            found += self._report()
        return Check(self.journal.status, tuple(found), tuple(trials), self.journal.head)

    def _provenance(self) -> Iterator[Finding]:
        """Compare the provenance with the bench file."""
        digest = hashlib.sha256((self.folder.path / BENCH).read_bytes()).hexdigest()
        if self.context.provenance.bench_sha256 != digest:
            yield Finding(
                PROVENANCE, False, f"bench_sha256 is of another {BENCH}: that has {digest[:16]}..."
            )
        try:
            for text in simulated.contradictions(self.context.config, self.context.provenance):
                yield Finding(PROVENANCE, False, text)
        except Exception as error:
            yield Finding(PROVENANCE, False, f"does not say what is simulated: {_cause(error)}")

    def _replay(self) -> tuple[Replay | None, list[Finding]]:
        try:
            replay = Replay.of(self.context)
        except Exception as error:
            said = _cause(error)
            blamed = next(
                (name for name in (CATALOGUE, PROVENANCE, BENCH) if said.startswith(name)),
                PROVENANCE,
            )
            return None, [Finding(blamed, False, f"plans and scores cannot be recomputed: {said}")]
        if replay is None:
            kind = self.context.config.task.kind
            said = (
                f"plans and scores are not recomputed: the task {kind} offers no stand-in "
                "(rig.interfaces.task.Replicated)"
            )
            return None, [Finding(COMPLETIONS, True, said)]
        return replay, []

    def _traces(self, number: int, rails: Sequence[str]) -> list[Path]:
        places = [
            place / rail / TRACE for place in segments(self.folder.trial(number)) for rail in rails
        ]
        return [path for path in places if path.exists()]

    def _complete(self) -> Iterator[Finding]:
        """Compare the number of trials with what was begun."""
        due = sum(event.trials for event in self.journal.events)
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
        finished = self.journal.of_trial("trial_finished", number)
        seed = trial_seed(self.context.config.bench.seed, number)
        if finished is None:
            return _cut_off(self.context, path, number, seed)
        own = []
        started = self.journal.of_trial("trial_started", number)
        if started is None or started.seed != seed:
            told = None if started is None else started.seed
            own.append(
                Finding(
                    EVENTS,
                    False,
                    f"the seed of trial {number} is {told}, bench.toml and its number give {seed}",
                )
            )
        damaged = [
            name for name in files.changed(found, f"trial-{number}/") if name.endswith(TRACE)
        ]
        if damaged:
            # The reader of a damaged trace may crash this process: what was changed is said,
            # nothing is computed from it.
            return None, [
                *own,
                Finding(path.name, False, f"not recomputed, because {damaged[0]} was changed"),
            ]
        if broken:
            said = {
                str(one.relative_to(self.folder.path)): f"cannot be read: {why}"
                for one, why in broken.items()
            }
            own += [Finding(name, False, text) for name, text in said.items()]
            return None, [
                *own,
                Finding(
                    path.name, False, f"not recomputed, because {next(iter(said))} cannot be read"
                ),
            ]
        if replay is not None:
            own += self._again(path, seed, replay)
        if any(not finding.ok and finding.name.endswith(COMPLETIONS) for finding in own):
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
            trial = results.reduce_trial(self.context, path, number, seed)
        except Exception as error:
            return None, [*own, Finding(path.name, False, _cannot("it", error))]
        if finished.problems != tuple(trial.problems):
            text = (
                f"problems of trial {number} are {_told(finished.problems)}, recomputed "
                f"{_told(trial.problems)}"
            )
            own.append(Finding(EVENTS, False, text))
        return trial, [*own, *_samples(path, trial), *_lines(path, trial)]

    def _again(self, path: Path, seed: int, replay: Replay) -> Iterator[Finding]:
        """Score a trial's answers again, and compare its steps with the plan of its seed."""
        count = 0
        wrong = 0
        for place in segments(path):
            name = str((place / COMPLETIONS).relative_to(self.folder.path))
            at = 0
            try:
                for at, line, again in replay.rescored(
                    session_folder.read_lines(place / COMPLETIONS)
                ):
                    count += 1
                    if text := _difference_of(line, again):
                        wrong += 1
                        if wrong <= _SHOWN:
                            yield Finding(name, False, f"line {at}: {text}")
            except Exception as error:
                wrong += 1
                yield Finding(name, False, f"line {at + 1} cannot be scored again: {_cause(error)}")
        if wrong > _SHOWN:
            yield Finding(
                f"{path.name}/{COMPLETIONS}", False, f"{wrong - _SHOWN} more lines differ"
            )
        if wrong:
            return
        told = [item for steps in counted(path) for item in steps]
        name = f"{path.name}/{COMPLETIONS}"
        try:
            differences = list(replay.differences(seed, told))
        except NotInSession as error:
            yield Finding(
                name, True, f"{count} lines scored again; the plan is not made again: {error.cause}"
            )
            return
        except Exception as error:
            yield Finding(name, False, f"its plan cannot be recomputed: {_cause(error)}")
            return
        yield from (Finding(name, False, text) for text in differences)
        phases = replay.phases(self.context.provenance.sut, told)
        if self.context.phases != phases:
            yield Finding(
                PROVENANCE,
                False,
                f"phases are {self.context.phases}, those of {path.name} are {phases}",
            )
        if not differences:
            yield Finding(
                name, True, f"{count} lines scored again, and the plan of seed {seed} found again"
            )

    def _results(self, trials: Sequence[Trial]) -> Iterator[Finding]:
        path = self.folder.path / RESULTS
        if not path.exists():
            return
        if len(trials) < len(self.folder.trials()):
            yield Finding(RESULTS, False, "not recomputed, because a trial could not be")
            return
        stored = path.read_text(encoding="utf-8", errors="replace")
        schema = _schema(stored)
        again = document.text(results.derive(self.context, trials), schema)
        different = "" if stored == again else _difference(stored, again)
        yield Finding(
            RESULTS,
            not different,
            different or f"every number recomputed, {_BYTES if stored == again else _ROUNDED}",
        )

    def _report(self) -> Iterator[Finding]:
        """Make the report again and compare; what other versions draw otherwise says nothing of the
        session.
        """
        path = self.folder.path / REPORT
        if not path.exists():
            return
        told = self.context.provenance
        pairs = {
            "neurorig": (told.neurorig, version("neurorig")),
            "revision": (told.revision, revision()),
            "packages": (told.packages, packages()),
        }
        if differing := [name for name, (then, now) in pairs.items() if then != now]:
            other = (
                f"made by another {' and '.join(differing)}: not made again (rig report "
                "does, and overwrites it)"
            )
            yield Finding(REPORT, True, other)
            return
        # Here, because it brings matplotlib: half a second that the other commands need not wait
        # for.
        from rig.report.report import rendered

        stored = path.read_text(encoding="utf-8", errors="replace")
        try:
            again = rendered(self.folder.path)
        except Exception as error:
            yield Finding(REPORT, False, _cannot("it", error))
            return
        at, one, other = _first_difference(stored, again)
        said = (
            f"line {at} is {one[:100]!r}, made again it is {other[:100]!r}"
            if at
            else f"made again, {_BYTES}"
        )
        yield Finding(REPORT, not at, said)


def _schema(stored: str) -> int:
    """Return the schema in whose form stored results are compared."""
    try:
        told = document.schema_of(strict_json.parse(stored))
    except ValueError:
        return document.SCHEMA
    return told if told in document.READ else document.SCHEMA


def _told(problems: Sequence[Problem]) -> str:
    return "; ".join(f"{problem.code}: {problem.detail}" for problem in problems) or "none"


def _samples(path: Path, trial: Trial) -> Iterator[Finding]:
    stored = (
        (path / SAMPLES).read_text(encoding="utf-8", errors="replace").split("\n")
        if (path / SAMPLES).exists()
        else []
    )
    again = sample_lines.text(trial).split("\n")
    rounded = False
    different = []
    for number in range(max(len(stored), len(again))):
        one = _line(stored, number)
        other = _line(again, number)
        if one != other and (text := _difference(one, other)):
            different.append(f"line {number + 1}: {text}")
        rounded = rounded or one != other
    for text in different[:_SHOWN]:
        yield Finding(f"{path.name}/{SAMPLES}", False, text)
    if len(different) > _SHOWN:
        yield Finding(
            f"{path.name}/{SAMPLES}", False, f"{len(different) - _SHOWN} more lines differ"
        )
    if not different:
        count = len(trial.measured.samples)
        how = _ROUNDED if rounded else _BYTES
        yield Finding(
            f"{path.name}/{SAMPLES}", True, f"{count} samples recomputed, {how}{_means(trial)}"
        )


def _line(lines: list[str], number: int) -> str:
    return lines[number] if number < len(lines) else ""


def _difference(stored: str, again: str) -> str:
    """Return what differs between two JSON texts, by more than rounding; empty where nothing
    does.
    """
    try:
        return _difference_of(strict_json.parse(stored), json.loads(again))
    except ValueError:
        return f"stored {stored[:60]!r}, recomputed {again[:60]!r}"


def _difference_of(stored: Any, again: Any) -> str:
    return "; ".join(islice(_paths(stored, again, ""), _SHOWN))


def _paths(stored: Any, again: Any, place: str) -> Iterator[str]:
    if isinstance(stored, dict) and isinstance(again, dict):
        for key in {**stored, **again}:
            yield from _paths(
                stored.get(key), again.get(key), f"{place}.{key}" if place else str(key)
            )
    elif isinstance(stored, list) and isinstance(again, list) and len(stored) == len(again):
        for number, (one, other) in enumerate(zip(stored, again, strict=True)):
            yield from _paths(one, other, f"{place}[{number}]")
    elif not _equal(stored, again):
        yield f"{place} is {repr(stored)[:120]}, recomputed {repr(again)[:120]}"


def _equal(stored: Any, again: Any) -> bool:
    numbers = isinstance(stored, float) and isinstance(again, float)
    return stored == again or (
        numbers and math.isclose(stored, again, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)
    )


def _lines(path: Path, trial: Trial) -> Iterator[Finding]:
    """Compare results.txt, which states a trial's results in the words of its benchmark."""
    file = path / session_folder.LINES
    stored = file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
    at, one, other = _first_difference(stored, "".join(line + "\n" for line in trial.lines))
    if at:
        yield Finding(
            f"{path.name}/{session_folder.LINES}",
            False,
            f"line {at} is {one[:100]!r}, recomputed {other[:100]!r}",
        )


def _first_difference(stored: str, again: str) -> tuple[int, str, str]:
    """Return the number of the first line that differs, and both; 0 where none does."""
    pairs = zip_longest(stored.split("\n"), again.split("\n"), fillvalue="")
    return next(
        ((at, *pair) for at, pair in enumerate(pairs, start=1) if pair[0] != pair[1]), (0, "", "")
    )


def _cut_off(
    context: results.Context, path: Path, number: int, seed: int
) -> tuple[Trial | None, list[Finding]]:
    """Measure what a killed or failed trial left; the original files stay untouched."""
    with tempfile.TemporaryDirectory() as scratch:
        try:
            for place in segments(path):
                for rail in context.provenance.monitors:
                    _readable(place / rail, Path(scratch) / place.relative_to(path) / rail)
            trial = results.reduce_trial(context, path, number, seed, Path(scratch))
        except Exception as error:
            return None, [
                Finding(
                    path.name,
                    False,
                    f"was cut off, and nothing of it can be measured: {_cause(error)}",
                )
            ]
    pairs = f"{trial.counts['pairs']} of {trial.counts['marks']} marks have an edge"
    if not context.monitored:
        pairs = f"{trial.counts['marks']} marks"
    detail = f"was cut off: {len(trial.measured.samples)} samples measured, {pairs}"
    return None, [Finding(path.name, False, detail + _means(trial))]


def _readable(folder: Path, scratch: Path) -> None:
    """Put a copy of a trace that can be opened, and what lies beside it, into `scratch`."""
    scratch.mkdir(parents=True, exist_ok=True)
    if (folder / PARTIAL).exists():
        recover(folder / PARTIAL, scratch / TRACE)
    for name in RECORDED:
        if (folder / name).exists() and not (scratch / name).exists():
            (scratch / name).symlink_to((folder / name).resolve())


def _means(trial: Trial) -> str:
    shown = [
        f"{name} {quantity(metric.value, metric.unit)}"
        for name, metric in trial.metrics.items()
        if metric.prominence is Prominence.HEADLINE
    ]
    return ": " + ", ".join(shown) if trial.measured.samples else ""
