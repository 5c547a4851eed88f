# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin: a bench and a finished session as fixtures.

    def test_energy(rig_session):
        assert rig_session.metrics["energy_infer"].value < 2e-3

`--rig-bench FILE` names the bench (default: the built-in virtual one); `--rig-set a.b=v` overrides a key.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from rig.errors import RigError
from rig.session import Bench, Result, open_bench

VIRTUAL = Path(__file__).with_name("demo.toml")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("rig", "measurement rig")
    group.addoption(
        "--rig-bench", type=Path, default=VIRTUAL, metavar="FILE", help="bench file (default: the built-in virtual bench)"
    )
    group.addoption("--rig-set", action="append", default=[], metavar="A.B=V", help="override a key of the bench file")
    group.addoption(
        "--rig-sessions", type=Path, default=None, metavar="DIR", help="keep the session here (default: pytest's own folder)"
    )


def pytest_report_header(config: pytest.Config) -> str:
    """Say which bench the tests run on."""
    return f"rig bench: {config.getoption('--rig-bench')}"


@pytest.fixture(scope="session")
def rig_bench(pytestconfig: pytest.Config) -> Iterator[Bench]:
    """Open the bench once; its supply is off when the tests are over."""
    with ExitStack() as stack:
        try:
            bench = stack.enter_context(open_bench(pytestconfig.getoption("--rig-bench"), pytestconfig.getoption("--rig-set")))
        except RigError as error:
            # A bench that does not open fails every test alike: one message instead of a traceback for each.
            pytest.exit(str(error), returncode=error.exit_code)
        yield bench


@pytest.fixture(scope="session")
def rig_session(rig_bench: Bench, pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Run the bench once, all trials."""
    root = pytestconfig.getoption("--rig-sessions") or tmp_path_factory.mktemp("rig-sessions")
    return rig_bench.run(root=root)
