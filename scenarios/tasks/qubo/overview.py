# SPDX-License-Identifier: Apache-2.0
"""A table of targets, cell by cell: official costs, best known ones, how many of these
are proven and below the official one.
"""

from __future__ import annotations

from collections.abc import Iterator

from scenarios.tasks.qubo.official import Officials
from scenarios.tasks.qubo.targets import Target, Targets

HEAD = ("nodes", "density", "official", "best known", "proven", "lower")


def cells(targets: Targets, officials: Officials) -> Iterator[tuple[str, ...]]:
    """Yield a row for each cell, as HEAD names its columns; costs are in the order of
    the seeds."""
    by_cell: dict[tuple[int, float], list[Target]] = {}
    for target in sorted(
        targets.rows.values(), key=lambda one: (one.nodes, one.density, one.seed)
    ):
        by_cell.setdefault((target.nodes, target.density), []).append(target)
    for (nodes, density), ones in by_cell.items():
        officials_made = [officials.of(one.workload, one) for one in ones]
        own = [None if one is None else one[0] for one in officials_made]
        best = [one.cost for one in ones]
        yield (
            str(nodes),
            f"{100 * density:g} %",
            " ".join("none" if cost is None else str(cost) for cost in own),
            "the same" if own == best else " ".join(map(str, best)),
            f"{sum(one.proven for one in ones)} of {len(ones)}",
            str(
                sum(
                    cost is not None and one.cost < cost
                    for cost, one in zip(own, ones, strict=True)
                )
            ),
        )


def markdown(targets: Targets, officials: Officials) -> str:
    """Return the table as a page has it."""
    rows = [HEAD, ("---",) * len(HEAD), *cells(targets, officials)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)
