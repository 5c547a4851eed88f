# SPDX-License-Identifier: Apache-2.0
"""Shapes through a network, the effect of a node on values, and shapes that do not fit."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import nir
import numpy as np
import pytest

from rig.errors import DataError
from rig.network import footprint, graph
from rig.network.interpreter import run

DT_S = 1e-3
TWO = np.array([2, 2])


def chain(
    shape: tuple[int, ...], *middle: Any, out: tuple[int, ...] | None = None
) -> Any:
    """Return the network of nodes in a row after an input of a shape."""
    nodes: dict[str, Any] = {"input": nir.Input(np.array(shape))}
    nodes |= {f"node{number}": node for number, node in enumerate(middle)}
    nodes["output"] = nir.Output(np.array(shape if out is None else out))
    return graph.network(nir.NIRGraph(nodes, list(pairwise(nodes)), type_check=False))


def conv(
    weight: Any, padding: Any = 0, stride: Any = 1, groups: int = 1, sides: Any = None
) -> Any:
    bias = np.zeros(len(weight))
    kind = nir.Conv1d if np.ndim(weight) == 3 else nir.Conv2d
    weight = np.asarray(weight, float)
    return kind(sides, weight, stride, padding, 1, groups=groups, bias=bias)


def through(network: Any, values: Any) -> Any:
    """Return the output of one step for one sample."""
    return run(network, np.asarray(values, float)[None, None], DT_S).values["output"][
        0, 0
    ]


@pytest.mark.parametrize(
    ("padding", "length"), [("valid", 6), ("same", 8), (0, 6), (2, 10), ((1,), 8)]
)
def test_padding_is_a_number_or_a_word(padding: Any, length: int) -> None:
    network = chain((1, 8), conv(np.ones((1, 1, 3)), padding), out=(1, length))
    result = through(network, np.ones((1, 8)))
    assert result.shape == (1, length)
    assert result[0, length // 2] == 3


def test_same_keeps_the_middle_of_a_kernel_over_each_value() -> None:
    network = chain((1, 4), conv([[[1.0, 10.0, 100.0]]], "same"), out=(1, 4))
    # Each value times 10, the one before times 1, the next one times 100.
    assert through(network, [[1, 2, 3, 4]])[0].tolist() == [210, 321, 432, 43]


def test_pools_flatten_scale_and_threshold() -> None:
    values = np.arange(16.0).reshape(1, 4, 4)
    pooled = chain((1, 4, 4), nir.SumPool2d(TWO, TWO, 0 * TWO), out=(1, 2, 2))
    assert through(pooled, values).tolist() == [[[10, 18], [42, 50]]]
    mean = chain((1, 4, 4), nir.AvgPool2d(TWO, TWO, 0 * TWO), out=(1, 2, 2))
    assert through(mean, values).tolist() == [[[2.5, 4.5], [10.5, 12.5]]]
    shape = {"input": np.array([2, 3, 4])}
    for first, last, flat in ((0, -1, (24,)), (1, -1, (2, 12)), (0, 1, (6, 4))):
        network = chain((2, 3, 4), nir.Flatten(shape, first, last), out=flat)
        assert through(network, np.zeros((2, 3, 4))).shape == flat
    doubled = chain(
        (2,), nir.Scale(np.array([2.0, 3.0])), nir.Threshold(np.array([4.0, 4.0]))
    )
    assert through(doubled, [2.0, 2.0]).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("shape", "node", "said"),
    [
        ((3,), nir.Linear(np.ones((2, 4))), "takes (4,)"),
        ((3,), nir.Scale(np.ones(2)), "takes (2,)"),
        ((2, 8), conv(np.ones((1, 1, 3))), "takes (1, 'any')"),
        ((1, 2), conv(np.ones((1, 1, 3))), "nothing is left of 2 values"),
        ((4, 8), conv(np.ones((3, 2, 3)), groups=2), "3 output channels in 2 groups"),
        (
            (4, 4),
            nir.SumPool2d(TWO, TWO, 0 * TWO),
            "takes ('channels', 'height', 'width')",
        ),
        ((1, 8), conv(np.ones((1, 1, 3)), sides=9), "takes (1, 9)"),
    ],
)
def test_a_shape_that_does_not_fit_is_named(
    shape: tuple[int, ...], node: Any, said: str
) -> None:
    with pytest.raises(DataError, match="node0") as caught:
        chain(shape, node)
    assert said in str(caught.value)


def test_what_is_fed_by_different_shapes_or_by_nothing_is_refused() -> None:
    nodes = {
        "input": nir.Input(np.array([2])),
        "wide": nir.Linear(np.ones((3, 2))),
        "scale": nir.Scale(np.array(1.0)),
        "output": nir.Output(np.array([2])),
    }
    edges = [
        ("input", "wide"),
        ("input", "scale"),
        ("wide", "scale"),
        ("scale", "output"),
    ]
    with pytest.raises(DataError, match="fed by nodes of different shapes"):
        graph.network(nir.NIRGraph(nodes, edges, type_check=False))
    nodes |= {"one": nir.Scale(np.array(1.0)), "back": nir.Linear(np.ones((3, 2)))}
    cycle = [("input", "one"), ("one", "back"), ("back", "one"), ("one", "output")]
    with pytest.raises(DataError, match="back feeds one of another shape"):
        graph.network(nir.NIRGraph(nodes, cycle, type_check=False))
    with pytest.raises(DataError, match="0 inputs and 1 outputs"):
        graph.network(nir.NIRGraph({"output": nodes["output"]}, [], type_check=False))


def test_a_subgraph_with_two_ways_out_is_refused() -> None:
    inside = {
        "input": nir.Input(np.array([2])),
        "one": nir.Output(np.array([2])),
        "two": nir.Output(np.array([2])),
    }
    part = nir.NIRGraph(inside, [("input", "one"), ("input", "two")], type_check=False)
    nodes = {
        "input": nir.Input(np.array([2])),
        "part": part,
        "output": nir.Output(np.array([2])),
    }
    with pytest.raises(DataError, match="part has 2 Output nodes"):
        graph.network(
            nir.NIRGraph(
                nodes, [("input", "part"), ("part", "output")], type_check=False
            )
        )


def test_a_node_that_is_not_known_is_refused() -> None:
    class Other(nir.ir.node.NIRNode):
        def __init__(self) -> None:
            self.input_type = self.output_type = self.metadata = None

    with pytest.raises(DataError, match="does not know"):
        through(chain((2,), Other()), [1, 2])


def test_a_footprint_counts_a_weight_at_each_place_of_its_kernel() -> None:
    network = chain((1, 8), conv([[[1.0, 0.0, 2.0]]]), out=(1, 6))
    size = footprint.of(network)
    assert (size.synapses, size.nonzero, size.parameters, size.neurons) == (
        18,
        12,
        4,
        0,
    )
