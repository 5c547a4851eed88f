# SPDX-License-Identifier: Apache-2.0
"""A child process that runs a Python module of the rig: its start, its messages and its
end.

It imports no modules of the user's current folder (`-P`): a `serial.py` there would
replace the library.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress

from rig.errors import BenchError
from rig.files.plain_text import one_line
from rig.host.ready import can_read
from rig.host.stop import LOOK_S, look

#: The first line that a child prints once it can do its work.
READY = "ready"
#: Time for a child to be ready, which includes its imports on a busy computer.
_READY_S = 60.0
_TAIL_B = 2000
#: Time between the end of a process's output and the end of the process.
_REAP_S = 2.0


def command(*words: str) -> list[str]:
    """Return the command line of a Python that imports no module of the current
    folder.
    """
    return [sys.executable, "-P", *words]


class PythonChild:
    """A running module of the rig with a pipe to it; `what` names it in errors.

    It runs in a session of its own: Ctrl-C does not reach it. It first gets `first`;
    the first line that it prints begins with the word READY, within _READY_S, and
    `words` is the rest of that line. Raises BenchError where it does not start; it has
    `leave_s` to end then.
    """

    def __init__(
        self,
        module: str,
        arguments: Sequence[str],
        what: str,
        *,
        first: str = "",
        leave_s: float = 0.0,
    ) -> None:
        self._what = what
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        try:
            self.process = subprocess.Popen(
                command("-m", module, *arguments),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                text=True,
                start_new_session=True,
            )
        except OSError as error:
            self._stderr.close()
            raise BenchError(
                f"{what} cannot be started", evidence=str(error)
            ) from error
        self.say(first)
        try:
            word, _, self.words = self._line().partition(" ")
        except BaseException:
            self.close(leave_s)
            raise
        if word != READY:
            evidence = self._last_words()
            self.close(leave_s)
            raise BenchError(
                f"{what} does not start",
                evidence=evidence,
                try_next="reinstall neurorig: a package that it needs may be damaged",
            )

    def say(self, line: str) -> None:
        """Write to the child; a line to one that is gone is dropped."""
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.write(line)
            self.process.stdin.flush()

    def ended(self) -> BenchError | None:
        """Return how the process ended; None where it still runs, at once, or _REAP_S
        after its output has ended.
        """
        assert self.process.stdout is not None
        if self.process.poll() is None and not can_read(self.process.stdout, 0.0):
            return None
        try:
            self.process.wait(_REAP_S)
        except subprocess.TimeoutExpired:
            return None
        return BenchError(f"{self._what} has ended", evidence=self._last_words())

    def left(self, leave_s: float) -> BenchError | None:
        """Close the pipe, and wait for the end; return what went wrong, if anything."""
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(leave_s)
        failed = self.process.returncode != 0
        evidence = self._last_words() if failed else ""
        self.close(0.0)
        return BenchError(f"{self._what} failed", evidence=evidence) if failed else None

    def close(self, leave_s: float) -> None:
        """Close the pipe and wait for the end; a process that does not end in time is
        killed.
        """
        with suppress(OSError):
            assert self.process.stdin is not None
            self.process.stdin.close()
        try:
            self.process.wait(leave_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._stderr.close()

    def _line(self) -> str:
        """Return its first line; empty where none comes in time."""
        assert self.process.stdout is not None
        end_s = time.monotonic() + _READY_S
        while not can_read(self.process.stdout, min(LOOK_S, _READY_S)):
            look()
            if time.monotonic() > end_s:
                return ""
        return self.process.stdout.readline().strip()

    def _last_words(self) -> str:
        """Return how it ended, and the last line of its standard error."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_REAP_S)
        code = self.process.poll()
        how = f"exit code {code}"
        if code is None:
            how = f"not ready within {_READY_S:.0f} s"
        self._stderr.seek(0, 2)
        self._stderr.seek(max(self._stderr.tell() - _TAIL_B, 0))
        tail = self._stderr.read().decode("utf-8", "backslashreplace")
        lines = tail.strip().splitlines()
        return f"{how}: {one_line(lines[-1])}" if lines else how
