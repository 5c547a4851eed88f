# SPDX-License-Identifier: Apache-2.0
"""Costs are x'Qx of the dense matrix."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.errors import DataError
from scenarios.tasks.qubo.cost import chosen, cost
from scenarios.tasks.qubo.graph import Workload, generate


def matrix(workload: Workload) -> np.ndarray:
    graph = networkx.gnm_random_graph(
        workload.nodes, int(0.5 * workload.density * workload.nodes**2), workload.seed
    )
    return -np.eye(workload.nodes, dtype=np.int64) + 4 * networkx.to_numpy_array(
        graph, dtype=np.int64
    )


@settings(deadline=None, max_examples=60)
@given(
    st.integers(1, 60),
    st.floats(0, 1.1),
    st.integers(0, 99),
    st.randoms(use_true_random=False),
)
def test_the_cost_is_that_of_the_dense_matrix(
    nodes: int, density: float, seed: int, draw: object
) -> None:
    workload = Workload(nodes, density, seed)
    x = np.array([draw.randrange(2) for _ in range(nodes)], np.int8)  # type: ignore[attr-defined]
    wide = x.astype(np.int64)
    assert cost(generate(workload), x) == wide @ matrix(workload) @ wide


def test_large_costs_do_not_wrap() -> None:
    # The published script's int8 matrix says -58 here.
    workload = Workload(250, 0.01, 0)
    assert (
        cost(generate(workload), np.ones(250, np.int8))
        == -250 + 8 * workload.edges
        == 2246
    )


@pytest.mark.parametrize(
    "vector", [[0, 1], [0, 1, 2], [0, 1, -1], [[0, 1, 1]], [0.0, 0.5, 1.0]]
)
def test_what_is_not_a_binary_vector_of_all_nodes_is_refused(
    vector: list[float],
) -> None:
    with pytest.raises(DataError):
        cost(generate(Workload(3, 0.5, 0)), vector)


def test_chosen_nodes_make_a_vector() -> None:
    assert chosen(generate(Workload(5, 0.0, 0)), [1, 4]).tolist() == [0, 1, 0, 0, 1]
