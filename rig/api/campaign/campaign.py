# SPDX-License-Identifier: Apache-2.0
"""A campaign in a folder: which cells are left, and the order that each is given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from rig.api.backends import images
from rig.api.backends.runs import Planned
from rig.api.campaign.cell_process import CellOrder
from rig.api.campaign.grid import GridCell
from rig.api.campaign.standing import CampaignFacts, Survey, survey
from rig.bench import config
from rig.bench.parts import open_task
from rig.errors import BenchError, ConfigError, RigError, storage_error
from rig.host import file_lock

#: Held while a campaign runs into a folder; it has no content.
_LOCK = ".campaign.lock"
_ANOTHER = "another folder: rig campaign GRID --to FOLDER"


def _with_images(
    cells: Sequence[GridCell], root: Path, build: bool
) -> Iterator[GridCell]:
    """Yield the cells with the programs that are images of their models; a cell without
    its image has no session yet.
    """
    for cell in cells:
        planned = Planned(cell.name, cell.text, cell.trials, cell.from_example)
        if not images.runs_any_network(planned):
            yield cell
            continue
        try:
            task, _ = open_task(config.parsed(cell.text, Path.cwd()))
            workload = images.workload_of(planned, task)
            planned = images.with_image(planned, workload, task, root, build=build)
        except RigError as error:
            if not build:
                yield cell
                continue
            if isinstance(error, ConfigError):
                error.moved("--suts", "axis.model")
            raise
        yield replace(cell, text=planned.text)


@dataclass(frozen=True, slots=True)
class Campaign:
    """Cells and the folder of their sessions."""

    cells: tuple[GridCell, ...]
    root: Path
    facts: CampaignFacts

    @classmethod
    def of(
        cls, cells: Sequence[GridCell], root: Path, *, build: bool = False
    ) -> Campaign:
        """Return the campaign of cells in a folder, which need not be there; `build`
        the images of models that are not there yet, which raises what building does.
        """
        return cls(tuple(_with_images(cells, root, build)), root, CampaignFacts())

    def survey(self) -> Survey:
        """Read how the cells stand, with the models and data of this moment."""
        return survey(self.cells, self.root, CampaignFacts())

    def order(self, cell: GridCell) -> CellOrder:
        """Return the order of a cell."""
        root = str(self.root.resolve())
        facts = dict(self.facts(cell))
        return CellOrder(
            name=cell.name,
            text=cell.text,
            trials=cell.trials,
            root=root,
            facts=facts,
        )


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Keep other campaigns out of a folder of sessions; raises BenchError where one is
    in it."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        stream = (root / _LOCK).open("ab")
    except OSError as error:
        raise storage_error(error, root, _ANOTHER) from error
    with stream:
        if not file_lock.take(stream):
            raise BenchError(
                f"another campaign runs into {root}",
                try_next=f"wait for its end, or {_ANOTHER}",
            )
        yield
