# SPDX-License-Identifier: Apache-2.0
"""The binary file of `bqm.to_file()` of dimod, versions 1 and 2, read without dimod.

After a header in JSON come the offset, for each variable the place of its neighbours
and its bias, and the neighbours with their biases, each pair from both sides. Labels of
variables are not read: variables keep their order.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from rig.errors import DataError
from scenarios.tasks.qubo.formats.dimod_models import vartype_of
from scenarios.tasks.qubo.formats.entries import ENTRIES_MAX, Entries

BINARY = "dimod-bqm"
MAGIC = b"DIMODBQM"
_VERSIONS = (1, 2)
#: Magic, two numbers of the version, and the length of the header.
_FIXED_B = len(MAGIC) + 2 + 4
_BIASES = ("float32", "float64")
_PLACES = ("int32", "int64")


def read(block: bytes, nodes_max: int) -> Entries:
    """Read a model; raise DataError where it is none."""
    if not block.startswith(MAGIC) or len(block) < _FIXED_B:
        raise DataError("no binary file of dimod")
    version = block[len(MAGIC)]
    if version not in _VERSIONS:
        raise DataError(
            f"a binary file of dimod in version {version}",
            try_next="bqm.to_file(version=2)",
        )
    start_b = _FIXED_B + int.from_bytes(block[_FIXED_B - 4 : _FIXED_B], "little")
    header = _header(block[_FIXED_B:start_b])
    bias = _type(header, "dtype", _BIASES)
    of_place = [("place", _type(header, "ntype", _PLACES)), ("bias", bias)]
    of_neighbour = [("node", _type(header, "itype", _PLACES)), ("bias", bias)]
    variables, pairs = _shape(header, nodes_max)
    offsets, start_b = _array(block, start_b, bias, 1)
    linear, start_b = _array(block, start_b, np.dtype(of_place), variables)
    both, _ = _array(block, start_b, np.dtype(of_neighbour), 2 * pairs)
    degrees = np.diff(linear.place, append=len(both))
    if variables and (linear.place[0] != 0 or (degrees < 0).any()):
        raise DataError("places of neighbours that do not ascend from 0")
    nodes = np.arange(variables)
    heads = np.repeat(nodes, degrees)
    tails = both.node.astype(np.int64)
    below = tails < heads
    outside = (tails < 0) | (tails >= variables)
    if (outside | (tails == heads)).any():
        raise DataError(f"a pair that is none of two of the {variables} variables")
    if int(below.sum()) != pairs:
        raise DataError(f"{int(below.sum())} pairs, its header has {pairs}")
    loops = np.stack([nodes, nodes], axis=1)
    edges = np.stack([heads[below], tails[below]], axis=1)
    ends = np.concatenate([loops, edges]).astype(np.int64)
    weights = [*map(str, linear.bias), *map(str, both.bias[below])]
    offset = str(offsets[0])
    vartype = vartype_of(str(header.get("vartype")))
    return Entries(
        format=BINARY,
        nodes=variables,
        ends=ends,
        weights=weights,
        offset=offset,
        spin=vartype == "SPIN",
    )


def _header(block: bytes) -> dict[str, Any]:
    try:
        header = json.loads(block)
    except (ValueError, RecursionError) as error:
        raise DataError(
            "a header that is no JSON", evidence=str(error)[:200]
        ) from error
    if not isinstance(header, dict):
        raise DataError("a header without names")
    return header


def _type(header: dict[str, Any], key: str, types: tuple[str, ...]) -> np.dtype[Any]:
    name = header.get(key)
    if name not in types:
        raise DataError(
            f"{key} of {str(name)[:20]!r}", try_next=f"one of {', '.join(types)}"
        )
    kind: np.dtype[Any] = np.dtype(str(name)).newbyteorder("<")
    return kind


def _shape(header: dict[str, Any], nodes_max: int) -> tuple[int, int]:
    """Return the numbers of variables and of pairs."""
    match header.get("shape"):
        case [int(variables), int(pairs)] if variables >= 0 and pairs >= 0:
            pass
        case shape:
            raise DataError(f"a shape of {str(shape)[:60]!r}")
    if variables > nodes_max:
        raise DataError(f"{variables} variables, {nodes_max} are possible")
    if pairs > ENTRIES_MAX:
        raise DataError(f"{pairs} entries, {ENTRIES_MAX} are possible")
    return variables, pairs


def _array(
    block: bytes, start_b: int, kind: np.dtype[Any], count: int
) -> tuple[Any, int]:
    """Return the records from a place on, and the place after them."""
    end_b = start_b + count * kind.itemsize
    if end_b > len(block):
        raise DataError(f"the file is cut off: {len(block)} bytes, {end_b} are due")
    records = np.frombuffer(block, kind, count, start_b)
    return records.view(np.recarray), end_b
