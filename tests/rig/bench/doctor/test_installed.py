# SPDX-License-Identifier: Apache-2.0
"""Packages and libraries, as `rig doctor` looks at them."""

from __future__ import annotations

import pytest

from rig.bench import packages
from rig.bench.doctor import installed
from rig.bench.doctor.row import RowState
from rig.model.need import Need, NeedKind


def requiring(monkeypatch: pytest.MonkeyPatch, lines: list[str]) -> None:
    monkeypatch.setattr(packages, "requires", lambda name: lines)


def test_packages_are_compared_with_the_accepted_versions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    requiring(monkeypatch, ["numpy>=99", "nosuch>=1; python_version >= '3'", "rich>=1"])
    numpy, nosuch = installed.core_rows()
    assert numpy.state is RowState.WRONG and ">=99 is needed" in numpy.detail
    assert numpy.try_next == "pip install 'numpy>=99'" and numpy.blocks
    assert nosuch.state is RowState.MISSING and nosuch.blocks


def test_an_extra_without_its_package_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    requiring(monkeypatch, ["nosuch>=1; extra == 'keysight'", "numpy>=2"])
    (found,) = installed.extra_rows([Need(NeedKind.EXTRA, "keysight")])
    assert found.state is RowState.MISSING and "nosuch" in found.detail
    assert found.try_next == "pip install 'neurorig[keysight]'" and found.blocks


def test_a_library_that_does_not_load_is_wrong_with_its_last_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    requiring(monkeypatch, ["numpy>=2; extra == 'keysight'"])
    broken = (
        "VISA library",
        "import ctypes; ctypes.CDLL('libnosuch.so')",
        "a hint",
        "visa",
    )
    monkeypatch.setitem(installed._LIBRARIES, "keysight", broken)
    extra, library = installed.extra_rows([Need(NeedKind.EXTRA, "keysight")])
    assert extra.state is RowState.OK
    assert library.state is RowState.WRONG and "libnosuch.so" in library.detail
    assert library.try_next == "a hint"


def test_the_packages_that_scan_misses_are_those_of_the_extra() -> None:
    assert packages.missing("joulescope") == []
    assert packages.missing("posix") == []
    assert {"gui", "joulescope", "keysight"} <= set(packages.extras())
    assert "dev" not in packages.extras()
    named = {package.name for package in packages.of_extra("keysight")}
    assert named == {"pyvisa", "pyvisa-py"}
