# SPDX-License-Identifier: Apache-2.0
"""Cells in processes that do not end when they are asked to."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rig.api.backends.rows import Failure
from rig.api.campaign import grid, local
from rig.api.campaign.cell_process import CellNews, CellOrder
from rig.api.campaign.local import CellEvent
from rig.errors import Stopped
from rig.host.stop import Stop


class Deaf:
    """A process that goes on until it is killed."""

    def __init__(self, order: CellOrder) -> None:
        self._killed = threading.Event()

    def news(self) -> Iterator[CellNews]:
        yield CellNews("cells/one")
        assert self._killed.wait(30)
        yield CellNews(ended=True, failure=Failure("its process has ended"))

    def stop(self) -> None:
        """Do nothing."""

    def kill(self) -> None:
        self._killed.set()


def test_of_a_cell_that_had_to_be_killed_no_supply_is_called_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "grid.toml"
    path.write_text('[grid]\nbench = "virtual-null"\nrepetitions = 3\n')
    cells = grid.cells(grid.read(path), 10)
    monkeypatch.setattr(local, "CellRun", Deaf)
    monkeypatch.setattr(local, "_LEAVE_S", 0.3)
    stop = Stop()
    heard: list[CellEvent] = []

    def hear(event: CellEvent) -> None:
        heard.append(event)
        if event.news is not None:
            stop.request()

    def ordered(cell: grid.GridCell) -> CellOrder:
        return CellOrder(cell.name, cell.text, cell.trials, str(tmp_path))

    with pytest.raises(Stopped):
        local.run(cells, ordered, 2, hear, stop)
    ended = [each.news for each in heard if each.news and each.news.ended]
    assert len(ended) == 2
    for news in ended:
        assert news.stopped and news.failure is None
        assert "the supply may still be on" in news.notes[0]
