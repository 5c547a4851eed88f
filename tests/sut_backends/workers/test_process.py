# SPDX-License-Identifier: Apache-2.0
"""A worker under another Python, isolated, and ended with all that it started."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from rig.errors import BenchError, ConfigError, DeadlineError, DeviceLost
from rig.interfaces.context import BenchContext
from rig.interfaces.cpu_program import Program
from sut_backends.workers.environments import interpreter_at, interpreter_of
from sut_backends.workers.inside.protocol import Done, LoadRequest, Refusal, RunRequest
from sut_backends.workers.process import Place, Worker

HERE = "tests.sut_backends.workers.sdk_by_hand"
RUN = RunRequest([0], repeat=1, batch=False)


def program(name: str, **arguments: object) -> Program:
    """Return one of the programs by hand."""
    return Program(f"{HERE}:{name}", "null", "null", arguments)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return an interpreter without site-packages."""
    script = tmp_path_factory.mktemp("bare") / "python"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    script.chmod(0o755)
    return str(script)


def others() -> list[str]:
    """Return Pythons of other versions, from 3.10 on, where this computer has some."""
    result = []
    for minor in (10, 12, 13):
        for folder in (*Path.home().glob(f".pyenv/versions/3.{minor}.*/bin"), None):
            name = f"python3.{minor}"
            path = shutil.which(name, path=str(folder) if folder else None)
            if path and minor != sys.version_info[1] and _starts(path):
                result.append(path)
                break
    return result


def _starts(path: str) -> bool:
    return (
        subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode
        == 0
    )


def gone(pid: int, within_s: float = 10.0) -> bool:
    """Return whether a process ends within a time."""
    try:
        held = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([held], [], [], within_s)[0])
    finally:
        os.close(held)


def answered(worker: Worker) -> bytes:
    """Return the answer to a query."""
    worker.ask(LoadRequest(0), b"0123456789", 5.0)
    reported, output = worker.ask(RUN, b"", 5.0)
    assert isinstance(reported, Done)
    assert [phase for phase, _ in reported.marks] == [1, 0]
    return output


def test_it_runs_without_site_packages(bare: str) -> None:
    with closing(Worker(program("echo"), Place(bare))) as worker:
        about = worker.about.details
        assert (about["site"], about["numpy"]) == (False, False)
        assert answered(worker) == b"01234567"


@pytest.mark.parametrize("name", ["json", "types", "dataclasses"])
def test_a_file_of_the_current_folder_is_no_module_of_the_worker(
    bare: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"{name}.py").write_text(f"raise SystemExit('the wrong {name}')")
    monkeypatch.chdir(tmp_path)
    with closing(Worker(program("echo"), Place(bare))) as worker:
        assert answered(worker)


def test_it_runs_under_another_version_of_python() -> None:
    if not (pythons := others()):
        pytest.skip("no other Python from 3.10 on")
    for python in pythons:
        with closing(Worker(program("echo"), Place(python, isolated=True))) as worker:
            assert worker.about.details["version"] != list(sys.version_info[:2])
            assert answered(worker) == b"01234567"


def test_what_an_sdk_prints_writes_and_starts_stays_in_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    worker = Worker(program("noisy"), Place(isolated=True))
    with closing(worker):
        about = worker.about.details
        assert about["pip"] != 0
        assert "home/.sdkrc" in worker.wrote
        assert answered(worker) == b"01234567"
        assert not gone(about["left"], 0.0)
    assert gone(about["left"])
    assert gone(worker.pid)
    assert not list(tmp_path.iterdir())


def test_one_that_hangs_is_ended_by_its_deadline_with_its_children(
    tmp_path: Path,
) -> None:
    note = tmp_path / "pid"
    with pytest.raises(DeadlineError, match="start of the program"):
        Worker(program("hanging", note=str(note)), Place(isolated=True, start_s=2.0))
    assert gone(int(note.read_text()))


def test_nothing_is_left_where_the_rig_is_killed(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    code = (
        "from tests.sut_backends.workers.test_process import program, Place, Worker;"
        " import time; "
        "worker = Worker(program('noisy'), Place(isolated=True)); "
        "print(worker.pid, worker.about.details['left'], flush=True); "
        "time.sleep(600)"  # longer than anybody waits
    )
    rig = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    )
    assert rig.stdout is not None
    pids = [int(pid) for pid in rig.stdout.readline().split()]
    assert len(pids) == 2
    rig.send_signal(signal.SIGKILL)
    rig.wait()
    rig.stdout.close()
    assert [pid for pid in pids if not gone(pid)] == []
    assert not note.exists()


def test_a_missing_sdk_is_named_with_its_interpreter(bare: str) -> None:
    with pytest.raises(BenchError) as caught:
        Worker(program("missing"), Place(bare, isolated=True))
    assert "no_such_sdk" in caught.value.evidence
    assert bare in caught.value.try_next


def test_an_interpreter_that_is_none_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))  # where no SDK is installed
    context = BenchContext(folder=tmp_path)
    plain = tmp_path / "plain.txt"
    plain.write_text("no program")
    for setting in ("nowhere/python", "no-such-python", "plain.txt"):
        with pytest.raises(ConfigError, match="there is no interpreter"):
            interpreter_at(setting, context)
    with pytest.raises(ConfigError, match=r"the SDK of \[sut.xylo\] is not installed"):
        interpreter_of("xylo", "", context)


def test_one_that_dies_is_named_also_where_its_children_hold_the_pipe(
    bare: str,
) -> None:
    with closing(Worker(program("forked"), Place(bare, isolated=True))) as worker:
        assert answered(worker) == b"01234567"
        os.kill(worker.pid, signal.SIGKILL)
        with pytest.raises(
            DeviceLost, match="process of the program is gone"
        ) as caught:
            worker.ask(RUN, b"", 5.0)
        assert "killed by signal 9" in caught.value.evidence
    assert gone(worker.about.details["left"])


@pytest.mark.parametrize("ending", ["kill", "garbage"])
def test_one_that_dies_or_talks_nonsense_is_named(ending: str, bare: str) -> None:
    deed: Callable[[int], None] = lambda pid: os.kill(pid, signal.SIGKILL)  # noqa: E731
    with closing(Worker(program("echo"), Place(bare, isolated=True))) as worker:
        worker.ask(LoadRequest(0), b"0", 5.0)
        if ending == "kill":
            deed(worker.pid)
            with pytest.raises(BenchError, match="process of the program is gone"):
                worker.ask(RUN, b"", 5.0)
        else:
            reported, _ = worker.ask(replace(RUN, slots=[7]), b"", 5.0)
            assert isinstance(reported, Refusal)
            assert "KeyError" in reported.error
