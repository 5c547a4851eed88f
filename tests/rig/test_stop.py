# SPDX-License-Identifier: Apache-2.0
"""A request to stop: heard once, by the thread that listens, while it does."""

from __future__ import annotations

import threading
import time

import pytest

from rig.errors import Stopped
from rig.stop import Stop, look, pause


def test_a_wait_ends_with_the_request() -> None:
    stop = Stop()
    threading.Timer(0.05, stop.request).start()
    began_s = time.monotonic()
    with stop.heard(), pytest.raises(Stopped):
        pause(300.0)
    assert time.monotonic() - began_s < 30
    assert stop.requested


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
        stop.check()  # what was asked for stands


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


def test_nobody_to_ask_is_a_plain_wait() -> None:
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
