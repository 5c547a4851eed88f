# SPDX-License-Identifier: Apache-2.0
"""Whether a bench is simulated follows from what its file names."""

from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rig.bench import config, plugins, simulated
from rig.bench.plugin_check import BASES
from rig.interfaces.monitor import MonitorInfo
from rig.interfaces.sut import SutInfo
from rig.model.origin import Origin, Origins
from rig.store.provenance_file import Provenance
from rig.uncertainty.accuracy import Accuracy, Range
from tests.conftest import ROOT
from tests.results_by_hand import PROVENANCE

MODELLED = Origins(Origin.MODELLED, Origin.MODELLED)
BENCHES = sorted((ROOT / "benches").glob("*.toml"))


@pytest.mark.parametrize("section", ["sut", "monitor"])
def test_every_kind_says_whether_it_is_simulated(section: str) -> None:
    kinds = [
        name
        for name in plugins.names(section)
        if (section, name) != ("monitor", "none")
    ]
    default = inspect.getattr_static(BASES[section], "simulates")
    result = {name: plugins.find(section, name) for name in kinds}
    silent = [
        name
        for name, kind in result.items()
        if inspect.getattr_static(kind, "simulates") is default
    ]
    assert silent == []


def about(bench: config.Config) -> Provenance:
    """Return the provenance that a run of a bench would store."""

    def simulated_by(section: str, choice: config.PluginChoice) -> bool:
        return bool(plugins.find(section, choice.kind).simulates(choice.settings))

    def origin_by(choice: config.PluginChoice) -> Origin | None:
        return plugins.find("monitor", choice.kind).origin(choice.settings)

    kind = plugins.find("sut", bench.sut.kind)
    origins = kind.origins(bench.sut.settings)
    simulates = simulated_by("sut", bench.sut)
    sut = SutInfo("", bench.sut.kind, simulates, 1, "any", origins=origins)
    monitors = {
        rail: MonitorInfo(
            "",
            choice.kind,
            simulated_by("monitor", choice),
            1.0,
            edge_hz=1.0,
            accuracy=limits(),
            origin=origin_by(choice),
        )
        for rail, choice in bench.monitors.items()
    }
    every = sut.simulated or any(info.simulated for info in monitors.values())
    return replace(PROVENANCE, sut=sut, monitors=monitors, simulated=every)


def limits() -> Accuracy:
    return Accuracy((Range(1.0, 0.0, 0.0),), (Range(1.0, 0.0, 0.0),), 0.0, "")


@pytest.mark.parametrize(
    "path",
    [path for path in BENCHES if "[monitor.none]" not in path.read_text()],
    ids=lambda path: path.stem,
)
def test_no_flag_of_a_bench_can_be_turned(path: Path) -> None:
    bench = config.load(path)
    reported = about(bench)
    assert not list(simulated.contradictions(bench, reported))
    turned = {
        "all": replace(reported, simulated=not reported.simulated),
        "sut": replace(reported, sut=other(reported.sut)),
        **{
            rail: replace(reported, monitors={**reported.monitors, rail: other(info)})
            for rail, info in reported.monitors.items()
        },
        **{
            f"origin of {rail}": replace(
                reported,
                monitors={
                    **reported.monitors,
                    rail: replace(info, origin=Origin.MODELLED),
                },
            )
            for rail, info in reported.monitors.items()
        },
        "origins": replace(reported, sut=replace(reported.sut, origins=MODELLED)),
    }
    for position, changed in turned.items():
        assert list(simulated.contradictions(bench, changed)), position


def other(info: Any) -> Any:
    return replace(info, simulated=not info.simulated)


def test_another_kind_and_another_rail_are_reported() -> None:
    bench = config.load(ROOT / "benches" / "virtual-null.toml")
    reported = about(bench)
    assert "is of kind 'uart', bench.toml names 'virtual'" in next(
        simulated.contradictions(
            bench, replace(reported, sut=replace(reported.sut, kind="uart"))
        )
    )
    assert "its monitors are core" in next(
        simulated.contradictions(
            bench, replace(reported, monitors={"core": reported.monitors[""]})
        )
    )
