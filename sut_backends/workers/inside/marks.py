# SPDX-License-Identifier: Apache-2.0
"""Marks that a program on this computer's processor stamps, in CLOCK_MONOTONIC, and
pauses to keep out of the time between them."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager

#: Phase and time in ns.
Marks = list[tuple[int, int]]


@contextmanager
def no_collector() -> Iterator[None]:
    """Keep the garbage collector out: it would fall into some windows and not into
    others."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def not_before(due_ns: int) -> int:
    """Return the time, when it is `due_ns` or later."""
    while (at_ns := time.monotonic_ns()) < due_ns:
        pass
    return at_ns
