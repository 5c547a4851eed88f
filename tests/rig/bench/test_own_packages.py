# SPDX-License-Identifier: Apache-2.0
"""Other packages with the names of neurorig's are refused or named, where they hide or
overwrite them.
"""

from __future__ import annotations

import shutil
import sys
import tomllib
from pathlib import Path

import pytest

from rig.bench import own_packages
from rig.bench.doctor import installed
from rig.bench.doctor.row import RowState
from tests.conftest import ROOT
from tests.programs import captured
from tests.uncounted import uncounted

BENCH = ROOT / "benches" / "virtual-asc.toml"


def test_the_names_are_those_of_the_wheel() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["setuptools"]["packages"]["find"]["include"]
    assert sorted(own_packages.TOP_LEVEL) == sorted(
        name.removesuffix("*") for name in wheel
    )


def test_ours_hide_each_other_nowhere() -> None:
    assert [own_packages.hidden_by(name) for name in own_packages.TOP_LEVEL] == (
        [None] * len(own_packages.TOP_LEVEL)
    )


@pytest.mark.parametrize("name", ["drivers", "scenarios"])
def test_a_folder_of_the_user_in_the_place_of_ours_is_refused_in_a_sentence(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("raise RuntimeError('not imported')")
    command = [sys.executable, "-m", "rig", "plan", BENCH]
    done = captured(command, cwd=tmp_path)
    assert done.returncode == 2
    words = " ".join(done.stderr.split())
    assert f"{name} is another package than neurorig's" in words
    assert f"Python finds {tmp_path / name}, neurorig's is {ROOT / name}" in words
    assert "rig docs name-taken" in words
    assert "Traceback" not in done.stderr


def test_a_rig_that_another_package_has_overwritten_is_refused(tmp_path: Path) -> None:
    """pip writes the SpiNNaker tools over ours: their `__init__` remains."""
    (tmp_path / "rig").mkdir()
    (tmp_path / "rig" / "__init__.py").write_text('__version__ = "2.4.1"\n')
    shutil.copy(ROOT / "rig" / "__main__.py", tmp_path / "rig")
    command = [sys.executable, "-m", "rig", "list"]
    done = captured(command, cwd=tmp_path, env=uncounted())
    assert done.returncode == 2
    assert done.stderr.startswith("error another package has overwritten")
    assert "Traceback" not in done.stderr


def test_the_doctor_names_another_owner_of_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert list(installed.name_rows()) == []
    about = tmp_path / "rig-2.4.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: rig\nVersion: 2.4.1\n"
    )
    (about / "top_level.txt").write_text("rig\n")
    monkeypatch.syspath_prepend(tmp_path)
    (row,) = installed.name_rows()
    assert (row.name, row.state, row.see) == ("rig", RowState.WRONG, "name-taken")
    assert "rig 2.4.1" in row.detail and row.blocks
