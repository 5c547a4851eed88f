# SPDX-License-Identifier: Apache-2.0
"""Official costs are made as NeuroBench makes its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.qubo import official_costs
from scenarios.tasks.qubo import official, targets
from scenarios.tasks.qubo.cost import cost
from scenarios.tasks.qubo.graph import Workload, generate
from scenarios.tasks.qubo.official import Official

HEAD = "num_vertices,density,random_seed,c_optimal\r\n"


def test_missing_rows_are_made_by_tabu_and_below_50_nodes_by_proof(
    tmp_path: Path,
) -> None:
    pytest.importorskip("dwave.samplers")
    path = tmp_path / "announced.csv"
    path.write_bytes(f"{HEAD}60,0.25,3,-11\r\n".encode())
    which = ["--official", str(path), "--density", "0.25", "--problem-seed", "3"]
    sizes = ["--nodes", "25", "--nodes", "60", "--nodes", "70"]
    how = ["--reads", "3", "--restarts", "2", "--seed", "5"]
    assert official_costs.main([*which, *sizes, *how]) == 0
    result = official.read(path)
    assert result.rows[Workload(60, 0.25, 3)] == Official(Workload(60, 0.25, 3), -11), (
        "the published row stays as it is"
    )
    optimum = result.rows[Workload(25, 0.25, 3)]
    assert optimum.cost == targets.read().rows[optimum.workload].cost
    assert optimum.made is not None and "global optimum" in optimum.made.source
    row = result.rows[Workload(70, 0.25, 3)]
    assert row.made is not None and (
        row.made.reads,
        row.made.restarts,
        row.made.seed,
    ) == (3, 2, 5)
    assert (
        row.made.version.startswith("dwave-samplers ")
        and "not the 100 reads and 50 restarts" in row.made.source
    )
    graph = generate(row.workload)
    assert row.cost == cost(graph, targets.unpacked(row.made.solution, 70)) < -8
    plain = path.read_bytes().decode().split("\r\n")
    assert plain[0] + "\r\n" == HEAD and all(
        line.count(",") == 3 for line in plain if line
    ), "NeuroBench's loader takes four columns"
    assert all(result.rows[key].check().ok for key in (optimum.workload, row.workload))


def test_the_method_of_the_rules_is_called_as_neurobench_calls_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """QUBO/generation_scripts/find_optimal_costs.py, f9c0b4f: sample(bqm, timeout=None,
    num_reads=100, num_restarts=50).
    """
    samplers = pytest.importorskip("dwave.samplers")
    called: list[dict[str, Any]] = []
    own = samplers.TabuSampler.sample

    def sample(self: Any, bqm: Any, **how: Any) -> Any:
        called.append(
            {
                "linear": {*bqm.linear.values()},
                "quadratic": {*bqm.quadratic.values()},
                **how,
            }
        )
        return own(self, bqm, **(how | {"num_reads": 1, "num_restarts": 0}))

    monkeypatch.setattr(samplers.TabuSampler, "sample", sample)
    row = official_costs.make(
        Workload(50, 0.05, 4), official.READS, official.RESTARTS, 3
    )
    # x'Qx with -1 on the diagonal and 4 in both triangles.
    asked = {"timeout": None, "num_reads": 100, "num_restarts": 50, "seed": 3}
    assert called == [{"linear": {-1.0}, "quadratic": {8.0}, **asked}]
    assert row.made is not None and row.made.by_the_rules
