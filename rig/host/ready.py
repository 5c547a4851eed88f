# SPDX-License-Identifier: Apache-2.0
"""Wait until files and sockets can be read or written, whatever the numbers of their
descriptors: select() refuses those from 1024 on, which a process with many open files
has.
"""

from __future__ import annotations

import selectors
import time
from collections.abc import Iterable
from typing import Protocol

from rig.host.stop import LOOK_S, look


class HasDescriptor(Protocol):
    """A file or a socket."""

    def fileno(self) -> int:
        """Return its descriptor."""


Waitable = int | HasDescriptor
# poll() needs no descriptor of its own, as epoll() does; Windows has select() only.
_Selector: type[selectors.BaseSelector] = getattr(
    selectors, "PollSelector", selectors.SelectSelector
)


def ready(
    readable: Iterable[Waitable],
    writable: Iterable[Waitable] = (),
    timeout_s: float | None = None,
) -> tuple[set[Waitable], set[Waitable]]:
    """Return which of these can be read, and which can be written; none once
    `timeout_s` is over.

    The limit is rounded up to a millisecond; without one it waits for the first. Raises
    OSError and ValueError for one that is closed.
    """
    wanted: dict[Waitable, int] = dict.fromkeys(readable, selectors.EVENT_READ)
    for each in writable:
        wanted[each] = wanted.get(each, 0) | selectors.EVENT_WRITE
    with _Selector() as selector:
        for each, events in wanted.items():
            selector.register(each, events)
        found = selector.select(None if timeout_s is None else max(timeout_s, 0.0))
    return (
        {key.fileobj for key, events in found if events & selectors.EVENT_READ},
        {key.fileobj for key, events in found if events & selectors.EVENT_WRITE},
    )


def can_read(file: Waitable, timeout_s: float) -> bool:
    """Return whether a file can be read within `timeout_s`."""
    return bool(ready([file], timeout_s=timeout_s)[0])


def can_read_unless_stopped(file: Waitable, timeout_s: float) -> bool:
    """Return whether a file can be read within `timeout_s`, and look for a request to
    stop all the while; raise Stopped.
    """
    end_s = time.monotonic() + timeout_s
    while True:
        look()
        left_s = end_s - time.monotonic()
        if can_read(file, min(left_s, LOOK_S)):
            return True
        if left_s <= LOOK_S:
            return False
