# SPDX-License-Identifier: Apache-2.0
"""The description of a submission for repositories: ro-crate-metadata.json, RO-Crate
1.1: who, what, licence, and each file with its SHA-256.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rig.results.submission_file import SESSIONS, SUBMISSION, Submission
from rig.store.session_folder import BENCH, RESULTS, json_text

_CONTEXT = "https://w3id.org/ro/crate/1.1/context"
_PROFILE = "https://w3id.org/ro/crate/1.1"
_TYPES = {
    ".jls": "application/octet-stream",
    ".jsonl": "application/jsonl",
    ".toml": "application/toml",
    ".md": "text/markdown",
}


def text(folder: Path, submission: Submission, started_utc: Mapping[str, str]) -> str:
    """Write the description of a folder; `started_utc` has when each session began.

    submission.json names this file's hash, so it is listed without one of its own.
    """
    files = [_file(folder, name, digest) for name, digest in submission.files.items()]
    files.append({"@id": SUBMISSION, "@type": "File", "name": SUBMISSION})
    actions = [_action(name, began, submission) for name, began in started_utc.items()]
    author = submission.submitter
    author_name = author.name or "not stated"
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"Submission to NeuroBench, system track, {submission.benchmark}",
        "description": f"Results by the rules of {submission.rules}",
        "datePublished": submission.created_utc[:10],
        "license": author.licence or "not stated",
        "author": {"@id": "#submitter"},
        "hasPart": [{"@id": entity["@id"]} for entity in files],
        "mentions": [{"@id": action["@id"]} for action in actions],
    }
    person = {
        "@id": "#submitter",
        "@type": "Person",
        "name": author_name,
        "affiliation": author.organisation,
        "email": author.contact,
    }
    descriptor = {
        "@id": "ro-crate-metadata.json",
        "@type": "CreativeWork",
        "conformsTo": {"@id": _PROFILE},
        "about": {"@id": "./"},
    }
    software = {"@id": "#neurorig", "@type": "SoftwareApplication", "name": "neurorig"}
    graph = [descriptor, root, person, software, *files, *actions]
    return json_text({"@context": _CONTEXT, "@graph": graph})


def _file(folder: Path, name: str, digest: str) -> dict[str, Any]:
    path = folder / name
    kind = _TYPES.get(path.suffix) or mimetypes.guess_type(name)[0]
    size_b = str(path.stat().st_size)
    return {
        "@id": name,
        "@type": "File",
        "name": name,
        "contentSize": size_b,
        "encodingFormat": kind or "application/octet-stream",
        "sha256": digest,
    }


def _action(name: str, began: str, submission: Submission) -> dict[str, Any]:
    versions = submission.versions[name]
    return {
        "@id": f"#run-{name}",
        "@type": "CreateAction",
        "name": f"measurement of {name}",
        "description": f"neurorig {versions.neurorig} {versions.revision}".strip(),
        "startTime": began,
        "agent": {"@id": "#submitter"},
        "instrument": {"@id": "#neurorig"},
        "object": {"@id": f"{SESSIONS}/{name}/{BENCH}"},
        "result": {"@id": f"{SESSIONS}/{name}/{RESULTS}"},
    }
