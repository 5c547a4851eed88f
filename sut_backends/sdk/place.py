# SPDX-License-Identifier: Apache-2.0
"""The place of an SDK's environment: a new one is made beside it, and takes it in one
step.

An environment cannot be moved: its scripts name the folder that it was made in. So each
is made in a folder of its own and stays there, and the place is a link to the one that
is in use. To replace a link is one step of the file system: for any end of the
installation, kill -9 included, the link leads to a whole environment.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from rig.errors import BenchError
from rig.host import file_lock
from sut_backends.workers.environments import before, root


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
