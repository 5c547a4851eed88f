# SPDX-License-Identifier: Apache-2.0
"""Accounts as clusters, containers and services have them: every one measures, checks, reports and
lists, or is told why it cannot.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.conftest import VIRTUAL_NULL

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX accounts")

RIG = str(Path(sys.executable).with_name("rig"))
_NO_USER = """
import pwd, sys
def getpwuid(number):
    raise KeyError(number)
pwd.getpwuid = getpwuid
from rig.cli.main import main
sys.exit(main())
"""
_HOMES = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
#: One trial is too few for a verdict.
_NOT_TESTED = 4
_LIMIT_S = 240


@dataclass(frozen=True)
class Account:
    """How a command is started: `shell` is the line that starts "$@"."""

    name: str
    shell: str = 'exec "$@"'
    environment: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    command: tuple[str, ...] = (RIG,)
    shadowed: bool = False
    shows: bool = True

    def rig(self, folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
        kept = {name: text for name, text in os.environ.items() if name not in self.unset}
        return subprocess.run(
            ["sh", "-c", self.shell, "sh", *self.command, *map(str, words)],
            cwd=folder,
            env=kept | self.environment,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_LIMIT_S,
        )


#: What touches different things goes together: each command takes seconds.
ACCOUNTS = [
    Account(
        "no home",
        environment={"TMPDIR": "/does/not/exist"},
        unset=_HOMES,
        command=(sys.executable, "-c", _NO_USER),
    ),
    Account("limit of memory", shell='ulimit -v 6000000; exec "$@"'),
    Account(
        "ASCII locale",
        environment={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ),
    Account("closed umask and shadowed modules", shell='umask 077; exec "$@"', shadowed=True),
    Account("closed stdin and stdout", shell='exec "$@" <&- >&-'),
    Account("full stdout", shell='exec "$@" >/dev/full', shows=False),
]


@pytest.mark.parametrize("account", ACCOUNTS, ids=lambda account: account.name)
def test_every_account_measures_checks_reports_and_lists(tmp_path: Path, account: Account) -> None:
    if account.shadowed:
        for name in ("json", "serial", "numpy", "rig", "select", "rich", "pyjls"):
            (tmp_path / f"{name}.py").write_text("raise SystemExit('shadowed')\n")
    sessions = tmp_path / "sessions"
    done = account.rig(
        tmp_path,
        *("run", VIRTUAL_NULL, "--sessions", sessions, "--trials", "1"),
        *("--set", "task.null.samples=2"),
    )
    assert done.returncode == _NOT_TESTED, done.stdout + done.stderr
    (session,) = sessions.iterdir()
    assert (session / "report.html").exists()
    # What a full disk takes of a list or a check is no list and no check.
    expected = 0 if account.shows else 3
    for words in (("check", session), ("report", session), ("sessions", "--sessions", sessions)):
        done = account.rig(tmp_path, *words)
        assert done.returncode == expected, (words, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        assert "fault of the rig" not in done.stderr


def test_a_path_that_no_trace_can_have_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    account = next(each for each in ACCOUNTS if each.name == "ASCII locale")
    done = account.rig(tmp_path, "run", VIRTUAL_NULL, "--sessions", tmp_path / "é")
    assert done.returncode == 2, done.stderr
    assert "PYTHONUTF8=1" in done.stderr
    assert not (tmp_path / "é").exists()


def test_generated_data_without_a_home_names_the_variable(tmp_path: Path) -> None:
    account = next(each for each in ACCOUNTS if each.name == "no home")
    bench = VIRTUAL_NULL.with_name("virtual-asc.toml")
    done = account.rig(tmp_path, "plan", bench)
    assert done.returncode == 2
    assert "XDG_CACHE_HOME" in done.stderr
    assert "fault of the rig" not in done.stderr


@pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root may write everywhere"
)
def test_a_session_that_may_not_be_written_is_checked_and_its_report_says_what_helps(
    tmp_path: Path,
) -> None:
    account = Account("ordinary")
    if os.geteuid() == 0:
        account = Account("no root", shell='exec setpriv --bounding-set -dac_override "$@"')
    sessions = tmp_path / "sessions"
    account.rig(
        tmp_path,
        *("run", VIRTUAL_NULL, "--sessions", sessions, "--trials", "1"),
        *("--set", "task.null.samples=2"),
    )
    (session,) = sessions.iterdir()
    session.chmod(0o555)
    sessions.chmod(0o555)
    try:
        assert account.rig(tmp_path, "check", session).returncode == 0
        assert account.rig(tmp_path, "sessions", "--sessions", sessions).returncode == 0
        done = account.rig(tmp_path, "report", session)
        assert done.returncode == 3, done.stderr
        assert "a copy of the session" in done.stderr
        assert "--sessions" not in done.stderr
        done = account.rig(tmp_path, "run", VIRTUAL_NULL, "--sessions", sessions)
        assert done.returncode == 3, done.stderr
        assert "--sessions" in done.stderr
    finally:
        session.chmod(0o755)
        sessions.chmod(0o755)
