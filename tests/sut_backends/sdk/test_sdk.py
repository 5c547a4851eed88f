# SPDX-License-Identifier: Apache-2.0
"""Environments of vendors' SDKs: missing parts are named, complete ones can be used."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rig.errors import ConfigError
from sut_backends.sdk import kinds as sdk_kinds
from sut_backends.sdk.doctor import examine
from sut_backends.sdk.install import install
from sut_backends.sdk.kinds import SdkKind, read
from sut_backends.workers.environments import installed
from tests.commands import rig


def described(folder: Path, requirements: str = "", **more: str) -> SdkKind:
    """Return an SDK whose sheet a test wrote."""
    folder.mkdir(exist_ok=True)
    sheet = {"title": '"An SDK"', "python": '">=3.10"', **more}
    (folder / "sdk.toml").write_text(
        "".join(f"{key} = {value}\n" for key, value in sheet.items())
    )
    (folder / "requirements.txt").write_text(requirements)
    return read(folder)


@pytest.fixture(autouse=True)
def data_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep environments in the test's folder."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


def test_every_sheet_of_a_backend_pins_its_packages_and_imports_something() -> None:
    for kind, sdk in sdk_kinds.kinds().items():
        loose = [
            str(requirement)
            for requirement in sdk.requirements
            if not str(requirement.specifier).startswith("==")
        ]
        assert loose == [], kind
        assert sdk.imports and sdk.requirements, kind
        assert not {requirement.name for requirement in sdk.requirements} & set(
            sdk.never
        ), kind


def test_an_environment_is_made_used_and_looked_at(tmp_path: Path) -> None:
    sdk = described(tmp_path / "soft", imports='["json"]', never='["setuptools"]')
    output: list[str] = []
    assert examine(sdk).problems == ("not installed",)
    result = install(sdk, sys.executable, output.append)
    assert Path(result.interpreter) == installed("soft")
    assert installed("soft").exists()
    assert "0 packages, pinned" in output[0] and output[-1].endswith("MB are installed")
    assert (result.problems, result.wrote) == ((), ())
    assert examine(sdk) == result


def test_what_lacks_is_reported_by_name(tmp_path: Path) -> None:
    sdk = described(
        tmp_path / "hard",
        "numpy==0.1  # of old\nno-such-package==1.0\n",
        imports='["json", "no_such_module"]',
        never='["pytest"]',
        python='"<3"',
    )
    problems = "\n".join(examine(sdk, sys.executable).problems)
    for due in (
        "is not <3",
        "numpy",
        "no-such-package is missing",
        "no_such_module",
        "pytest must",
    ):
        assert due in problems


def test_no_python_of_the_version_wanted_is_reported_and_nothing_is_left(
    tmp_path: Path, data_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = [
        tmp_path / "bin/python3.10",
        tmp_path / ".pyenv/versions/3.12.1/bin/python",
    ]
    for python in result:
        python.parent.mkdir(parents=True)
        python.symlink_to(Path(sys.executable).resolve())
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path))
    sdk = described(tmp_path / "old", python='"<2"')
    with pytest.raises(ConfigError, match="needs Python <2") as caught:
        install(sdk, "", print)
    version = ".".join(map(str, sys.version_info[:3]))
    output = [f"{python} is {version}" for python in (sys.executable, *result)]
    assert caught.value.evidence == "; ".join(output)
    assert not data_home.exists()


def test_the_commands_name_what_they_do_not_know() -> None:
    done = rig("sdk", "doctor", "nonsense")
    assert done.returncode == 2
    assert "there is no SDK 'nonsense'" in done.stderr
