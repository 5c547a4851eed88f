# SPDX-License-Identifier: Apache-2.0
"""Observers: none waits for another, none for a driver, and no driver for any."""

from __future__ import annotations

import threading
import time
import tracemalloc

import numpy as np

from rig.live.block import LiveBlock
from rig.live.observers import Observers
from rig.live.recent import Recent
from rig.trace.tap import Tap, TraceForm
from tests.length import length

FORM = TraceForm(1000.0, 1000.0, "none")
SAMPLES = np.ones(40, dtype=np.float32)


def feed(tap: Tap, times: int) -> None:
    for _ in range(times):
        tap.analog(SAMPLES, SAMPLES)


def test_a_slow_observer_holds_no_one_and_loses_the_oldest() -> None:
    holding = threading.Event()
    seen: list[float] = []

    def slow(block: LiveBlock) -> None:
        holding.wait(60)
        seen.append(block.start_s)

    observers = Observers((slow,))
    tap = observers.tap("", FORM)
    began_s = time.thread_time()
    feed(tap, 3000)
    assert time.thread_time() - began_s < 10
    assert observers.left_out >= 3000 - 1024 - 1
    holding.set()
    observers.close()
    assert seen == sorted(seen) and len(seen) == 3000 - observers.left_out
    assert seen[-1] > 100  # the newest are there


def test_one_that_raises_is_named_and_the_others_go_on() -> None:
    seen: list[LiveBlock] = []

    def spoilt(block: LiveBlock) -> None:
        raise KeyError("colour")

    observers = Observers((spoilt, seen.append))
    feed(observers.tap("", FORM), 5)
    observers.close()
    assert len(seen) == 5
    (output,) = observers.dropped
    assert "spoilt" in output and "colour" in output


def test_who_is_removed_gets_no_more_and_later_ones_join() -> None:
    first: list[LiveBlock] = []
    second: list[LiveBlock] = []
    arrived = threading.Event()

    def note(block: LiveBlock) -> None:
        first.append(block)
        arrived.set()

    observers = Observers()
    tap = observers.tap("core", FORM)
    feed(tap, 1)  # no view is open
    remove = observers.add(note)
    feed(tap, 1)
    assert arrived.wait(60)
    remove()
    remove()
    observers.add(second.append)
    feed(tap, 2)
    observers.close()
    assert [len(first), len(second)] == [1, 2]
    assert {block.rail for block in second} == {"core"}


def test_traces_are_counted_by_rail() -> None:
    seen: list[LiveBlock] = []
    observers = Observers((seen.append,))
    for rail in ("core", "io", "core"):
        feed(observers.tap(rail, FORM), 1)
    observers.close()
    assert [(block.rail, block.trace) for block in seen] == [
        ("core", 1),
        ("io", 1),
        ("core", 2),
    ]
    assert not [thread for thread in threading.enumerate() if thread.name == "live"]


def test_an_observer_that_never_returns_does_not_hold_the_end() -> None:
    holding = threading.Event()
    observers = Observers((lambda block: holding.wait(60) and None,))
    feed(observers.tap("", FORM), 2)
    began_s = time.monotonic()
    observers.close()
    assert time.monotonic() - began_s < 30
    holding.set()


#: An hour, or a quarter.
LONG_S = length(3600, 900)


def test_an_hour_of_samples_takes_no_more_memory_than_a_minute() -> None:
    recent = Recent(10.0)
    came = 0
    passed = threading.Semaphore(0)

    def count(block: LiveBlock) -> None:
        nonlocal came
        recent(block)
        came += len(block.mean_w)
        passed.release()

    observers = Observers((count,))
    tap = observers.tap("", TraceForm(10_000.0, 10_000.0, "digital"))
    second = np.ones(10_000, dtype=np.float32)
    levels = np.full(1250, 0xFF, dtype=np.uint8)
    levels[5] = 0

    def live(begin: int, stop: int) -> None:
        for at in range(begin, stop):
            tap.levels(at * 10_000, levels)
            tap.analog(second, second)
            passed.acquire()

    live(0, 60)
    tracemalloc.start()
    try:
        live(60, 120)
        minute_b, _ = tracemalloc.get_traced_memory()
        live(120, LONG_S)
        hour_b, most_b = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    observers.close()
    assert came == LONG_S * 2000 and not observers.left_out
    assert hour_b - minute_b < 50_000
    assert most_b < 1_000_000
    picture = recent.picture(10.0, 1000)
    assert picture is not None and len(picture.falls_s) == 10
