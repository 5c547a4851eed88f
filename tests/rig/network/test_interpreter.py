# SPDX-License-Identifier: Apache-2.0
"""The reference interpreter against equations worked out by hand, and its own
symmetries."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import nir
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.errors import DataError
from rig.network import graph
from rig.network.conventions import PRESETS, Conventions, Current, Reset, Scheme, Start
from rig.network.interpreter import Run, run

DT_S = 1e-3
ONE = np.ones(1)


def chain(**nodes: Any) -> graph.Network:
    """Return the network of nodes in a row between an input and an output."""
    first = next(iter(nodes.values()))
    size = np.shape(first.weight)[1] if hasattr(first, "weight") else 1
    every = {
        "input": nir.Input(np.array([size])),
        **nodes,
        "output": nir.Output(np.array([1])),
    }
    every["output"] = nir.Output(np.array(_last(every)))
    return graph.network(nir.NIRGraph(every, list(pairwise(every)), type_check=False))


def _last(nodes: dict[str, Any]) -> list[int]:
    shapes = [len(node.weight) for node in nodes.values() if hasattr(node, "weight")]
    return [shapes[-1] if shapes else 1]


def outputs(
    network: graph.Network, values: Any, how: Conventions | None = None
) -> list[float]:
    done = run(
        network, np.asarray(values, float)[None, :, None], DT_S, how or Conventions()
    )
    return done.values["output"][0, :, 0].tolist()  # type: ignore[no-any-return]


def lif(**others: Any) -> Any:
    fields: dict[str, Any] = {
        "tau": 2 * DT_S * ONE,
        "r": ONE,
        "v_leak": 0 * ONE,
        "v_threshold": ONE,
        "v_reset": 0 * ONE,
    }
    return nir.LIF(**fields | others)


def test_a_leaky_integrator_goes_half_way_each_step() -> None:
    leaky = nir.LI(2 * DT_S * ONE, ONE, 0 * ONE)
    assert outputs(chain(leaky=leaky), [4, 4, 4, 0]) == [2, 3, 3.5, 1.75]


def test_exact_is_the_solution_of_the_equation_for_a_constant_input() -> None:
    leaky = nir.LI(5 * DT_S * ONE, 2 * ONE, 0.5 * ONE)
    result = outputs(chain(leaky=leaky), [1] * 10, Conventions(scheme=Scheme.EXACT))
    times_s = np.arange(1, 11) * DT_S
    # From v_leak towards v_leak + r i.
    np.testing.assert_allclose(result, 0.5 + 2 * (1 - np.exp(-times_s / (5 * DT_S))))


def test_an_integrator_adds_dt_r_i() -> None:
    assert outputs(chain(one=nir.I(1000 * ONE)), [1, 2, 3]) == [1, 3, 6]
    spiking = nir.IF(1000 * ONE, 2.5 * ONE, 0 * ONE)
    assert outputs(chain(one=spiking), [1, 1, 1, 1]) == [0, 0, 1, 0]


def test_a_neuron_fires_above_its_threshold_and_not_at_it() -> None:
    # 0.5 + 0.25 + ... comes to 1 - 2^-n; an input of 2 reaches exactly 1 in the first
    # step.
    assert outputs(chain(one=lif()), [2, 0]) == [0, 0]
    assert outputs(chain(one=lif()), [2, 0], Conventions(above=False)) == [1, 0]
    assert outputs(chain(one=lif()), [2.0001, 0]) == [1, 0]


def test_a_reset_is_to_its_value_or_by_the_threshold() -> None:
    neuron = lif(v_reset=-0.5 * ONE)
    # 4 -> 2: fires; from -0.5 or from 1 half way to 4 again: 1.75 or 2.5, both fire.
    to_value = run(chain(one=neuron), np.full((1, 2, 1), 4.0), DT_S)
    assert to_value.membranes["one"].tolist() == [[-0.5]]
    by_threshold = run(
        chain(one=neuron),
        np.full((1, 2, 1), 4.0),
        DT_S,
        Conventions(reset=Reset.SUBTRACT),
    )
    assert by_threshold.membranes["one"].tolist() == [[1.5]]
    assert to_value.spikes == by_threshold.spikes == {"one": 2}


def test_a_membrane_begins_at_its_leak_or_at_zero() -> None:
    leaky = nir.LI(2 * DT_S * ONE, ONE, 8 * ONE)
    assert outputs(chain(one=leaky), [0, 0]) == [8, 8]
    assert outputs(chain(one=leaky), [0, 0], Conventions(start=Start.ZERO)) == [4, 6]


def test_the_new_current_drives_a_membrane_or_the_last_one() -> None:
    cuba = nir.CubaLI(2 * DT_S * ONE, 2 * DT_S * ONE, ONE, 0 * ONE, ONE)
    # Currents 4, 6, 7: membranes half way towards them, or towards 0, 4, 6.
    assert outputs(chain(one=cuba), [8, 8, 8]) == [2, 4, 5.5]
    last = Conventions(current=Current.LAST)
    assert outputs(chain(one=cuba), [8, 8, 8], last) == [0, 2, 4]


def test_spikes_are_as_many_as_the_threshold_fits_where_a_rule_says_so() -> None:
    # One spike of weight 8 a step: current 8 (k + k^2 + ...), membrane likewise, with k
    # = 1/2 both: currents 4, 6, 7; membranes 4; 2 + 6 = 8, fires once, 1; 0.5 + 7 =
    # 7.5, fires once, 0.5.
    cuba = nir.CubaLIF(
        2 * DT_S * ONE,
        2 * DT_S * ONE,
        ONE,
        0 * ONE,
        v_threshold=7 * ONE,
        v_reset=0 * ONE,
        w_in=3 * ONE,
    )
    network = chain(weight=nir.Linear(8 * np.ones((1, 1))), one=cuba)
    assert outputs(network, [1, 1, 1], PRESETS["xylo"]) == [0, 1, 1]
    done = run(network, np.full((1, 1, 1), 20.0), DT_S, PRESETS["xylo"])
    # A current and a membrane of 80: eleven times 7, 3 are left.
    assert (done.spikes, done.membranes["one"].tolist()) == ({"one": 11}, [[3.0]])


def test_more_than_one_spike_a_step_needs_a_reset_that_subtracts() -> None:
    with pytest.raises(ValueError, match="a reset that subtracts"):
        Conventions(spikes_max=3)


def test_a_delay_of_each_value_is_its_own() -> None:
    nodes = {
        "input": nir.Input(np.array([3])),
        "delay": nir.Delay(np.array([0.0, DT_S, 3 * DT_S])),
        "output": nir.Output(np.array([3])),
    }
    network = graph.network(
        nir.NIRGraph(nodes, list(pairwise(nodes)), type_check=False)
    )
    values = np.arange(1.0, 6.0)[None, :, None] * np.ones(3)
    result = run(network, values, DT_S).values["output"][0].T.tolist()
    assert result == [[1, 2, 3, 4, 5], [0, 1, 2, 3, 4], [0, 0, 0, 1, 2]]


def recurrent(nested: bool) -> graph.Network:
    """A neuron that excites itself, as a cycle of edges or as a graph within the
    graph."""
    inner = {"one": lif(), "again": nir.Linear(np.array([[2.5]]))}
    cycle = [("one", "again"), ("again", "one")]
    if nested:
        inside = {
            "input": nir.Input(np.array([1])),
            **inner,
            "output": nir.Output(np.array([1])),
        }
        edges = [("input", "one"), *cycle, ("one", "output")]
        part = nir.NIRGraph(inside, edges, type_check=False)
        nodes = {"input": nir.Input(np.array([1])), "part": part}
        ways = [("input", "part"), ("part", "output")]
    else:
        nodes = {"input": nir.Input(np.array([1])), **inner}
        ways = [("input", "one"), *cycle, ("one", "output")]
    nodes["output"] = nir.Output(np.array([1]))
    return graph.network(nir.NIRGraph(nodes, ways, type_check=False))


@pytest.mark.parametrize("nested", [False, True])
def test_what_comes_back_in_a_cycle_is_that_of_the_step_before(nested: bool) -> None:
    network = recurrent(nested)
    assert [source.removeprefix("part.") for source, _ in network.late_edges] == [
        "again"
    ]
    # The first spike is kept going: 2.5 / 2 exceeds 1 again and again.
    assert outputs(network, [3, 0, 0, 0]) == [1, 1, 1, 1]
    assert outputs(network, [0, 3, 0, 0]) == [0, 1, 1, 1]


@given(
    seed=st.integers(0, 2**32 - 1),
    preset=st.sampled_from(sorted(PRESETS)),
    steps=st.integers(1, 12),
)
def test_samples_side_by_side_are_those_one_by_one(
    seed: int, preset: str, steps: int
) -> None:
    rng = np.random.default_rng(seed)
    zero = np.zeros(3)
    network = chain(
        weight=nir.Affine(rng.normal(0, 2, (3, 2)), rng.normal(0, 1, 3)),
        one=nir.CubaLIF(
            zero + 3e-3,
            zero + 5e-3,
            zero + 1,
            zero,
            v_threshold=zero + 0.3,
            v_reset=zero,
            w_in=zero + 1,
        ),
    )
    values = rng.integers(0, 3, (4, steps, 2)).astype(float)
    together = run(network, values, DT_S, PRESETS[preset])
    alone: list[Run] = [
        run(network, values[k : k + 1], DT_S, PRESETS[preset]) for k in range(4)
    ]
    each = np.concatenate([item.values["output"] for item in alone])
    assert np.array_equal(together.values["output"], each)
    assert together.spikes["one"] == sum(item.spikes["one"] for item in alone)


@given(seed=st.integers(0, 2**32 - 1))
def test_an_edge_that_is_never_used_has_no_effect(seed: int) -> None:
    # With a cycle of weight 0 the network goes step by step, without one node by node.
    rng = np.random.default_rng(seed)
    weight = rng.normal(0, 2, (1, 1))
    values = rng.integers(0, 3, (2, 9, 1)).astype(float)
    plain = chain(weight=nir.Linear(weight), one=lif())
    nodes = {
        "input": nir.Input(np.array([1])),
        "weight": nir.Linear(weight),
        "one": lif(),
        "again": nir.Linear(np.zeros((1, 1))),
        "output": nir.Output(np.array([1])),
    }
    ways = [("input", "weight"), ("weight", "one"), ("one", "again"), ("again", "one")]
    cycle = graph.network(
        nir.NIRGraph(nodes, [*ways, ("one", "output")], type_check=False)
    )
    assert cycle.late_edges
    assert not plain.late_edges
    assert np.array_equal(
        run(plain, values, DT_S).values["output"],
        run(cycle, values, DT_S).values["output"],
    )


def test_inputs_of_another_shape_and_a_lacking_time_step_are_refused() -> None:
    network = chain(one=lif())
    with pytest.raises(DataError, match=r"shape \(1, 5, 2\)"):
        run(network, np.zeros((1, 5, 2)), DT_S)
    with pytest.raises(DataError, match="no time step"):
        run(network, np.zeros((1, 5, 1)))
    with pytest.raises(DataError, match="other inputs"):
        run(network, {"else": np.zeros((1, 5, 1))}, DT_S)
