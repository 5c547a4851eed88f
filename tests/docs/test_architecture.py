# SPDX-License-Identifier: Apache-2.0
"""docs/explanation/ARCHITECTURE.md shows the packages that are there, in the layers
that are enforced."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.conftest import ROOT

PAGE = (ROOT / "docs/explanation/ARCHITECTURE.md").read_text(encoding="utf-8")
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "tool"
]["importlinter"]["contracts"]
#: Files that hold no code of their own.
_NO_LAYER = {"__init__", "__pycache__"}
PACKAGES = ["rig", "rig.api", "sut_backends"]


def shown(package: str) -> list[set[str]]:
    """Return the layers that the page shows for a package, from above."""
    block = re.search(rf"<!-- packages of {package}:.*?```\n(.*?)```", PAGE, re.DOTALL)
    assert block
    return [
        set(re.split(r" \| ", re.split(r"\s{2,}", line)[0]))
        for line in block[1].splitlines()
    ]


def enforced(package: str) -> list[set[str]]:
    """Return the layers that import-linter holds, without the program's entry."""
    layers = next(
        contract["layers"]
        for contract in CONTRACTS
        if contract.get("containers") == [package]
    )
    return [set(layer.split(" | ")) for layer in layers if layer != "__main__"]


@pytest.mark.parametrize("package", PACKAGES)
def test_the_page_shows_the_layers_that_are_enforced(package: str) -> None:
    assert shown(package) == enforced(package)


@pytest.mark.parametrize("package", PACKAGES)
def test_the_page_shows_every_package_and_file_of_the_folder(package: str) -> None:
    there = {
        path.stem
        for path in ROOT.joinpath(*package.split(".")).iterdir()
        if path.suffix == ".py" or (path.is_dir() and (path / "__init__.py").exists())
    }
    assert set().union(*shown(package)) == there - _NO_LAYER - {"__main__"}


def test_every_file_that_the_page_names_is_there() -> None:
    for name in re.findall(
        r"`((?:rig|drivers|sut_backends|scenarios|firmware|tests)/[\w./-]*)`", PAGE
    ):
        assert (ROOT / name).exists(), name


def test_every_function_and_class_that_the_page_names_is_in_the_file_before_it():
    for file, names in re.findall(
        r"`([\w/]+\.py)`: ((?:`\w+(?:\.\w+)?`(?:, )?)+)", PAGE
    ):
        text = (ROOT / file).read_text(encoding="utf-8")
        for name in re.findall(r"`(?:\w+\.)?(\w+)`", names):
            assert re.search(rf"\b(def|class) {name}\b", text), f"{file}: {name}"
