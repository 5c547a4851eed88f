# SPDX-License-Identifier: Apache-2.0
"""A process that ends another one when this one is gone, however that came: for
programs that know no such bond of their own. With a token, all processes are ended that
carry it.
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
#: So long the holder may take to end once it is released; then it is killed.
_LEAVE_S = 5.0


class KillWithParent:
    """Held from its making until `close`, for the process `pid`, a child of ours, and
    for those that carry `token`.
    """

    def __init__(self, pid: int, token: str = "") -> None:
        # By its path and isolated: it needs nothing but the standard library. In a
        # session of its own: Ctrl-C is not for it.
        command = [sys.executable, "-I", "-S", __file__, str(pid), token]
        kept = {name: text for name, text in os.environ.items() if name != TOKEN}
        self._holder = subprocess.Popen(
            command, stdin=subprocess.PIPE, start_new_session=True, env=kept
        )

    def close(self) -> None:
        """Let go; closing twice is allowed."""
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
    """Kill every process whose environment carries a token, and what they start
    meanwhile; return how many there were. Only Linux tells the environment of others.
    """
    marked = f"{TOKEN}={token}".encode()
    killed: set[int] = set()
    for _ in range(_ROUNDS):
        found = [pid for pid in _processes() if marked in _environment(pid)]
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, _KILL)
        killed.update(found)
        if not found:
            break
    return len(killed)


def _processes() -> list[int]:
    proc = Path("/proc")
    if not proc.is_dir():
        return []
    return [int(path.name) for path in proc.iterdir() if path.name.isdigit()]


def _environment(pid: int) -> list[bytes]:
    """Return the environment of a process; none of one that is gone, dead, or somebody
    else's."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def main() -> None:
    """Wait for the word, or for the end without it."""
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
    """Return what ends a process; ProcessLookupError where there is none."""
    if sys.platform == "linux":
        # a number may be given to another process, this may not
        held = os.pidfd_open(pid)
        return partial(signal.pidfd_send_signal, held, _KILL)
    else:  # noqa: RET505 - mypy tells the systems apart by it
        return partial(os.kill, pid, _KILL)


if __name__ == "__main__":
    main()
