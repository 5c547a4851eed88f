# SPDX-License-Identifier: Apache-2.0
"""Nothing in rig knows a metric by its name: what a metric is, it says itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from rig.results.imagined import forecast
from rig.session.planning import open_plan, steps
from tests.conftest import ROOT

#: Also a key of what a monitor promises.
OTHER_MEANING = {"accuracy"}


def names_of(bench: Path) -> set[str]:
    """Return the names of the metrics that a bench gives."""
    scenario, task, _ = open_plan(bench, [])
    plan = steps(scenario, task, 1)
    found = forecast(scenario, task, plan, list(task.phases))
    assert found is not None
    return set(found.metrics)


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield each text constant of a module, with its line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


@pytest.mark.parametrize("name", ["asc", "offline", "qubo", "real-time", "tiny"])
def test_no_name_of_a_metric_stands_in_rig(name: str) -> None:
    names = names_of(ROOT / "benches" / f"virtual-{name}.toml") - OTHER_MEANING
    assert len(names) >= 4
    known = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in sorted((ROOT / "rig").rglob("*.py"))
        for line, text in texts(path)
        if text in names
    ]
    assert known == []
