# SPDX-License-Identifier: Apache-2.0
"""What `rig campaign` prints of cells that are done, cut off, failed and missing, as
stored in screens/.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import pytest

from rig.api.campaign import grid
from rig.errors import DeviceLost, Stopped
from rig.host.stop import Stop
from rig.session.session import open_bench
from rig.store.events import Event, TrialFinished
from tests import screens
from tests.rig.cli.test_screens import SCREENS

GRID = """
[grid]
bench = "virtual-null"
repetitions = 2
[axis]
sut.virtual.idle_w = [0.005, 0.010]
scenario.single_stream.idle_s = [0.1, 0.2]
[settings]
bench.trials = 5
task.null.samples = 6
"""
#: Cells of that grid which are all done.
SMALL = GRID.replace("[0.005, 0.010]", "[0.005]")
#: Name of a screen -> its grid and option.
SHOWN = {
    "campaign-done": "small.toml --status",
    "campaign-status": "grid.toml --status",
    "campaign-table": "grid.toml --table",
}
#: The cells that do not come to their end.
STOPPED = "virtual-null-idle_w0.01-idle_s0.2-r1"
FAILED = "virtual-null-idle_w0.01-idle_s0.2-r2"
LEFT_OUT = "virtual-null-idle_w0.01-idle_s0.1-r2"


def run(cell: grid.GridCell, folder: Path) -> None:
    """Run a cell as its process does, or to the end of its first trial."""
    path = folder / "cell.toml"
    path.write_text(cell.text)
    stop = Stop()

    def ends(event: Event) -> None:
        if not isinstance(event, TrialFinished):
            return
        if cell.name == STOPPED:
            stop.request()
        if cell.name == FAILED:
            raise DeviceLost("the port /dev/ttyACM0 is gone", evidence="read: EOF")

    with (
        suppress(Stopped, DeviceLost),
        open_bench(path, stop=stop) as bench,
    ):
        bench.run(cell.trials, folder / "cells", (ends,))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("campaign")
    (made / "grid.toml").write_text(GRID)
    (made / "small.toml").write_text(SMALL)
    for cell in grid.cells(grid.read(made / "grid.toml"), 100):
        if cell.name != LEFT_OUT:
            run(cell, made)
    return made


@pytest.mark.parametrize("name", SHOWN)
def test_a_screen_of_a_campaign_is_the_stored_one(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    words = ("campaign", *SHOWN[name].split(), "--to", "cells")

    def show(width: int, piped: bool) -> str:
        text = screens.of_command(width, piped, *words)
        return re.sub(r"\d{8}T\d{6}Z", "20261124T120000Z", text)

    screens.compare(SCREENS / f"{name}.txt", screens.every(show))
    assert not screens.wider((SCREENS / f"{name}.txt").read_text(encoding="utf-8"))
