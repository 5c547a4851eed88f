# SPDX-License-Identifier: Apache-2.0
"""A worker: the process that runs a program, and the exchange with it over two
pipes."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rig.errors import BenchError, DeadlineError, DeviceLost
from rig.host.pseudo_terminal import do_not_block
from rig.host.ready import ready
from rig.host.stop import LOOK_S, look
from rig.interfaces.cpu_program import Program
from sut_backends.processes.child_process import ChildProcess
from sut_backends.workers.inside.protocol import (
    Done,
    Refusal,
    Request,
    WorkerStart,
    about_of,
    done_of,
    request_json,
)
from sut_backends.workers.isolation import Isolation

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
#: The worker's code: paths as in this process; otherwise packages by their folders
#: alone, without running their __init__, so that another Python need not have them
#: installed.
_CODE = """
import sys
# A file of the current folder is none of the modules below. -P does this from Python 3.11 on.
sys.path[:1] = [place for place in sys.path[:1] if place]
import json, types
where = json.loads(sys.argv[1])
if where["path"]:
    sys.path[:] = where["path"]
for name, folders in where["packages"].items():
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = folders
from sut_backends.workers.inside.main import main
main(sys.argv[2])
"""  # noqa: E501


@dataclass(frozen=True, slots=True)
class Place:
    """Place of a program: the interpreter (empty: the rig's own), a core of the CPU
    (-1: any), threads of numerical libraries, and the time limit of its start.

    `packages` are further packages with its code. `isolated`: it gets a home folder, a
    temporary folder and a working folder of its own, and ends with all processes that
    it started.
    """

    interpreter: str = ""
    core: int = -1
    threads: int = 1
    start_s: float = 60.0
    packages: tuple[str, ...] = ()
    isolated: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)


class Worker(ChildProcess):
    """A running program; `about` is the process's own description."""

    def __init__(self, program: Program, place: Place) -> None:
        order = WorkerStart(
            program.entry, dict(program.arguments), place.core, place.threads
        )
        interpreter = place.interpreter or sys.executable
        where = _code_of(program, place)
        self._isolation = Isolation(place.environment) if place.isolated else None
        try:
            start = json.dumps(asdict(order))
            environment = self._isolation.environment if self._isolation else None
            folder = self._isolation.work if self._isolation else None
            super().__init__(
                [interpreter, "-c", _CODE, json.dumps(where), start],
                (),
                what=program.entry,
                try_next=f"is {interpreter} a Python that starts?",
                environment=environment,
                folder=folder,
            )
        except BaseException:
            if self._isolation:
                self._isolation.close()
            raise
        if self._isolation:
            self._isolation.hold(self.pid)
        self._unread = b""
        assert self._process.stdin is not None
        do_not_block(self._process.stdin.fileno())
        try:
            content, _ = self._answer(
                time.monotonic() + place.start_s, "start", place.start_s
            )
        except BaseException:
            self.close()
            raise
        about = about_of(content)
        if isinstance(about, Refusal):
            printed = self._tail()
            self.close()
            try_next = _what_helps(about, interpreter)
            raise BenchError(
                f"{program.entry} does not start",
                evidence=f"{about.error} ({about.python})"
                + (f"; it printed: {printed}" if printed and self._isolation else ""),
                try_next=try_next,
            )
        self.about = about

    @property
    def wrote(self) -> tuple[str, ...]:
        """The files that it left in its own home and working folder so far."""
        return self._isolation.wrote() if self._isolation else ()

    def close(self) -> None:
        """End the process and, where it is isolated, all that it started; closing twice
        is allowed.
        """
        if self._isolation:
            self._isolation.end()
        super().close()
        if self._isolation:
            self._isolation.close()

    def ask(
        self, request: Request, payload: bytes, limit_s: float
    ) -> tuple[Done | Refusal, bytes]:
        """Return the answer to a request, and its bytes; DeadlineError ends the
        process: a computation cannot be stopped otherwise."""
        end_s = time.monotonic() + min(limit_s, _WAIT_MAX_S)
        head = json.dumps(request_json(request) | {"bytes": len(payload)})
        message = head.encode() + b"\n" + payload
        self._send(message, end_s, request.op, limit_s)
        content, output = self._answer(end_s, request.op, limit_s)
        return done_of(content), output

    def feed(
        self, request: Request, blocks: Iterable[bytes], limit_s: float
    ) -> tuple[Done | Refusal, bytes]:
        """Return the answer to a request that reports its start and then gets `blocks`
        as fast as it takes them."""
        end_s = time.monotonic() + min(limit_s, _WAIT_MAX_S)
        report, none = self.ask(request, b"", limit_s)
        if isinstance(report, Refusal):
            return report, none
        for block in blocks:
            self._send(block, end_s, request.op, limit_s)
        content, output = self._answer(end_s, request.op, limit_s)
        return done_of(content), output

    def _send(self, block: bytes, end_s: float, what: str, limit_s: float) -> None:
        assert self._process.stdin is not None
        unsent = memoryview(block)
        try:
            fd = self._process.stdin.fileno()
            while unsent:
                if not self._ready([], [fd], end_s):
                    raise self._late(what, limit_s)
                unsent = unsent[os.write(fd, unsent) :]
        except (OSError, ValueError) as error:
            raise self._lost() from error

    def _answer(
        self, end_s: float, what: str, limit_s: float
    ) -> tuple[dict[str, Any], bytes]:
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
        if not self._ready([fd], [], end_s):
            raise TimeoutError
        block = os.read(fd, _BLOCK_B)
        if not block:
            raise self._lost()
        self._unread += block

    def _ready(self, readable: list[int], writable: list[int], end_s: float) -> bool:
        """Wait for a pipe, up to a time; False where it is not ready by then.

        DeviceLost where the process has ended: a process that it forked may hold its
        end of the pipe open.
        """
        while True:
            look()
            ended = self._process.poll() is not None
            left_s = 0.0 if ended else max(end_s - time.monotonic(), 0.0)
            if any(ready(readable, writable, min(left_s, LOOK_S))):
                return True
            if ended:
                raise self._lost()
            if left_s <= LOOK_S:
                return False

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


def _what_helps(refusal: Refusal, interpreter: str) -> str:
    if refusal.missing:
        return f"{refusal.missing} is missing in {interpreter}: rig sdk doctor"
    if refusal.refused:
        return "what it says; docs/reference/BACKENDS.md has what each backend runs"
    return "the task's own model and data"


def _code_of(program: Program, place: Place) -> dict[str, Any]:
    if not place.interpreter:
        # Absolute: "" is this process's folder, not the worker's.
        return {
            "path": [str(Path(entry).absolute()) for entry in sys.path],
            "packages": {},
        }
    # `rig` and the backends for what every worker does, the others for the program at
    # hand.
    of_program = program.entry.split(".")[0].split(":")[0]
    names = {"rig", "sut_backends", of_program, *place.packages}
    packages = {}
    for name in sorted(names):
        spec = find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            packages[name] = list(spec.submodule_search_locations)
    return {"path": [], "packages": packages}
