# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin: a bench and a finished session as fixtures.

    def test_energy(rig_session):
        assert rig_session.metrics["energy_infer"].value < 2e-3

`--rig-bench FILE` names the bench (default: the built-in virtual one); `--rig-set a.b=v` overrides
a key.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from rig.errors import RigError
from rig.results import labels
from rig.session.planning import open_plan
from rig.session.session import Bench, SessionResult, open_bench

VIRTUAL = Path(__file__).with_name("demo.toml")
_SESSIONS = pytest.StashKey[list[SessionResult]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("rig", "measurement rig")
    group.addoption(
        "--rig-bench",
        type=Path,
        default=VIRTUAL,
        metavar="FILE",
        help="bench file (default: the built-in virtual bench)",
    )
    group.addoption(
        "--rig-set",
        action="append",
        default=[],
        metavar="A.B=V",
        help="override a key of the bench file",
    )
    group.addoption(
        "--rig-sessions",
        type=Path,
        default=None,
        metavar="DIR",
        help="keep the session here (default: pytest's own folder)",
    )


def pytest_report_header(config: pytest.Config) -> str:
    """Say which bench the tests run on, and, where it is named, what must stand beside its
    numbers.
    """
    bench = config.getoption("--rig-bench")
    # The built-in one is not opened here: every run of pytest prints this line, most of them for
    # tests of other things.
    return f"rig bench: {bench}" + (
        "" if bench == VIRTUAL else _marked(bench, config.getoption("--rig-set"))
    )


def _marked(bench: Path, overrides: list[str]) -> str:
    try:
        _, task, _ = open_plan(bench, overrides)
    except RigError:
        return ""  # the fixtures say what is wrong
    found = labels.of_task({"samples": len(task)} | task.provenance())
    return f" ({labels.texts(found)})" if found else ""


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say of each session that tests used where it is, its verdict, and what must stand beside its
    numbers.
    """
    for result in config.stash.get(_SESSIONS, []):
        verdict = f"verdict {str(result.ok).lower()}"
        found = labels.texts(labels.of_results(result.content))
        terminalreporter.write_line(
            f"rig session: {result.folder}: {verdict}{f' ({found})' if found else ''}"
        )


@pytest.fixture(scope="session")
def rig_bench(pytestconfig: pytest.Config) -> Iterator[Bench]:
    """Open the bench once; its supply is off when the tests are over."""
    with ExitStack() as stack:
        try:
            bench = stack.enter_context(
                open_bench(
                    pytestconfig.getoption("--rig-bench"), pytestconfig.getoption("--rig-set")
                )
            )
        except RigError as error:
            # A bench that does not open fails every test alike: one message instead of a traceback
            # for each.
            pytest.exit(str(error), returncode=error.exit_code)
        yield bench


@pytest.fixture(scope="session")
def rig_session(
    rig_bench: Bench, pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> SessionResult:
    """Run the bench once, all trials."""
    root = pytestconfig.getoption("--rig-sessions") or tmp_path_factory.mktemp("rig-sessions")
    result = rig_bench.run(root=root)
    pytestconfig.stash.setdefault(_SESSIONS, []).append(result)
    return result
