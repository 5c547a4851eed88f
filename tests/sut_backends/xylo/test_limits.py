# SPDX-License-Identifier: Apache-2.0
"""Networks that a Xylo chip cannot hold are refused before anything is started: the
node, the limit, what would fit.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import nir
import numpy as np
import pytest

from rig.errors import DataError
from rig.network import graph
from scenarios.tasks.asc.task import SHIPPED_MODEL
from sut_backends.xylo import limits
from tests.conftest import ROOT

pytestmark = pytest.mark.usefixtures("read_networks_here")

DT_S = 1e-3
Nodes = dict[str, Any]


def neurons(count: int, **changed: Any) -> Any:
    given: dict[str, Any] = {
        "tau_syn": np.full(count, 4 * DT_S),
        "tau_mem": np.full(count, 16 * DT_S),
        "r": np.full(count, 15.0),
        "v_leak": np.zeros(count),
        "v_reset": np.zeros(count),
        "v_threshold": np.full(count, 900.0),
        "w_in": np.full(count, 1.0),
    }
    for name, value in changed.items():
        given[name] = np.full(count, value) if np.ndim(value) == 0 else value
    return nir.CubaLIF(**given)


def linear(to: int, of: int) -> Any:
    return nir.Linear(weight=np.full((to, of), 127.0, np.float32))


def chain(inputs: int = 8, hidden: int = 20, outputs: int = 4) -> Nodes:
    return {
        "in": nir.Input(np.array([inputs])),
        "first": linear(hidden, inputs),
        "hidden": neurons(hidden),
        "second": linear(outputs, hidden),
        "last": neurons(outputs),
        "out": nir.Output(np.array([outputs])),
    }


def found(
    nodes: Nodes, chip: str = "audio2", edges: Any = None, dt_s: float | None = DT_S
) -> dict[str, str]:
    about = {} if dt_s is None else {"dt_s": dt_s}
    whole = nir.NIRGraph(
        nodes, edges or list(pairwise(nodes)), metadata=about, type_check=False
    )
    reported: dict[str, str] = {}
    for item in limits.findings(graph.network(whole), chip):
        reported[item.node] = f"{reported.get(item.node, '')} {item}"
    return reported


def test_what_fits_is_let_through() -> None:
    shipped = graph.network(graph.read(SHIPPED_MODEL))
    vectors = [
        graph.network(graph.read(ROOT / "tests/vectors/xylo" / f"{name}.nir"))
        for name in ("two", "four", "recurrent")
    ]
    for chip in limits.CHIPS:
        for network in (shipped, *vectors):
            limits.require_mappable(network, chip)
    assert found(chain(16, 1000, 8)) == {}
    assert found(chain(16, 128, 32), "audio3") == {}


@pytest.mark.parametrize(
    ("nodes", "chip", "node", "says"),
    [
        (chain(inputs=17), "audio2", "in", "17 input channels; fits: up to 16"),
        (chain(hidden=1001), "audio2", "hidden", "up to 1000 in all hidden layers"),
        (
            chain(hidden=993),
            "audio3",
            "hidden",
            "993 of 993 hidden neurons; fits: up to 992",
        ),
        (
            chain(hidden=129),
            "audio3",
            "hidden",
            "129 neurons that hear the inputs; fits: up to 128",
        ),
        (chain(hidden=129), "audio3", "hidden", "129 neurons that the outputs hear"),
        (chain(outputs=9), "audio2", "last", "9 output neurons; fits: up to 8"),
        (chain(outputs=33), "audio3", "last", "33 output neurons; fits: up to 32"),
        (
            chain() | {"first": nir.Affine(weight=np.ones((20, 8)), bias=np.ones(20))},
            "audio2",
            "first",
            "a bias on weights",
        ),
        (
            {
                "in": nir.Input(np.array([8])),
                "first": linear(4, 8),
                "last": neurons(4),
                "out": nir.Output(np.array([4])),
            },
            "audio2",
            "graph",
            "0 hidden and 1 output layers",
        ),
        (
            chain() | {"hidden": neurons(20, tau_mem=0.3 * DT_S)},
            "audio2",
            "hidden",
            "0.00144 to",
        ),
        (
            chain() | {"last": neurons(4, tau_syn=80.0)},
            "audio2",
            "last",
            "tau_syn of 80 s",
        ),
        (
            chain() | {"last": neurons(4, tau_syn=math.nan)},
            "audio2",
            "last",
            "threshold",
        ),
        (
            chain() | {"last": neurons(4, v_leak=0.1)},
            "audio2",
            "last",
            "v_leak that is not 0",
        ),
        (
            chain() | {"last": neurons(4, v_reset=-1.0)},
            "audio2",
            "last",
            "v_reset that is not 0",
        ),
        (
            chain() | {"hidden": neurons(20, v_threshold=1e9)},
            "audio2",
            "hidden",
            "1 to 32767",
        ),
        (
            chain() | {"hidden": neurons(20, v_threshold=1e-9)},
            "audio2",
            "hidden",
            "1 to 32767",
        ),
        (
            chain() | {"first": nir.Linear(weight=np.full((20, 8), np.nan))},
            "audio2",
            "first",
            "NaN or infinite",
        ),
        (
            chain()
            | {
                "hidden": nir.LIF(
                    tau=np.full(20, 0.01),
                    r=np.ones(20),
                    v_leak=np.zeros(20),
                    v_threshold=np.ones(20),
                )
            },
            "audio2",
            "hidden",
            "a LIF, of which the chip has none",
        ),
    ],
)
def test_what_does_not_fit_is_named_with_its_limit(
    nodes: Nodes, chip: str, node: str, says: str
) -> None:
    reported = found({name: nodes[name] for name in chain() if name in nodes}, chip)
    assert says in reported[node] and "; fits: " in reported[node], reported


def test_the_way_that_nodes_are_joined_is_looked_at() -> None:
    twice = {"in": None, "first": None, "again": linear(20, 20)} | chain()
    assert "one matrix, their product" in found(twice)["again"]
    looped = chain() | {"back": linear(4, 4)}
    edges = [*pairwise(chain()), ("last", "back"), ("back", "last")]
    assert "output neurons that feed back" in found(looped, edges=edges)["last"]
    bare = {"in": None, "first": None, "hidden": None, "more": neurons(20)} | chain()
    assert "a Linear between them" in found(bare)["more"]
    assert "dt_s in the graph's metadata" in found(chain(), dt_s=None)["graph"]


def test_the_error_names_five_and_counts_the_rest() -> None:
    nodes = chain(17, 1001, 9) | {
        "last": neurons(9, v_leak=1.0, v_reset=1.0, tau_syn=80.0)
    }
    whole = nir.NIRGraph(nodes, list(pairwise(nodes)), metadata={"dt_s": DT_S})
    with pytest.raises(DataError, match="does not fit on Xylo Audio 2") as refused:
        limits.require_mappable(graph.network(whole), "audio2")
    assert (
        "and 2 more" in refused.value.evidence and "[sut.cpu]" in refused.value.try_next
    )


def test_gains_of_a_file_change_thresholds_only_where_the_conventions_let_them_count():
    nodes = chain() | {"hidden": neurons(20, v_threshold=20_000.0, r=7.5)}
    whole = nir.NIRGraph(nodes, list(pairwise(nodes)), metadata={"dt_s": DT_S})
    network = graph.network(whole)
    assert any(
        "a threshold of" in str(item) for item in limits.findings(network, "audio2")
    )
    assert list(limits.findings(network, "audio2", file_gains=False)) == []
