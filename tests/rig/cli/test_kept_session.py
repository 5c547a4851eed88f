# SPDX-License-Identifier: Apache-2.0
"""After Ctrl-C or an error the output names the kept folder, and what continues it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rig.cli.kept_session import KeptSession
from rig.cli.printed.terminal import print_stopped
from rig.errors import BenchError
from rig.store.events import SessionFinished, SessionResumed, SessionStarted
from tests.screens import compare, screen
from tests.uncounted import uncounted

FIRST = Path("sessions/first")
SECOND = Path("sessions/second")


def noted(kept: KeptSession, *notes: str) -> list[str]:
    """Return the notes of a Ctrl-C that a command with this session gets, after
    others."""
    with pytest.raises(KeyboardInterrupt) as caught, kept:
        error = KeyboardInterrupt()
        for note in notes:
            error.add_note(note)
        raise error
    return list(caught.value.__notes__)


def started(folder: Path) -> SessionStarted:
    return SessionStarted(folder, 5, 40, {})


def test_before_a_session_was_begun_there_is_none() -> None:
    assert noted(KeptSession()) == ["the supply is off", "no session was begun"]


def test_one_that_was_begun_can_be_resumed_and_a_finished_one_reported() -> None:
    kept = KeptSession()
    kept(started(FIRST))
    kept(SessionFinished("success"))
    kept(started(SECOND))
    kept(SessionFinished("abort", "stopped by the user"))
    result = screen(lambda out: print_stopped(out, noted(kept)), 80)
    compare(Path(__file__).parent / "screens" / "stopped.txt", result)


def test_one_that_is_resumed_is_kept_before_it_goes_on_and_after() -> None:
    kept = KeptSession(FIRST)
    expected = ["the supply is off", f"{FIRST} is kept", f"try: rig resume {FIRST}"]
    assert noted(kept) == expected
    kept(SessionResumed(FIRST, 5, 40, 1, 0))
    assert noted(kept) == expected


def test_a_supply_that_may_be_on_is_not_reported_as_off() -> None:
    notes = noted(KeptSession(), "the supply may still be on: no answer")
    assert notes == ["the supply may still be on: no answer", "no session was begun"]


def test_after_an_error_of_the_rig_its_session_can_be_resumed() -> None:
    kept = KeptSession()
    kept(started(FIRST))
    kept(SessionFinished("success"))
    kept(started(SECOND))
    with pytest.raises(BenchError) as caught, kept:
        raise BenchError("the port is gone")
    expected = [f"rig resume {SECOND} keeps its finished trials"]
    assert caught.value.__notes__ == expected


def test_an_error_before_or_after_the_session_has_no_note() -> None:
    finished = KeptSession()
    finished(started(FIRST))
    finished(SessionFinished("success"))
    for kept in (KeptSession(), KeptSession(FIRST), finished):
        with pytest.raises(BenchError) as caught, kept:
            raise BenchError("the disk is full")
        assert not hasattr(caught.value, "__notes__")


def test_other_errors_are_left_as_they_are() -> None:
    with pytest.raises(ValueError, match=r"^other$") as caught, KeptSession():
        raise ValueError("other")
    assert not hasattr(caught.value, "__notes__")


@pytest.mark.parametrize(
    "blocked", ["click", "rig.cli.main", "rig.cli.run", "rig.session.session"]
)
def test_while_modules_are_imported_it_ends_without_a_traceback(
    tmp_path: Path, blocked: str
) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        pytest.skip("what this process ignores, its children ignore")
    code = f"""
import sys, time

class Blocks:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == {blocked!r}:
            print("in", flush=True)
            try:
                while True:  # Python 3.14 hears no signal between print and sleep
                    time.sleep(0.01)  # until the signal
            except BaseException:
                pass  # as a library may drop it

from rig.__main__ import main
sys.meta_path.insert(0, Blocks)
sys.argv = ["rig", "run", "nosuch.toml"]
main()
"""
    with subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=uncounted(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "in\n"
        process.send_signal(signal.SIGINT)
        _, output = process.communicate(timeout=60)
    assert process.returncode == 130
    assert output == "stopped; nothing was opened, and nothing was written\n"
