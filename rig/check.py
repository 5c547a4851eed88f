# SPDX-License-Identifier: Apache-2.0
"""Recompute every number of a session from its raw files and compare; read what is left of one that was cut off."""

from __future__ import annotations

import json
import math
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rig import results, store
from rig.errors import DataError, RigError
from rig.finding import Finding
from rig.quantity import quantity
from rig.recovery import recover
from rig.sitting import sittings
from rig.store import COMPLETIONS, RECORDED, RESULTS, SAMPLES, SessionFolder
from rig.trace import PARTIAL, TRACE
from rig.trial import Trial

#: Files without which a trial cannot be recomputed.
_RAW = (COMPLETIONS, TRACE)
_SHOWN = 5
#: Sums of many samples are rounded in the order in which a processor, or a release of numpy, adds them: closer than that is equal.
_RELATIVE, _ABSOLUTE = 1e-9, 1e-15
_BYTES, _ROUNDED = "byte for byte equal", "equal to 1e-9, not byte for byte: another processor, numpy or rig rounds otherwise"
#: Means that are shown beside what was found: of each phase, and of all.
_MAIN = re.compile(r"(latency|energy)_[a-z]+")
#: What a changed byte in a name or a number of a JSON file turns into.
_DAMAGE = (KeyError, TypeError, ValueError, AttributeError, IndexError, ZeroDivisionError, OverflowError, OSError)


@dataclass(frozen=True, slots=True)
class Check:
    """All findings, the session's status, and its complete trials as recomputed."""

    status: str
    findings: tuple[Finding, ...]
    trials: tuple[Trial, ...]

    @property
    def ok(self) -> bool:
        """Say whether the session is complete and every number was found again."""
        return self.status == "success" and all(finding.ok for finding in self.findings)


def check(path: Path) -> Check:
    """Check one session folder; raises DataError when it is none."""
    folder = SessionFolder(path)
    events = folder.events()
    if not events or events[0].get("schema") != store.EVENTS_SCHEMA:
        found = f"the first line has schema {events[0].get('schema')!r}" if events else "no events.jsonl, or an empty one"
        raise DataError(f"{path} is no session folder of this version", evidence=found, try_next="rig list shows the sessions here")
    findings = list(_files(path, events[0].get("files", {})))
    try:
        context = results.Context.of(folder)
    except (RigError, *_DAMAGE) as error:
        findings.append(Finding(store.PROVENANCE, False, f"the trials cannot be recomputed: {_cause(error)}"))
        return Check(_status(events), tuple(findings), ())
    trials = []
    for number in folder.trials():
        try:
            trial, of_trial = _trial(context, folder, number, events)
        except _DAMAGE as error:
            trial, of_trial = None, [Finding(store.EVENTS, False, f"says nothing usable of trial {number}: {_cause(error)}")]
        findings += of_trial
        trials += [trial] if trial is not None else []
    if _status(events) == "success" and events[0].get("trials") != len(folder.trials()):
        findings.append(Finding(store.EVENTS, False, f"says {events[0].get('trials')} trials, there are {len(folder.trials())}"))
    try:
        findings += _results(context, folder, trials, events)
    except _DAMAGE as error:
        findings.append(Finding(RESULTS, False, f"cannot be recomputed: {_cause(error)}"))
    return Check(_status(events), tuple(findings), tuple(trials))


def _cause(error: BaseException) -> str:
    return error.cause if isinstance(error, RigError) else f"{type(error).__name__} {error}"


def _status(events: list[dict[str, Any]]) -> str:
    last = events[-1]
    return str(last.get("status")) if last.get("event") == "session_finished" else "killed"


def _event(events: list[dict[str, Any]], kind: str, number: int) -> dict[str, Any] | None:
    return next((event for event in events if event.get("event") == kind and event.get("trial") == number), None)


def _files(folder: Path, recorded: Mapping[str, str], prefix: str = "") -> Iterator[Finding]:
    for name, digest in recorded.items():
        path = folder / name
        if not path.exists():
            yield Finding(prefix + name, False, "is missing")
        elif (now := store.sha256(path)) != digest:
            yield Finding(prefix + name, False, f"was changed: SHA-256 {now[:16]}..., recorded {digest[:16]}...")
        else:
            yield Finding(prefix + name, True, "unchanged")


def _trial(
    context: results.Context, folder: SessionFolder, number: int, events: list[dict[str, Any]]
) -> tuple[Trial | None, list[Finding]]:
    path, finished = folder.trial(number), _event(events, "trial_finished", number)
    started = _event(events, "trial_started", number) or {"seed": 0}
    if finished is None:
        return _cut_off(context, path, number, started["seed"])
    findings = list(_files(path, finished["files"], f"{path.name}/"))
    damaged = [finding.name for finding in findings if not finding.ok and finding.name.endswith(TRACE)]
    if damaged:
        # The reader of a damaged trace may crash this process: what was changed is said, nothing is computed from it.
        return None, [*findings, Finding(path.name, False, f"not recomputed, because {damaged[0]} was changed")]
    try:
        trial = results.reduce_trial(context, path, number, started["seed"])
    except (RigError, *_DAMAGE) as error:
        return None, [*findings, Finding(path.name, False, f"cannot be recomputed: {_cause(error)}")]
    said = [{"code": problem.code, "detail": problem.detail} for problem in trial.problems]
    if finished["problems"] != said:
        findings.append(Finding(store.EVENTS, False, f"problems of trial {number} are {finished['problems']}, recomputed {said}"))
    return trial, findings + list(_samples(path, trial))


def _samples(path: Path, trial: Trial) -> Iterator[Finding]:
    stored = (path / SAMPLES).read_text(encoding="utf-8", errors="replace").split("\n") if (path / SAMPLES).exists() else []
    again = store.samples_text(trial).split("\n")
    rounded, different = False, []
    for number in range(max(len(stored), len(again))):
        one, other = _line(stored, number), _line(again, number)
        if one != other and (text := _difference(one, other)):
            different.append(f"line {number + 1}: {text}")
        rounded = rounded or one != other
    for text in different[:_SHOWN]:
        yield Finding(f"{path.name}/{SAMPLES}", False, text)
    if len(different) > _SHOWN:
        yield Finding(f"{path.name}/{SAMPLES}", False, f"{len(different) - _SHOWN} more lines differ")
    if not different:
        count, how = len(trial.measured.samples), _ROUNDED if rounded else _BYTES
        yield Finding(f"{path.name}/{SAMPLES}", True, f"{count} samples recomputed, {how}{_means(trial)}")


def _line(lines: list[str], number: int) -> str:
    return lines[number] if number < len(lines) else ""


def _difference(stored: str, again: str) -> str:
    """Return what differs between two JSON texts, by more than rounding; empty where nothing does."""
    try:
        paths = list(_paths(json.loads(stored), json.loads(again), ""))
    except ValueError:
        return f"stored {stored[:60]!r}, recomputed {again[:60]!r}"
    return "; ".join(paths[:_SHOWN])


def _paths(stored: Any, again: Any, place: str) -> Iterator[str]:
    if isinstance(stored, dict) and isinstance(again, dict):
        for key in {**stored, **again}:
            yield from _paths(stored.get(key), again.get(key), f"{place}.{key}" if place else str(key))
    elif isinstance(stored, list) and isinstance(again, list) and len(stored) == len(again):
        for number, (one, other) in enumerate(zip(stored, again, strict=True)):
            yield from _paths(one, other, f"{place}[{number}]")
    elif not _equal(stored, again):
        yield f"{place} is {stored!r}, recomputed {again!r}"


def _equal(stored: Any, again: Any) -> bool:
    numbers = isinstance(stored, float) and isinstance(again, float)
    return stored == again or (numbers and math.isclose(stored, again, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE))


def _results(
    context: results.Context, folder: SessionFolder, trials: list[Trial], events: list[dict[str, Any]]
) -> Iterator[Finding]:
    path = folder.path / RESULTS
    if not path.exists():
        if _status(events) == "success":
            yield Finding(RESULTS, False, "is missing")
        return
    recorded = events[-1].get("files", {}) if events[-1].get("event") == "session_finished" else {}
    yield from (finding for finding in _files(folder.path, recorded) if not finding.ok)
    if len(trials) < len(folder.trials()):
        yield Finding(RESULTS, False, "not recomputed, because a trial could not be")
        return
    stored, again = path.read_text(encoding="utf-8", errors="replace"), store.json_text(results.derive(context, trials))
    different = "" if stored == again else _difference(stored, again)
    yield Finding(RESULTS, not different, different or f"every number recomputed, {_BYTES if stored == again else _ROUNDED}")


def _cut_off(context: results.Context, path: Path, number: int, seed: int) -> tuple[Trial | None, list[Finding]]:
    """Measure what a killed or failed trial left; the original files stay untouched."""
    with tempfile.TemporaryDirectory() as scratch:
        try:
            for place in sittings(path):
                for rail in context.provenance["monitors"]:
                    _readable(place / rail, Path(scratch) / place.relative_to(path) / rail)
            trial = results.reduce_trial(context, path, number, seed, Path(scratch))
        except (RigError, *_DAMAGE) as error:
            return None, [Finding(path.name, False, f"was cut off, and nothing of it can be measured: {_cause(error)}")]
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
    main = [name for name in trial.metrics if name in ("accuracy", "power_idle", "power_dynamic") or _MAIN.fullmatch(name)]
    shown = [f"{name} {quantity(trial.metrics[name].value, trial.metrics[name].unit)}" for name in main]
    return ": " + ", ".join(shown) if trial.measured.samples else ""
