# SPDX-License-Identifier: Apache-2.0
"""Sessions with their results, read for a table or a site of many: one that crashed or
is damaged is among them with the reason, and without numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rig.api.archive import listing
from rig.api.archive.listing import Listed
from rig.errors import DataError, RigError
from rig.results import changed
from rig.results.document import Results
from rig.results.labels import Label
from rig.results.results import read as read_results
from rig.results.verdict import Outcome
from rig.store import verified
from rig.store.session_folder import SessionFolder, damage_named


@dataclass(frozen=True, slots=True)
class Collected:
    """A session as its row of a list, and its results; None where it has none that can
    be read. `labels` with their meanings stand beside every number.
    """

    listed: Listed
    results: Results | None
    labels: tuple[Label, ...] = ()

    @property
    def counts(self) -> bool:
        """Whether its numbers are results: the session ended, every trial is valid, and
        no file was changed.
        """
        return (
            self.results is not None
            and self.listed.verdict is not None
            and self.listed.verdict is not Outcome.INVALID
        )

    @property
    def reason(self) -> str:
        """Why its numbers are no results, or its verdict is not PASS."""
        return self.listed.reason


def collected(path: Path) -> Collected:
    """Read one session."""
    row = listing.read(path)
    if row.status == listing.UNREADABLE or row.verdict is None:
        return Collected(row, None)
    folder = SessionFolder(path)
    try:
        with damage_named(path):
            changes = verified.changes(folder)
            results = changed.marked(read_results(folder), changes)
    except (RigError, OSError) as error:
        return Collected(row, None, (Label("UNREADABLE", str(error)),))
    return Collected(row, results, results.labels)


def session_folders(places: Iterable[Path]) -> list[Path]:
    """Return the sessions at some places, each a session or a folder of sessions, the
    oldest first. Raises DataError where one is neither.
    """
    found: dict[Path, str] = {}
    for place in places:
        if listing.is_session(place):
            found[place] = listing.read(place).created_utc
            continue
        rows = listing.Listing(place).rows()
        if not rows:
            raise DataError(
                f"{place} is no session and has none in it",
                try_next="a session folder, or the folder of sessions around it",
            )
        found |= {row.path: row.created_utc for row in rows}
    return sorted(found, key=lambda path: (found[path], path.name))
