# SPDX-License-Identifier: Apache-2.0
"""The list of `rig sessions`, as stored in screens/."""

from __future__ import annotations

from pathlib import Path

import pytest

from rig.api.archive.listing import Listed
from rig.cli import sessions
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


@pytest.mark.parametrize("width", screens.WIDTHS)
def test_a_list_is_the_stored_one(width: int) -> None:
    found = screens.screen(lambda out: sessions.print_rows(out, ROWS), width)
    screens.compare(SCREENS / f"sessions-{width}.txt", found)
    assert max(map(len, found.splitlines())) <= width
    assert found.count("SIMULATED") == 3


def test_a_program_gets_every_column_in_one_line_a_session() -> None:
    found = screens.screen(lambda out: sessions.print_rows(out, ROWS), 80, piped=True)
    screens.compare(SCREENS / "sessions-piped.txt", found)
    assert len([line for line in found.splitlines() if line.strip()]) == 2 + len(ROWS)
