# SPDX-License-Identifier: Apache-2.0
"""The content of submission.json as frozen dataclasses: a folder of sessions that is
submitted to a benchmark. docs/reference/SUBMISSION.md has the meaning of each field.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from rig.results import schema_file
from rig.results.verdict import Outcome

SCHEMA = "neurorig-submission-1"
SUBMISSION = "submission.json"
SUBMISSION_SIGNATURE = SUBMISSION + ".sig"
REPORT = "report.md"
WORKFLOW = "workflow.svg"
CRATE = "ro-crate-metadata.json"
SESSIONS = "sessions"
FIRMWARE = "firmware"
LARGEST = "largest.json"
#: Files that submission.json does not list: itself, and its signature.
UNLISTED = (SUBMISSION, SUBMISSION_SIGNATURE)
#: Place of raw data that are in the folder.
HERE = "here"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedMetric:
    """A metric over all trials: its value, its standard error over samples, the ends
    of its 95 % interval for the same samples, and its value in each trial; null where
    there is none.
    """

    value: float | None
    unit: str
    standard_error: float | None
    low: float | None
    high: float | None
    per_trial: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class SubmittedTrial:
    """A trial: its number, its seed, its count of timed samples, and whether it is
    valid.
    """

    number: int
    seed: int
    samples: int
    valid: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedSession:
    """A session: its folder below `sessions`, the place of its raw data ("here", or a
    URL), the head of its chain, its labels, and all of its results; `no_result` has the
    reason for each metric that is missing.
    """

    name: str
    raw: str
    chain: str
    bench_sha256: str
    scenario: str
    sut: str
    monitors: tuple[str, ...]
    labels: tuple[str, ...]
    replication: Outcome
    trials: tuple[SubmittedTrial, ...]
    metrics: dict[str, SubmittedMetric]
    no_result: dict[str, str]


@dataclass(frozen=True, slots=True)
class SubmittedConfiguration:
    """A configuration of the system: one or more sessions of one bench."""

    name: str
    sessions: tuple[SubmittedSession, ...]


@dataclass(frozen=True, slots=True)
class Submitter:
    """The submitter, and the licence of the folder as an SPDX identifier or a URL."""

    name: str = ""
    organisation: str = ""
    contact: str = ""
    licence: str = ""


@dataclass(frozen=True, slots=True)
class SoftwareVersions:
    """The software that measured a session."""

    neurorig: str
    revision: str
    python: str
    packages: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """All of submission.json except its schema.

    `report` has the text of each section of the report by its key, `missing` the keys
    without one. `no_result` has the reason for each pattern of cells of the grid that
    no session measured. `largest` names the evidence of the largest workload. `images`
    are the firmware images, `sources` their sources, as files of the folder. `files`
    has the SHA-256 of each file of the folder except submission.json and its signature.
    """

    created_utc: str
    benchmark: str
    rules: str
    submitter: Submitter
    report: dict[str, str]
    components_included: tuple[str, ...]
    components_omitted: tuple[str, ...]
    missing: tuple[str, ...]
    tuning_seeds: tuple[int, ...]
    configurations: tuple[SubmittedConfiguration, ...]
    no_result: dict[str, str]
    largest: str
    images: tuple[str, ...]
    sources: tuple[str, ...]
    versions: dict[str, SoftwareVersions]
    files: dict[str, str]

    @property
    def sessions(self) -> tuple[SubmittedSession, ...]:
        """The sessions of all configurations."""
        groups = [each.sessions for each in self.configurations]
        return tuple(chain.from_iterable(groups))


def text(submission: Submission) -> str:
    """Write the text of submission.json."""
    return schema_file.text(SCHEMA, submission)


def read(folder: Path) -> Submission:
    """Read the submission.json of a folder; raise DataError."""
    again = "rig submit neurobench SESSION --to FOLDER makes one"
    return schema_file.read(folder / SUBMISSION, Submission, SCHEMA, again)
