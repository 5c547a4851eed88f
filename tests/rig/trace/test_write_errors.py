# SPDX-License-Identifier: Apache-2.0
"""Lines of pyjls's log that are errors of writing, and those that are not."""

from __future__ import annotations

import errno
import logging
import os
import threading
from collections.abc import Iterator

import pytest

from rig.trace.write_errors import WriteLog, failed

#: Numbers of threads that are smaller and larger than the calling one's.
OTHERS = (threading.get_ident() - 1, threading.get_ident() + 1)


@pytest.fixture
def log() -> Iterator[WriteLog]:
    log = WriteLog()
    yield log
    log.end()


def record(text: str, level: int = logging.ERROR, thread: int = 0) -> logging.LogRecord:
    facts = {"levelno": level, "msg": text, "thread": thread or threading.get_ident()}
    return logging.makeLogRecord(facts)


def test_a_failed_write_counts_in_any_thread_with_its_reason(log: WriteLog) -> None:
    log.emit(record(f"write failed {errno.ENOSPC}", thread=OTHERS[0]))
    assert log.errno == errno.ENOSPC
    assert os.strerror(errno.ENOSPC) in log.failed
    assert failed() is log


def test_the_first_failure_is_the_cause_of_all_others(log: WriteLog) -> None:
    log.emit(record("write mismatch 3 != 8"))
    log.emit(record("thread msg 1 returned 2"))
    first = log.failed
    log.emit(record(f"write failed {errno.EIO}"))
    assert log.failed == first
    assert "3 of 8 bytes" in first


@pytest.mark.parametrize("thread", OTHERS, ids=["before", "after"])
def test_an_error_counts_in_the_thread_that_closes_a_file_alone(
    log: WriteLog, thread: int
) -> None:
    log.emit(record("a wrong signal"))
    with log.of_this_thread():
        log.emit(record("a wrong signal", thread=thread))
        log.emit(record("a wrong signal", logging.WARNING))
    log.emit(record("a wrong signal"))
    assert not log.failed
    with log.of_this_thread():
        log.emit(record("a wrong signal"))
    assert "a wrong signal" in log.failed
