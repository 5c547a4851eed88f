# SPDX-License-Identifier: Apache-2.0
"""One line of `rig doctor`, and the system that the lines are about."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from rig.errors import DeadlineError
from rig.files.plain_text import one_line

_FoundT = TypeVar("_FoundT")
#: Time for a program to print its version, or for the system to list its ports.
_LIMIT_S = 10.0
_TEXT_MAX_B = 4096


class RowState(StrEnum):
    """States of a thing that was looked at."""

    OK = "ok"
    MISSING = "missing"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class DoctorRow:
    """One thing that was looked at: its group and name, its state, the evidence, and
    what to do where it is missing or wrong.

    `needed`: the rig, or the bench at hand, does not work without it. `see`: the row of
    docs/how-to/TROUBLESHOOTING.md.
    """

    group: str
    name: str
    state: RowState
    detail: str
    try_next: str = ""
    needed: bool = False
    see: str = ""

    @property
    def blocks(self) -> bool:
        """Whether something that is needed is missing or wrong."""
        return self.needed and self.state is not RowState.OK


@dataclass(frozen=True, slots=True)
class LinuxRoot:
    """The folders of a Linux system below `root`, and a way to run its programs."""

    root: Path = Path("/")

    def path(self, name: str) -> Path:
        """Return a path such as "sys/bus/usb" below the root."""
        return self.root / name

    def text(self, path: Path) -> str:
        """Return the beginning of a file of the system in one line; empty where it
        cannot be read.
        """
        try:
            with path.open("rb") as stream:
                block = stream.read(_TEXT_MAX_B)
        except OSError:
            return ""
        return one_line(block.decode("utf-8", "backslashreplace").strip())


def asked(command: Sequence[str | Path]) -> tuple[bool, str]:
    """Run a program without input; return whether it ended well and the first line that
    it printed, of one that did not the last line or the reason.
    """
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False, f"no answer within {_LIMIT_S:.0f} s"
    except OSError as error:
        return False, error.strerror or str(error)
    printed = (done.stdout, done.stderr)
    if done.returncode:
        printed = (done.stderr, done.stdout)
    block = next(filter(None, map(bytes.strip, printed)), b"")
    lines = block.decode("utf-8", "backslashreplace").splitlines()
    if done.returncode:
        return False, one_line(lines[-1]) if lines else f"exit code {done.returncode}"
    return True, one_line(lines[0]) if lines else ""


def limited(what: str, action: Callable[[], _FoundT]) -> _FoundT:
    """Return the result of a call into the system or a library; raise its errors, and
    DeadlineError where it does not return in time. Its thread then ends with the
    process.
    """
    results: list[_FoundT] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            results.append(action())
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(_LIMIT_S)
    if raised:
        raise raised[0]
    if not results:
        raise DeadlineError(what, _LIMIT_S)
    return results[0]
