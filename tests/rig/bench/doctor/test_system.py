# SPDX-License-Identifier: Apache-2.0
"""Clocks, the version of Python and the display, as `rig doctor` looks at them."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

from rig.bench.doctor import system
from rig.bench.doctor.row import LinuxRoot
from tests.conftest import ROOT
from tests.rig.bench.doctor.test_programs import program


@pytest.mark.parametrize(("source", "state"), [("tsc", "ok"), ("hpet", "wrong")])
def test_a_slow_clock_source_is_wrong(tmp_path: Path, source: str, state: str) -> None:
    path = tmp_path / "sys/devices/system/clocksource/clocksource0/current_clocksource"
    path.parent.mkdir(parents=True)
    path.write_text(f"{source}\n")
    found = {each.name: each for each in system.system_rows(LinuxRoot(tmp_path))}
    assert found["clock"].state == state and source in found["clock"].detail
    assert not found["clock"].blocks
    assert found["Python"].detail.startswith(".".join(map(str, sys.version_info[:3])))


@pytest.mark.parametrize("version", [(3, 15), (3, 11)])
def test_for_another_python_the_versions_of_the_classifiers_are_named(
    tmp_path: Path, version: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    named = re.findall(
        r"Python :: (3\.\d+)", " ".join(project["project"]["classifiers"])
    )
    monkeypatch.setattr(sys, "version_info", (*version, 0, "final", 0))
    found = {each.name: each for each in system.system_rows(LinuxRoot(tmp_path))}
    is_new = f"3.{version[1]}" not in named
    said = f"; the rig was run with {named[0]} to {named[-1]}"
    assert found["Python"].detail.endswith(said) == is_new


@pytest.mark.parametrize(
    ("answer", "state"), [("yes", "ok"), ("no", "wrong"), ("exit 1", "")]
)
def test_a_time_of_day_that_is_not_set_is_wrong_where_it_is_known(
    tools: Path, answer: str, state: str
) -> None:
    body = answer if answer.startswith("exit") else f"echo {answer}"
    program(tools, "timedatectl", body)
    found = {each.name: each for each in system.system_rows(LinuxRoot(tools))}
    assert ("time of day" in found) is bool(state)
    assert not state or found["time of day"].state == state


@pytest.mark.parametrize(
    ("variables", "state"),
    [
        ({}, "missing"),
        ({"DISPLAY": ":0"}, "ok"),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "ok"),
        ({"QT_QPA_PLATFORM": "offscreen"}, "ok"),
    ],
)
def test_a_display_is_that_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], state: str
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert system.display_row().state == state
