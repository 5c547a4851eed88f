# SPDX-License-Identifier: Apache-2.0
"""The verdict on a submission: each requirement as a row, PASS, FAIL or NOT CHECKED,
with its evidence.

The folder is not trusted. Numbers are computed again from the primary records of its
sessions, and labels are read there; submission.json is compared with both.

The files of a submission: each as submission.json has it, none more and none less,
and the same in the description for repositories.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from rig.check import signature
from rig.check.check import Read
from rig.errors import DataError
from rig.judge import evidence, grid, requirements
from rig.judge.evidence import shown
from rig.judge.requirements import JudgedCase
from rig.judge.row import JudgedRow
from rig.judge.rules import Rules, of_benchmark
from rig.results import submission_file
from rig.results.submission_file import (
    CRATE,
    REPORT,
    SUBMISSION,
    SUBMISSION_SIGNATURE,
    UNLISTED,
    WORKFLOW,
    Submission,
)
from rig.results.verdict import Outcome
from rig.store import inventory
from rig.store.session_folder import read_json, sha256
from rig.trace import fingerprint


@dataclass(frozen=True, slots=True)
class Judgement:
    """The rows of a submission that was judged; `benchmark` is empty where that could
    not be read.
    """

    benchmark: str
    rows: tuple[JudgedRow, ...]

    @property
    def outcome(self) -> Outcome:
        """FAIL where a row fails, NOT TESTED where one could not be checked."""
        verdicts = {row.passed for row in self.rows}
        if False in verdicts:
            return Outcome.FAIL
        return Outcome.NOT_TESTED if None in verdicts else Outcome.PASS


def judge(
    path: Path,
    *,
    signers: Path | None = None,
    seeds: Sequence[int] = (),
    official: Path | None = None,
    rules: Rules | None = None,
    read: Read = fingerprint.read,
) -> Judgement:
    """Judge a folder; raise DataError where it is no submission.

    `signers` is a file of trusted signers; `seeds`, and the costs of their problems in
    the file `official`, are the announced ones. `rules` replace those of the benchmark;
    `read` is that of `rig.check.check`.
    """
    if strange := inventory.strange(path):
        found = [JudgedRow(each.name, False, each.detail) for each in strange]
        return Judgement("", tuple(found))
    if not (path / SUBMISSION).exists():
        raise DataError(
            f"{path} is no submission",
            evidence=f"there is no {SUBMISSION}",
            try_next="rig submit neurobench SESSION --to FOLDER makes one",
        )
    try:
        submission = submission_file.read(path)
        due = rules or of_benchmark(submission.benchmark)
    except DataError as error:
        said = "; ".join(filter(None, (error.cause, error.evidence)))
        return Judgement("", (JudgedRow("form", False, said),))
    sessions = tuple(
        evidence.of_session(path, stated, read) for stated in submission.sessions
    )
    case = JudgedCase(path, submission, due, sessions)
    rows = [
        _form(submission, due),
        *folder_findings(path, submission),
        signed(path, signers),
        *chain.from_iterable(each.findings for each in sessions),
        *requirements.rows(case),
        *grid.rows(case, seeds, official),
    ]
    return Judgement(submission.benchmark, tuple(rows))


def _form(submission: Submission, rules: Rules) -> JudgedRow:
    """Check that a submission has no contradiction in itself."""
    names = [session.name for session in submission.sessions]
    configurations = [each.name for each in submission.configurations]
    wrong = []
    if not names:
        wrong.append("it has no session")
    if len(set(names)) < len(names):
        wrong.append("a session is there twice")
    chains = [session.chain for session in submission.sessions]
    if len(set(chains)) < len(set(names)):
        wrong.append("a session is there under two names")
    if len(set(configurations)) < len(configurations):
        wrong.append("a configuration is there twice")
    if submission.rules != rules.source:
        wrong.append(f"it is by other rules: {submission.rules[:80]}")
    said = evidence.shown(wrong) or f"{submission_file.SCHEMA}; {rules.source}"
    return JudgedRow("form", not wrong, said)


def folder_findings(folder: Path, submission: Submission) -> Iterator[JudgedRow]:
    """Compare the files of a folder with their hashes."""
    there = inventory.files(folder)
    listed = submission.files
    wrong = [f"{name} is missing" for name in listed if name not in there]
    wrong += [
        f"{name} is not listed"
        for name in there
        if name not in listed and name not in UNLISTED
    ]
    wrong += [f"{name} is listed, and cannot be" for name in UNLISTED if name in listed]
    wrong += [
        f"{name} was changed"
        for name, digest in listed.items()
        if name in there and sha256(there[name]) != digest
    ]
    due = (REPORT, WORKFLOW, CRATE)
    wrong += [f"{name} is not listed" for name in due if name not in listed]
    said = shown(wrong) or f"{len(listed)} files have their SHA-256"
    yield JudgedRow("files", not wrong, said)
    yield _crate(folder, submission)


def _crate(folder: Path, submission: Submission) -> JudgedRow:
    """Compare the hashes for repositories with those of submission.json."""
    try:
        tree = read_json(folder / CRATE)
        stated = _stated(tree)
    except (DataError, AttributeError, TypeError, KeyError) as error:
        return JudgedRow("ro-crate", False, f"{CRATE} cannot be read: {error}")
    due = {name: digest for name, digest in submission.files.items() if name != CRATE}
    wrong = [name for name in due if stated.get(name) != due[name]]
    wrong += [name for name in stated if name not in due and name not in UNLISTED]
    said = f"{len(due)} files have the same SHA-256 in {CRATE}"
    if wrong:
        said = f"{CRATE} has another SHA-256 of {shown(wrong)}"
    return JudgedRow("ro-crate", not wrong, said)


def _stated(tree: Any) -> dict[str, str | None]:
    """Return the hash of each file that an RO-Crate describes."""
    entities = [entity for entity in tree["@graph"] if entity.get("@type") == "File"]
    return {entity["@id"]: entity.get("sha256") for entity in entities}


def signed(folder: Path, signers: Path | None) -> JudgedRow:
    """Verify the signature of submission.json, which names every other file."""
    if signers is not None:
        found = signature.verified(folder, signers, SUBMISSION)
        return JudgedRow("signature", found.ok, found.detail)
    is_there = (folder / SUBMISSION_SIGNATURE).exists()
    said = f"there is no {SUBMISSION_SIGNATURE}"
    if is_there:
        said = "not verified: --signers FILE, with the keys that you trust"
    return JudgedRow("signature", None, said)
