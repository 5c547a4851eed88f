# SPDX-License-Identifier: Apache-2.0
"""The process that runs a task's program, and the exchange with it over two pipes."""

from __future__ import annotations

import json
import os
import select
import sys
import time
from collections.abc import Iterable
from typing import Any

from rig.errors import BenchError, DeadlineError, DeviceLost
from rig.interfaces.cpu_program import Program
from rig.stop import LOOK_S, look
from sut_backends.processes.child_process import ChildProcess

_START_S = 60.0
_BLOCK_B = 1 << 16
#: Operating systems count no longer times than some years.
_WAIT_MAX_S = 1e7
_AWAITED = {
    "start": "start of the program",
    "load": "end of the load",
    "run": "end of the query",
    "solve": "end of the search",
    "stream": "end of the stream",
}
#: The child looks for code where this process does.
_CODE = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from sut_backends.cpu.worker "
    "import main; main(sys.argv[2])"
)


class CpuProcess(ChildProcess):
    """A running program; `about` is what the process says of itself."""

    def __init__(self, program: Program, core: int, threads: int) -> None:
        order = {
            "entry": program.entry,
            "arguments": dict(program.arguments),
            "core": core,
            "threads": threads,
        }
        command = [sys.executable, "-c", _CODE, json.dumps(sys.path), json.dumps(order)]
        super().__init__(
            command, (), what=program.entry, try_next="is this a Python that can start itself?"
        )
        self._unread = b""
        assert self._process.stdin is not None
        os.set_blocking(self._process.stdin.fileno(), False)
        try:
            self.about, _ = self._answer(time.monotonic() + _START_S, "start", _START_S)
        except BaseException:
            self.close()
            raise
        if "error" in self.about:
            self.close()
            raise BenchError(
                f"{program.entry} does not start",
                evidence=self.about["error"],
                try_next="the task's own model and data",
            )

    def ask(
        self, request: dict[str, Any], payload: bytes, limit_s: float
    ) -> tuple[dict[str, Any], bytes]:
        """Return the answer to a request, and its bytes; DeadlineError ends the process, as nothing
        else stops a computation.
        """
        end_s = time.monotonic() + min(limit_s, _WAIT_MAX_S)
        self._send(
            json.dumps(request | {"bytes": len(payload)}).encode() + b"\n" + payload,
            end_s,
            request["op"],
            limit_s,
        )
        return self._answer(end_s, request["op"], limit_s)

    def feed(
        self, request: dict[str, Any], blocks: Iterable[bytes], limit_s: float
    ) -> tuple[dict[str, Any], bytes]:
        """Return the answer to a request that is told when it has started, and then gets `blocks`
        as fast as it takes them.
        """
        end_s = time.monotonic() + min(limit_s, _WAIT_MAX_S)
        report, none = self.ask(request, b"", limit_s)
        if "error" in report:
            return report, none
        for block in blocks:
            self._send(block, end_s, request["op"], limit_s)
        return self._answer(end_s, request["op"], limit_s)

    def _send(self, block: bytes, end_s: float, what: str, limit_s: float) -> None:
        assert self._process.stdin is not None
        unsent = memoryview(block)
        try:
            fd = self._process.stdin.fileno()
            while unsent:
                if not _ready([], [fd], end_s):
                    raise self._late(what, limit_s)
                unsent = unsent[os.write(fd, unsent) :]
        except (OSError, ValueError) as error:
            raise self._lost() from error

    def _answer(self, end_s: float, what: str, limit_s: float) -> tuple[dict[str, Any], bytes]:
        try:
            while b"\n" not in self._unread:
                self._read(end_s)
            line, _, self._unread = self._unread.partition(b"\n")
            content: dict[str, Any] = json.loads(line)
            size_b = content.pop("bytes")
            while len(self._unread) < size_b:
                self._read(end_s)
        except TimeoutError as error:
            raise self._late(what, limit_s) from error
        block = self._unread[:size_b]
        self._unread = self._unread[size_b:]
        return content, block

    def _read(self, end_s: float) -> None:
        assert self._process.stdout is not None
        fd = self._process.stdout.fileno()
        if not _ready([fd], [], end_s):
            raise TimeoutError
        block = os.read(fd, _BLOCK_B)
        if not block:
            raise self._lost()
        self._unread += block

    def _late(self, what: str, limit_s: float) -> DeadlineError:
        self.close()
        return DeadlineError(
            _AWAITED[what], limit_s, try_next="a longer limit_s; the program was ended"
        )

    def _lost(self) -> DeviceLost:
        gone = None if self._stderr.closed else self.gone()
        evidence = gone.evidence if gone else "it was ended"
        return DeviceLost(
            "the process of the program is gone",
            evidence=evidence,
            try_next="run it again; is there memory enough?",
        )


def _ready(readable: list[int], writable: list[int], end_s: float) -> bool:
    """Wait for a pipe, up to a time; False where it is not ready by then."""
    while True:
        look()
        left_s = max(end_s - time.monotonic(), 0.0)
        found = select.select(readable, writable, [], min(left_s, LOOK_S))
        if found[0] or found[1] or left_s <= LOOK_S:
            return bool(found[0] or found[1])
