# SPDX-License-Identifier: Apache-2.0
"""No test sleeps for a fixed time without a reason: on a busy machine it is too short,
on a quiet one too long.
"""

from __future__ import annotations

import _thread
import re
import subprocess
import sys
import threading

import pytest

from tests.conftest import ROOT
from tests.waiting import eventually, own_threads

#: A call of it, also in a program that a test writes; the rest of the line has the
#: reason.
SLEEP = re.compile(r"\btime\.sleep\([^#]*(?P<reason>#.*)?")


def unexplained(text: str) -> list[int]:
    """Return the numbers of the lines that sleep and do not say why."""
    result = enumerate(map(SLEEP.search, text.splitlines()), start=1)
    return [
        number
        for number, sleep in result
        if sleep and len((sleep["reason"] or "").removeprefix("#").split()) < 2
    ]


def test_every_fixed_sleep_says_why_it_is_no_wait_for_something() -> None:
    result = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        lines = unexplained(path.read_text(encoding="utf-8"))
        result += [f"{path.relative_to(ROOT)}:{number}" for number in lines]
    assert not result, (
        "use tests/waiting.py (eventually), or say why in a comment behind it"
    )


@pytest.mark.parametrize(
    "text", ["time.sleep(1)", "    time.sleep(1)  #", "time.sleep(x)  # hm"]
)
def test_a_sleep_without_a_reason_is_found(text: str) -> None:
    assert unexplained(f"first\n{text}\n") == [2]
    assert not unexplained("time.sleep(1)  # nothing may happen meanwhile\n")


def test_what_comes_to_be_so_is_returned_and_what_does_not_fails_in_time() -> None:
    left = [0, 0, "there"]
    assert eventually(lambda: left.pop(0)) == "there"
    with pytest.raises(AssertionError, match=r"not so within 0\.02 s"):
        eventually(lambda: None, limit_s=0.02)


def test_no_wait_lasts_for_a_process_that_has_ended() -> None:
    with (
        subprocess.Popen([sys.executable, "-c", ""]) as process,
        pytest.raises(AssertionError, match="has ended"),
    ):
        eventually(lambda: None, process=process)


def test_a_thread_of_a_library_that_logged_is_none_of_ours() -> None:
    before = threading.enumerate()
    _thread.start_new_thread(threading.current_thread, ())
    # A thread of another test may end meanwhile, so their number says nothing.
    [foreign] = eventually(lambda: set(threading.enumerate()) - set(before))
    try:
        assert foreign not in own_threads()
        assert threading.current_thread() in own_threads()
    finally:
        del threading._active[foreign.ident]  # type: ignore[attr-defined]
