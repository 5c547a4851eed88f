# SPDX-License-Identifier: Apache-2.0
"""Small networks in the plain form, for tests of backends in workers."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import nir
import numpy as np

from rig.network import graph
from rig.network.conventions import Conventions
from rig.network.plain import write_plain
from sut_backends.workers.inside.job import Job


def cuba(count: int, **changed: Any) -> nir.CubaLIF:
    """Return neurons of 5 and 20 ms."""
    item = np.ones(count)
    parameters = {
        "tau_syn": item * 0.005,
        "tau_mem": item * 0.02,
        "r": item * 4,
        "v_leak": item * 0,
        "v_reset": item * 0,
        "v_threshold": item,
        "w_in": item * 2,
    }
    return nir.CubaLIF(**parameters | changed)


def lif(count: int, **changed: Any) -> nir.LIF:
    """Return neurons of 20 ms."""
    item = np.ones(count)
    parameters = {
        "tau": item * 0.02,
        "r": item * 2,
        "v_leak": item * 0,
        "v_reset": item * 0,
        "v_threshold": item,
    }
    return nir.LIF(**parameters | changed)


def plain(
    folder: Path, nodes: dict[str, Any], edges: list[tuple[str, str]] | None = None
) -> Job:
    """Write a network, in the file's order where no edges are stated, and return a job
    for it."""
    names = list(nodes)
    wanted = list(pairwise(names)) if edges is None else edges
    whole = nir.NIRGraph(nodes, wanted, metadata={"dt_s": 0.001}, type_check=False)
    path = folder / "plain.npz"
    write_plain(graph.network(whole), Conventions(), None, path)
    return Job(plain=str(path))


def two_layers(rng: np.random.Generator) -> dict[str, Any]:
    """Return the nodes of five channels, eight CubaLIF of two kinds and three LIF."""
    taus = np.repeat([0.01, 0.03], 4)
    return {
        "input": nir.Input(np.array([5])),
        "first": nir.Linear(rng.normal(1, 6, (8, 5))),
        "hidden": cuba(8, tau_mem=taus),
        "second": nir.Linear(rng.normal(1, 8, (3, 8))),
        "last": lif(3),
        "output": nir.Output(np.array([3])),
    }
