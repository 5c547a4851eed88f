# SPDX-License-Identifier: Apache-2.0
"""The one driver object that a process may have, for as long as anybody uses it.

The maker's library refuses a second one: jsdrv_buffer_initialize of joulescope_driver's
buffer.c has one instance in a process. So all Joulescopes of a bench, and a scan beside
them, share it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rig.errors import DeviceBusy


class Shared:
    """A driver object that the first user makes and the last one finalizes, and which
    instruments are open through it.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._driver: Any = None
        self._users: set[object] = set()
        self._held: set[str] = set()

    @contextmanager
    def use(self) -> Iterator[Any]:
        """Yield the driver object; raises what making it raises."""
        user = object()
        try:
            # A new user waits until the last driver object is finalized: there may be
            # only one.
            with self._lock:
                if self._driver is None:
                    self._driver = self._make()
                self._users.add(user)
            yield self._driver
        finally:
            with self._lock:
                self._users.discard(user)
                if not self._users and self._driver is not None:
                    driver = self._driver
                    self._driver = None
                    driver.finalize()

    @contextmanager
    def hold(self, path: str) -> Iterator[None]:
        """Keep an instrument to oneself; raises DeviceBusy.

        The host driver opens a JS110 that is open already once more, which ends its
        streams (device_open of its libusb backend).
        """
        with self._lock:
            if path in self._held:
                raise DeviceBusy(
                    f"the Joulescope {path} is in use",
                    evidence="it is open in this process",
                    try_next=(
                        "one rail for each instrument; wait until what records with it"
                        " has ended"
                    ),
                )
            self._held.add(path)
        try:
            yield
        finally:
            with self._lock:
                self._held.discard(path)
