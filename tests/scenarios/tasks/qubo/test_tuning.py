# SPDX-License-Identifier: Apache-2.0
"""Parameters are a function of nodes and density, and of no more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.errors import ConfigError
from rig.interfaces.context import BenchContext, BenchState
from rig.session.planning import open_plan
from rig.session.session import open_bench
from scenarios.tasks.qubo.graph import Workload
from scenarios.tasks.qubo.programs import KNOWN
from scenarios.tasks.qubo.task import QuboTask
from scenarios.tasks.qubo.tuning import rules, values
from tests.conftest import ROOT


def given_to(
    tables: list[dict[str, Any]], nodes: int, density: float
) -> dict[str, Any]:
    return values(rules(tables, KNOWN), nodes, Workload(nodes, density, 0).edges)


def test_the_last_table_that_fits_has_the_say() -> None:
    tables = [
        {"sweeps": 10, "beta_range": [0.5, 8.0]},
        {"nodes_from": 100, "sweeps": 20},
        {"nodes_from": 100, "density_from": 0.1, "sweeps": 30},
        {"nodes_to": 50, "density_to": 0.01, "tenure": 3},
    ]
    assert given_to(tables, 99, 0.25) == {"sweeps": 10, "beta_range": [0.5, 8.0]}
    assert given_to(tables, 100, 0.05)["sweeps"] == 20
    assert given_to(tables, 5000, 0.1)["sweeps"] == 30
    assert given_to(tables, 50, 0.01)["tenure"] == 3
    assert "tenure" not in given_to(tables, 50, 0.05)


@given(st.integers(2, 3000), st.floats(0.001, 1.0))
def test_a_density_is_within_limits_that_are_itself_although_edges_are_whole(
    nodes: int, density: float
) -> None:
    assert given_to(
        [{"density_from": density, "density_to": density, "sweeps": 1}], nodes, density
    ) == {"sweeps": 1}


@pytest.mark.parametrize(
    "table",
    [
        {"seed": 3, "sweeps": 5},
        {"solver_seed": 3},
        {"problem_seeds": [0, 1]},
        {"graph_sha256": "00"},
        {"workload": "100n_5pct_s0", "sweeps": 5},
        {"index": 3},
        {"instances": 3},
        {"sweeps": {"0": 100, "1": 200}},
    ],
)
def test_what_tells_one_problem_or_run_from_another_is_refused_with_the_rule(
    table: dict[str, Any],
) -> None:
    with pytest.raises(
        ConfigError, match="depend on the number of nodes and the density only"
    ) as caught:
        QuboTask.open(QuboTask.Settings(parameters=(table,)), BenchContext())
    assert caught.value.path.startswith("task.qubo.parameters[0].")


@pytest.mark.parametrize(
    "table",
    [
        {"nodes_from": "a"},
        {"nodes_to": -1},
        {"density_to": True},
        {"sweeps": [[1]]},
        {"sweeps": None},
    ],
)
def test_limits_and_values_that_are_none_are_refused(table: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        rules([table], KNOWN)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("nodes_fron", "nodes_from"),
        ("node_to", "nodes_to"),
        ("densty_from", "density_from"),
        ("sweep", "sweeps"),
        ("x", ""),
    ],
)
def test_a_name_that_is_neither_limit_nor_parameter_is_refused_with_what_may_be_meant(
    name: str, meant: str
) -> None:
    with pytest.raises(
        ConfigError, match=f"'{name}' is neither a limit nor a parameter"
    ) as caught:
        QuboTask.open(
            QuboTask.Settings(parameters=({name: 1000, "sweeps": 10},)), BenchContext()
        )
    assert caught.value.path == f"task.qubo.parameters[0].{name}"
    assert (
        meant in caught.value.try_next
        and "nodes_from" in caught.value.evidence
        and "tenure" in caught.value.evidence
    )


@pytest.mark.parametrize(
    "table",
    [
        {"nodes_from": 100, "nodes_to": 50},
        {"density_from": 0.2, "density_to": 0.1},
        {"density_from": 5},
        {"density_to": 25},
    ],
)
def test_limits_within_which_no_graph_lies_are_refused(table: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="no graph lies within"):
        rules([table | {"sweeps": 1}], KNOWN)


def test_the_provenance_says_what_each_workload_gets() -> None:
    tables = ({"sweeps": 10}, {"nodes_from": 50, "sweeps": 20})
    table = BenchContext(state=BenchState(program="annealing"))
    about = QuboTask.open(
        QuboTask.Settings((25, 50), (0.1,), (0,), parameters=tables), table
    ).provenance()
    assert [row["parameters"] for row in about["workloads"]] == [
        {"sweeps": 10, "beta_range": [0.5, 8.0]},
        {"sweeps": 20, "beta_range": [0.5, 8.0]},
    ]
    assert about["program_parameters"] == [dict(table) for table in tables]


def test_the_provenance_of_a_device_that_gets_no_parameters_has_none() -> None:
    about = QuboTask.open(
        QuboTask.Settings((25,), (0.1,), (0,)), BenchContext()
    ).provenance()
    assert [row["parameters"] for row in about["workloads"]] == [{}]


def test_parameters_for_a_device_that_gets_none_are_refused_before_anything_is_measured(
    tmp_path: Path,
) -> None:
    bench = tmp_path / "bench.toml"
    bench.write_text(
        (ROOT / "benches" / "virtual-qubo.toml").read_text()
        + "\n[[task.qubo.parameters]]\nsweeps = 5\n"
    )
    with (
        pytest.raises(ConfigError, match="this device gets none") as caught,
        open_bench(bench) as opened,
    ):
        opened.run(1, tmp_path / "sessions")
    assert caught.value.path == "task.qubo.parameters"
    assert not (tmp_path / "sessions").exists()


def test_a_plan_needs_no_device_to_say_what_is_asked(tmp_path: Path) -> None:
    bench = tmp_path / "bench.toml"
    bench.write_text(
        (ROOT / "benches" / "cpu-qubo-virtual.toml").read_text()
        + "\n[[task.qubo.parameters]]\nsweeps = 5\n"
    )
    _, task, _ = open_plan(bench)
    about = task.provenance()
    assert all(row["parameters"] == {"sweeps": 5} for row in about["workloads"])
