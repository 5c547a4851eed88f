# SPDX-License-Identifier: Apache-2.0
"""Trials of a long session, recomputed in processes beside the check's own."""

from __future__ import annotations

import re
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import pytest

from lab.faults import forgeries
from lab.faults.forger import rehash
from rig.check import trial_processes
from rig.check.check import Check
from rig.errors import BenchError, Stopped
from rig.host.stop import Stop
from rig.trace import limited_child
from tests import checking
from tests.commands import started_program
from tests.conftest import ROOT
from tests.waiting import eventually

TRIALS = 3
#: A program in the place of a process for trials, which tells its number and goes on
#: until it is killed.
HANGING = '#!/bin/sh\necho $$ >> "{told}"\nexec sleep 600\n'


@pytest.fixture(scope="module")
def session() -> Iterator[Path]:
    with TemporaryDirectory() as root:
        yield forgeries.session("single_stream", Path(root), False, TRIALS)


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Count the processes that are begun for trials; a short session has some."""
    calls: list[object] = []
    run = limited_child.run

    def counted(arguments: object, asked: bytes, limit_s: float) -> object:
        calls.append(arguments)
        return run(["-m", trial_processes.__name__], asked, limit_s)

    monkeypatch.setattr(trial_processes, "_PAYS_FROM_B", 1)
    monkeypatch.setattr(trial_processes.limited_child, "run", counted)
    return calls


def checked(session: Path, processes: int, monkeypatch: pytest.MonkeyPatch) -> Check:
    with monkeypatch.context() as patched:
        patched.setattr("os.cpu_count", lambda: processes)
        return checking.check(session)


def test_any_number_of_processes_finds_the_same(
    session: Path, begun: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = checked(session, 1, monkeypatch)
    assert alone.ok and not begun
    assert checked(session, 2, monkeypatch) == alone
    assert len(begun) == 1
    assert checked(session, 3, monkeypatch) == alone
    assert len(begun) == 3


def test_what_is_wrong_is_found_in_its_order(
    session: Path,
    begun: list[object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One trial differs, another cannot be recomputed at all."""
    folder = Path(shutil.copytree(session, tmp_path / session.name))
    (folder / "trial-2/samples.jsonl").write_text("{}\n")
    (folder / "trial-3/completions.jsonl").write_text("{}\n")
    rehash(folder)
    alone = checked(folder, 1, monkeypatch)
    wrong = [finding.name for finding in alone.findings if not finding.ok]
    assert {"trial-2/samples.jsonl", "trial-3/completions.jsonl"} <= set(wrong)
    assert checked(folder, 3, monkeypatch) == alone
    assert len(begun) == 2


def test_a_short_session_has_no_process(
    session: Path, begun: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(limited_child, "run", lambda *_: begun.append(_))
    assert checked(session, 3, monkeypatch).ok
    assert not begun


@pytest.mark.posix
def test_a_killed_process_is_an_error(
    session: Path, begun: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = program(tmp_path, "#!/bin/sh\nkill -9 $$\n")
    monkeypatch.setattr(sys, "executable", str(killed))
    with pytest.raises(BenchError, match="recomputes trial 3 ended early") as caught:
        checked(session, 2, monkeypatch)
    assert caught.value.evidence == "exit code -9"


@pytest.mark.posix
def test_a_stop_ends_all_processes(
    session: Path, begun: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "told"
    hanging = program(tmp_path, HANGING.format(told=told))
    monkeypatch.setattr(sys, "executable", str(hanging))
    stop = Stop()

    def request() -> None:
        eventually(lambda: len(numbers(told)) == 2)
        stop.request()

    requests = Thread(target=request)
    requests.start()
    with pytest.raises(Stopped), stop.heard():
        checked(session, 3, monkeypatch)
    requests.join()
    assert not alive(told)


@pytest.mark.posix
def test_ctrl_c_leaves_no_process(session: Path, tmp_path: Path) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        pytest.skip("what this process ignores, as under nohup, its children ignore")
    told = tmp_path / "told"
    hanging = program(tmp_path, HANGING.format(told=told))
    text = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from rig.check import trial_processes
from rig.cli.main import main
from tests import checking

checking.command.check.__defaults__ = (checking.fingerprints, False, None)
trial_processes._PAYS_FROM_B = 1
os.cpu_count = lambda: 3
sys.executable = {str(hanging)!r}
sys.argv = ["rig", "check", {str(session)!r}]
main()
"""
    process = started_program(text, tmp_path)
    eventually(lambda: len(numbers(told)) == 2, process=process)
    began_s = time.monotonic()
    process.signal(signal.SIGINT)
    done = process.ended(60.0)
    assert done.returncode == 130, done.stdout + done.stderr
    assert re.search(r"^stopped", done.stderr, re.MULTILINE), done.stderr
    assert time.monotonic() - began_s < 10.0
    assert not alive(told)


def program(folder: Path, text: str) -> Path:
    path = folder / "program"
    path.write_text(text)
    path.chmod(0o755)
    return path


def numbers(told: Path) -> list[int]:
    return [int(line) for line in told.read_text().split()] if told.exists() else []


def alive(told: Path) -> list[int]:
    """Return which of the processes still run."""
    return [pid for pid in numbers(told) if Path(f"/proc/{pid}").exists()]
