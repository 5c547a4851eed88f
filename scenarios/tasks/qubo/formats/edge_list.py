# SPDX-License-Identifier: Apache-2.0
"""Lists of edges with weights: Gset and Biq Mac's .mc, `n m` and then `i j w`; Biq
Mac's .bq has the entries of a matrix in the same form. `#` begins a comment. Nodes
count from 1.

Of a .bq file, f(x) = x'Qx is to be minimised, and Q is symmetric: an entry (i, j) is
there once, and means (j, i) as well.
"""

from __future__ import annotations

import numpy as np

from scenarios.tasks.qubo.formats.entries import (
    Entries,
    count,
    ends_of,
    fields_of,
    flat_ends,
    node,
    refuse_cut_off,
    wrong,
)

GSET = "gset"
BIQ_MAC_CUT = "mc"
BIQ_MAC_MATRIX = "bq"
_MOST = 10**12


def read(text: str, nodes_max: int, form: str) -> Entries:
    """Read a file; raise DataError where it is none, or is shorter than it says."""
    lines = fields_of(text, "#")
    first, head = next(lines, (1, []))
    if len(head) != 2:
        raise wrong(first, f"{' '.join(head)[:60]!r} is not `n m`")
    nodes = count(head[0], first, nodes_max)
    announced = count(head[1], first, _MOST)
    flat = flat_ends()
    weights: list[str] = []
    for line, fields in lines:
        if len(fields) != 3 and (form == BIQ_MAC_MATRIX or len(fields) != 2):
            raise wrong(line, f"{' '.join(fields)[:60]!r} is not `i j w`")
        flat.append(node(fields[0], line, nodes))
        flat.append(node(fields[1], line, nodes))
        weights.append(fields[2] if len(fields) == 3 else "1")
    ends = ends_of(flat)
    refuse_cut_off(len(ends), announced)
    is_matrix = form == BIQ_MAC_MATRIX
    return Entries(
        format=form,
        nodes=nodes,
        ends=ends,
        weights=weights,
        announced=announced,
        mirrored=is_matrix and not _on_both_sides(ends),
        is_matrix=is_matrix,
    )


def _on_both_sides(ends: np.ndarray) -> bool:
    """Check whether a matrix has entries below and above its diagonal."""
    rows, columns = ends.T
    return bool((rows < columns).any() and (rows > columns).any())
