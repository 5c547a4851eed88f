# SPDX-License-Identifier: Apache-2.0
"""The table of targets: complete, never worse than the published costs, every vector
evaluated; it only ever gets better.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.errors import BenchError, DataError
from scenarios.tasks.qubo import targets
from scenarios.tasks.qubo.cost import chosen, cost
from scenarios.tasks.qubo.graph import Workload, from_edges, generate
from scenarios.tasks.qubo.targets import GRID, Target, Targets, packed, unpacked


@pytest.fixture(scope="module")
def shipped() -> Targets:
    """Read the shipped table."""
    return targets.read()


def target(vector: np.ndarray, **changes: object) -> Target:
    """Make a row of the table for a vector of 25 nodes."""
    workload = Workload(25, 0.1, 0)
    graph = generate(workload)
    row = Target(
        nodes=workload.nodes,
        density=workload.density,
        seed=workload.seed,
        graph=graph.sha256,
        cost=cost(graph, vector),
        proven=False,
        method="by hand",
        date="2026-01-01",
        published=None,
        solution=packed(vector),
    )
    return dataclasses.replace(row, **changes)


def one(*nodes: int) -> np.ndarray:
    return chosen(generate(Workload(25, 0.1, 0)), nodes)


def test_all_published_workloads_have_a_target_no_worse_than_the_published_one(
    shipped: Targets,
) -> None:
    assert set(shipped.rows) == set(GRID)
    assert len(GRID) == 180
    assert all(
        row.published is not None and row.cost <= row.published
        for row in shipped.rows.values()
    )


def test_most_targets_from_250_nodes_up_are_better_than_the_published_ones(
    shipped: Targets,
) -> None:
    large = [row for row in shipped.rows.values() if row.nodes >= 250]
    assert (
        sum(row.cost < row.published for row in large if row.published is not None)
        > len(large) / 2
    )


def test_small_workloads_and_the_easy_ones_of_250_nodes_are_proven(
    shipped: Targets,
) -> None:
    proven = {row.workload for row in shipped.rows.values() if row.proven}
    due = {
        workload
        for workload in GRID
        if workload.nodes <= 100
        or (workload.nodes == 250 and workload.density in (0.01, 0.25))
    }
    assert due <= proven


def test_what_is_proven_equals_the_published_cost(shipped: Targets) -> None:
    assert all(row.cost == row.published for row in shipped.rows.values() if row.proven)


@pytest.mark.parametrize("nodes", [size for size in targets.NODES if size <= 1000])
def test_stored_vectors_cost_what_the_table_says(shipped: Targets, nodes: int) -> None:
    for row in shipped.rows.values():
        if row.nodes == nodes:
            finding = row.check()
            assert finding.ok, finding


def test_a_target_is_found_by_its_graph_however_that_was_made(shipped: Targets) -> None:
    made = generate(Workload(50, 0.05, 2))
    again = from_edges(50, np.stack(made.ends, axis=1)[::-1])
    result = shipped.of(again)
    assert result is not None
    assert result.workload == Workload(50, 0.05, 2)
    assert shipped.of(generate(Workload(50, 0.05, 77))) is None


def test_a_table_comes_back_from_its_file(shipped: Targets, tmp_path: Path) -> None:
    targets.write(shipped, tmp_path / "again.csv")
    assert targets.read(tmp_path / "again.csv") == shipped
    assert (tmp_path / "again.csv").read_bytes() == targets.SHIPPED.read_bytes()


@given(st.lists(st.integers(0, 1), max_size=70))
def test_a_vector_comes_back_from_its_text(bits: list[int]) -> None:
    vector = np.array(bits, np.int8)
    assert unpacked(packed(vector), len(bits)).tolist() == bits


@pytest.mark.parametrize("text", ["", "AAAA", "AAAAAA==AA", "!AAA", "é"])
def test_a_vector_of_another_length_or_no_base_64_is_refused(text: str) -> None:
    with pytest.raises(DataError):
        unpacked(text, 70)


def test_a_better_solution_replaces_the_target_and_keeps_the_published_cost() -> None:
    old = Targets(3, {Workload(25, 0.1, 0): target(one(0), published=-1)})
    better = target(one(0, 2))
    new = old.improved([better])
    assert new.version == 4
    assert new.rows == {Workload(25, 0.1, 0): dataclasses.replace(better, published=-1)}


def test_an_equal_or_worse_solution_leaves_the_version_alone() -> None:
    old = Targets(3, {Workload(25, 0.1, 0): target(one(0, 2))})
    assert old.improved([target(one(0)), target(one(0, 2), method="another")]) is old


def test_a_proof_of_the_same_cost_is_an_improvement_and_is_not_lost_again() -> None:
    old = Targets(3, {Workload(25, 0.1, 0): target(one(0, 2))})
    proven = old.improved([target(one(0, 2), proven=True)])
    assert proven.version == 4
    assert proven.improved([target(one(0, 2))]) is proven


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"cost": -3}, "-2"),
        ({"graph": "0" * 64}, "hash"),
        ({"solution": "AAAA"}, "bytes"),
        ({"published": -4}, "worse"),
        ({"solution": packed(one(0, 1, 2))}, "costs"),
    ],
)
def test_a_wrong_row_is_found_and_named(changes: dict[str, object], word: str) -> None:
    assert target(one(0, 2)).check().ok
    finding = target(one(0, 2), **changes).check()
    assert not finding.ok
    assert word in finding.detail
    assert "25 nodes" in finding.name


@pytest.mark.parametrize(
    "content",
    [
        "",
        "nodes,density\n1,2\n",
        "# QUBO targets of neurorig, version 1; x\nnodes,density\n1,2\n",
        targets.HEAD.format(version=1)
        + "nodes,density,seed,graph,cost,proven,method,date,published,solution\n"
        + "10,0.1,0,aa,-1,perhaps,m,d,,AA==\n",
    ],
)
def test_a_damaged_table_is_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "targets.csv"
    path.write_text(content)
    with pytest.raises(DataError):
        targets.read(path)


def test_a_row_that_was_cut_off_and_bytes_that_are_no_text_are_refused(
    shipped: Targets, tmp_path: Path
) -> None:
    path = tmp_path / "targets.csv"
    targets.write(Targets(1, dict(list(shipped.rows.items())[:2])), path)
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.rindex(b",")])
    with pytest.raises(DataError, match="is damaged") as refused:
        targets.read(path)
    assert "a row without solution" in refused.value.evidence
    path.write_bytes(b"\xff\xfd")
    with pytest.raises(DataError, match="cannot be read"):
        targets.read(path)


def test_a_table_in_a_folder_that_is_not_there_is_an_error_with_its_name(
    shipped: Targets, tmp_path: Path
) -> None:
    with pytest.raises(BenchError, match="cannot be written"):
        targets.write(shipped, tmp_path / "none" / "targets.csv")


def test_a_table_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        targets.read(tmp_path / "none.csv")
