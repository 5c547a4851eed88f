# SPDX-License-Identifier: Apache-2.0
"""A program that is run to its end, within a limit: its lines as they come, and the
last ones.
"""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from rig.errors import DeadlineError
from rig.host.kill_with_parent import TOKEN, KillWithParent, kill_marked
from rig.host.stop import look

#: Lines that a program printed last, as evidence of its failure.
TAIL = 5
_LOOK_S = 0.05
_END_S = 10.0
_ENDS = re.compile(rb"[\r\n]+")


@dataclass(frozen=True, slots=True)
class ProgramEnd:
    """The end of a program: its exit code, and the last lines that it printed."""

    code: int
    last: tuple[str, ...]

    @property
    def evidence(self) -> str:
        """The last lines as one, without the space around them."""
        return joined(self.last)


def joined(lines: Sequence[str]) -> str:
    """Return lines of a program as one, without the space around each."""
    return " ".join(line.strip() for line in lines if line.strip())


def run_program(
    command: Sequence[str | Path],
    limit_s: float,
    heard: Callable[[str], None] = lambda line: None,
) -> ProgramEnd:
    """Run a program without input; `heard` is called with each line that it prints.
    Raises DeadlineError with its last lines where it takes longer than the limit.

    The program ends with this process, with all that it started, however this process
    ends.
    """
    token = secrets.token_hex(16)
    last: deque[str] = deque(maxlen=TAIL)

    def hear(line: str) -> None:
        last.append(line)
        heard(line)

    # A file, as Windows cannot wait for a pipe within a limit.
    with (
        TemporaryDirectory() as folder,
        (Path(folder) / "output").open("xb") as output,
        (Path(folder) / "output").open("rb") as written,
    ):
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, TOKEN: token},
        )
        keeper = KillWithParent(process.pid, token)
        try:
            code = _followed(process, written, time.monotonic() + limit_s, hear)
        finally:
            if process.poll() is None:
                process.kill()
                kill_marked(token)
                process.wait(_END_S)
            keeper.close()
    if code is None:
        name = Path(command[0]).name
        raise DeadlineError(f"end of {name}", limit_s, evidence=joined(list(last)))
    return ProgramEnd(code, tuple(last))


def _followed(
    process: subprocess.Popen[bytes],
    written: BinaryIO,
    end_s: float,
    hear: Callable[[str], None],
) -> int | None:
    """Hear each line of a process until it ends; return its exit code, None where that
    is too late.
    """
    unread = b""
    while True:
        look()
        try:
            code: int | None = process.wait(_LOOK_S)
        except subprocess.TimeoutExpired:
            code = None
        *lines, unread = _ENDS.split(unread + written.read())
        for line in filter(None, lines):
            hear(line.decode("utf-8", "replace"))
        if code is not None or time.monotonic() > end_s:
            if unread:
                hear(unread.decode("utf-8", "replace"))
            return code
