# SPDX-License-Identifier: Apache-2.0
"""The search finds independent sets as large as there are, the same ones for the same
seed, on the device's terms.
"""

from __future__ import annotations

import re
from pathlib import Path

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.errors import BenchError, DeviceNotFound
from scenarios.tasks.qubo import edges, reference, targets
from scenarios.tasks.qubo.cost import cost
from scenarios.tasks.qubo.graph import Workload, from_edges, generate
from scenarios.tasks.qubo.library import Library
from scenarios.tasks.qubo.reference import Solver
from tests.scenarios.tasks.qubo.conftest import Firmware


def largest(workload: Workload) -> int:
    """Return the size of a maximum independent set, from networkx: a maximum clique of
    the complement.
    """
    graph = networkx.gnm_random_graph(
        workload.nodes, int(0.5 * workload.density * workload.nodes**2), workload.seed
    )
    return len(networkx.max_weight_clique(networkx.complement(graph), weight=None)[0])


@settings(deadline=None, max_examples=60)
@given(
    st.integers(1, 24), st.floats(0, 1.1), st.integers(0, 99), st.integers(0, 2**32 - 1)
)
def test_small_graphs_are_solved_to_the_optimum(
    firmware: Firmware, nodes: int, density: float, seed: int, start: int
) -> None:
    workload = Workload(nodes, density, seed)
    graph = generate(workload)
    result = firmware.ask(edges.encode(graph), seed=start, polls=100)
    assert result.cost == cost(graph, result.vector(nodes)) == -largest(workload)


@pytest.mark.parametrize("density", targets.DENSITIES)
def test_the_best_vector_costs_what_the_solver_says_on_graphs_of_all_densities(
    firmware: Firmware, density: float
) -> None:
    graph = generate(Workload(250, density, 1))
    result = firmware.ask(edges.encode(graph), polls=400)
    assert cost(graph, result.vector(250)) == result.cost < 0
    assert not result.target_met


def test_the_same_seed_gives_the_same_vector_and_another_seed_another(
    firmware: Firmware,
) -> None:
    data = edges.encode(generate(Workload(250, 0.05, 0)))
    first, again, other = (firmware.ask(data, seed=seed, polls=4) for seed in (7, 7, 8))
    assert first == again
    assert first.bits != other.bits


def test_the_device_stops_at_the_target_and_marks_each_threshold_once(
    firmware: Firmware,
) -> None:
    graph = generate(Workload(250, 0.05, 0))
    result = firmware.ask(
        edges.encode(graph), polls=10_000, target=-67, thresholds=(-60, -64, -66)
    )
    assert result.target_met
    assert result.cost <= -67
    assert [number for number, _ in result.crossings] == [0, 1, 2]
    assert all(
        at <= threshold
        for (_, at), threshold in zip(result.crossings, (-60, -64, -66), strict=True)
    )


def test_a_search_that_ends_before_its_first_set_is_whole_returns_what_it_has(
    firmware: Firmware,
) -> None:
    graph = generate(Workload(2500, 0.01, 0))
    result = firmware.ask(edges.encode(graph), polls=1, target=-400)
    assert cost(graph, result.vector(2500)) == result.cost
    assert -400 < result.cost < -5  # the work of a poll: some tens of nodes


def test_a_threshold_is_reported_as_soon_as_it_is_reached_also_by_a_set_that_can_still_grow(
    firmware: Firmware,
) -> None:
    graph = generate(Workload(2500, 0.01, 0))
    result = firmware.ask(
        edges.encode(graph), polls=10_000, target=-30, thresholds=(-10, -20)
    )
    assert result.target_met and list(result.crossings) == [(0, -10), (1, -20)]
    assert cost(graph, result.vector(2500)) == result.cost == -30


def test_a_target_of_nothing_is_met_before_the_first_move(firmware: Firmware) -> None:
    result = firmware.ask(
        edges.encode(generate(Workload(50, 0.1, 0))), target=0, thresholds=(0,)
    )
    assert (result.target_met, result.cost, result.crossings) == (True, 0, ((0, 0),))


def test_a_target_that_cannot_be_met_ends_in_the_time_out(firmware: Firmware) -> None:
    result = firmware.ask(
        edges.encode(generate(Workload(50, 0.25, 0))), target=-51, polls=50
    )
    assert not result.target_met
    assert result.cost == -12


@pytest.mark.parametrize("nodes", [1, 2, 17])
def test_full_and_empty_graphs_are_solved(firmware: Firmware, nodes: int) -> None:
    assert firmware.ask(edges.encode(generate(Workload(nodes, 2.0, 0)))).cost == -1
    assert firmware.ask(edges.encode(generate(Workload(nodes, 0.0, 0)))).cost == -nodes


def test_a_graph_without_nodes_costs_no_energy(firmware: Firmware) -> None:
    assert (
        firmware.ask(edges.encode(from_edges(0, np.empty((0, 2), np.int64)))).cost == 0
    )


def test_the_reference_makes_the_moves_of_the_firmware(
    firmware: Firmware, compiler: str
) -> None:
    graph = generate(Workload(250, 0.1, 2))
    solver = Solver(graph)
    for seed in (1, 99):
        solver.start(seed)
        ours = solver.search(20.0, target=-43)
        theirs = firmware.ask(
            edges.encode(graph), seed=seed, polls=1_000_000, target=-43
        )
        assert (ours.cost, ours.vector.tolist()) == (
            theirs.cost,
            theirs.vector(250).tolist(),
        )


def test_the_reference_tells_crossings_in_order_and_evaluates_right(
    compiler: str,
) -> None:
    graph = generate(Workload(500, 0.05, 0))
    result = Solver(graph).search(30.0, target=-85, thresholds=(-80, -84))
    assert cost(graph, result.vector) == result.cost <= -85
    assert [crossing.threshold for crossing in result.crossings] == [-80, -84]
    assert (
        0
        <= result.crossings[0].latency_s
        <= result.crossings[1].latency_s
        <= result.duration_s
    )


def test_a_search_goes_on_where_it_stopped(compiler: str) -> None:
    solver = Solver(generate(Workload(250, 0.05, 0)))
    first = solver.search(0.0)
    assert first.cost == 0
    assert solver.search(10.0, target=-60).cost <= -60
    assert solver.search(0.0).cost <= -60


def test_memory_is_what_the_firmware_needs_and_grows_with_the_edges(
    compiler: str,
) -> None:
    sparse, dense = (
        Solver(generate(Workload(1000, density, 0))) for density in (0.01, 0.25)
    )
    more = (
        generate(Workload(1000, 0.25, 0)).edges
        - generate(Workload(1000, 0.01, 0)).edges
    )
    assert dense.memory_b - sparse.memory_b == 4 * more


def test_without_a_compiler_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DeviceNotFound, match="gcc"):
        Solver(generate(Workload(5, 0.5, 0)), tmp_path)


def test_what_does_not_compile_is_reported_with_the_compilers_words(
    compiler: str, tmp_path: Path
) -> None:
    source = tmp_path / "wrong.c"
    source.write_text("int wrong( { return 0; }\n")
    with pytest.raises(BenchError, match="wrong"):
        Library("wrong", [source]).compiled(tmp_path)
    assert not list(tmp_path.glob("*.so"))


def test_the_hash_of_the_library_is_of_every_file_that_it_includes() -> None:
    made = reference.library()
    files = {path.name: path for path in (*made.sources, *made.headers)}
    for path in files.values():
        included = re.findall(r'^#include "(.*)"', path.read_text("utf-8"), re.M)
        assert set(included) <= set(files)
