# SPDX-License-Identifier: Apache-2.0
"""The list of `rig sessions`, as stored in screens/."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from rig.api.archive import listing
from rig.api.archive.listing import Listed
from rig.cli import sessions
from rig.cli.main import rig as command
from rig.results.verdict import Outcome
from tests import screens

LABELS = ("SIMULATED", "GENERATED DATA", "SUBSET")
ROWS = [
    Listed(
        Path("sessions/20261124T123000Z-virtual-asc"), "success", Outcome.PASS, task="asc",
        scenario="single_stream", device="virtual device", size_b=32_000_000, trials=5,
        trials_due=5, labels=LABELS,
    ),
    Listed(
        Path("sessions/20261124T122640Z-virtual-asc"), "success", Outcome.NOT_TESTED, task="asc",
        scenario="single_stream", device="virtual device", size_b=13_000_000, trials=2,
        trials_due=2, labels=LABELS, tags=("board-a",),
    ),
    Listed(
        Path("sessions/20261124T121500Z-uart-asc"), "killed", task="asc",
        scenario="single_stream", device="nucleo-l4r5zi", size_b=7_000_000, trials=1,
        trials_due=5, labels=("GENERATED DATA",),
    ),
    Listed(
        Path("sessions/20261124T120000Z-posix-qubo"), "success", Outcome.INVALID, task="qubo",
        scenario="optimization", device="posix", size_b=49_700_000, trials=5, trials_due=5,
        labels=("SIMULATED", "CHANGED AFTER THE RUN"), changed=True,
    ),
]  # fmt: skip
SCREENS = Path(__file__).parent / "screens"


def test_a_list_is_the_stored_one() -> None:
    result = screens.every(
        lambda width, piped: screens.screen(
            lambda out: sessions.print_rows(out, ROWS), width, piped=piped
        )
    )
    screens.compare(SCREENS / "sessions.txt", result)
    assert not screens.wider(result)
    # For a program there is a line a session.
    *terminals, piped = result.split("=====")[1:]
    assert all(terminal.count("SIMULATED") == 3 for terminal in terminals)
    assert len([line for line in piped.splitlines() if line.strip()]) == 3 + len(ROWS)


@pytest.fixture
def unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "sessions" / "20261124T120000Z-virtual-asc"
    folder.mkdir(parents=True)
    (folder / "events.jsonl").write_text("{\n", encoding="utf-8")
    monkeypatch.setattr(listing.Listing, "rows", rows_with(folder))


def rows_with(folder: Path) -> Callable[[listing.Listing], list[Listed]]:
    read = listing.read(Path(*folder.parts[-2:]))
    return lambda _: [*ROWS, read]


def test_the_screen_of_a_folder_with_an_unreadable_session(unreadable: None) -> None:
    result = screens.every(
        lambda width, piped: screens.of_command(width, piped, "sessions")
    )
    screens.compare(SCREENS / "sessions-unreadable.txt", result)
    assert not screens.wider(result)


def test_json_has_each_session_and_why_one_cannot_be_read(unreadable: None) -> None:
    done = CliRunner().invoke(command, ["sessions", "--json"])
    assert done.exit_code == 0
    rows = json.loads(done.stdout)["sessions"]
    assert [row["outcome"] for row in rows] == [
        "pass",
        "not tested",
        None,
        "invalid",
        None,
    ]
    assert rows[0]["labels"] == list(LABELS) and rows[0]["error"] == ""
    assert rows[2]["status"] == "killed"
    assert (
        rows[-1]["status"] == "unreadable"
        and "events.jsonl, line 1" in rows[-1]["error"]
    )
    assert "5 sessions" in done.stderr
