# SPDX-License-Identifier: Apache-2.0
"""Workloads of a bench file are published graphs with their targets; a device's vector
is evaluated here, independently of its claims.
"""

from __future__ import annotations

import dataclasses
import json
import struct
from itertools import product
from pathlib import Path

import networkx
import numpy as np
import pytest

from rig.bench import config
from rig.bench.config import load
from rig.bench.probe import probe
from rig.errors import ConfigError, DataError
from rig.interfaces.context import BenchContext
from rig.model.scores import Costs
from rig.session.planning import open_plan, steps
from rig.session.session import open_bench
from scenarios.tasks.qubo import edges, targets
from scenarios.tasks.qubo.graph import Workload, generate
from scenarios.tasks.qubo.task import QuboTask
from tests.conftest import ROOT

SMALL = QuboTask.Settings(nodes=(25, 100), densities=(0.05, 0.25), seeds=(0, 3))


def opened(settings: QuboTask.Settings = SMALL, folder: Path = ROOT) -> QuboTask:
    return QuboTask.open(settings, BenchContext(folder=folder))


def answered(claimed: int, nodes: int, bits: bytes, end: int = 0) -> bytes:
    """Write an answer as docs/reference/QUBO.md has it."""
    return struct.pack("<iBI", claimed, end, nodes) + bits


def bits_of(vector: np.ndarray) -> bytes:
    return np.packbits(vector.astype(bool), bitorder="little").tobytes()


def changed_table(folder: Path, **fields: object) -> Path:
    """Write the shipped table with another row for 25 nodes at 5 %, seed 0."""
    read = targets.read()
    workload = Workload(25, 0.05, 0)
    path = folder / "changed.csv"
    rows = dict(read.rows) | {
        workload: dataclasses.replace(read.rows[workload], **fields)
    }
    targets.write(targets.Targets(7, rows), path)
    return path


def test_workloads_are_all_of_nodes_densities_and_seeds_by_name() -> None:
    task = opened()
    names = [task.workload(index) for index in range(len(task))]
    assert names == [
        f"{nodes}n_{density}pct_s{seed}"
        for nodes, density, seed in product((25, 100), (5, 25), (0, 3))
    ]
    assert task.cell(2) == "25n_25pct"


def test_a_payload_is_the_published_graph() -> None:
    task = opened()
    graph = edges.decode(task.payload(4))
    theirs = networkx.gnm_random_graph(100, int(0.5 * 0.05 * 100**2), 0)
    assert {frozenset(map(int, edge)) for edge in zip(*graph.ends, strict=True)} == {
        frozenset(edge) for edge in theirs.edges()
    }
    assert task.target(4) == -44


def test_a_vector_is_evaluated_on_the_dense_matrix_and_the_claim_only_kept() -> None:
    task = opened()
    theirs = networkx.gnm_random_graph(100, 250, 0)
    matrix = -np.eye(100, dtype=np.int64) + 4 * networkx.to_numpy_array(
        theirs, dtype=np.int64
    )
    vector = np.random.default_rng(1).integers(0, 2, 100)
    score = task.score(4, answered(-99, 100, bits_of(vector)))
    assert score.costs == Costs(int(vector @ matrix @ vector), -44, -99, -44)
    assert (score.correct, score.label, score.case, score.fault) == (
        False,
        "100n_5pct_s0",
        "100n_5pct",
        "",
    )
    assert score.answer == str(score.costs.cost)


def test_the_targets_own_vector_is_correct_and_so_is_a_better_one(
    tmp_path: Path,
) -> None:
    best = targets.read().rows[Workload(25, 0.05, 0)]
    output = answered(best.cost, 25, bits_of(best.vector), end=1)
    assert opened().score(0, output).correct
    worse = best.vector.copy()
    worse[np.flatnonzero(worse)[0]] = 0
    path = changed_table(
        tmp_path, cost=best.cost + 1, proven=False, solution=targets.packed(worse)
    )
    beaten = opened(dataclasses.replace(SMALL, targets=str(path))).score(0, output)
    assert beaten.correct and beaten.costs == Costs(
        best.cost, best.cost, best.cost, best.cost + 1
    )


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (b"", "no head"),
        (answered(0, 25, bytes(3)), "3 bytes"),
        (answered(0, 25, bytes(5)), "5 bytes"),
        (answered(0, 26, bytes(4)), "26 nodes"),
        (answered(0, 25, bytes(4), end=2), "ended by 2"),
        (answered(0, 25, b"\0\0\0\2"), "beyond the last"),
    ],
)
def test_an_input_that_is_no_vector_of_the_workload_counts_for_nothing_and_says_why(
    output: bytes, said: str
) -> None:
    score = opened().score(0, output)
    assert said in score.fault
    assert (score.correct, score.costs, score.answer) == (False, None, "")


def test_a_table_of_another_graph_is_refused(tmp_path: Path) -> None:
    path = changed_table(tmp_path, graph="0" * 64)
    with pytest.raises(DataError, match="another graph"):
        opened(dataclasses.replace(SMALL, targets=str(path)))


def test_a_table_whose_vector_does_not_cost_what_it_says_is_refused(
    tmp_path: Path,
) -> None:
    path = changed_table(tmp_path, cost=-25)
    with pytest.raises(DataError, match="does not cost -25"):
        opened(dataclasses.replace(SMALL, targets=str(path)))


def test_seeds_without_a_target_name_the_command_that_makes_one() -> None:
    with pytest.raises(
        ConfigError, match="no target for 25 nodes, 5 %, seed 77"
    ) as caught:
        opened(dataclasses.replace(SMALL, seeds=(0, 77)))
    assert "rig qubo targets" in caught.value.try_next
    assert "--nodes 25 --density 0.05 --problem-seed 77" in caught.value.try_next


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"nodes": ()}, "task.qubo.nodes"),
        ({"nodes": (0,)}, "task.qubo.nodes"),
        ({"nodes": (70_000,)}, "task.qubo.nodes"),
        ({"densities": (0.05, 0.05)}, "task.qubo.densities"),
        ({"densities": (-0.1,)}, "task.qubo.density"),
        ({"seeds": ()}, "task.qubo.seeds"),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(
    change: dict[str, object], path: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        opened(dataclasses.replace(SMALL, **change))  # type: ignore[arg-type]
    assert caught.value.path == path


def test_the_provenance_says_which_graphs_targets_and_seeds_these_are() -> None:
    about = opened().provenance()
    row = about["workloads"][4]
    best = targets.read().rows[Workload(100, 0.05, 0)]
    assert (row["name"], row["graph_sha256"], row["best_known"], row["proven"]) == (
        "100n_5pct_s0",
        best.graph,
        -44,
        True,
    )
    assert row["official"] == -44 and "not verified" in row["official_source"]
    assert (about["targets_version"], about["official"]) == (
        targets.read().version,
        False,
    )
    assert "not an official result" in about["statement"]
    assert json.loads(json.dumps(about)) == about, (
        "it is compared with itself when a session goes on"
    )


def test_other_seeds_are_official_only_where_they_are_announced(tmp_path: Path) -> None:
    graph = generate(Workload(9, 0.5, 41))
    path = tmp_path / "mine.csv"
    row = targets.Target(
        nodes=9,
        density=0.5,
        seed=41,
        graph=graph.sha256,
        cost=0,
        proven=False,
        method="none",
        date="2026-01-01",
        published=None,
        solution=targets.packed(np.zeros(9, np.int8)),
    )
    targets.write(targets.Targets(1, {row.workload: row}), path)
    task = opened(QuboTask.Settings((9,), (0.5,), (41,), str(path)))
    assert "official only where" in task.provenance()["statement"]
    assert task.target(0) == 0


def test_a_bench_file_keeps_its_lists_and_tables(tmp_path: Path) -> None:
    text = (ROOT / "benches" / "cpu-qubo-virtual.toml").read_text()
    path = tmp_path / "bench.toml"
    path.write_text(
        text
        + "\n[[task.qubo.parameters]]\nsweeps = 5\nbeta_range = [0.5, 4.0]\nnodes_to ="
        " 500\n"
    )
    read = load(path)
    again = tmp_path / "again.toml"
    again.write_text(read.toml())
    assert config.load(again).task == read.task
    assert read.task.settings.parameters == (
        {"sweeps": 5, "beta_range": [0.5, 4.0], "nodes_to": 500},
    )


@pytest.mark.parametrize("scenario", ["single_stream", "offline"])
def test_scenarios_that_ask_for_answers_refuse_workloads_to_search(
    scenario: str, tmp_path: Path
) -> None:
    bench = ROOT / "benches" / "virtual-qubo.toml"
    change = [f"scenario.{scenario}.idle_s=0.1"]
    plan, task, _ = open_plan(bench, change)
    with pytest.raises(ConfigError, match="workloads to search") as caught:
        steps(plan, task, 0)
    assert "optimization" in caught.value.try_next
    with (
        open_bench(bench, change) as opened_bench,
        pytest.raises(ConfigError, match="workloads to search"),
    ):
        opened_bench.run(1, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("bench", "change", "said"),
    [
        (
            "virtual-asc",
            "scenario.optimization.attempts=1",
            "asc has no workloads to search",
        ),
        (
            "virtual-null",
            "scenario.optimization.attempts=1",
            "null has no workloads to search",
        ),
        (
            "virtual-null",
            "scenario.real_time.stable=1",
            "null are no stretches of a signal",
        ),
        (
            "virtual-qubo",
            "scenario.real_time.stable=1",
            "qubo are no stretches of a signal",
        ),
    ],
)
def test_a_task_that_does_not_suit_the_scenario_is_named_and_not_the_device(
    bench: str, change: str, said: str, tmp_path: Path
) -> None:
    path = ROOT / "benches" / f"{bench}.toml"
    with (
        open_bench(path, [change]) as opened_bench,
        pytest.raises(ConfigError, match=said) as caught,
    ):
        opened_bench.run(1, tmp_path)
    assert (
        "task." in caught.value.try_next
        or "whose samples follow" in caught.value.try_next
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "value",
    [
        "rate_hz=nan",
        "power_w=-1",
        "variation=inf",
        "wrong_cost=10_000_000_000",
        "overrun_s=inf",
    ],
)
def test_a_virtual_search_that_no_device_does_is_refused_by_name(value: str) -> None:
    key = value.partition("=")[0]
    with (
        pytest.raises(ConfigError, match=rf"sut\.virtual\.solve\.{key}"),
        open_bench(
            ROOT / "benches" / "virtual-qubo.toml", [f"sut.virtual.solve.{value}"]
        ),
    ):
        pass


@pytest.mark.usefixtures("compiler")
def test_its_search_for_a_virtual_device_answers_a_vector_that_costs_what_it_says():
    task = opened()
    search = task.searcher(task.payload(4), 1)
    for _ in range(200):
        search.step(1000)
    score = task.score(4, search.output(True))
    assert score.costs is not None
    assert score.costs.cost == score.costs.claimed == search.cost == -44


@pytest.mark.usefixtures("compiler")
def test_a_probe_of_a_bench_with_workloads_to_search_is_good() -> None:
    findings = list(probe(ROOT / "benches" / "virtual-qubo.toml"))
    assert all(finding.ok for finding in findings)
    assert "SYNC wire" in {finding.name for finding in findings}
