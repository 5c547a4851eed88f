# SPDX-License-Identifier: Apache-2.0
"""Settings that a JS110 refused, as the log of its driver reports them. Its host driver
acknowledges and keeps every setting; that one failed is a line of its log and no more
(handle_cmd_publish, stream_settings_send and extio_settings_send of joulescope_driver's
js110_usb.c).

The log has a thread of its own and comes late. So each setting is followed by a line
that is provoked, and all before that one has been heard: the host refuses a value that
is no option, before it is kept or sent (publish_normal of pubsub.c), and logs it.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from rig.errors import BenchError

_LOGGER = "jsdrv"
_REFUSED = re.compile(r"(?:stream|extio)_settings_send (?:failed|did not work)")
#: Only the host uses it; it has options, so that no word passes.
_TOPIC = "s/i/range/mode"
_TIMEOUT_S = 4.0
#: The log names no instrument: a line that comes during a query belongs to the
#: instrument that was asked, as there is one query at a time.
_ONE_AT_A_TIME = threading.Lock()


class Unheard(BenchError):
    """A request whose outcome is unknown: not a refusal."""


class Refusals(logging.Filter):
    """Listener to the driver's log: refusals of settings by an instrument."""

    def __init__(self, driver: Any, path: str) -> None:
        super().__init__()
        self._driver = driver
        self._topic = f"{path}/{_TOPIC}"
        self._count = 0
        self._mark = ""
        self._reached = threading.Event()
        self._said: list[str] = []

    def after(self, publish: Callable[[], None]) -> str:
        """Call `publish` and return the error in the log, empty if there is none.

        Raises the exceptions of `publish`, and BenchError if the log cannot be read.
        """
        logger = logging.getLogger(_LOGGER)
        with _ONE_AT_A_TIME:
            self._said.clear()
            logger.addFilter(self)
            try:
                publish()
                self._hear_out(logger)
            finally:
                logger.removeFilter(self)
            return "; ".join(self._said)

    def filter(self, record: logging.LogRecord) -> bool:
        """Take one line of the log; a provoked line goes no further."""
        message = record.getMessage()
        if _REFUSED.search(message):
            self._said.append(message)
        if self._topic not in message or not message.endswith(self._mark):
            return True
        self._reached.set()
        return False

    def _hear_out(self, logger: logging.Logger) -> None:
        self._count += 1
        self._mark = f" heard {self._count}"
        self._reached.clear()
        with suppress(RuntimeError):
            self._driver.publish(self._topic, self._mark.strip(), timeout=_TIMEOUT_S)
        if not (
            logger.isEnabledFor(logging.WARNING) and self._reached.wait(_TIMEOUT_S)
        ):
            raise Unheard(
                "the log of the Joulescope driver is not heard",
                evidence=(
                    "without it, it is not known whether a JS110 obeys an order, as to"
                    " switch the DUT's supply off"
                ),
                try_next=f"let warnings of Python's logger {_LOGGER!r} pass",
            )
