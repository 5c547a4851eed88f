# SPDX-License-Identifier: Apache-2.0
"""A campaign whose model is replaced while its cells run."""

from __future__ import annotations

from pathlib import Path

import pytest

from rig.api.campaign import cell_process, grid, standing
from rig.api.campaign.campaign import Campaign
from rig.api.campaign.standing import CellStatus
from rig.host.stop import Stop


def test_each_survey_reads_the_models_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "grid.toml"
    path.write_text(
        '[grid]\nbench = "virtual-null"\n[settings]\nbench.trials = 1\n'
        "task.null.samples = 2\n"
    )
    campaign = Campaign.of(grid.cells(grid.read(path), 1), tmp_path / "cells")
    (cell,) = campaign.survey().left
    cell_process.run(campaign.order(cell), lambda news: None, Stop())
    assert [row.state for row in campaign.survey().rows] == [CellStatus.DONE]
    replaced = {"model_sha256": "another"}
    monkeypatch.setattr(standing.runs, "facts_of", lambda task: replaced)
    (row,) = campaign.survey().rows
    assert row.state is CellStatus.MISSING
    assert "its model or data are other ones" in row.note
