# SPDX-License-Identifier: Apache-2.0
"""The firmware as a process of this host: started, held on a leash, and ended."""

from __future__ import annotations

import hashlib
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rig.errors import DeviceLost, DeviceNotFound

_START_S = 5.0
_END_S = 2.0
_REAP_S = 0.5  # between the end of its line and the end of the process
_TAIL_B = 400
_BUILD = "make firmware"


class DutProcess:
    """A running firmware; `port` is the path of its line. It also ends when this process does: its standard input is the leash."""

    def __init__(self, program: Path, arguments: Sequence[str], edge_fd: int) -> None:
        self.program, self.sha256 = program, _sha256(program)
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        try:
            self._process = subprocess.Popen(
                [program, *arguments, "--edges", str(edge_fd)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                pass_fds=(edge_fd,),
                start_new_session=True,  # an interrupt at the terminal is ours to handle: the DUT ends in close()
            )
        except OSError as error:
            self._stderr.close()
            raise DeviceNotFound(f"{program} cannot be started", evidence=str(error), try_next=_BUILD) from error
        try:
            self.port = self._read_port()
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """Return the number of the process."""
        return self._process.pid

    def gone(self) -> DeviceLost | None:
        """Return what happened to the process, if it ended."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_REAP_S)
        code = self._process.poll()
        if code is None:
            return None
        how = f"exit code {code}" if code >= 0 else f"killed by signal {-code}"
        evidence = f"{how}; standard error: {self._tail() or 'empty'}"
        try_next = f"start {self.program.name} by hand"
        return DeviceLost("the process of the simulated DUT ended", evidence=evidence, try_next=try_next)

    def close(self) -> None:
        """End the process; closing twice is allowed."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._stderr):
            if pipe is not None:
                pipe.close()

    def _read_port(self) -> str:
        assert self._process.stdout is not None
        fd, end_s, said = self._process.stdout.fileno(), time.monotonic() + _START_S, b""
        while b"\n" not in said and (left_s := end_s - time.monotonic()) > 0:
            if select.select([fd], [], [], left_s)[0]:
                block = os.read(fd, 1000)
                said += block
                if not block:
                    break
        word, _, port = said.partition(b"\n")[0].decode("utf-8", "backslashreplace").partition(" ")
        if word != "pty" or not port:
            gone = self.gone()
            evidence = f"it said {said!r}; {gone.evidence if gone else 'it still runs'}"
            raise DeviceNotFound(f"{self.program} does not start as the firmware does", evidence=evidence, try_next=_BUILD)
        return port

    def _tail(self) -> str:
        self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(self._stderr.tell() - _TAIL_B, 0))
        return self._stderr.read().decode("utf-8", "backslashreplace").strip()


def _sha256(program: Path) -> str:
    try:
        return hashlib.sha256(program.read_bytes()).hexdigest()
    except OSError as error:
        raise DeviceNotFound(f"there is no program {program}", evidence=error.strerror or str(error), try_next=_BUILD) from error
