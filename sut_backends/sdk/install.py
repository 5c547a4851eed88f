# SPDX-License-Identifier: Apache-2.0
"""Installation of an SDK: an environment of its own, from a pinned list.

The place of an SDK's environment: a new one is made beside it, and takes it in one
step.

An environment cannot be moved: its scripts name the folder that it was made in. So each
is made in a folder of its own and stays there, and the place is a link to the one that
is in use. To replace a link is one step of the file system: for any end of the
installation, kill -9 included, the link leads to a whole environment.

Commands of an installation: pip, its progress, and its end with the rig.
"""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from importlib.resources import as_file
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Self
from urllib.parse import unquote

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    parse_sdist_filename,
    parse_wheel_filename,
)

from rig.errors import BenchError, ConfigError, DeadlineError
from rig.files.user_folders import expanded
from rig.host import file_lock
from rig.host.program import run_program
from sut_backends.sdk.doctor import Diagnosis, examine
from sut_backends.sdk.kinds import REQUIREMENTS, SdkKind
from sut_backends.workers.environments import before, installed, root

_PIP_S = 3600.0
_PROBE_S = 20.0
_MB = 1_000_000
_MINORS = range(8, 20)
_VERSION = "import sys; print('.'.join(map(str, sys.version_info[:3])))"


def install(sdk: SdkKind, python: str, say: Callable[[str], None]) -> Diagnosis:
    """Make an environment beside the one that is there, try it, and let it take the
    place; return its state. `say` gets a line for each step.

    Raises ConfigError where no Python fits, BenchError where there is no room, where
    pip fails (with its last words), and where the new environment cannot be imported
    and the present one can. The present one stays as it is until the new one takes its
    place.
    """
    base = _fitting(sdk, python)
    say(_size(sdk))
    with NewEnvironment(sdk.kind) as new:
        _require_room(sdk)
        say(f"environment {new.folder}, from {base}")
        _fill(sdk, base, new, say)
        diagnosis = examine(sdk, str(new.interpreter))
        if not diagnosis.imports and examine(sdk).imports:
            raise BenchError(
                f"the new environment of {sdk.title} does not work, the present one"
                " stays",
                evidence="; ".join(diagnosis.problems),
                try_next=f"rig sdk doctor {sdk.kind} for the present one",
            )
        new.take_place()
        say(f"{size_b(new.folder) / _MB:.0f} MB are installed")
    return dataclasses.replace(diagnosis, interpreter=str(installed(sdk.kind)))


def _fill(
    sdk: SdkKind, base: str, new: NewEnvironment, say: Callable[[str], None]
) -> None:
    """Make the environment of its list."""
    folder = str(new.folder)
    run([base, "-m", "venv", folder], "no environment can be made", _PROBE_S * 6)
    pip = [
        str(new.interpreter),
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--no-input",
    ]
    with as_file(sdk.folder / REQUIREMENTS) as wanted:
        command = [*pip, "install", "--progress-bar", "off", "-r", str(wanted)]
        progress = Progress(len(sdk.requirements), say)
        run(command, "the packages cannot be installed", _PIP_S, progress.heard)
    for name in sdk.never:
        run([*pip, "uninstall", "-q", "-y", name], "", _PROBE_S * 6)


def _size(sdk: SdkKind) -> str:
    """Return how much is to come, where its sheet states it."""
    count = f"{len(sdk.requirements)} packages, pinned"
    if sdk.size is None:
        return count
    size = sdk.size
    return (
        f"{count}: {size.download_mb} MB to download, {size.installed_mb} MB installed "
        f"({size.measured}); minutes, some compile"
    )


def _require_room(sdk: SdkKind) -> None:
    wanted_mb = sdk.size.installed_mb if sdk.size else 0
    free_mb = shutil.disk_usage(root()).free // _MB
    if free_mb < wanted_mb:
        raise BenchError(
            f"there is no room for the environment of {sdk.title}",
            evidence=f"{free_mb} MB are free in {root()}, {wanted_mb} MB are needed",
            try_next="free some, or XDG_DATA_HOME=FOLDER on another disk",
        )


def _fitting(sdk: SdkKind, python: str) -> str:
    """Find the first Python that the SDK runs under."""
    seen = []
    for path in [python] if python else _pythons():
        version = _version(path)
        if version is not None and version in sdk.python:
            return path
        seen.append(f"{path} is {version or 'no Python'}")
    raise ConfigError(
        f"{sdk.title} needs Python {sdk.python}",
        evidence="; ".join(seen) or "none found",
        try_next="install such a Python and name it: --python PATH",
    )


def _pythons() -> Iterator[str]:
    yield sys.executable
    versions = expanded("~") / ".pyenv" / "versions"
    for minor in _MINORS:
        for folder in sorted(versions.glob(f"3.{minor}.*/bin"), reverse=True):
            yield str(folder / "python")
        python = shutil.which(f"python3.{minor}")
        if python is not None:
            yield python


def _version(path: str) -> str | None:
    try:
        done = subprocess.run(
            [path, "-S", "-c", _VERSION],
            capture_output=True,
            text=True,
            timeout=_PROBE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


class NewEnvironment:
    """A folder for a new environment of a kind, made when it is entered. It is gone at
    the end unless it took the place.

    BenchError where another installation of the kind is at work.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._place = root() / kind
        self._held = ExitStack()
        self.folder = Path()

    @property
    def interpreter(self) -> Path:
        """The interpreter of the new environment."""
        return self.folder / "bin" / "python"

    def __enter__(self) -> Self:
        root().mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            self._lock(stack)
            self._recover()
            self._sweep()
            self.folder = Path(tempfile.mkdtemp(prefix=self._prefix, dir=root()))
            self._held = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._held:
            self._recover()
            self._sweep()

    def take_place(self) -> None:
        """Let the place lead to the new environment from here on."""
        link = Path(tempfile.mkdtemp(prefix=self._prefix, dir=root())) / "link"
        link.symlink_to(self.folder.name)  # as seen from the place, not from here
        if self._place.is_dir() and not self._place.is_symlink():
            # An environment of the rig's versions before this one: a folder in the
            # place itself.
            self._place.rename(before(self._kind))
        link.replace(self._place)

    @property
    def _prefix(self) -> str:
        return f".{self._kind}-"

    def _lock(self, stack: ExitStack) -> None:
        file = stack.enter_context(
            (root() / f".{self._kind}.lock").open("w", encoding="utf-8")
        )
        if not file_lock.take(file):
            raise BenchError(
                f"the SDK {self._kind} is being installed by another process",
                evidence=f"it holds {file.name}",
                try_next="wait for its end, or end it",
            )

    def _recover(self) -> None:
        """Put an environment back that lost its place when a process was killed."""
        lost = before(self._kind)
        if lost.is_dir() and not os.path.lexists(self._place):
            lost.rename(self._place)

    def _sweep(self) -> None:
        """Remove all folders of the kind but the one that the place leads to."""
        used = self._place.resolve() if self._place.is_symlink() else None
        for folder in root().glob(f"{self._prefix}*"):
            if folder.resolve() != used:
                shutil.rmtree(folder, ignore_errors=True)


def size_b(folder: Path) -> int:
    """Sum the sizes of a folder's files in bytes."""
    size_b = 0
    for path, _, names in os.walk(folder):
        size_b += sum(os.lstat(Path(path) / name).st_size for name in names)
    return size_b


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
