# SPDX-License-Identifier: Apache-2.0
"""Matrices in the Matrix Market exchange format: `%%MatrixMarket matrix coordinate
real|integer|pattern general|symmetric`, `%` comments, `rows columns entries`, then
`i j value`, rows from 1 on; or `matrix array real|integer ...`, `rows columns`, then a
value a line, column by column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rig.errors import DataError
from scenarios.tasks.qubo.formats.entries import (
    Entries,
    Lines,
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
_FIELDS = {
    "coordinate": {"real": 3, "integer": 3, "double": 3, "pattern": 2},
    "array": {"real": 1, "integer": 1, "double": 1},
}
_ZERO = re.compile(r"[+-]?(0+\.?0*|\.0+)(e[+-]?[0-9]{1,3})?\Z", re.ASCII | re.I)
_SYMMETRIES = ("general", "symmetric")


def read(text: str, nodes_max: int) -> Entries:
    """Read a file; raise DataError where it is none, is no square matrix of real
    numbers, or is shorter than it says.
    """
    banner = text.partition("\n")[0].lower().split()
    if len(banner) != 5 or banner[:2] != [MARK, "matrix"]:
        raise wrong(1, "no `%%MatrixMarket matrix coordinate ...`")
    layout, field, symmetry = banner[2:]
    fields = _FIELDS.get(layout, {})
    if field not in fields or symmetry not in _SYMMETRIES:
        raise DataError(
            f"a matrix that is {layout[:20]}, {field[:20]} and {symmetry[:20]}",
            try_next=(
                "coordinate or array; real, integer or, with coordinates, pattern;"
                " general or symmetric: as scipy.io.mmwrite writes a matrix"
            ),
        )
    mirrored = symmetry == "symmetric"
    lines = fields_of(text, "%")
    if layout == "array":
        return _dense(lines, nodes_max, mirrored=mirrored)
    return _sparse(lines, nodes_max, width=fields[field], mirrored=mirrored)


def _sparse(lines: Lines, nodes_max: int, *, width: int, mirrored: bool) -> Entries:
    """Read entries of so many fields, each with its row and column."""
    nodes, announced = _head(lines, "rows columns entries", nodes_max)
    flat = flat_ends()
    weights: list[str] = []
    for line, fields in lines:
        if len(fields) != width:
            raise wrong(line, f"{' '.join(fields)[:60]!r} has not {width} fields")
        flat.append(node(fields[0], line, nodes))
        flat.append(node(fields[1], line, nodes))
        weights += fields[2:]
    refuse_cut_off(len(flat) // 2, announced)
    return _entries(nodes, flat, weights, announced, mirrored=mirrored)


def _dense(lines: Lines, nodes_max: int, *, mirrored: bool) -> Entries:
    """Read a value a line, column by column, of a symmetric matrix from the diagonal
    down; values of 0 are no entries.
    """
    nodes, _ = _head(lines, "rows columns", nodes_max)
    announced = nodes * (nodes + 1) // 2 if mirrored else nodes**2
    flat = flat_ends()
    weights: list[str] = []
    found = 0
    for (row, column), (line, fields) in zip(
        _places(nodes, mirrored), lines, strict=False
    ):
        if len(fields) != 1:
            raise wrong(line, f"{' '.join(fields)[:60]!r} is not one value")
        found += 1
        if not _ZERO.match(fields[0]):
            flat.append(row)
            flat.append(column)
            weights += fields
    refuse_cut_off(found, announced)
    if (rest := next(lines, None)) is not None:
        raise wrong(rest[0], f"a value after the last of {announced}")
    return _entries(nodes, flat, weights, announced=None, mirrored=mirrored)


def _places(nodes: int, mirrored: bool) -> Iterator[tuple[int, int]]:
    for column in range(nodes):
        for row in range(column if mirrored else 0, nodes):
            yield row, column


def _head(lines: Lines, form: str, nodes_max: int) -> tuple[int, int]:
    """Return the size of a square matrix, and the last number of its head."""
    first, head = next(lines, (1, []))
    if len(head) != len(form.split()):
        raise wrong(first, f"{' '.join(head)[:60]!r} is not `{form}`")
    nodes, columns = (count(each, first, nodes_max) for each in head[:2])
    if nodes != columns:
        raise DataError(f"a matrix of {nodes} x {columns}: a problem has a square one")
    return nodes, count(head[-1], first, _MOST)


def _entries(
    nodes: int,
    flat: Sequence[int],
    weights: Sequence[str],
    announced: int | None,
    *,
    mirrored: bool,
) -> Entries:
    return Entries(
        format=FORMAT,
        nodes=nodes,
        ends=ends_of(flat),
        weights=weights,
        announced=announced,
        mirrored=mirrored,
        is_matrix=True,
    )
