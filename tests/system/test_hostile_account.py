# SPDX-License-Identifier: Apache-2.0
"""Accounts as clusters, containers and services have them: every one measures, checks,
reports and lists, or prints the reason why it cannot.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests import unprivileged
from tests.accounts import Account, Commands
from tests.conftest import VIRTUAL_NULL

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX accounts")

_NO_USER = """
import pwd
def getpwuid(number):
    raise KeyError(number)
pwd.getpwuid = getpwuid
"""
_HOMES = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
#: One trial is too few for a verdict.
_NOT_TESTED = 4

NO_HOME = Account(
    "no home",
    environment={"TMPDIR": "/does/not/exist"},
    unset=_HOMES,
    prelude=_NO_USER,
)
ASCII = Account(
    "ASCII locale",
    environment={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
)
#: What touches different things goes together: each account takes seconds.
ACCOUNTS = [
    NO_HOME,
    Account("limit of memory", shell='ulimit -v 6000000; exec "$@"'),
    ASCII,
    Account("closed umask and shadowed modules", umask=0o077, shadowed=True),
    Account(
        "closed stdin and stdout",
        shell='exec "$@" <&- >&-',
        umask=0o002,
        read=(2,),
    ),
    Account("full stdout", shell='exec "$@" >/dev/full', read=(2,)),
]
ORDINARY = Account("ordinary", tool=unprivileged.TOOL)


@pytest.fixture(scope="module")
def commands() -> Iterator[Callable[[Account], Commands]]:
    """Return the commands of an account, whose process the tests share."""
    begun: dict[str, Commands] = {}
    with ExitStack() as stack:

        def of(account: Account) -> Commands:
            if account.name not in begun or begun[account.name].is_over:
                ready = stack.enter_context(closing(Commands(account)))
                begun[account.name] = ready
            return begun[account.name]

        yield of


@pytest.fixture
def ordinary(commands: Callable[[Account], Commands]) -> Commands:
    return commands(ORDINARY)


def session_of(account: Commands, folder: Path) -> Path:
    """Record a short session in a folder's folder `sessions`."""
    sessions = folder / "sessions"
    done = account.rig(
        folder,
        *("run", VIRTUAL_NULL, "--sessions", sessions, "--trials", "1"),
        *("--set", "task.null.samples=2"),
    )
    assert done.returncode == _NOT_TESTED, done.stdout + done.stderr
    (session,) = sessions.iterdir()
    return session


@pytest.mark.parametrize("account", ACCOUNTS, ids=lambda account: account.name)
def test_every_account_measures_checks_reports_and_lists(
    commands: Callable[[Account], Commands], tmp_path: Path, account: Account
) -> None:
    if account.shadowed:
        for name in ("json", "serial", "numpy", "rig", "select", "rich", "pyjls"):
            (tmp_path / f"{name}.py").write_text("raise SystemExit('shadowed')\n")
    session = session_of(commands(account), tmp_path)
    files = [path for path in session.rglob("*") if path.is_file()]
    assert {"trace.jls", "report.html"} <= {path.name for path in files}
    modes = {path.stat().st_mode & 0o777 for path in files}
    assert modes == {0o666 & ~account.umask}
    # A list or a check that a full disk cut off is no list and no check.
    expected = 3 if account.name == "full stdout" else 0
    for words in (
        ("check", session),
        ("report", session),
        ("sessions", "--sessions", session.parent),
    ):
        done = commands(account).rig(tmp_path, *words)
        assert done.returncode == expected, (words, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        assert "fault of the rig" not in done.stderr


@pytest.fixture(scope="module")
def of_a_stranger(
    commands: Callable[[Account], Commands], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A folder with two sessions of another account, which all may read."""
    folder = tmp_path_factory.mktemp("stranger")
    for name in ("20260101T000000Z-one", "20260101T000001Z-two"):
        session = session_of(commands(ORDINARY), folder)
        session.rename(folder / name)
    (folder / "sessions").rmdir()
    for session in folder.iterdir():
        unprivileged.given_away(session)
    return folder


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """Return the sentence with which a command ends; it is no fault of the rig."""
    assert "Traceback" not in done.stderr and "fault of the rig" not in done.stderr
    assert done.returncode in (2, 3), (done.returncode, done.stdout, done.stderr)
    assert "Permission denied" in done.stderr or "is not readable" in done.stderr
    return done.stderr


@unprivileged.needed
def test_a_session_of_another_account_is_shown_and_not_written(
    of_a_stranger: Path, ordinary: Commands, tmp_path: Path
) -> None:
    item, two = sorted(of_a_stranger.iterdir())
    assert (item / "trial-1" / "trace.jls").stat().st_mode & 0o777 == 0o444
    for words in (
        ("check", item),
        ("sessions", "--sessions", of_a_stranger),
        ("list", "--sessions", of_a_stranger),
        ("compare", item, two),
        ("measure", item / "trial-1"),
        ("bundle", item, "--out", tmp_path / "bundle.zip"),
    ):
        done = ordinary.rig(tmp_path, *words)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
    output = refused(ordinary.rig(tmp_path, "report", item))
    assert "a copy of the session" in output and item.name in output


@unprivileged.needed
@pytest.mark.parametrize(
    "hidden", [".", "events.jsonl", "results.json", "trial-1", "trial-1/trace.jls"]
)
def test_a_file_that_may_not_be_read_is_named_in_a_sentence(
    of_a_stranger: Path, ordinary: Commands, tmp_path: Path, hidden: str
) -> None:
    item, two = sorted(of_a_stranger.iterdir())
    path = item / hidden
    mode = path.stat().st_mode
    path.chmod(0)
    try:
        for words in (
            ("check", item),
            ("report", item),
            ("measure", item / "trial-1/trace.jls"),
        ):
            assert str(item) in refused(ordinary.rig(tmp_path, *words)).replace(
                "\n", ""
            )
        if not hidden.endswith(".jls"):
            refused(ordinary.rig(tmp_path, "compare", item, two))
            shown = ordinary.rig(tmp_path, "sessions", "--sessions", of_a_stranger)
            assert shown.returncode == 0 and "1 unreadable" in shown.stdout
            listed = ordinary.rig(tmp_path, "list", "--sessions", of_a_stranger)
            (line,) = [line for line in listed.stdout.splitlines() if item.name in line]
            assert "unreadable" in line
    finally:
        path.chmod(mode)


@unprivileged.needed
@pytest.mark.parametrize("command", ["view", "gui"])
@pytest.mark.parametrize("path", ["closed", "closed/one", "closed/one/trace.jls"])
def test_a_folder_that_another_account_closed_opens_no_window(
    ordinary: Commands, tmp_path: Path, command: str, path: str
) -> None:
    session = tmp_path / "closed" / "one"
    session.mkdir(parents=True)
    (session / "trace.jls").write_bytes(b"")
    unprivileged.given_away(tmp_path / "closed")
    (tmp_path / "closed").chmod(0)
    try:
        done = ordinary.rig(tmp_path, command, tmp_path / path)
    finally:
        (tmp_path / "closed").chmod(0o755)
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr and "fault of the rig" not in done.stderr
    output = done.stderr.replace("\n", "")
    assert str(tmp_path / path) in output
    assert "not be read" in output or "is not readable" in output


def test_a_path_that_no_trace_can_have_is_refused_before_anything_is_made(
    commands: Callable[[Account], Commands], tmp_path: Path
) -> None:
    words = ("run", VIRTUAL_NULL, "--sessions", tmp_path / "é")
    done = commands(ASCII).rig(tmp_path, *words)
    assert done.returncode == 2, done.stderr
    assert "PYTHONUTF8=1" in done.stderr
    assert not (tmp_path / "é").exists()


def test_generated_data_without_a_home_names_the_variable(
    commands: Callable[[Account], Commands], tmp_path: Path
) -> None:
    bench = VIRTUAL_NULL.with_name("virtual-asc.toml")
    done = commands(NO_HOME).rig(tmp_path, "plan", bench)
    assert done.returncode == 2
    assert "XDG_CACHE_HOME" in done.stderr
    assert "fault of the rig" not in done.stderr


@unprivileged.needed
def test_a_session_that_may_not_be_written_is_checked_and_its_report_says_what_helps(
    ordinary: Commands, tmp_path: Path
) -> None:
    session = session_of(ordinary, tmp_path)
    sessions = session.parent
    session.chmod(0o555)
    sessions.chmod(0o555)
    try:
        assert ordinary.rig(tmp_path, "check", session).returncode == 0
        assert (
            ordinary.rig(tmp_path, "sessions", "--sessions", sessions).returncode == 0
        )
        done = ordinary.rig(tmp_path, "report", session)
        assert done.returncode == 3, done.stderr
        assert "a copy of the session" in done.stderr
        assert "--sessions" not in done.stderr
        done = ordinary.rig(tmp_path, "run", VIRTUAL_NULL, "--sessions", sessions)
        assert done.returncode == 3, done.stderr
        assert "--sessions" in done.stderr
    finally:
        session.chmod(0o755)
        sessions.chmod(0o755)
