# SPDX-License-Identifier: Apache-2.0
"""A table of targets, cell by cell: costs of ours, published ones, how many are proven, and how many beat the published one."""

from __future__ import annotations

from collections.abc import Iterator

from scenarios.tasks.qubo.targets import Target, Targets

HEAD = ("nodes", "density", "ours", "published", "proven", "beaten")


def cells(targets: Targets) -> Iterator[tuple[str, ...]]:
    """Yield a row for each cell, as HEAD names its columns; costs are in the order of the seeds."""
    by_cell: dict[tuple[int, float], list[Target]] = {}
    for target in sorted(targets.rows.values(), key=lambda one: (one.nodes, one.density, one.seed)):
        by_cell.setdefault((target.nodes, target.density), []).append(target)
    for (nodes, density), ones in by_cell.items():
        published = [one.published for one in ones if one.published is not None]
        same = published == [one.cost for one in ones]
        yield (
            str(nodes),
            f"{100 * density:g} %",
            " ".join(str(one.cost) for one in ones),
            "the same" if same else " ".join(map(str, published)) or "none",
            f"{sum(one.proven for one in ones)} of {len(ones)}",
            str(sum(one.published is not None and one.cost < one.published for one in ones)),
        )


def markdown(targets: Targets) -> str:
    """Return the table as a page has it."""
    rows = [HEAD, ("---",) * len(HEAD), *cells(targets)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)
