# SPDX-License-Identifier: Apache-2.0
"""Cells at a bench host that was away while a campaign was stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

from rig.api.campaign import cell_at_host, grid
from rig.api.campaign.cell_process import CellOrder


def test_a_request_to_stop_is_for_one_run_of_the_campaign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(cell_at_host, "_worker", lambda: "tcp://host:1")
    path = tmp_path / "grid.toml"
    path.write_text(
        '[grid]\nbench = "virtual-null"\n[settings]\nbench.trials = 1\n'
        "task.null.samples = 2\n"
    )
    (cell,) = grid.cells(grid.read(path), 1)
    order = CellOrder(cell.name, cell.text, cell.trials, str(tmp_path))
    cell_at_host.ask_to_stop("campaign", "monday")
    stopped = cell_at_host.run_cell(order, "campaign", "monday")
    assert stopped.news.stopped and not stopped.files
    ran = cell_at_host.run_cell(order, "campaign", "tuesday")
    assert not ran.news.stopped and ran.news.failure is None
    assert "events.jsonl" in ran.files
