# SPDX-License-Identifier: Apache-2.0
"""Commands of an installation: pip, its progress, and its end with the rig."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from urllib.parse import unquote

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    parse_sdist_filename,
    parse_wheel_filename,
)

from rig.errors import BenchError, DeadlineError
from rig.host.program import run_program

_FETCHED = re.compile(r"\s*(?:Downloading|Using cached) (\S+)(?: \((.+)\))?$")
_LOCAL = re.compile(r"\s*Processing (\S+)")
_BUILT = re.compile(r"\s*Building wheel for (\S+)[^:]*(?:: started)?$")


def run(
    command: Sequence[str],
    failed: str,
    limit_s: float,
    heard: Callable[[str], None] = lambda line: None,
) -> None:
    """Run a command; `heard` is called with each line that it prints. BenchError with
    its last lines where it fails, if `failed` is said, and where it takes longer than
    the limit.

    The command ends with this process, with all that it started, however this process
    ends.
    """
    try:
        end = run_program(command, limit_s, heard)
    except DeadlineError as error:
        raise BenchError(f"{command[0]} took longer than {limit_s:g} s") from error
    if end.code and failed:
        raise BenchError(
            failed,
            evidence=end.evidence,
            try_next="is there a network, and a C++ compiler where packages compile?",
        )


class Progress:
    """pip's output, as a line for each of so many packages."""

    def __init__(self, packages: int, say: Callable[[str], None]) -> None:
        self._packages = packages
        self._say = say
        self._count = 0

    def heard(self, line: str) -> None:
        """Take a line of pip's."""
        if fetched := _FETCHED.match(line):
            self._package(fetched[1], fetched[2])
        elif local := _LOCAL.match(line):
            self._package(local[1], "")
        elif built := _BUILT.match(line):
            self._say(f"  {built[1]} is compiled")
        elif line.startswith("Installing collected packages"):
            self._say("  all there, unpacked now")

    def _package(self, file: str, size: str | None) -> None:
        name = _release(unquote(PurePosixPath(file).name))
        if not name:  # what describes a package comes before it
            return
        self._count += 1
        of = (
            f" of {self._packages}"
            if self._count <= self._packages
            else ", not on the list"
        )
        self._say(f"  {self._count}{of}: {name}{f', {size}' if size else ''}")


def _release(file: str) -> str:
    """Parse name and version of a package's file; empty for any other file."""
    with suppress(InvalidWheelFilename):
        name, version, *_ = parse_wheel_filename(file)
        return f"{name} {version}"
    with suppress(InvalidSdistFilename):
        name, version = parse_sdist_filename(file)
        return f"{name} {version}"
    return ""
