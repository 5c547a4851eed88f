# SPDX-License-Identifier: Apache-2.0
"""Fixtures of several folders: a quick virtual bench."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from rig.api import demonstration
from rig.files.user_folders import CACHE_VARIABLE
from rig.session.session import SessionResult, open_bench
from tests.length import is_short
from tests.order import long_ones_first
from tests.recorded import recorded

ROOT = Path(__file__).resolve().parent.parent
VIRTUAL_NULL = ROOT / "benches" / "virtual-null.toml"

#: Data that benches generate are kept here: they take seconds.
USERS_CACHE = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")

pytest_plugins = ["pytester"]


def pytest_configure() -> None:
    """Hear Ctrl-C also where a shell started the tests in the background, where it
    would be ignored: processes of the tests would inherit that.

    And let no property fail because the computer is busy: Hypothesis gives an example
    200 ms otherwise. Collected objects stay to the end, so the garbage collector skips
    them.
    """
    gc.disable()
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    settings.register_profile(
        "untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    settings.load_profile("untimed")


def pytest_collection_finish() -> None:
    """Look for garbage only in objects that the tests make, and less often than by
    default: among the modules and thousands of tests, that takes one second in fifteen.
    """
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 10, 10)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Begin with the long tests in each process, and leave out in `make test` what only
    repeats."""
    if is_short():
        repeated = [
            item for item in items if item.get_closest_marker("repeats") is not None
        ]
        config.hook.pytest_deselected(items=repeated)
        items[:] = [
            item for item in items if item.get_closest_marker("repeats") is None
        ]
    processes = getattr(config, "workerinput", {}).get("workercount", 1)
    items[:] = long_ones_first(items, processes)


@pytest.fixture
def pytester(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> pytest.Pytester:
    """Run pytest in a home of its own, with the generated data of the user's, and
    without those plugins of this environment that take long to import.
    """
    monkeypatch.setenv("XDG_CACHE_HOME", USERS_CACHE)
    monkeypatch.setenv(
        "PYTEST_ADDOPTS", "-p no:hypothesispytest -p no:pytest-qt -p no:xdist"
    )
    return pytester


@pytest.fixture(scope="session", autouse=True)
def _levels_of_traces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep caches of traces out of the user's folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CACHE_VARIABLE, str(tmp_path_factory.getbasetemp() / "cache"))
        yield


@pytest.fixture(scope="session", autouse=True)
def _disk_is_not_waited_for() -> Iterator[None]:
    """Let no test wait until its files have reached the disk: a session asks for that
    at each step. tests/rig/store/test_power_cut.py looks at when it does.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture
def run_virtual(tmp_path: Path) -> Callable[..., SessionResult]:
    """Run the virtual bench with the null task and some overrides; sessions lie in
    tmp_path."""

    def run(*overrides: str, trials: int = 1) -> SessionResult:
        with open_bench(
            VIRTUAL_NULL,
            ["task.null.samples=6", "scenario.single_stream.idle_s=0.1", *overrides],
        ) as bench:
            return bench.run(trials, tmp_path)

    return run


@pytest.fixture(scope="session")
def drifting_session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demonstration: five trials, the fourth drifts. Tests must not change it."""
    [folder] = recorded(tmp_path_factory, "demonstration", demonstration.make).iterdir()
    return folder


@pytest.fixture
def read_networks_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read NIR files that the test itself has written in this process. The rig starts a
    process for each, as a damaged file may crash HDF5; the start takes nearly all the
    time of reading one. tests/rig/network/test_nir_file.py reads them as the rig does,
    and so are other files read here.
    """
    from rig.network import hdf5_tree, nir_file

    ask = nir_file._ask

    def answer(path: Path, limit_s: float) -> bytes:
        try:
            return hdf5_tree.answer(str(path), nir_file.ARRAYS_B)
        except Exception:
            return ask(path, limit_s)

    monkeypatch.setattr(nir_file, "_ask", answer)
