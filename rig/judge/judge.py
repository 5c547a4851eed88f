# SPDX-License-Identifier: Apache-2.0
"""The verdict on a submission: each requirement as a row, PASS, FAIL or NOT CHECKED,
with its evidence.

The folder is not trusted. Numbers are computed again from the primary records of its
sessions, and labels are read there; submission.json is compared with both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.check.check import Read
from rig.errors import DataError
from rig.judge import evidence, folder, grid, requirements
from rig.judge.requirements import JudgedCase
from rig.judge.row import JudgedRow
from rig.judge.rules import Rules, of_benchmark
from rig.results import submission_file
from rig.results.submission_file import SUBMISSION, Submission
from rig.results.verdict import Outcome
from rig.store import inventory
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
    rows = [_form(submission, due)]
    rows += folder.findings(path, submission)
    rows.append(folder.signed(path, signers))
    for each in sessions:
        rows += each.findings
    rows += requirements.rows(case)
    rows += grid.rows(case, seeds, official)
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
