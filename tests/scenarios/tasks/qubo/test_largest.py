# SPDX-License-Identifier: Apache-2.0
"""The largest workload is found to the node, with every try as evidence."""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from rig.errors import ConfigError, DeadlineError
from rig.model.completion import Completion
from rig.model.steps import Solve, Step
from scenarios.tasks.qubo import edges
from scenarios.tasks.qubo.command import qubo
from scenarios.tasks.qubo.graph import Workload, generate
from scenarios.tasks.qubo.largest import Largest, Prober, largest, nodes_max
from sut_backends.virtual.backend import VirtualSut
from tests.conftest import ROOT

VIRTUAL = ROOT / "benches" / "virtual-qubo.toml"


def command(*arguments: object) -> Result:
    return CliRunner().invoke(
        qubo,
        ["largest", *map(str, arguments)],
        standalone_mode=False,
        catch_exceptions=False,
    )


@given(st.integers(0, 5000), st.integers(1, 5000), st.integers(1, 64))
def test_growth_and_bisection_find_the_largest_good_size_with_few_tries(
    best: int, limit: int, first: int
) -> None:
    tried: list[int] = []

    def good(nodes: int) -> bool:
        tried.append(nodes)
        return nodes <= best

    result = largest(good, limit, first)
    assert result == (Largest(limit, limit) if best >= limit else Largest(best))
    assert len(tried) == len(set(tried)) <= 30
    assert max(tried) <= limit


@pytest.mark.parametrize(
    ("density", "edges_max"),
    [(0.01, 12_500_000), (1.0, 12_500_000), (1.0, 1), (0.01, 10**9)],
)
def test_the_limit_of_the_host_is_the_last_size_with_so_few_edges(
    density: float, edges_max: int
) -> None:
    nodes = nodes_max(density, edges_max)
    assert Workload(nodes, density, 0).edges <= edges_max
    assert nodes == 65535 or Workload(nodes + 1, density, 0).edges > edges_max


@pytest.mark.usefixtures("compiler")
def test_a_device_of_so_many_bytes_takes_what_fits_and_refuses_the_next(
    tmp_path: Path,
) -> None:
    out = tmp_path / "out.json"
    result = command(VIRTUAL, "--set", "sut.virtual.slot_b=800", "--out", out)
    assert result.return_value == 0
    results = json.loads(out.read_text())
    assert results["simulated"] is True
    for name, density in (("A", 0.01), ("B", 1.0)):
        best = results["largest"][name]["nodes"]
        assert len(edges.encode(generate(Workload(best, density, 0)))) <= 800
        assert len(edges.encode(generate(Workload(best + 1, density, 0)))) > 800
        mine = {
            item["nodes"]: item
            for item in results["tries"]
            if item["density"] == density
        }
        assert (
            mine[best]["outcome"] == "good" and mine[best + 1]["outcome"] == "refused"
        )
        assert "the device takes 800" in mine[best + 1]["detail"]
        assert_evidence(mine[best])


def assert_evidence(one: dict[str, Any]) -> None:
    """Evaluate a kept vector on the dense matrix of networkx' graph."""
    nodes = one["nodes"]
    density = one["density"]
    graph = networkx.gnm_random_graph(nodes, int(0.5 * density * nodes**2), 0)
    matrix = -np.eye(nodes, dtype=np.int64) + 4 * networkx.to_numpy_array(
        graph, dtype=np.int64
    )
    bits = np.frombuffer(base64.b64decode(one["vector"]), np.uint8)
    vector = np.unpackbits(bits, count=nodes, bitorder="little").astype(np.int64)
    assert vector @ matrix @ vector == one["cost"] < 0


@pytest.mark.usefixtures("compiler")
def test_where_the_host_stops_first_the_result_says_so(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    result = command(VIRTUAL, "--edges-max", 100, "--out", out)
    assert result.return_value == 0
    assert json.loads(out.read_text())["largest"]["B"] == {
        "density": 1.0,
        "nodes": 14,
        "limit": 14,
    }
    assert "or more" in result.output


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize(
    ("answer", "outcome", "said"),
    [
        (lambda output: output[:-1], "wrong", "bytes"),
        (lambda output: b"\0\0\0\0" + output[4:], "wrong", "claims 0"),
        (
            lambda output: bytes(5) + output[5:9] + bytes(len(output) - 9),
            "no better",
            "cost 0",
        ),
    ],
)
def test_a_device_that_answers_but_wrong_is_named(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    answer: Any,
    outcome: str,
    said: str,
) -> None:
    original = VirtualSut.do

    def do(sut: VirtualSut, step: Step, payloads: Sequence[bytes] = ()) -> Completion:
        completion = original(sut, step, payloads)
        if not isinstance(step, Solve):
            return completion
        return dataclasses.replace(completion, output=answer(completion.output))

    monkeypatch.setattr(VirtualSut, "do", do)
    with Prober(VIRTUAL, (), 0.1) as prober:
        result = prober.attempt(20, 0.01)
    assert (result.outcome, result.good) == (outcome, False)
    assert said in result.detail
    out = tmp_path / "out.json"
    assert command(VIRTUAL, "--out", out).return_value == 1
    assert json.loads(out.read_text())["largest"]["A"]["nodes"] == 0


@pytest.mark.usefixtures("compiler")
def test_after_a_device_is_lost_the_bench_is_opened_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    original = VirtualSut.do
    seen = []

    def do(sut: VirtualSut, step: Step, payloads: Sequence[bytes] = ()) -> Completion:
        if isinstance(step, Solve):
            seen.append(sut)
            if len(seen) == 1:
                raise DeadlineError("end of the search", 1.0)
        return original(sut, step, payloads)

    monkeypatch.setattr(VirtualSut, "do", do)
    with Prober(VIRTUAL, (), 0.1) as prober:
        first = prober.attempt(20, 0.01)
        second = prober.attempt(19, 0.01)
    assert (first.outcome, second.outcome) == ("failed", "good")
    assert "no end of the search" in first.detail
    assert seen[0] is not seen[1]


def test_a_bench_of_another_task_is_refused() -> None:
    with pytest.raises(ConfigError, match="one of null"):
        command(ROOT / "benches" / "virtual-null.toml")
