# SPDX-License-Identifier: Apache-2.0
"""The worker: results in Qt's thread, a newer job in the place of an older one,
errors."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from gui.worker import BackgroundWorker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytestqt.qtbot import QtBot


@pytest.fixture
def worker(qtbot: QtBot) -> Iterator[BackgroundWorker]:
    made = BackgroundWorker()
    yield made
    made.close_down()


def test_a_job_runs_in_another_thread_and_ends_in_this_one(
    worker: BackgroundWorker, qtbot: QtBot
) -> None:
    ends = []
    worker.do(
        threading.current_thread,
        lambda thread: ends.append((thread, threading.current_thread())),
    )
    qtbot.waitUntil(lambda: bool(ends))
    where, here = ends[0]
    assert where is not here
    assert here is threading.current_thread()


def test_a_newer_job_of_the_same_key_takes_the_place_of_older_ones(
    worker: BackgroundWorker, qtbot: QtBot
) -> None:
    begun = threading.Event()
    go_on = threading.Event()
    done: list[str] = []

    def slow() -> str:
        begun.set()
        go_on.wait(10)
        return "running"

    worker.do(slow, done.append, key="picture")
    assert begun.wait(10)
    worker.do(lambda: "waiting", done.append, key="picture")
    worker.do(lambda: "other", done.append, key="statistics")
    worker.do(lambda: "newest", done.append, key="picture")
    go_on.set()
    qtbot.waitUntil(lambda: "newest" in done)
    assert done == ["other", "newest"]


def test_an_error_goes_to_its_handler_or_to_everybody(
    worker: BackgroundWorker, qtbot: QtBot
) -> None:
    errors: list[BaseException] = []
    unhandled: list[BaseException] = []
    worker.failed.connect(unhandled.append)
    worker.do(lambda: 1 / 0, pytest.fail, errors.append)
    worker.do(lambda: int("x"), pytest.fail)
    qtbot.waitUntil(lambda: bool(errors and unhandled))
    assert isinstance(errors[0], ZeroDivisionError)
    assert isinstance(unhandled[0], ValueError)


def test_closing_ends_the_thread(qtbot: QtBot) -> None:
    worker = BackgroundWorker(name="to-be-ended")
    worker.close_down()
    assert "to-be-ended" not in [thread.name for thread in threading.enumerate()]
