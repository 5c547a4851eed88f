# SPDX-License-Identifier: Apache-2.0
"""The communication with a Joulescope as lines of JSON. The maker's library shows no
bytes, so the lines hold its calls, their results or exceptions, its callbacks and its
log.

{"call": NAME, "args": [...]} goes to the library; {"return": VALUE}, {"raises": [KIND,
TEXT]}, {"callback": TOPIC, "of": SUBSCRIBED, "value": VALUE} and {"log": TEXT, "level":
N} come from it.
"""

from __future__ import annotations

import base64
import json
import logging
import re
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from rig.interfaces.contact import Conversation, Heard

LOGGER = "jsdrv"
_PATH = re.compile(r"u/js\d+/\w+")
Receiver = Callable[[str, Any], None]


def conversation(device: str) -> Conversation:
    """Return how the instrument is talked to."""
    versions: dict[str, str] = {}
    with suppress(PackageNotFoundError):
        versions = {"pyjoulescope_driver": version("pyjoulescope_driver")}
    return Conversation(
        "joulescope",
        "calls of pyjoulescope_driver",
        device,
        # The line that a JS110's log is provoked to (js110_log.py) counts how often
        # that was done.
        varies=(r'.*"(heard \d+)"\]\}',),
        versions=versions,
    )


def line(**content: Any) -> bytes:
    """Return a line of JSON; arrays and bytes are stated by their bytes."""
    return json.dumps(content, default=_plain).encode() + b"\n"


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        packed = base64.b64encode(np.ascontiguousarray(value).tobytes())
        return {"$array": value.dtype.str, "base64": packed.decode("ascii")}
    if isinstance(value, bytes):
        return {"$bytes": value.hex()}
    if isinstance(value, np.generic):
        return value.item()
    return {"$unknown": repr(value)}


def content_of(text: bytes) -> dict[str, Any]:
    """Return the content of a line; raises ValueError."""
    content: dict[str, Any] = json.loads(text, object_hook=_original)
    return content


def _original(found: dict[str, Any]) -> Any:
    match found:
        case {"$array": kind, "base64": text}:
            # A copy, as that of the library: it may be written to.
            return np.frombuffer(base64.b64decode(text), kind).copy()
        case {"$bytes": text}:
            return bytes.fromhex(text)
    return found


class RecordedDriver(logging.Filter):
    """A driver object of the maker's library that records every call; one call at a
    time, so that answers are assigned to their calls."""

    def __init__(self, driver: Any, heard: Heard, paths: Sequence[str]) -> None:
        super().__init__()
        self._driver = driver
        self._heard = heard
        self._paths = list(paths)
        self._lock = threading.RLock()
        self._receivers: dict[tuple[str, Receiver], Receiver] = {}
        logging.getLogger(LOGGER).addFilter(self)

    def end(self) -> None:
        """Tell no more of its log."""
        logging.getLogger(LOGGER).removeFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell a line of the log that names this instrument, or none, and let it
        pass."""
        message = record.getMessage()
        named = _PATH.findall(message)
        if not named or set(named) & set(self._paths):
            self._heard("rx", line(log=message, level=record.levelno))
        return True

    def device_paths(self) -> list[str]:
        """Return the paths that were found, as if they were asked for now."""
        found: list[str] = self._tell("device_paths", [], lambda: self._paths)
        return found

    def open(self, path: str, mode: str, timeout: float) -> None:
        """Open an instrument."""
        self._call("open", [path, mode], timeout)

    def close(self, path: str, timeout: float) -> None:
        """Close it."""
        self._call("close", [path], timeout)

    def publish(self, topic: str, value: Any, timeout: float) -> None:
        """Write a value."""
        self._call("publish", [topic, value], timeout)

    def query(self, topic: str, timeout: float) -> Any:
        """Return the value that is held of a topic."""
        return self._call("query", [topic], timeout)

    def subscribe(self, topic: str, flags: str, fn: Receiver, timeout: float) -> None:
        """Have `fn` called with every value, each recorded before."""

        def receive(name: str, value: Any) -> None:
            self._heard("rx", line(callback=name, of=topic, value=value))
            fn(name, value)

        self._receivers[topic, fn] = receive
        self._call("subscribe", [topic, flags], timeout, receive)

    def unsubscribe(self, topic: str, fn: Receiver, timeout: float) -> None:
        """End a subscription."""
        receive = self._receivers.pop((topic, fn), fn)
        self._call("unsubscribe", [topic], timeout, receive)

    def _call(
        self, name: str, args: list[Any], timeout: float, *receiver: Receiver
    ) -> Any:
        call = getattr(self._driver, name)
        return self._tell(name, args, lambda: call(*args, *receiver, timeout=timeout))

    def _tell(self, name: str, args: list[Any], call: Callable[[], Any]) -> Any:
        with self._lock:
            self._heard("tx", line(call=name, args=args))
            try:
                value = call()
            except Exception as error:
                self._heard("rx", line(raises=[type(error).__name__, str(error)]))
                raise
            self._heard("rx", line(**{"return": value}))
            return value
