# SPDX-License-Identifier: Apache-2.0
"""The bridge from threads to Qt: everything arrives, in order, in Qt's thread."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from gui.bridge import Bridge

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


def test_what_another_thread_posts_arrives_in_order_in_this_thread(
    qtbot: QtBot,
) -> None:
    bridge = Bridge()
    arrived = []
    threads = set()

    def take(item: int) -> None:
        arrived.append(item)
        threads.add(threading.current_thread())

    bridge.arrived.connect(take)
    poster = threading.Thread(
        target=lambda: [bridge.post(item) for item in range(5000)]
    )
    poster.start()
    qtbot.waitUntil(lambda: len(arrived) == 5000)
    poster.join()
    assert arrived == list(range(5000))
    assert threads == {threading.current_thread()}
