# SPDX-License-Identifier: Apache-2.0
"""A file of a session folder that is none: every command ends soon and says so, reads
no file of another folder, and shows the sessions beside it.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import FrameType

import pytest
from click.testing import CliRunner

import rig as api
from lab.faults import forgeries
from rig.api.archive import listing
from rig.api.archive.listing import Listing
from rig.api.archive.tags import FILE as TAGS
from rig.cli.main import rig as command
from rig.errors import RigError
from rig.results.claim import read as read_claim
from rig.session.session import open_bench
from tests.conftest import VIRTUAL_NULL
from tests.length import length

pytestmark = pytest.mark.posix

LIMIT_S = 5.0
SECRET = "line of a file that lies elsewhere"
SPARSE_B = 1 << 39

NAMES = (
    *("bench.toml", "provenance.json", "events.jsonl", "results.json", "report.html"),
    *("catalogue.csv", "events.jsonl.sig", "trial-1/trace.jls", "trial-1/uart.log"),
    *(
        "trial-1/completions.jsonl",
        "trial-1/samples.jsonl",
        "trial-1/gaps.jsonl",
        "trains.npz",
    ),
    *("trial-1/trace.anno.jls", "trial-1/network.nir"),
)


def sparse(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(SPARSE_B)


def elsewhere(path: Path) -> None:
    secret = path.parent / "somewhere-else"
    position = Path(os.environ["ELSEWHERE"])
    assert position.is_file() and not secret.exists()
    path.symlink_to(position)


KINDS: dict[str, Callable[[Path], None]] = {
    "a pipe": os.mkfifo,
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to a file elsewhere": elsewhere,
    "a folder": lambda path: path.mkdir(),
    "a huge file": sparse,
}
#: Each name with each kind; fewer where time is short, yet every name and every kind.
#: A folder of another name is none of a session's, which the check says.
BY_NAME = [pair for pair in product(NAMES, KINDS) if pair != (NAMES[-1], "a folder")]
COMMANDS = (
    ("check",),
    ("report",),
    ("coverage",),
    ("resume",),
    ("qubo", "rescore"),
    ("bundle", "--list"),
    ("compare", "GOOD"),
    ("compare", "GOOD", "GOOD"),
)


class Late(BaseException):
    """It took too long; code that handles any error of a file does not handle this."""


@contextmanager
def soon(limit_s: float = LIMIT_S) -> Iterator[None]:
    """Fail what does not end within the limit; a read that blocks is interrupted."""

    def late(number: int, frame: FrameType | None) -> None:
        raise Late(f"not done after {limit_s} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("good")
    # The imports of a command are no part of its time.
    for words in (
        *COMMANDS,
        ("sessions", "--sessions"),
        ("list", "--sessions"),
        ("measure",),
    ):
        CliRunner().invoke(
            command, [*(word for word in words if word != "GOOD"), str(root)]
        )
    return forgeries.session("single_stream", root, report=True)


@pytest.fixture(autouse=True)
def secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "elsewhere.txt"
    path.write_text(SECRET)
    monkeypatch.setenv("ELSEWHERE", str(path))
    return path


def hostile(good: Path, root: Path, name: str, kind: str) -> Path:
    """Return a copy of a session with a file replaced by another kind."""
    folder = shutil.copytree(good, root / "hostile")
    (folder / name).unlink(missing_ok=True)
    KINDS[kind](folder / name)
    return folder


@dataclass(frozen=True)
class Ended:
    """The exit of a command, and its output."""

    ok: bool
    said: str


def invoked(*words: str | Path, limit_s: float = LIMIT_S) -> Ended:
    with soon(limit_s):
        done = CliRunner().invoke(
            command, [str(word) for word in words], standalone_mode=False
        )
    assert done.exception is None or isinstance(done.exception, RigError), done
    text = f"{done.output}{done.exception}"
    assert SECRET not in text
    return Ended(done.exception is None and not done.return_value, text)


@pytest.mark.parametrize(("name", "kind"), BY_NAME[:: length(1, 6)])
def test_a_file_that_is_none_is_named_by_every_command(
    good: Path, tmp_path: Path, name: str, kind: str
) -> None:
    folder = hostile(good, tmp_path, name, kind)
    for words in COMMANDS:
        places = [good if word == "GOOD" else word for word in words]
        done = invoked(*places, folder)
        assert not done.ok and name in done.said, (words, done.said)
    with (
        soon(),
        pytest.raises(RigError, match=name.rpartition("/")[2].replace(".", r"\.")),
    ):
        api.open_session(folder)


@pytest.mark.parametrize(("name", "kind"), BY_NAME[:: length(1, 6)])
def test_the_sessions_beside_it_are_listed(
    good: Path, tmp_path: Path, name: str, kind: str
) -> None:
    root = tmp_path / "sessions"
    shutil.copytree(good, root / "good")
    hostile(good, root, name, kind)
    done = invoked("sessions", "--sessions", root)
    assert done.ok and "2 sessions" in done.said
    with soon():
        rows = {row.name: row for row in Listing(root).rows()}
        assert rows["good"].status == "success"
        assert rows["hostile"].status == listing.UNREADABLE
        assert name in rows["hostile"].reason
        assert "good" in [each.path.name for each in api.sessions(root)]
    listed = invoked("list", "--sessions", root)
    assert listed.ok and re.search(r"^  good +NOT TESTED", listed.said, re.MULTILINE)


@pytest.mark.parametrize("kind", KINDS)
def test_tags_that_are_none_are_reported_and_the_sessions_listed(
    good: Path, tmp_path: Path, kind: str
) -> None:
    root = tmp_path / "sessions"
    shutil.copytree(good, root / "good")
    KINDS[kind](root / TAGS)
    done = invoked("sessions", "--sessions", root)
    assert done.ok and "1 session" in done.said and TAGS in done.said
    tag = ("--tag", "good", "word")
    assert not invoked("sessions", "--sessions", root, *tag).ok


@pytest.mark.parametrize("kind", KINDS)
def test_a_trace_that_is_none_is_not_measured(
    good: Path, tmp_path: Path, kind: str
) -> None:
    folder = hostile(good, tmp_path, "trial-1/trace.jls", kind)
    for position in (folder / "trial-1", folder / "trial-1" / "trace.jls"):
        assert not invoked("measure", position).ok


def test_a_folder_below_a_link_is_not_read(good: Path, tmp_path: Path) -> None:
    """A trial that is a link leads out of the session, for any files."""
    folder = shutil.copytree(good, tmp_path / "session")
    shutil.move(folder / "trial-1", tmp_path / "outside")
    (folder / "trial-1").symlink_to(tmp_path / "outside")
    output = invoked("measure", folder / "trial-1" / "trace.jls").said
    assert "trial-1 is a link, which leads elsewhere" in output


def test_a_link_of_the_users_own_is_followed(good: Path, tmp_path: Path) -> None:
    """A link outside of any session was named by its maker."""
    link = tmp_path / "own.jls"
    link.symlink_to(good / "trial-1" / "trace.jls")
    assert invoked("measure", link, limit_s=60.0).ok
    (tmp_path / "sessions").symlink_to(good.parent)
    assert invoked("check", tmp_path / "sessions" / good.name, limit_s=60.0).ok


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "a huge file"])
def test_a_claim_of_a_foreign_folder_is_none(
    good: Path, tmp_path: Path, kind: str
) -> None:
    folder = hostile(good, tmp_path, "results.json", kind)
    with soon(), pytest.raises(RigError, match=r"results\.json"):
        read_claim(folder / "results.json")


@pytest.mark.parametrize("kind", KINDS)
def test_an_earlier_session_that_is_none_delays_no_run(
    good: Path, tmp_path: Path, kind: str
) -> None:
    root = tmp_path / "sessions"
    hostile(good, root, "bench.toml", kind)
    hostile_too = shutil.copytree(good, root / "other")
    (hostile_too / "trial-1" / "completions.jsonl").unlink()
    KINDS[kind](hostile_too / "trial-1" / "completions.jsonl")
    with soon(60.0), open_bench(VIRTUAL_NULL, ["task.null.samples=2"]) as bench:
        assert bench.run(1, root).folder.is_dir()


def test_what_is_written_into_a_foreign_folder_stays_there(
    good: Path, tmp_path: Path, secret: Path
) -> None:
    """A link by the name of the file that is written first would lead the writer
    out."""
    folder = shutil.copytree(good, tmp_path / "sessions" / "session")
    (folder.parent / f"{TAGS}.partial").symlink_to(secret)
    tag = ("--tag", "session", "x")
    assert invoked("sessions", "--sessions", folder.parent, *tag).ok
    assert secret.read_text() == SECRET
