# SPDX-License-Identifier: Apache-2.0
"""KaMIS (ReduMIS, Lamm et al. 2017) as a second opinion on large sparse graphs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rig.errors import ConfigError
from scenarios.tasks.qubo.cost import chosen
from scenarios.tasks.qubo.graph import Graph


def by_kamis(graph: Graph, limit_s: float, seed: int) -> NDArray[np.int8]:
    """Return the binary vector (nodes) that ReduMIS finds within about `limit_s`."""
    try:
        import chszlablib
    except ImportError as error:
        raise ConfigError(
            "KaMIS is not installed",
            path="--kamis",
            try_next="pip install -r lab/requirements.txt",
        ) from error
    starts, neighbours = graph.rows
    theirs = chszlablib.Graph.from_csr(starts, neighbours)
    return chosen(
        graph,
        chszlablib.IndependenceProblems.redumis(
            theirs, time_limit=limit_s, seed=seed
        ).vertices,
    )
