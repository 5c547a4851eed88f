# SPDX-License-Identifier: Apache-2.0
"""A request to stop: heard once, by the thread that listens, while it does."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Generator

import pytest

from rig.errors import Stopped
from rig.host.stop import Stop, look, pause


def test_a_wait_ends_with_the_request() -> None:
    stop = Stop()
    threading.Timer(0.05, stop.request).start()
    began_s = time.monotonic()
    with stop.heard(), pytest.raises(Stopped):
        pause(300.0)
    assert time.monotonic() - began_s < 30
    assert stop.requested


def test_a_short_wait_ends_where_its_thread_gets_no_time_before_it_begins() -> None:
    def work() -> None:
        for _ in range(50_000):
            stop = Stop()
            with stop.heard():
                pause(1e-7)

    waits = threading.Thread(target=work, daemon=True)
    waits.start()
    waits.join(60.0)
    assert not waits.is_alive()


def test_a_request_in_a_wait_of_another_thread_ends_all_waits() -> None:
    stop = Stop()
    stopped: list[str] = []

    def work() -> None:
        with stop.heard():
            try:
                pause(300.0)
            except Stopped:
                stopped.append("stopped")

    threads = [threading.Thread(target=work, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(3):
        stop.request()
    for thread in threads:
        thread.join(30.0)
    assert stopped == ["stopped"] * 8


def test_what_is_closed_afterwards_may_wait() -> None:
    stop = Stop()
    stop.request()
    with stop.heard():
        with pytest.raises(Stopped):
            look()
        look()
        pause(0.001)
        stop.check()
    with stop.heard(), pytest.raises(Stopped):
        stop.check()  # the request stands


def test_only_the_thread_that_hears_it_stops() -> None:
    stop = Stop()
    stop.request()
    ended: list[str] = []

    def work() -> None:
        look()
        pause(0.001)
        stop.wait(0.001)
        ended.append("by itself")

    with stop.heard():
        other = threading.Thread(target=work)
        other.start()
        other.join()
        assert ended == ["by itself"]
        with pytest.raises(Stopped):
            look()


def test_no_one_to_ask_is_a_plain_wait() -> None:
    look()
    began_s = time.monotonic()
    pause(0.01)
    assert time.monotonic() - began_s >= 0.01
    Stop().wait(-1.0)


def test_an_inner_one_is_heard_until_it_is_left() -> None:
    outer = Stop()
    inner = Stop()
    outer.request()
    with outer.heard():
        with inner.heard():
            look()
        with pytest.raises(Stopped):
            look()


@pytest.mark.skipif(sys.platform == "win32", reason="no timer sends signals there")
def test_a_handler_of_a_signal_may_request_whatever_it_interrupts() -> None:
    """A lock that the interrupted frame holds would keep its handler waiting for
    ever."""
    asked = 0

    def handler(number: int, frame: object) -> None:
        nonlocal asked
        asked += 1
        stop.request()

    stop = Stop()
    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)
    try:
        while asked < 2000:
            with stop.heard(), pytest.raises(Stopped):
                pause(300.0)
            stop.request()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_a_request_that_no_wait_has_heard_is_pending() -> None:
    stop = Stop()
    assert not stop.pending
    stop.request()
    assert stop.pending
    with stop.heard(), pytest.raises(Stopped):
        look()
    assert stop.requested and not stop.pending


def test_a_generator_hears_the_stop_while_it_runs_and_is_closed_by_it() -> None:
    stop = Stop()
    closed: list[bool] = []

    def rows() -> Generator[int, None, None]:
        try:
            yield 1
            pause(60.0)
            yield 2
        finally:
            closed.append(True)

    heard = stop.heard_by(rows())
    assert next(heard) == 1
    stop.request()
    pause(0.0)  # the consumer of the rows does not hear it
    with pytest.raises(Stopped):
        next(heard)
    assert closed == [True]


def test_a_generator_is_closed_with_the_rows_that_it_gives() -> None:
    closed: list[bool] = []

    def rows() -> Generator[int, None, None]:
        try:
            yield 1
        finally:
            closed.append(True)

    heard = Stop().heard_by(rows())
    next(heard)
    heard.close()
    assert closed == [True]
