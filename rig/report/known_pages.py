# SPDX-License-Identifier: Apache-2.0
"""Reports that this computer drew, remembered by the files they were drawn from.

Drawing takes a third of the check of a small session. A page that was drawn on this
computer, by the same versions, from files with the same hashes, needs no second
drawing. The memory is an empty file in the user's cache folder, named by a hash of all
of these: a session from another computer cannot bring one along.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from rig.errors import ConfigError
from rig.files import user_folders
from rig.store import verified
from rig.store.provenance import packages, revision, version_of
from rig.store.session_folder import REPORT, SessionFolder

_FOLDER = "reports"
#: Ending of the revision of a checkout with edited files: another edit may draw another
#: page under the same revision.
_EDITED = "+changes"


def remember(session: SessionFolder, page: str) -> None:
    """Remember a page that was drawn from a session's files as they were recorded."""
    entry = _entry(session, page)
    if entry is None:
        return
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        entry.touch()
    except OSError:
        # Without the memory the next check draws the page.
        return


def is_known(session: SessionFolder, page: str) -> bool:
    """Return whether this computer drew that page from these files.

    The caller has compared the files with their hashes in events.jsonl.
    """
    entry = _entry(session, page)
    try:
        return entry is not None and entry.exists()
    except OSError:
        return False


def _entry(session: SessionFolder, page: str) -> Path | None:
    """Return the file that stands for a page; None where none can."""
    if revision().endswith(_EDITED):
        return None
    try:
        folder = user_folders.remembered(_FOLDER)
    except ConfigError:
        return None
    journal = session.journal()
    files = verified.listed(journal)
    files.pop(REPORT, None)
    drawn_from = {
        "page": hashlib.sha256(page.encode(errors="replace")).hexdigest(),
        "name": session.path.name,
        "head": journal.head,
        "files": files,
        "neurorig": version_of("neurorig"),
        "revision": revision(),
        "packages": packages(),
        "python": sys.version,
    }
    text = json.dumps(drawn_from, sort_keys=True)
    return folder / hashlib.sha256(text.encode()).hexdigest()
