# SPDX-License-Identifier: Apache-2.0
"""A recorded Joulescope with the interface of pyjoulescope_driver.Driver: calls go to
the player of the recording, whose results are returned, raised, called back and logged.
"""

from __future__ import annotations

import logging
import queue
import socket
import threading
from typing import Any

from drivers.joulescope.contact import LOGGER, Receiver, content_of, line

_TIMEOUT_S = 10.0
_RAISED = {
    "TimeoutError": TimeoutError,
    "RuntimeError": RuntimeError,
    "ValueError": ValueError,
}


class PlayedDriver:
    """Talks to a TCP address in the lines of drivers/joulescope/contact.py. Raises
    RuntimeError for a call that was not recorded.
    """

    def __init__(self, address: str) -> None:
        host, _, port = address.partition(":")
        self.log_level: Any = "off"
        self._socket = socket.create_connection((host, int(port)), _TIMEOUT_S)
        self._socket.settimeout(None)
        self._answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._receivers: dict[str, list[Receiver]] = {}
        self._frontend = threading.Thread(
            target=self._hear, name="played joulescope", daemon=True
        )
        self._frontend.start()

    def finalize(self) -> None:
        """Hang up; finalizing twice is allowed."""
        # A thread that waits for a line sees the end of them.
        if self._frontend.is_alive():
            self._socket.shutdown(socket.SHUT_RDWR)
            self._frontend.join()
        self._socket.close()

    def device_paths(self, *, timeout: float | None = None) -> list[str]:
        """Return the paths that were found."""
        found: list[str] = self._call("device_paths", timeout)
        return found

    def open(self, path: str, mode: str, timeout: float | None = None) -> None:
        """Open an instrument."""
        self._call("open", timeout, path, mode)

    def close(self, path: str, timeout: float | None = None) -> None:
        """Close it."""
        self._call("close", timeout, path)

    def publish(self, topic: str, value: Any, timeout: float | None = None) -> None:
        """Write a value."""
        self._call("publish", timeout, topic, value)

    def query(self, topic: str, timeout: float | None = None) -> Any:
        """Return the value that is held of a topic."""
        return self._call("query", timeout, topic)

    def subscribe(
        self, topic: str, flags: str, fn: Receiver, timeout: float | None = None
    ) -> None:
        """Have `fn` called with every value of a topic and what lies below it."""
        self._receivers.setdefault(topic, []).append(fn)
        self._call("subscribe", timeout, topic, flags)

    def unsubscribe(
        self, topic: str, fn: Receiver, timeout: float | None = None
    ) -> None:
        """End a subscription."""
        self._call("unsubscribe", timeout, topic)
        self._receivers[topic].remove(fn)

    def _call(self, name: str, timeout: float | None, *args: Any) -> Any:
        try:
            self._socket.sendall(line(call=name, args=list(args)))
            answer = self._answers.get(timeout=timeout or _TIMEOUT_S)
        except (OSError, queue.Empty):
            answer = None
        match answer:
            case {"raises": [kind, text]}:
                raise _RAISED.get(kind, RuntimeError)(text)
            case {"return": value}:
                return value
        raise RuntimeError(f"the recording has no answer to {name} {args}")

    def _hear(self) -> None:
        try:
            with self._socket.makefile("rb") as lines:
                for text in lines:
                    self._take(content_of(text))
        except (OSError, ValueError, KeyError) as error:
            logging.getLogger(LOGGER).error("the recording cannot be played: %r", error)
        finally:
            self._answers.put(None)

    def _take(self, call: dict[str, Any]) -> None:
        match call:
            case {"callback": topic, "of": subscribed, "value": value}:
                for receiver in tuple(self._receivers.get(subscribed, ())):
                    receiver(topic, value)
            case {"log": text, "level": level}:
                if self.log_level != "off":
                    logging.getLogger(LOGGER).log(level, "%s", text)
            case _:
                self._answers.put(call)
