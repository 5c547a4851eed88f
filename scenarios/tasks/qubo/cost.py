# SPDX-License-Identifier: Apache-2.0
"""Costs of binary vectors.

The problem is min x'Qx over binary x, where Q has -1 on the diagonal, 4 at (u, v) and
at (v, u) of an edge, else 0. So a chosen node counts -1 and an edge between two chosen
nodes +8. An optimum is a maximum independent set and costs minus its size.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rig.errors import DataError
from scenarios.tasks.qubo.graph import Graph

NODE = -1
EDGE = 8


def cost(graph: Graph, vector: ArrayLike) -> int:
    """Return x'Qx of a binary vector (nodes), in 64-bit integers; raise DataError where
    it is not binary or of another length.
    """
    x = np.asarray(vector)
    is_binary = (x == 0) | (x == 1)
    if x.shape != (graph.nodes,) or not is_binary.all():
        raise DataError(
            f"not a binary vector of {graph.nodes} nodes",
            evidence=f"shape {x.shape}, type {x.dtype}",
        )
    chosen = x.astype(bool)
    lesser, greater = graph.ends
    nodes = int(np.count_nonzero(chosen))
    edges = int(np.count_nonzero(chosen[lesser] & chosen[greater]))
    return NODE * nodes + EDGE * edges


def chosen(graph: Graph, nodes: ArrayLike) -> NDArray[np.int8]:
    """Return the binary vector that has 1 at `nodes`."""
    vector = np.zeros(graph.nodes, np.int8)
    vector[np.asarray(nodes, np.int64)] = 1
    return vector
