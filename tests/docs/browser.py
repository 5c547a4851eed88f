# SPDX-License-Identifier: Apache-2.0
"""The installed Chromium without a window, driven by the messages of its debugging pipe."""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.waiting import eventually

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_LIMIT_S = 60.0
_ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--remote-debugging-pipe"),
)
#: The descriptors on which Chromium reads and writes messages.
_READS, _WRITES = 3, 4


class OfflinePage:
    """One page of the browser. `requested` has the addresses that it asked for."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self.requested: list[str] = []
        self._to = to_browser
        self._from = from_browser
        self._received = b""
        self._number = 0
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        self.call("Network.enable")
        self.call(
            "Network.emulateNetworkConditions",
            offline=True,
            latency=0,
            downloadThroughput=-1,
            uploadThroughput=-1,
        )

    def open(self, path: Path) -> None:
        """Open a file and wait until it is loaded."""
        self.call("Page.navigate", url=path.as_uri())
        self.wait_for("document.readyState == 'complete'")

    def press_control(self, letter: str) -> None:
        """Press Ctrl and a letter."""
        key = {"key": letter, "code": f"Key{letter.upper()}", "modifiers": 2}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, **key)

    def value(self, expression: str) -> Any:
        """Return the value of an expression of JavaScript."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True
        )
        return answer["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Wait until an expression is true; fail after a minute."""
        eventually(lambda: self.value(expression), _LIMIT_S)

    def call(self, method: str, **parameters: Any) -> Any:
        """Send a command; return its result, or fail with its error."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            if answer.get("method") == "Network.requestWillBeSent":
                self.requested.append(answer["params"]["request"]["url"])
        assert "error" not in answer, answer
        return answer["result"]

    def _next(self) -> Any:
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._from], [], [], _LIMIT_S)
            assert ready, "the browser does not answer"
            chunk = os.read(self._from, 65536)
            assert chunk, "the browser has ended"
            self._received += chunk
        message, _, self._received = self._received.partition(b"\0")
        return json.loads(message)


@contextmanager
def offline_page(profile: Path) -> Iterator[OfflinePage]:
    """Start the browser with an empty profile and without a network; yield a page."""
    assert CHROMIUM is not None
    commands, to_browser = os.pipe()
    from_browser, answers = os.pipe()
    process = subprocess.Popen(
        [CHROMIUM, *_ARGUMENTS, f"--user-data-dir={profile}"],
        close_fds=False,
        preexec_fn=_renumbered(commands, answers),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(commands)
    os.close(answers)
    try:
        yield OfflinePage(to_browser, from_browser)
    finally:
        process.kill()
        process.wait(_LIMIT_S)
        os.close(to_browser)
        os.close(from_browser)


def _renumbered(*ends: int) -> Callable[[], None]:
    """Return a function that gives two descriptors the numbers of the pipe."""

    def renumber() -> None:
        # Either may have the other's new number.
        reads, writes = (fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in ends)
        os.dup2(reads, _READS)
        os.dup2(writes, _WRITES)

    return renumber
