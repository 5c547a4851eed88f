# SPDX-License-Identifier: Apache-2.0
"""The JSON schemas in docs/reference/schemas are those of the dataclasses, and real
sessions meet them."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from rig.results import schemas
from rig.session.session import SessionResult, open_bench
from rig.store.session_folder import json_text
from tests.conftest import ROOT

FOLDER = ROOT / "docs/reference/schemas"


@cache
def validator(name: str) -> Draft202012Validator:
    """Return what compares a tree with a schema of docs/, which is one."""
    schema = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def problems(name: str, tree: Any) -> list[str]:
    """Return where a tree does not meet a schema of docs/."""
    result = validator(name).iter_errors(tree)
    return [f"{error.json_path}: {error.message[:200]}" for error in result]


@pytest.mark.parametrize("name", schemas.SCHEMAS)
def test_what_is_in_docs_is_generated(name: str) -> None:
    """Make it again with `python -m rig.results.schemas docs/reference/schemas`."""
    stored = (FOLDER / name).read_text(encoding="utf-8")
    assert stored == json_text(schemas.SCHEMAS[name]())


def test_docs_hold_no_other_schema() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(schemas.SCHEMAS)


def meets(folder: Path) -> None:
    for name in ("results", "provenance"):
        tree = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        assert problems(f"{name}.schema.json", tree) == []
    for path in sorted(folder.glob("trial-*/samples.jsonl")):
        lines = [
            json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()
        ]
        assert [problems("samples.schema.json", line) for line in lines] == [[]] * len(
            lines
        )


def test_a_session_meets_them(run_virtual: Callable[..., SessionResult]) -> None:
    meets(run_virtual(trials=2).folder)


@pytest.mark.parametrize(
    "changes",
    [
        ("virtual-qubo", "task.qubo.seeds=[0]", "task.qubo.nodes=[10]"),
        ("virtual-asc", "task.asc.samples=2"),
        ("virtual-offline",),
        ("virtual-real-time", "scenario.real_time.duration_s=10"),
    ],
    ids=lambda changes: changes[0],
)
def test_sessions_of_other_scenarios_meet_them(
    changes: tuple[str, ...], tmp_path: Path
) -> None:
    name, *overrides = changes
    with open_bench(ROOT / "benches" / f"{name}.toml", overrides) as bench:
        meets(bench.run(1, tmp_path).folder)


def test_a_bench_without_a_monitor_meets_them(tmp_path: Path) -> None:
    bench_file = tmp_path / "bench.toml"
    bench_file.write_text(
        '[bench]\nname = "none"\n[sut.virtual]\n[monitor.none]\n'
        "[scenario.single_stream]\nidle_s = 0.05\n[task.null]\nsamples = 4\n"
    )
    with open_bench(bench_file) as bench:
        meets(bench.run(1, tmp_path / "sessions").folder)


def test_what_does_not_fit_is_found(run_virtual: Callable[..., SessionResult]) -> None:
    tree = run_virtual().content
    tree["metrics"]["latency_total"]["unit"] = 3
    tree["more"] = 1
    result = problems("results.schema.json", tree)
    assert any("$.metrics.latency_total.unit" in each for each in result)
    assert any("'more' was unexpected" in each for each in result)
