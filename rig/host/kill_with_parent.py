# SPDX-License-Identifier: Apache-2.0
"""A process that ends another one when this one is gone, however that came: for programs that know
no such bond of their own.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress

_RELEASED = b"released\n"


class KillWithParent:
    """Held from its making until `close`, for the process `pid`, a child of ours."""

    def __init__(self, pid: int) -> None:
        # By its path and isolated: it needs nothing but the standard library. In a session of its
        # own: Ctrl-C is not for it.
        command = [sys.executable, "-I", "-S", __file__, str(pid)]
        self._holder = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)

    def close(self) -> None:
        """Let go; closing twice is allowed."""
        if self._holder.stdin is not None and not self._holder.stdin.closed:
            with suppress(OSError):
                os.write(self._holder.stdin.fileno(), _RELEASED)
            self._holder.stdin.close()
        self._holder.wait()


def main() -> None:
    """Wait for the word, or for the end without it."""
    pid = int(sys.argv[1])
    try:
        held = os.pidfd_open(pid)  # a number may be given to another process, this may not
    except ProcessLookupError:
        return
    if sys.stdin.buffer.read() != _RELEASED:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(held, signal.SIGKILL)


if __name__ == "__main__":
    main()
