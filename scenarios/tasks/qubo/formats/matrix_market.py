# SPDX-License-Identifier: Apache-2.0
"""Sparse matrices in the Matrix Market exchange format: `%%MatrixMarket matrix
coordinate real|integer|pattern general|symmetric`, `%` comments, `rows columns
entries`, then `i j value`. Rows count from 1.
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
    refuse_cut_off,
    wrong,
)

FORMAT = "mtx"
MARK = "%%matrixmarket"
_MOST = 10**12
_FIELDS = {"real": 3, "integer": 3, "double": 3, "pattern": 2}
_SYMMETRIES = ("general", "symmetric")


def read(text: str, nodes_max: int) -> Entries:
    """Read a file; raise DataError where it is none, is no square matrix of real
    numbers, or is shorter than it says.
    """
    banner = text.partition("\n")[0].lower().split()
    if len(banner) != 5 or banner[:2] != [MARK, "matrix"]:
        raise wrong(1, "no `%%MatrixMarket matrix coordinate ...`")
    layout, field, symmetry = banner[2:]
    if layout != "coordinate" or field not in _FIELDS or symmetry not in _SYMMETRIES:
        raise DataError(
            f"a matrix that is {layout[:20]}, {field[:20]} and {symmetry[:20]}",
            try_next=(
                "coordinate; real, integer or pattern; general or symmetric: as"
                " scipy.io.mmwrite writes a sparse matrix"
            ),
        )
    lines = fields_of(text, "%")
    first, head = next(lines, (1, []))
    if len(head) != 3:
        raise wrong(first, f"{' '.join(head)[:60]!r} is not `rows columns entries`")
    nodes, columns = (count(each, first, nodes_max) for each in head[:2])
    if nodes != columns:
        raise DataError(f"a matrix of {nodes} x {columns}: a problem has a square one")
    announced = count(head[2], first, _MOST)
    flat = flat_ends()
    weights: list[str] = []
    for line, fields in lines:
        if len(fields) != _FIELDS[field]:
            raise wrong(
                line, f"{' '.join(fields)[:60]!r} has not {_FIELDS[field]} fields"
            )
        flat.append(node(fields[0], line, nodes))
        flat.append(node(fields[1], line, nodes))
        weights += fields[2:]
    refuse_cut_off(len(flat) // 2, announced)
    return Entries(
        format=FORMAT,
        nodes=nodes,
        ends=ends_of(flat),
        weights=weights,
        announced=announced,
        mirrored=symmetry == "symmetric",
        is_matrix=True,
    )
