# SPDX-License-Identifier: Apache-2.0
"""Wait until files and sockets can be read or written, for descriptors of any number:
select() refuses those from 1024 on, which a process with many open files has.
"""

from __future__ import annotations

import math
import select
import selectors
import sys
import time
from collections.abc import Iterable
from typing import Protocol

from rig.host.stop import LOOK_S, look


class HasDescriptor(Protocol):
    """A file or a socket."""

    def fileno(self) -> int:
        """Return its descriptor."""


Waitable = int | HasDescriptor
# poll() needs no descriptor of its own, unlike epoll(); Windows has select() only.
_Selector: type[selectors.BaseSelector] = getattr(
    selectors, "PollSelector", selectors.SelectSelector
)


def ready(
    readable: Iterable[Waitable],
    writable: Iterable[Waitable] = (),
    timeout_s: float | None = None,
) -> tuple[set[Waitable], set[Waitable]]:
    """Return the files that can be read, and those that can be written; none once
    `timeout_s` is over.

    The limit is rounded up to a millisecond; without one it waits for the first. Raises
    OSError and ValueError for a file that is closed.
    """
    wanted: dict[Waitable, int] = dict.fromkeys(readable, selectors.EVENT_READ)
    for file in writable:
        wanted[file] = wanted.get(file, 0) | selectors.EVENT_WRITE
    with _Selector() as selector:
        for file, events in wanted.items():
            selector.register(file, events)
        selected = selector.select(None if timeout_s is None else max(timeout_s, 0.0))
    can_be_read: set[Waitable] = set()
    can_be_written: set[Waitable] = set()
    for key, events in selected:
        if events & selectors.EVENT_READ:
            can_be_read.add(key.fileobj)
        if events & selectors.EVENT_WRITE:
            can_be_written.add(key.fileobj)
    return can_be_read, can_be_written


def can_read(file: Waitable, timeout_s: float) -> bool:
    """Check whether a file can be read within `timeout_s`, as `ready` does.

    Ports are read thousands of times a second, and without a selector a wait costs a
    tenth.
    """
    if sys.platform == "win32":
        return bool(ready([file], timeout_s=timeout_s)[0])
    poll = select.poll()
    poll.register(file, select.POLLIN)
    return bool(poll.poll(math.ceil(max(timeout_s, 0.0) * 1000)))


def can_read_unless_stopped(file: Waitable, timeout_s: float) -> bool:
    """Check whether a file can be read within `timeout_s`; raise Stopped as soon as
    this thread is requested to stop.
    """
    end_s = time.monotonic() + timeout_s
    while True:
        look()
        left_s = end_s - time.monotonic()
        if can_read(file, min(left_s, LOOK_S)):
            return True
        if left_s <= LOOK_S:
            return False
