# SPDX-License-Identifier: Apache-2.0
"""A table of targets, cell by cell: official costs, best known ones, how many of these
are proven and below the official one.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

from scenarios.tasks.qubo.official import Officials
from scenarios.tasks.qubo.targets import Target, Targets

HEAD = ("nodes", "density", "official", "best known", "proven", "lower")


def cells(targets: Targets, officials: Officials) -> Iterator[tuple[str, ...]]:
    """Yield a row for each cell, as HEAD names its columns; costs are in the order of
    the seeds."""
    by_cell: dict[tuple[int, float], list[Target]] = {}
    in_order = sorted(targets.rows.values(), key=attrgetter("nodes", "density", "seed"))
    for target in in_order:
        by_cell.setdefault((target.nodes, target.density), []).append(target)
    for (nodes, density), ones in by_cell.items():
        officials_made = [officials.of(one.workload, one) for one in ones]
        own = [None if one is None else one[0] for one in officials_made]
        best = [one.cost for one in ones]
        own_costs = " ".join("none" if cost is None else str(cost) for cost in own)
        best_costs = "the same" if own == best else " ".join(map(str, best))
        proven = sum(one.proven for one in ones)
        beaten = 0
        for cost, one in zip(own, ones, strict=True):
            beaten += cost is not None and one.cost < cost
        yield (
            str(nodes),
            f"{100 * density:g} %",
            own_costs,
            best_costs,
            f"{proven} of {len(ones)}",
            str(beaten),
        )


def markdown(targets: Targets, officials: Officials) -> str:
    """Return the table as a page has it."""
    rows = [HEAD, ("---",) * len(HEAD), *cells(targets, officials)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)
