# SPDX-License-Identifier: Apache-2.0
"""Processes that simulate a device: how their end is reported."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from sut_backends.processes.child_process import ChildProcess
from tests.waiting import eventually

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="no signals to a process"
)


def process(code: str) -> ChildProcess:
    return ChildProcess(
        [sys.executable, "-c", code], (), what="the emulator", try_next=""
    )


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_process_that_was_ended_from_outside_was_no_wrong_program(
    number: signal.Signals,
) -> None:
    child = process("import signal; signal.pause()")
    try:
        os.kill(child.pid, number)
        lost = eventually(child.gone)
    finally:
        child.close()
    assert lost is not None
    assert f"killed by signal {number.value}" in lost.evidence
    assert lost.try_next.startswith("run it again") and "memory" in lost.try_next


@pytest.mark.parametrize("code", ["raise SystemExit(3)", "import os; os.abort()"])
def test_a_process_that_ended_by_itself_may_be_a_program_for_another_board(
    code: str,
) -> None:
    child = process(code)
    try:
        lost = eventually(child.gone)
    finally:
        child.close()
    assert lost is not None
    assert "a program built for this board" in lost.try_next
    assert "start the emulator by hand" in lost.try_next
