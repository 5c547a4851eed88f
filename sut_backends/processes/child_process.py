# SPDX-License-Identifier: Apache-2.0
"""A process of this host that simulates a device, and that ends with the rig."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from rig.errors import DeviceLost, DeviceNotFound
from rig.host.pseudo_terminal import refuse_windows

_END_S = 2.0
_REAP_S = 0.5  # between the end of its line and the end of the process
_TAIL_B = 400
#: Signals that no fault of a program causes: of another program, or of the system where
#: memory is short.
_FROM_OUTSIDE = [
    getattr(signal, name) for name in ("SIGKILL", "SIGTERM") if hasattr(signal, name)
]


class ChildProcess:
    """A running process, which ends when its standard input ends, as it does when this
    process is gone for any reason.

    `what` names it in errors, `try_next` is the advice if it cannot be started.
    `pass_fds` stay open in it. `folder` and `environment` replace those of this
    process.
    """

    def __init__(
        self,
        command: Sequence[str | Path],
        pass_fds: Sequence[int],
        *,
        what: str,
        try_next: str,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        refuse_windows(what)
        self._what = what
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                pass_fds=pass_fds,
                env=environment,
                cwd=folder,
                # An interrupt at the terminal must not reach the device: close() ends
                # it.
                start_new_session=True,
            )
        except OSError as error:
            self._stderr.close()
            raise DeviceNotFound(
                f"{what} cannot be started", evidence=str(error), try_next=try_next
            ) from error

    @property
    def pid(self) -> int:
        """The number of the process."""
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
        try_next = (
            f"a program built for this board and processor; or start {self._what} by"
            " hand"
        )
        if -code in _FROM_OUTSIDE:
            try_next = "run it again, with more free memory if the system ended it"
        return DeviceLost(
            "the process of the simulated DUT ended",
            evidence=evidence,
            try_next=try_next,
        )

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

    def _tail(self) -> str:
        self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(self._stderr.tell() - _TAIL_B, 0))
        return self._stderr.read().decode("utf-8", "backslashreplace").strip()


def sha256_of(program: Path, try_next: str) -> str:
    """Return the SHA-256 of a program; raise DeviceNotFound where there is none."""
    try:
        return hashlib.sha256(program.read_bytes()).hexdigest()
    except OSError as error:
        raise DeviceNotFound(
            f"there is no program {program}",
            evidence=error.strerror or str(error),
            try_next=try_next,
        ) from error
