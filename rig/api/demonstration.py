# SPDX-License-Identifier: Apache-2.0
"""A finished session to look at without hardware: five virtual trials; one
drifts."""

from __future__ import annotations

import tempfile
from pathlib import Path

from rig.api.archive.listing import Listing
from rig.api.bench import open_bench
from rig.files import user_folders
from rig.files.shipped import shipped
from rig.host.stop import Stop
from rig.store.events import Subscriber

NAME = "virtual-drift"
DRIFTING_TRIAL = 4


def default_root() -> Path:
    """Return where demonstration sessions are kept: the user's folder of data that can
    be made again.
    """
    return user_folders.cache() / "demonstration"


def find(root: Path) -> Path | None:
    """Return a demonstration session that was made before; None where there is none."""
    for row in Listing(root).rows():
        if row.bench == NAME and row.status == "success":
            return row.path
    return None


def make(
    root: Path, subscribers: tuple[Subscriber, ...] = (), stop: Stop | None = None
) -> Path:
    """Run the demonstration; return the folder of its session. Raises Stopped where
    `stop` says so, and RigError: then no part of it stays.
    """
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=root) as scratch:
        with open_bench(
            shipped("benches") / f"{NAME}.toml", subscribers=subscribers, stop=stop
        ) as bench:
            made = bench.run(5, scratch).path
        return made.rename(root / made.name)


def found_or_made(
    root: Path | None = None,
    subscribers: tuple[Subscriber, ...] = (),
    stop: Stop | None = None,
) -> Path:
    """Return a demonstration session, made now where there is none; raises what `make`
    does."""
    place = default_root() if root is None else root
    return find(place) or make(place, subscribers, stop)
