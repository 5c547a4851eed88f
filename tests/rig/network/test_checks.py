# SPDX-License-Identifier: Apache-2.0
"""Errors and doubts in a NIR file, one fault at a time, and files that are none."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import nir
import numpy as np
import pytest

from rig.errors import DataError
from rig.network import graph
from rig.network.checks import findings, require_sound
from scenarios.tasks.asc.task import SHIPPED_MODEL

pytestmark = pytest.mark.usefixtures("read_networks_here")

DT_S = 1e-3


def sound() -> Any:
    """A graph without errors: four inputs, a delay, three neurons."""
    zero = np.zeros(3)
    nodes = {
        "input": nir.Input(np.array([4])),
        "weight": nir.Affine(np.ones((3, 4)), zero),
        "delay": nir.Delay(zero + 2 * DT_S),
        "neurons": nir.CubaLIF(
            zero + 5e-3,
            zero + 9e-3,
            zero + 1,
            zero,
            v_threshold=zero + 1,
            v_reset=zero,
            w_in=zero + 1,
        ),
        "output": nir.Output(np.array([3])),
    }
    return nir.NIRGraph(
        nodes, list(pairwise(nodes)), metadata={"dt_s": DT_S}, type_check=False
    )


def of(change: Callable[[Any], None], dt_s: float | None = None) -> list[str]:
    """Return the findings of the sound graph with a change."""
    changed = sound()
    change(changed)
    return [str(finding) for finding in findings(changed, dt_s)]


def put(node: str, name: str, value: Any) -> Callable[[Any], None]:
    return lambda changed: setattr(changed.nodes[node], name, value)


def add_edge(one: str, other: str) -> Callable[[Any], None]:
    return lambda changed: changed.edges.append((one, other))


def add_lonely(changed: Any) -> None:
    changed.nodes["lonely"] = nir.Scale(np.ones(3))


def add_sink(changed: Any) -> None:
    changed.nodes["sink"] = nir.Scale(np.ones(3))
    changed.edges.append(("neurons", "sink"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            put("neurons", "tau_mem", np.array([9e-3, -1e-3, 9e-3])),
            "tau_mem is -0.001 s, not pos",
        ),
        (put("neurons", "tau_syn", np.zeros(3)), "tau_syn is 0 s, not positive"),
        (
            put("neurons", "tau_syn", np.zeros(3) + 1e-5),
            "tau_syn is 1e-05 s, less than the time",
        ),
        (
            put("weight", "weight", np.full((3, 4), np.nan)),
            "weight holds NaN or infinity, 12 of",
        ),
        (
            put("neurons", "v_threshold", np.full(3, np.inf)),
            "v_threshold holds NaN or infinity",
        ),
        (
            put("weight", "bias", np.zeros(4)),
            "the bias has the shape (4,), the weight gives 3",
        ),
        (put("weight", "weight", np.ones((2, 4))), "given another shape than it takes"),
        (put("neurons", "v_reset", np.full(3, 2.0)), "v_reset lies above v_threshold"),
        (put("delay", "delay", np.full(3, -DT_S)), "a delay of -0.001 s"),
        (add_edge("weight", "nowhere"), "an edge names nowhere, which is no node"),
        (add_lonely, "lonely: no input reaches it"),
        (
            lambda changed: changed.metadata.clear(),
            "the file states no time step; try: --dt",
        ),
        (lambda changed: changed.nodes.pop("output"), "names output, which is no node"),
    ],
)
def test_what_is_wrong_is_named_with_its_node(
    change: Callable[[Any], None], said: str
) -> None:
    assert findings(sound()) == []
    result = of(change)
    assert any(text.startswith("wrong: ") and said in text for text in result), result
    changed = sound()
    change(changed)
    with pytest.raises(DataError, match="cannot be run as it is"):
        require_sound(changed)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (put("delay", "delay", np.full(3, 1.5 * DT_S)), "no whole number of steps"),
        (put("neurons", "tau_mem", np.full(3, 9.0)), "may be in milliseconds"),
        (put("neurons", "r", np.full(3, -1.0)), "an input lowers the membrane"),
        (put("neurons", "v_leak", np.full(3, 2.0)), "fire without any input"),
        (add_sink, "sink: it reaches no output"),
        (add_edge("input", "weight"), "an edge is there twice"),
    ],
)
def test_what_is_doubtful_is_reported_and_runs(
    change: Callable[[Any], None], said: str
) -> None:
    result = of(change)
    assert len(result) == 1
    assert result[0].startswith("doubtful: ")
    assert said in result[0]


def test_a_time_step_that_is_given_counts_and_not_the_files() -> None:
    assert of(lambda changed: None, dt_s=2e-3) == []
    assert "less than the time step" in of(lambda changed: None, dt_s=6e-3)[-1]


def test_the_shipped_model_is_sound() -> None:
    assert findings(graph.read(SHIPPED_MODEL)) == []


@pytest.mark.parametrize("content", [b"", b"no HDF5", b"\x89HDF\r\n\x1a\n" + bytes(64)])
def test_a_file_that_is_none_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.nir"
    path.write_bytes(content)
    with pytest.raises(DataError, match="is not a NIR file"):
        graph.read(path)
    with pytest.raises(DataError, match="does not exist"):
        graph.read(tmp_path / "none.nir")
