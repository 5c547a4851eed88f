# SPDX-License-Identifier: Apache-2.0
"""List the places that cosmic-ray would change, or change some of them.

    listing.py places MODULE ...     prints one JSON row a module and operator
    listing.py changed < ROWS        prints the changed source of each row

Runs in the Python that has cosmic-ray. A row of the input is [MODULE, OPERATOR,
OCCURRENCE].
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from cosmic_ray.ast import Visitor, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

GROUPS = (
    "AddNot",
    "NumberReplacer",
    "ReplaceAndWithOr",
    "ReplaceBinary",
    "ReplaceBreak",
    "ReplaceComparison",
    "ReplaceContinue",
    "ReplaceFalse",
    "ReplaceOrWithAnd",
    "ReplaceTrue",
    "ReplaceUnary",
    "ZeroIteration",
)
#: Enumerations and interned words are the same by identity and by equality.
SAME = ("_Eq_Is", "_Is_Eq", "_NotEq_IsNot", "_IsNot_NotEq")
#: No operator changes these: more than half of all nodes.
LEAVES = ("name", "string", "newline", "endmarker", "fstring_string")
PUNCTUATION = (*tuple("()[]{},.:=;@"), "->")


class Places(Visitor):
    """Positions of each operator in cosmic-ray's order."""

    def __init__(self) -> None:
        names = [
            name
            for name in sorted(operator_names())
            if name.split("/")[1].startswith(GROUPS) and not name.endswith(SAME)
        ]
        self.operators = {name: get_operator(name)() for name in names}
        self.positions: dict[str, list[Any]] = {name: [] for name in names}

    def visit(self, node: Any) -> Any:
        """Note the positions of a node."""
        if node.type in LEAVES or getattr(node, "value", "") in PUNCTUATION:
            return node
        for name, operator in self.operators.items():
            self.positions[name] += operator.mutation_positions(node)
        return node


def print_places(names: list[str]) -> None:
    """Print module, operator and the (line, column) of each occurrence."""
    for name in names:
        places = Places()
        places.walk(get_ast(Path(name).read_text(encoding="utf-8")))
        for operator, positions in places.positions.items():
            starts = [start for start, _ in positions]
            print(json.dumps([name, operator, starts]))


def print_changed() -> None:
    """Print the source with each change that is asked for."""
    for name, operator, occurrence in json.load(sys.stdin):
        source = Path(name).read_text(encoding="utf-8")
        changed = mutate_code(source, get_operator(operator)(), occurrence)
        print(json.dumps(changed))


if __name__ == "__main__":
    if sys.argv[1] == "places":
        print_places(sys.argv[2:])
    else:
        print_changed()
