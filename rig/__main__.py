# SPDX-License-Identifier: Apache-2.0
"""The command `rig`, and python -m rig: Ctrl-C ends it at once until its modules are
imported."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

#: The exit code of a command that Ctrl-C stopped: rig/cli/exit_codes.py.
_STOPPED = 130


def main() -> None:
    """Run the command line."""
    # A library that is being imported may drop a KeyboardInterrupt, or print it.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _end)
    from rig.cli.main import main as command_line

    command_line()


def _end(number: int, frame: object) -> None:
    with suppress(OSError):
        os.write(2, b"stopped; nothing was opened, and nothing was written\n")
    os._exit(_STOPPED)


if __name__ == "__main__":
    main()
