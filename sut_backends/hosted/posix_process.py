# SPDX-License-Identifier: Apache-2.0
"""The firmware as a process of this host."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from rig.errors import DeviceNotFound
from rig.host.pseudo_terminal import open_port, refuse_windows
from rig.host.ready import can_read
from rig.host.stop import LOOK_S, look
from sut_backends.processes.child_process import ChildProcess, sha256_of

_START_S = 5.0
_BUILD = (
    "make firmware in a checkout; else rig firmware new firmware --port posix, and"
    " build it"
)


class DutProcess(ChildProcess):
    """A running firmware; `port` is the path of its line."""

    def __init__(self, program: Path, arguments: Sequence[str], edge_fd: int) -> None:
        refuse_windows("[sut.posix], the firmware as a process,")
        self.program, self.sha256 = program, sha256_of(program, _BUILD)
        command: list[str | Path] = [program, *arguments, "--edges", str(edge_fd)]
        super().__init__(command, (edge_fd,), what=str(program), try_next=_BUILD)
        try:
            self.port = self._read_port()
        except BaseException:
            self.close()
            raise

    def first_words(self) -> bytes:
        """Return the bytes that it wrote to its line before the line was opened."""
        fd = open_port(self.port, raw=False)
        try:
            return os.read(fd, 1000) if can_read(fd, _START_S / 5) else b""
        finally:
            os.close(fd)

    def _read_port(self) -> str:
        assert self._process.stdout is not None
        fd = self._process.stdout.fileno()
        end_s = time.monotonic() + _START_S
        output = b""
        while b"\n" not in output and (left_s := end_s - time.monotonic()) > 0:
            look()
            if can_read(fd, min(left_s, LOOK_S)):
                block = os.read(fd, 1000)
                output += block
                if not block:
                    break
        word, _, port = (
            output.partition(b"\n")[0]
            .decode("utf-8", "backslashreplace")
            .partition(" ")
        )
        if word != "pty" or not port:
            gone = self.gone()
            evidence = (
                f"it said {output!r}; {gone.evidence if gone else 'it still runs'}"
            )
            raise DeviceNotFound(
                f"{self.program} does not start as the firmware does",
                evidence=evidence,
                try_next=_BUILD,
            )
        return port
