# SPDX-License-Identifier: Apache-2.0
"""Reports that this computer drew, remembered by the files they were drawn from.

Drawing takes a third of the check of a small session. A page that was drawn on this
computer, by the same sources, from files with the same hashes, needs no second
drawing. The memory is an empty file in the user's cache folder, named by a hash of all
of these: a session from another computer cannot bring one along.
"""

from __future__ import annotations

import hashlib
import json
import sys
from contextlib import suppress
from pathlib import Path

from rig.errors import ConfigError
from rig.files import user_folders
from rig.store import verified
from rig.store.provenance import packages, sources_sha256
from rig.store.session_folder import REPORT, SessionFolder

_FOLDER = "reports"


def remember(session: SessionFolder, page: str) -> None:
    """Remember a page that was drawn from a session's files as they were recorded."""
    # Without the memory the next check draws the page.
    with suppress(ConfigError, OSError):
        _entry(session, page).touch()


def is_known(session: SessionFolder, page: str) -> bool:
    """Check whether this computer drew that page from these files.

    The caller has compared the files with their hashes in events.jsonl.
    """
    with suppress(ConfigError, OSError):
        return _entry(session, page).exists()
    return False


def _entry(session: SessionFolder, page: str) -> Path:
    """Return the file that stands for a page; raises ConfigError and OSError where the
    user has no folder for it.
    """
    journal = session.journal()
    files = verified.listed(journal)
    files.pop(REPORT, None)
    drawn_from = {
        "page": hashlib.sha256(page.encode(errors="replace")).hexdigest(),
        "name": session.path.name,
        "head": journal.head,
        "files": files,
        "sources": sources_sha256(),
        "packages": packages(),
        "python": sys.version,
    }
    text = json.dumps(drawn_from, sort_keys=True)
    name = hashlib.sha256(text.encode()).hexdigest()
    return user_folders.remembered(_FOLDER) / name
