# SPDX-License-Identifier: Apache-2.0
"""A process that ends another one when this one is gone for any reason: for programs
that do not watch their parent themselves. With a token, it ends all processes that
carry the token.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

if sys.platform == "win32":
    _KILL = signal.SIGTERM  # any signal ends a process there
else:
    _KILL = signal.SIGKILL
#: The variable of the environment that marks processes, and all that they start.
TOKEN = "NEURORIG_WORKER"
_RELEASED = b"released\n"
#: A process may start another one while they are looked for.
_ROUNDS = 20
#: Time for the holder to end once it is released; then it is killed.
_LEAVE_S = 5.0


class KillWithParent:
    """End the child process `pid`, and those that carry `token`, if this process is
    gone before `close`.
    """

    def __init__(self, pid: int, token: str = "") -> None:
        # Started by its path and isolated, as it needs only the standard library; in a
        # session of its own, so that Ctrl-C does not reach it.
        command = [sys.executable, "-I", "-S", __file__, str(pid), token]
        kept = {name: text for name, text in os.environ.items() if name != TOKEN}
        self._holder = subprocess.Popen(
            command, stdin=subprocess.PIPE, start_new_session=True, env=kept
        )

    def close(self) -> None:
        """Release the processes; closing twice is allowed."""
        if self._holder.stdin is not None and not self._holder.stdin.closed:
            with suppress(OSError):
                os.write(self._holder.stdin.fileno(), _RELEASED)
            self._holder.stdin.close()
        try:
            self._holder.wait(_LEAVE_S)
        except subprocess.TimeoutExpired:
            self._holder.kill()
            self._holder.wait()


def kill_marked(token: str) -> int:
    """Kill every process whose environment carries a token, and those that they start
    meanwhile; return how many there were. Only Linux shows the environment of others.
    """
    marked = f"{TOKEN}={token}".encode()
    killed: set[int] = set()
    for _ in range(_ROUNDS):
        alive = [pid for pid in _processes() if marked in _environment(pid)]
        for pid in alive:
            with suppress(ProcessLookupError):
                os.kill(pid, _KILL)
        killed.update(alive)
        if not alive:
            break
    return len(killed)


def _processes() -> list[int]:
    proc = Path("/proc")
    if not proc.is_dir():
        return []
    return [int(path.name) for path in proc.iterdir() if path.name.isdigit()]


def _environment(pid: int) -> list[bytes]:
    """Return the environment of a process; empty if it is gone, dead, or of another
    user.
    """
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def main() -> None:
    """Wait for the release, or for the end of the pipe without it."""
    pid = int(sys.argv[1])
    token = sys.argv[2]
    try:
        kill = _killer(pid)
    except ProcessLookupError:
        return
    if sys.stdin.buffer.read() != _RELEASED:
        with suppress(ProcessLookupError):
            kill()
        if token:
            kill_marked(token)


def _killer(pid: int) -> Callable[[], None]:
    """Return a function that ends a process; ProcessLookupError where there is none."""
    if sys.platform == "linux":
        # The number may be reused for another process, this descriptor may not.
        pidfd = os.pidfd_open(pid)
        return partial(signal.pidfd_send_signal, pidfd, _KILL)
    else:  # noqa: RET505 - mypy distinguishes the systems by it
        return partial(os.kill, pid, _KILL)


if __name__ == "__main__":
    main()
