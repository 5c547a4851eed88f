# SPDX-License-Identifier: Apache-2.0
"""Values that results are computed from cannot be changed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGES = ("measure", "results", "stats", "timebase", "trace", "uncertainty")
#: What holds a state on purpose.
STATES = {"Recordings", "_ClockFilter"}
MODULES: list[Path] = []
for _package in PACKAGES:
    MODULES += sorted((ROOT / "rig" / _package).rglob("*.py"))


def forms(path: Path) -> dict[str, dict[str, bool]]:
    """Return the options of each dataclass of a module, by its name."""
    result: dict[str, dict[str, bool]] = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        decorators = node.decorator_list if isinstance(node, ast.ClassDef) else []
        for form in decorators:
            if isinstance(form, ast.Call) and ast.unparse(form.func) == "dataclass":
                options = {
                    str(option.arg): bool(ast.literal_eval(option.value))
                    for option in form.keywords
                }
                result[node.name] = options  # type: ignore[attr-defined]
    return result


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_values_are_frozen_dataclasses_with_slots(path: Path) -> None:
    for name, options in forms(path).items():
        assert options.get("slots") is True, name
        assert options.get("frozen", False) is (name not in STATES), name
