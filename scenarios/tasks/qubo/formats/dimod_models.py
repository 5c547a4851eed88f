# SPDX-License-Identifier: Apache-2.0
"""Binary quadratic models of dimod, read without dimod: the JSON of
`bqm.to_serializable()` (schema 3.0.0, without bytes), and the text of
`dimod.serialization.coo`, `i j bias` from node 0 on.

Of the text, the first line has the type of the variables: `# vartype=BINARY` or SPIN.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from rig.errors import DataError
from scenarios.tasks.qubo.formats.entries import (
    Entries,
    count,
    ends_of,
    fields_of,
    flat_ends,
    wrong,
)

JSON = "dimod-json"
COO = "dimod-coo"
#: JSON takes forty times its size of memory while it is read.
JSON_LARGEST = 1 << 25
VARTYPE = re.compile(r"\s*#.*?vartype[:=]\s*(\w+)", re.ASCII)
_TYPES = ("BINARY", "SPIN")
_TRY = "json.dump(bqm.to_serializable(), file)"


def read_json(text: str, nodes_max: int) -> Entries:
    """Read a model in JSON; raise DataError where it is none."""
    if len(text) > JSON_LARGEST:
        raise DataError(
            f"JSON of {len(text)} characters, {JSON_LARGEST} are read",
            try_next="dimod.serialization.coo.dump(bqm, file, vartype_header=True)",
        )
    try:
        tree = json.loads(text, parse_float=Decimal, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise DataError("no JSON", evidence=str(error)[:200]) from error
    if not isinstance(tree, dict) or tree.get("type") != "BinaryQuadraticModel":
        raise DataError("no BinaryQuadraticModel of dimod", try_next=_TRY)
    if tree.get("use_bytes"):
        raise DataError("a model with its numbers as bytes", try_next=_TRY)
    vartype = vartype_of(str(tree.get("variable_type")))
    linear = _numbers(tree, "linear_biases")
    quadratic = _numbers(tree, "quadratic_biases")
    variables = len(linear)
    if variables > nodes_max:
        raise DataError(f"{variables} variables, {nodes_max} are possible")
    heads = _nodes(tree, "quadratic_head", variables)
    tails = _nodes(tree, "quadratic_tail", variables)
    if not len(heads) == len(tails) == len(quadratic):
        raise DataError(
            "heads, tails and biases are not equally many:"
            f" {len(heads)}, {len(tails)} and {len(quadratic)}"
        )
    flat: list[int] = []
    for variable in range(variables):
        flat += (variable, variable)
    for head, tail in zip(heads, tails, strict=True):
        if head == tail:
            raise DataError(f"a bias of variable {head} with itself")
        flat += (head, tail)
    ends = ends_of(flat)
    weights = [*linear, *quadratic]
    offset = _number(tree.get("offset", 0), "offset")
    return Entries(
        format=JSON,
        nodes=variables,
        ends=ends,
        weights=weights,
        offset=offset,
        spin=vartype == "SPIN",
    )


def read_coo(text: str, nodes_max: int) -> Entries:
    """Read a model as text; raise DataError where it is none."""
    header = VARTYPE.match(text)
    if header is None:
        raise DataError(
            "no line `# vartype=BINARY`, or SPIN, at the beginning",
            try_next="coo.dump(bqm, file, vartype_header=True)",
        )
    vartype = vartype_of(header[1])
    flat = flat_ends()
    weights: list[str] = []
    for line, fields in fields_of(text, "#"):
        if len(fields) != 3:
            raise wrong(line, f"{' '.join(fields)[:60]!r} is not `i j bias`")
        flat.append(count(fields[0], line, nodes_max - 1))
        flat.append(count(fields[1], line, nodes_max - 1))
        weights.append(fields[2])
    nodes = max(flat, default=-1) + 1
    return Entries(
        format=COO,
        nodes=nodes,
        ends=ends_of(flat),
        weights=weights,
        spin=vartype == "SPIN",
    )


def vartype_of(text: str) -> str:
    """Return BINARY or SPIN; raise DataError for other types of variables."""
    if text.upper() not in _TYPES:
        raise DataError(
            f"variables of type {text[:20]!r}", try_next=" or ".join(_TYPES)
        )
    return text.upper()


def _refused(text: str) -> Any:
    raise ValueError(f"{text} is no bias")


def _number(value: Any, what: str) -> str:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise DataError(f"{what} holds {str(value)[:60]!r}, which is no number")
    return str(value)


def _numbers(tree: Mapping[str, Any], key: str) -> list[str]:
    return [_number(value, key) for value in _list(tree, key)]


def _nodes(tree: Mapping[str, Any], key: str, variables: int) -> list[int]:
    nodes: list[int] = []
    for value in _list(tree, key):
        is_number = isinstance(value, int) and not isinstance(value, bool)
        if not is_number or not 0 <= value < variables:
            raise DataError(
                f"{key} holds {str(value)[:60]!r}, and there are {variables} variables"
            )
        nodes.append(value)
    return nodes


def _list(tree: Mapping[str, Any], key: str) -> list[Any]:
    values = tree.get(key)
    if not isinstance(values, list):
        raise DataError(f"no list {key}", try_next=_TRY)
    return values
