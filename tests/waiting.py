# SPDX-License-Identifier: Apache-2.0
"""Waiting for what happens in another thread or process: until it did, and not for a
fixed time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")


def own_threads() -> set[threading.Thread]:
    """Return the threads that Python started.

    pyjls's writer thread logs each message that took long, as on a busy machine, and
    the makers' libraries log from threads of their own: Python keeps a foreign thread
    that logged until its number is used again.
    """
    return {
        thread
        for thread in threading.enumerate()
        if not isinstance(thread, threading._DummyThread)
    }


class Process(Protocol):
    """A program that runs."""

    def poll(self) -> int | None:
        """Return its exit code, or None as long as it runs."""


def eventually(
    condition: Callable[[], T],
    limit_s: float = 60.0,
    process: Process | None = None,
) -> T:
    """Return the condition's value once it is true; fail after a limit, or where the
    process that should make it true has ended.
    """
    end_s = time.monotonic() + limit_s
    while not (result := condition()):
        assert time.monotonic() < end_s, f"not so within {limit_s} s"
        assert process is None or process.poll() is None, (
            "the process has ended before it was so"
        )
        time.sleep(0.005)  # between two looks
    return result
