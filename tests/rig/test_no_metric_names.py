# SPDX-License-Identifier: Apache-2.0
"""No module of rig knows a metric by its name: a metric states its own properties."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from rig.session.planning import open_plan, steps
from tests.conftest import ROOT
from tests.sources import parsed

#: Also a key of a monitor's specification.
OTHER_MEANING = {"accuracy"}


def names_of(bench: Path) -> set[str]:
    """Return the names of the metrics of a bench."""
    scenario, task, _ = open_plan(bench, [])
    plan = steps(scenario, task, 1)
    result = scenario.declared_metrics(task, plan, list(task.phases))
    assert result is not None
    return set(result.metrics)


@cache
def texts() -> Mapping[str, str]:
    """Return each text constant of rig, and where it stands first."""
    result: dict[str, str] = {}
    for path in sorted((ROOT / "rig").rglob("*.py")):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                result.setdefault(node.value, f"{path.relative_to(ROOT)}:{node.lineno}")
    return result


@pytest.mark.parametrize("name", ["asc", "offline", "qubo", "real-time", "tiny"])
def test_no_name_of_a_metric_stands_in_rig(name: str) -> None:
    names = names_of(ROOT / "benches" / f"virtual-{name}.toml") - OTHER_MEANING
    assert len(names) >= 4
    assert len(texts()) > 1000
    assert {name: texts()[name] for name in names if name in texts()} == {}
