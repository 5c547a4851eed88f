# SPDX-License-Identifier: Apache-2.0
"""The files of a submission: each as submission.json has it, none more and none less,
and the same in the description for repositories.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rig.check import signature
from rig.errors import DataError
from rig.judge.evidence import shown
from rig.judge.row import JudgedRow
from rig.results.submission_file import (
    CRATE,
    REPORT,
    SUBMISSION,
    SUBMISSION_SIGNATURE,
    UNLISTED,
    WORKFLOW,
    Submission,
)
from rig.store import inventory
from rig.store.session_folder import read_json, sha256


def findings(folder: Path, submission: Submission) -> Iterator[JudgedRow]:
    """Compare the files of a folder with their hashes."""
    there = inventory.files(folder)
    listed = submission.files
    wrong = [f"{name} is missing" for name in listed if name not in there]
    for name in there:
        if name not in listed and name not in UNLISTED:
            wrong.append(f"{name} is not listed")
    wrong += [f"{name} is listed, and cannot be" for name in UNLISTED if name in listed]
    for name, digest in listed.items():
        if name in there and sha256(there[name]) != digest:
            wrong.append(f"{name} was changed")
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
    for name in stated:
        if name not in due and name not in UNLISTED:
            wrong.append(name)
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
