# SPDX-License-Identifier: Apache-2.0
"""C sources compiled for this host on first use and kept in the user's cache folder, by
the hash of sources, flags and platform."""

from __future__ import annotations

import hashlib
import platform
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.errors import BenchError
from rig.files.user_folders import cache
from rig.firmware import toolchain

FLAGS = ("-std=c99", "-O3", "-fPIC", "-shared")
#: A compiler takes seconds; one that takes longer than this hangs.
_LIMIT_S = 300.0


@dataclass(frozen=True, slots=True)
class Library:
    """A shared library to be made of C sources; `headers` are the files they include,
    by `include` or beside them.
    """

    name: str
    sources: Sequence[Path]
    headers: Sequence[Path] = ()
    include: Sequence[Path] = ()

    def compiled(self, folder: Path | None = None) -> Path:
        """Return the library's path, compiled into `folder` (the user's cache) where it
        is not there yet.

        Raises DeviceNotFound where there is no C compiler, BenchError where it fails.
        """
        digest = hashlib.sha256(
            repr((FLAGS, platform.platform(), platform.machine())).encode()
        )
        for file in [*self.sources, *self.headers]:
            digest.update(file.read_bytes())
        folder = folder or cache()
        library = folder / f"{self.name}-{digest.hexdigest()[:16]}.so"
        if not library.exists():
            folder.mkdir(parents=True, exist_ok=True)
            self._compile(library)
        return library

    def _compile(self, library: Path) -> None:
        # Two processes may be at it: each makes its own file, the last one in place is
        # as good as the first.
        with tempfile.TemporaryDirectory(dir=library.parent) as scratch:
            made = Path(scratch) / library.name
            include = [f"-I{path}" for path in self.include]
            parts = (
                toolchain.find("cc"),
                *FLAGS,
                *include,
                "-o",
                made,
                *self.sources,
            )
            command = list(map(str, parts))
            try:
                done = subprocess.run(
                    command,
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=_LIMIT_S,
                )
            except subprocess.TimeoutExpired as error:
                raise BenchError(
                    f"{self.name} was not compiled within {_LIMIT_S:g} s",
                    evidence=f"by {parts[0]}",
                    try_next=(
                        "again when this computer has less to do, or another C compiler"
                    ),
                ) from error
            if done.returncode:
                raise BenchError(
                    f"{self.name} does not compile",
                    evidence=done.stderr[-2000:],
                    try_next="another C compiler",
                )
            made.replace(library)
