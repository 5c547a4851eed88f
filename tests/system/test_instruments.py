# SPDX-License-Identifier: Apache-2.0
"""The firmware on each instrument's simulator, in real time: valid trials, and the same energy within their uncertainties."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from rig.check import check
from rig.session import open_bench
from tests.conftest import ROOT

pytestmark = pytest.mark.posix
BENCHES = ("posix-asc-joulescope", "posix-asc-lpm01a", "posix-asc-n6705")


@pytest.fixture(scope="module")
def measured(firmware: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Run one trial of each bench; the whole benches have five."""
    contents = {}
    for name in BENCHES:
        overrides = ["task.asc.samples=4", "scenario.single_stream.idle_s=0.3", "scenario.single_stream.warmup=1"]
        with open_bench(ROOT / "benches" / f"{name}.toml", overrides) as bench:
            result = bench.run(1, tmp_path_factory.mktemp(name))
            contents[name] = result.content | {"folder": result.folder}
    return contents


@pytest.mark.parametrize("name", BENCHES)
def test_a_trial_on_each_instrument_is_valid_and_recomputed(measured: dict[str, dict[str, Any]], name: str) -> None:
    assert measured[name]["problems"] == []
    assert measured[name]["simulated"] is True
    assert check(Path(measured[name]["folder"])).ok


@pytest.mark.parametrize("metric", ["energy_preprocess", "energy_infer", "power_idle", "power_dynamic"])
def test_the_same_firmware_has_the_same_energy_on_all_within_their_uncertainties(
    measured: dict[str, dict[str, Any]], metric: str
) -> None:
    found = {name: measured[name]["metrics"][metric] for name in BENCHES}
    for one, other in combinations(found.values(), 2):
        allowed = 2 * (one["standard_uncertainty"] ** 2 + other["standard_uncertainty"] ** 2) ** 0.5
        assert abs(one["value"] - other["value"]) <= allowed, (metric, found)
        assert allowed < 0.06 * one["value"], "an uncertainty that allows everything proves nothing"
