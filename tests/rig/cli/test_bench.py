# SPDX-License-Identifier: Apache-2.0
"""`rig bench` and `rig docs`: files of a package beside its code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rig.bench import config
from rig.cli.main import rig
from rig.errors import ConfigError
from tests.conftest import ROOT

BENCHES = {path.stem: path for path in (ROOT / "benches").glob("*.toml")}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*words: str) -> Result:
    return CliRunner().invoke(rig, words, catch_exceptions=True)


def test_every_example_is_listed_with_its_parts() -> None:
    listed = run("bench", "list")
    assert listed.exit_code == 0
    lines = {line.split()[0]: line for line in listed.output.splitlines()}
    assert set(BENCHES) <= set(lines)
    assert "posix, keysight_n6705, single_stream, asc" in lines["posix-asc-n6705"]


@pytest.mark.parametrize("name", sorted(BENCHES))
def test_every_example_can_be_written_and_names_no_file_of_the_checkout(
    name: str, tmp_path: Path
) -> None:
    assert run("bench", "new", name).exit_code == 0
    text = (tmp_path / f"{name}.toml").read_text()
    assert not re.search(r"\.\./|benches/|make ", text)
    assert config.load(tmp_path / f"{name}.toml").bench.name


def test_the_next_steps_are_reported() -> None:
    text = run("bench", "new", "host-asc-rapl", "mine.toml").output
    assert "next: rig firmware new firmware --port posix" in text
    assert "next: rig firmware build firmware build/host/asc" in text
    assert "next: rig run mine.toml" in text


def test_no_file_is_overwritten_and_a_wrong_name_is_answered(tmp_path: Path) -> None:
    (tmp_path / "virtual-asc.toml").write_text("mine")
    refused = run("bench", "new", "virtual-asc").exception
    assert isinstance(refused, ConfigError) and "there already" in str(refused)
    assert (tmp_path / "virtual-asc.toml").read_text() == "mine"
    unknown = run("bench", "new", "virtual").exception
    assert isinstance(unknown, ConfigError) and "virtual-asc" in str(unknown)


def test_pages_are_found_by_the_names_that_messages_use() -> None:
    path = ROOT / "docs/explanation/UNCERTAINTY.md"
    text = path.read_text(encoding="utf-8")
    # Sessions of earlier versions name pages without their folder.
    for name in (str(path.relative_to(ROOT)), "docs/UNCERTAINTY.md", "uncertainty"):
        assert run("docs", name).output == text + "\n"
    listed = run("docs").output
    assert re.search(
        r"^  UNCERTAINTY +Uncertainty: the intervals", listed, re.MULTILINE
    )
    assert isinstance(run("docs", "nothing").exception, ConfigError)
