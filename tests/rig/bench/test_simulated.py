# SPDX-License-Identifier: Apache-2.0
"""Whether a bench is simulated follows from what its file names."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from rig.bench import config, plugins, simulated
from rig.interfaces.plugin_classes import Simulates
from tests.conftest import ROOT

BENCHES = sorted((ROOT / "benches").glob("*.toml"))


@pytest.mark.parametrize("section", ["sut", "monitor"])
def test_every_kind_says_whether_it_is_simulated(section: str) -> None:
    kinds = [name for name in plugins.names(section) if (section, name) != ("monitor", "none")]
    assert [name for name in kinds if not isinstance(plugins.find(section, name), Simulates)] == []


def about(bench: config.Config) -> dict[str, Any]:
    """Return what the provenance of a bench says, were it measured."""

    def part(section: str, choice: config.Choice) -> dict[str, Any]:
        return {
            "kind": choice.kind,
            "simulated": plugins.find(section, choice.kind).simulates(choice.settings),
        }

    sut = part("sut", bench.sut)
    monitors = {rail: part("monitor", choice) for rail, choice in bench.monitors.items()}
    every = any(each["simulated"] for each in (sut, *monitors.values()))
    return {"sut": sut, "monitors": monitors, "simulated": every}


@pytest.mark.parametrize(
    "path",
    [path for path in BENCHES if "[monitor.none]" not in path.read_text()],
    ids=lambda path: path.stem,
)
def test_no_flag_of_a_bench_can_be_turned(path: Path) -> None:
    bench = config.load(path)
    told = about(bench)
    assert not list(simulated.contradictions(bench, told))
    for place in (
        ("simulated",),
        ("sut", "simulated"),
        *(("monitors", rail, "simulated") for rail in bench.monitors),
    ):
        turned = copy.deepcopy(told)
        node: Any = turned
        for key in place[:-1]:
            node = node[key]
        node[place[-1]] = not node[place[-1]]
        assert list(simulated.contradictions(bench, turned)), place


def test_another_kind_and_another_rail_are_told() -> None:
    bench = config.load(ROOT / "benches" / "virtual-null.toml")
    told = about(bench)
    assert "is of kind 'uart', bench.toml names 'virtual'" in next(
        simulated.contradictions(bench, told | {"sut": {"kind": "uart", "simulated": True}})
    )
    assert "its monitors are core" in next(
        simulated.contradictions(bench, told | {"monitors": {"core": {}}})
    )
