# SPDX-License-Identifier: Apache-2.0
"""The firmware on each instrument's simulator, in real time: valid trials, and the same
energy within their uncertainties.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from rig.errors import ConfigError
from rig.report.report import write_report
from rig.session.session import open_bench
from tests.checking import check
from tests.conftest import ROOT
from tests.drivers.host_counters.test_ina3221 import hwmon

# Instruments are read in real time: on a busy computer a counter is read too late.
pytestmark = [pytest.mark.posix, pytest.mark.paced]
BENCHES = ("posix-asc-joulescope", "posix-asc-lpm01a", "posix-asc-n6705")


@pytest.fixture(scope="module")
def measured(
    firmware: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], dict[str, Any]]:
    """Run one trial of a bench, once; the whole benches have five."""

    @cache
    def content(name: str) -> dict[str, Any]:
        overrides = [
            "task.asc.samples=4",
            "scenario.single_stream.idle_s=0.3",
            "scenario.single_stream.warmup=1",
        ]
        with open_bench(ROOT / "benches" / f"{name}.toml", overrides) as bench:
            result = bench.run(1, tmp_path_factory.mktemp(name))
        return result.content | {"folder": result.folder}

    return content


# Cases marked `repeats` are proved for all trials in test_instrument_benches.py.
@pytest.mark.parametrize(
    "name",
    [
        "posix-asc-n6705",
        *(pytest.param(name, marks=pytest.mark.repeats) for name in BENCHES[:2]),
    ],
)
def test_a_trial_on_each_instrument_is_valid_and_recomputed(
    measured: Callable[[str], dict[str, Any]], name: str
) -> None:
    content = measured(name)
    assert content["problems"] == []
    assert content["simulated"] is True
    assert check(Path(content["folder"])).ok


@pytest.mark.repeats
@pytest.mark.parametrize(
    "metric", ["energy_preprocess", "energy_infer", "power_idle", "power_dynamic"]
)
def test_the_same_firmware_has_the_same_energy_on_all_within_their_uncertainties(
    measured: Callable[[str], dict[str, Any]], metric: str
) -> None:
    result = {name: measured(name)["metrics"][metric] for name in BENCHES}
    for item, other in combinations(result.values(), 2):
        allowed = (
            2
            * (
                item["same_samples"]["standard_uncertainty"] ** 2
                + other["same_samples"]["standard_uncertainty"] ** 2
            )
            ** 0.5
        )
        assert abs(item["value"] - other["value"]) <= allowed, (metric, result)
        assert allowed < 0.06 * item["value"], (
            "an uncertainty that allows everything proves nothing"
        )


def test_one_edge_at_the_trigger_input_ties_long_windows_within_what_the_clocks_are_trusted_with(
    measured: Callable[[str], dict[str, Any]], tmp_path: Path
) -> None:
    overrides = [
        "task.asc.samples=2",
        "scenario.single_stream.idle_s=0.3",
        "scenario.single_stream.warmup=0",
    ]
    overrides += [
        "monitor.keysight_n6705.sync=trigger",
        "scenario.single_stream.repeat=60",
    ]
    with open_bench(ROOT / "benches" / "posix-asc-n6705.toml", overrides) as bench:
        result = bench.run(1, tmp_path)
    content = result.content
    assert content["problems"] == []
    assert content["trials"][0]["counts"] == {
        "marks": content["trials"][0]["counts"]["marks"],
        "edges": 1,
        "pairs": 1,
    }
    for name in ("power_infer", "power_idle"):
        item = content["metrics"][name]
        other = measured("posix-asc-n6705")["metrics"][name]
        allowed = (
            2
            * (
                item["same_samples"]["standard_uncertainty"] ** 2
                + other["same_samples"]["standard_uncertainty"] ** 2
            )
            ** 0.5
        )
        assert abs(item["value"] - other["value"]) <= allowed < 0.06 * other["value"]
    shapes = {
        part["component"]: part["shape"]
        for part in content["metrics"]["latency_infer"]["budget"]
    }
    assert shapes["time base"] == "rectangular"
    assert check(result.folder).ok
    write_report(result.folder)


def test_a_host_that_is_its_own_device_is_tied_to_its_energy_counter_by_its_clock(
    firmware: Path, tmp_path: Path
) -> None:
    overrides = [
        "monitor.rapl.root=simulator",
        f"sut.posix.program={firmware / 'asc'}",
        "scenario.single_stream.repeat=600",
    ]
    overrides += [
        "task.asc.samples=1",
        "scenario.single_stream.idle_s=0.5",
        "scenario.single_stream.warmup=0",
    ]
    with open_bench(ROOT / "benches" / "host-asc-rapl.toml", overrides) as bench:
        result = bench.run(1, tmp_path)
    assert result.content["problems"] == []
    assert result.content["provenance"]["sut"]["clock"] == "CLOCK_MONOTONIC"
    assert result.content["provenance"]["sut"]["simulated"] is False
    # Input of the simulated counter: 5 W of the host, and the firmware's power in this
    # phase.
    for name, expected_w in (
        ("power_idle", 5.010),
        ("power_preprocess", 5.030),
        ("power_infer", 5.050),
    ):
        assert result.content["metrics"][name]["value"] == pytest.approx(
            expected_w, abs=0.003
        ), name
    assert check(result.folder).ok


def test_a_board_that_reads_its_own_rail_finds_what_its_simulator_draws(
    firmware: Path, tmp_path: Path
) -> None:
    overrides = [
        "monitor.ina3221.root=simulator",
        f"sut.posix.program={firmware / 'asc'}",
        "scenario.single_stream.repeat=1500",
        "task.asc.samples=1",
        "scenario.single_stream.warmup=0",
    ]
    with open_bench(ROOT / "benches" / "host-asc-ina3221.toml", overrides) as bench:
        result = bench.run(1, tmp_path)
    assert result.content["problems"] == []
    metrics = result.content["metrics"]
    # 4 W of the board, and the firmware's power in this phase; a step is 40 mW.
    for name, expected_w in (
        ("power_idle", 4.010),
        ("power_preprocess", 4.030),
        ("power_infer", 4.050),
    ):
        results = metrics[name]
        assert results["value"] == pytest.approx(expected_w, abs=0.04), name
        interval = results["same_samples"]
        assert interval["low"] < expected_w < interval["high"], name
    monitor = result.content["provenance"]["monitors"][""]
    assert monitor["details"]["rails"][0]["label"] == "VDD_IN"
    assert "two conversions" in monitor["accuracy"]["source"]
    assert check(result.folder).ok
    write_report(result.folder)
    assert "two conversions" in (result.folder / "report.html").read_text("utf-8")


def test_a_board_whose_files_are_its_own_needs_no_switched_supply(
    firmware: Path, tmp_path: Path
) -> None:
    hwmon(tmp_path / "i2c")
    overrides = [
        f"monitor.ina3221.root={tmp_path / 'i2c'}",
        f"sut.posix.program={firmware / 'asc'}",
        "scenario.single_stream.repeat=1500",
        "task.asc.samples=1",
        "scenario.single_stream.warmup=0",
    ]
    with open_bench(ROOT / "benches" / "host-asc-ina3221.toml", overrides) as bench:
        result = bench.run(1, tmp_path / "sessions")
    assert result.content["problems"] == []
    assert result.content["simulated"] is True
    power = result.content["metrics"]["power_infer"]
    # The files never change: 5.032 V times 1.408 A.
    assert power["value"] == pytest.approx(5.032 * 1.408, rel=1e-3)
    assert check(result.folder).ok


def test_an_energy_counter_of_the_host_and_a_device_with_its_own_timer_are_refused(
    firmware: Path, tmp_path: Path
) -> None:
    overrides = [
        "monitor.rapl.root=simulator",
        f"sut.posix.program={firmware / 'asc'}",
        "sut.posix.host_clock=false",
    ]
    with (
        open_bench(ROOT / "benches" / "host-asc-rapl.toml", overrides) as bench,
        pytest.raises(ConfigError, match="sees no SYNC line") as caught,
    ):
        bench.run(1, tmp_path)
    assert "host_clock" in caught.value.try_next
    assert not list(tmp_path.iterdir())


def test_the_clock_of_the_host_has_no_error_to_set(firmware: Path) -> None:
    overrides = [
        "monitor.rapl.root=simulator",
        f"sut.posix.program={firmware / 'asc'}",
        "sut.posix.ppm=10.0",
    ]
    with (
        pytest.raises(ConfigError, match="no error to set"),
        open_bench(ROOT / "benches" / "host-asc-rapl.toml", overrides),
    ):
        pass
