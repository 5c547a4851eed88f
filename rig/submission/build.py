# SPDX-License-Identifier: Apache-2.0
"""A submission to NeuroBench's system track: one folder, made whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rig.check import signature
from rig.errors import ConfigError
from rig.results.submission_file import (
    CRATE,
    FIRMWARE,
    HERE,
    LARGEST,
    REPORT,
    SESSIONS,
    SUBMISSION,
    SUBMISSION_SIGNATURE,
    WORKFLOW,
    Submission,
    SubmittedConfiguration,
    text,
)
from rig.store import inventory, verified
from rig.store.provenance import utc_now
from rig.store.session_folder import (
    COMPLETIONS,
    EVENTS,
    RECORDED,
    SIGNATURE,
    UART,
    hashes,
    sha256,
    write_text,
)
from rig.submission import crate, entries, report, workflow
from rig.submission.about import AuthorStatements
from rig.submission.entries import FinishedSession
from rig.submission.whole_folder import copy, new_folder

#: The texts that the rules ask for are those of this revision.
RULES = {
    "asc": "NeuroBench/system_benchmarks f9c0b4f: rules.md, report.md, ASC.md",
    "qubo": "NeuroBench/system_benchmarks f9c0b4f: rules.md, report.md, QUBO.md",
}
#: Keys of a bench file's [metadata], and the sections of the report that they are.
_OF_METADATA = {
    "architecture": "system.architecture",
    "algorithm": "algorithm.model",
    "power_tap": "power.tap",
}
_INCLUDED = "components_included"
_OMITTED = "components_omitted"
#: Raw files, left out where another place of the raw data is named.
_RAW = (*RECORDED, UART, COMPLETIONS)


@dataclass(frozen=True, slots=True)
class SubmissionRequest:
    """Finished sessions, their author's statements, and the folder that the files named
    there are relative to; `raw` is the place of the raw data where that is not the
    folder, `largest` the file of `rig qubo largest`, `key` signs.
    """

    sessions: tuple[FinishedSession, ...]
    about: AuthorStatements
    beside: Path
    raw: str = ""
    largest: Path | None = None
    key: Path | None = None


def build(request: SubmissionRequest, to: Path) -> Submission:
    """Write a submission into a new folder, and return its content; raise ConfigError
    where the folder is there, or something cannot be submitted.
    """
    benchmark = entries.benchmark_of(request.sessions)
    if benchmark not in RULES:
        raise ConfigError(
            f"NeuroBench's system track has no task {benchmark}",
            path="SESSION",
            try_next="sessions of the tasks asc or qubo",
        )
    files = _named_files(request)
    with new_folder(to) as folder:
        for session in request.sessions:
            _copy_session(session, folder, bool(request.raw))
        for name, path in files.items():
            copy(path, folder / name)
        made = _stated(request, benchmark, tuple(files))
        write_text(folder / WORKFLOW, workflow.drawing(_phases(request.sessions)))
        write_text(folder / REPORT, report.text(made))
        made = replace(made, files=hashes(folder))
        began = {
            session.name: session.results.provenance.created_utc
            for session in request.sessions
        }
        write_text(folder / CRATE, crate.text(folder, made, began))
        listed = {**made.files, CRATE: sha256(folder / CRATE)}
        made = replace(made, files=dict(sorted(listed.items())))
        content = text(made)
        write_text(folder / SUBMISSION, content)
        if request.key is not None:
            signed = signature.made(content.encode(), request.key)
            write_text(folder / SUBMISSION_SIGNATURE, signed)
    return made


def _named_files(request: SubmissionRequest) -> dict[str, Path]:
    """Return the firmware's files and the evidence of the largest workload by their
    names in the submission; raise ConfigError where one is not there.
    """
    named = request.about.firmware
    found: dict[str, Path] = {}
    for kind, names in (("sources", named.sources), ("images", named.images)):
        for name in names:
            found |= _below(request.beside / name, f"{FIRMWARE}/{kind}", name)
    if request.largest is not None:
        found[LARGEST] = request.largest
    return found


def _below(path: Path, place: str, name: str) -> dict[str, Path]:
    """Return the file of a path, or all files of its folder, by their names."""
    if path.is_file():
        return {f"{place}/{path.name}": path}
    if not path.is_dir():
        raise ConfigError(
            f"{path} is no file and no folder",
            path="firmware",
            evidence=f"--about names {name!r}",
            try_next="names relative to the file that names them",
        )
    inventory.refuse_strange(path)
    return {
        f"{place}/{path.name}/{below}": each
        for below, each in inventory.files(path).items()
    }


def _copy_session(session: FinishedSession, folder: Path, without_raw: bool) -> None:
    """Copy the files of a session that its events.jsonl names, and that file."""
    path = session.folder.path
    there = inventory.files(path)
    named = {*verified.listed(session.folder.journal()), EVENTS, SIGNATURE}
    for name, source in there.items():
        is_raw = name.rpartition("/")[2] in _RAW
        if name in named and not (is_raw and without_raw):
            copy(source, folder / SESSIONS / session.name / name)


def _stated(
    request: SubmissionRequest, benchmark: str, files: Sequence[str]
) -> Submission:
    """Compose submission.json, but for the hashes of files."""
    about = request.about
    sections = _sections(request)
    included = about.power.components_included or _of_benches(request, _INCLUDED)
    omitted = about.power.components_omitted or _of_benches(request, _OMITTED)
    missing = [key for key, said in sections.items() if not said]
    missing += [f"power.{_INCLUDED}"] * (not included)
    missing += [f"power.{_OMITTED}"] * (not omitted)
    for key in ("name", "contact", "licence"):
        missing += [f"submitter.{key}"] * (not getattr(about.submitter, key))
    by_bench: dict[str, list[FinishedSession]] = {}
    for session in request.sessions:
        by_bench.setdefault(session.results.bench, []).append(session)
    configurations = []
    for name, group in by_bench.items():
        stated = [entries.stated(each, request.raw or HERE) for each in group]
        configurations.append(SubmittedConfiguration(name, tuple(stated)))
    images = [each for each in files if each.startswith(f"{FIRMWARE}/images/")]
    sources = [each for each in files if each.startswith(f"{FIRMWARE}/sources/")]
    versions = {session.name: session.versions for session in request.sessions}
    return Submission(
        created_utc=utc_now(),
        benchmark=benchmark,
        rules=RULES[benchmark],
        submitter=about.submitter,
        report=sections,
        components_included=included,
        components_omitted=omitted,
        missing=tuple(missing),
        tuning_seeds=about.algorithm.tuning_seeds,
        configurations=tuple(configurations),
        no_result=about.no_result,
        largest=LARGEST if request.largest is not None else "",
        images=tuple(images),
        sources=tuple(sources),
        versions=versions,
        files={},
    )


def _sections(request: SubmissionRequest) -> dict[str, str]:
    """Return the text of each section: the author's, else the bench's, else that of
    the sessions' own facts.
    """
    of_sessions = entries.facts(request.sessions)
    of_benches = {
        section: " ".join(_of_benches(request, key))
        for key, section in _OF_METADATA.items()
    }
    own = request.about.sections
    sections = {}
    for key in report.KEYS:
        sections[key] = own[key] or of_benches.get(key, "") or of_sessions.get(key, "")
    return sections


def _of_benches(request: SubmissionRequest, key: str) -> tuple[str, ...]:
    """Return the texts of the bench files under a key of [metadata], each once."""
    found: dict[str, None] = {}
    for session in request.sessions:
        for text_ in _texts(session.metadata.get(key, "")):
            found[text_] = None
    return tuple(found)


def _texts(value: Any) -> list[str]:
    """Return a value of [metadata] as texts: a text, those of a list, or the rows of a
    table.
    """
    if isinstance(value, Mapping):
        return [f"{name}: {each}" for name, each in value.items()]
    if isinstance(value, list | tuple):
        return [str(each) for each in value]
    return [str(value)] if str(value).strip() else []


def _phases(sessions: Sequence[FinishedSession]) -> list[str]:
    """Return the phases that the devices mark, in order."""
    named: dict[str, None] = {}
    for session in sessions:
        named |= dict.fromkeys(session.results.provenance.task.phases)
    return list(named)
