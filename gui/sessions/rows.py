# SPDX-License-Identifier: Apache-2.0
"""A session of the list in words and colours."""

from __future__ import annotations

from gui.widgets.table import TableColumn
from rig.api.archive import listing
from rig.api.archive.listing import Listed
from rig.units import bytes_text

_COLOURS = {
    "PASS": "ok",
    "FAIL": "bad",
    "INVALID": "bad",
    "NOT TESTED": "warn",
    listing.CHANGED: "bad",
    listing.RUNNING: "accent",
    "abort": "warn",
    "fail": "bad",
    listing.KILLED: "warn",
    listing.EMPTY: "muted",
    listing.UNREADABLE: "bad",
}


def outcome_colour(row: Listed) -> str:
    """Return the name of the theme's colour for how a session stands."""
    return _COLOURS.get(row.outcome, "muted")


def when(row: Listed) -> str:
    """Return "2026-11-22 18:28" (UTC) for the time at which a session was made."""
    return row.created_utc[:16].replace("T", " ")


def trials(row: Listed) -> str:
    """Return "3 of 5"; empty where it is not known."""
    return f"{row.trials} of {row.trials_due}" if row.trials_due else ""


#: What is left out where there is little room stands beside the session at hand.
COLUMNS = (
    TableColumn("made (UTC)", when, lambda row: row.created_utc),
    TableColumn("bench", lambda row: row.bench or row.name),
    TableColumn("outcome", lambda row: row.outcome, colour=outcome_colour),
    TableColumn("trials", trials, lambda row: row.trials, right=True, spare=True),
    TableColumn("task", lambda row: row.task, spare=True),
    TableColumn("scenario", lambda row: row.scenario, spare=True),
    TableColumn("device", lambda row: row.device, spare=True),
    TableColumn(
        "tags",
        lambda row: " ".join(row.tags),
        colour=lambda row: "accent",
        spare=True,
    ),
    TableColumn(
        "size",
        lambda row: bytes_text(row.size_b),
        lambda row: row.size_b,
        right=True,
        spare=True,
    ),
    TableColumn(
        "labels",
        lambda row: ", ".join(row.labels),
        colour=lambda row: "muted",
        spare=True,
    ),
)


def facts(row: Listed) -> list[tuple[str, str]]:
    """Return the facts of a session as names and texts."""
    rows = [
        ("task", row.task),
        ("scenario", row.scenario),
        ("device", row.device),
        ("monitors", row.monitors),
        ("made (UTC)", row.created_utc.replace("T", " ").rstrip("Z")),
        ("trials", trials(row)),
        ("problems", str(row.problems) if row.trials else ""),
        ("size", bytes_text(row.size_b)),
        ("folder", str(row.path)),
    ]
    return [(name, text) for name, text in rows if text]
