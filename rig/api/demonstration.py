# SPDX-License-Identifier: Apache-2.0
"""A finished session to look at without hardware: five virtual trials, of which one drifts."""

from __future__ import annotations

from pathlib import Path

from rig import user_folders
from rig.api.archive.listing import Listing
from rig.api.bench import open_bench
from rig.shipped import shipped
from rig.store.events import Subscriber

NAME = "virtual-drift"
DRIFTING_TRIAL = 4


def default_root() -> Path:
    """Return where demonstration sessions are kept: the user's folder of data that can be made
    again.
    """
    return user_folders.cache() / "demonstration"


def find(root: Path) -> Path | None:
    """Return a demonstration session that was made before; None where there is none."""
    rows = [row for row in Listing(root).rows() if row.bench == NAME and row.status == "success"]
    return rows[0].path if rows else None


def make(root: Path, subscribers: tuple[Subscriber, ...] = ()) -> Path:
    """Run the demonstration; return the folder of its session."""
    root.mkdir(parents=True, exist_ok=True)
    with open_bench(shipped("benches") / f"{NAME}.toml") as bench:
        return bench.run(5, root, subscribers).path


def found_or_made(root: Path | None = None) -> Path:
    """Return a demonstration session, made now where there is none."""
    place = default_root() if root is None else root
    return find(place) or make(place)
