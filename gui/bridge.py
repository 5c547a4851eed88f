# SPDX-License-Identifier: Apache-2.0
"""A bridge from the engine's threads to Qt: messages posted in any thread arrive in
Qt's.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any

from PySide6.QtCore import QObject, Qt, QTimer, Signal

#: Items that arrive within this time are handed on together.
_GATHER_MS = 16
#: Handing on takes at most so long at a time, so that the window goes on drawing.
_AT_A_TIME_S = 0.008


class Bridge(QObject):
    """A queue into Qt's thread, in order; each item arrives by the signal `arrived`.

    For events of the session, not for samples or bytes: those have bounded stores of
    their own.
    """

    arrived = Signal(object)
    _waking = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._items: deque[Any] = deque()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._hand_on)
        self._waking.connect(self._wake, Qt.ConnectionType.QueuedConnection)

    def post(self, item: Any) -> None:
        """Hand an item over, from any thread; never blocks."""
        # A deque may be appended to and taken from by two threads at once.
        was_empty = not self._items
        self._items.append(item)
        if was_empty:
            self._waking.emit()

    def _wake(self) -> None:
        if not self._timer.isActive():
            self._timer.start(_GATHER_MS)

    def _hand_on(self) -> None:
        until = time.monotonic() + _AT_A_TIME_S
        while self._items:
            self.arrived.emit(self._items.popleft())
            if time.monotonic() > until:
                break
        if self._items:
            self._timer.start(0)
