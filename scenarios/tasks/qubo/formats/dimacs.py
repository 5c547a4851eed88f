# SPDX-License-Identifier: Apache-2.0
"""Graphs in the form of the DIMACS challenges: `c` comments, `p edge N M` or `p col N
M`, `e i j`, and `n i weight` of a node. Nodes count from 1.

M is unreliable: files announce twice their edges, or list each twice. So edges are
counted.
"""

from __future__ import annotations

from rig.errors import DataError
from scenarios.tasks.qubo.formats.entries import (
    Entries,
    count,
    ends_of,
    fields_of,
    flat_ends,
    node,
    wrong,
)

FORMAT = "dimacs"
PROBLEMS = ("edge", "edges", "col", "clq", "mis", "sp")
_MOST = 10**12


def read(text: str, nodes_max: int) -> Entries:
    """Read a file; raise DataError where it is none."""
    nodes: int | None = None
    announced = 0
    flat = flat_ends()
    weights: list[str] = []
    node_weights: list[str] = []
    for line, fields in fields_of(text, "c"):
        if fields[0] == "p" and nodes is None:
            if len(fields) != 4 or fields[1] not in PROBLEMS:
                raise wrong(line, f"{' '.join(fields)[:60]!r} is not `p edge N M`")
            nodes = count(fields[2], line, nodes_max)
            announced = count(fields[3], line, _MOST)
            node_weights = ["1"] * nodes
        elif nodes is None:
            raise wrong(line, "an entry before `p edge N M`")
        elif fields[0] == "e" and len(fields) in (3, 4):
            flat.append(node(fields[1], line, nodes))
            flat.append(node(fields[2], line, nodes))
            weights += fields[3:]
        elif fields[0] == "n" and len(fields) == 3:
            node_weights[node(fields[1], line, nodes)] = fields[2]
        else:
            raise wrong(
                line, f"{' '.join(fields)[:60]!r} is neither `e i j` nor `n i w`"
            )
    if nodes is None:
        raise DataError("no line `p edge N M`")
    ends = ends_of(flat)
    if weights and len(weights) != len(ends):
        raise DataError("some edges have a weight and some have none")
    return Entries(
        format=FORMAT,
        nodes=nodes,
        ends=ends,
        weights=weights,
        node_weights=node_weights,
        announced=announced,
    )
