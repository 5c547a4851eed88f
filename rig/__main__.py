# SPDX-License-Identifier: Apache-2.0
"""The command `rig`, and python -m rig: Ctrl-C ends it at once until its modules are
imported."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

import rig

#: The exit code of a command that Ctrl-C stopped: rig/cli/exit_codes.py.
_STOPPED = 130
#: The exit code of a wrong configuration: rig/errors.py.
_CONFIGURATION = 2

_OVERWRITTEN = """\
error another package has overwritten neurorig's package rig
  evidence: rig/__init__.py has no open_bench; the SpiNNaker tools "rig" have that name
  try: an environment for neurorig alone: python3 -m venv DIR
  see: rig docs name-taken, in that environment
"""


def main() -> None:
    """Run the command line."""
    # A library that is being imported may drop a KeyboardInterrupt, or print it.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _end)
    if "open_bench" not in getattr(rig, "__all__", ()):
        os.write(2, _OVERWRITTEN.encode())
        sys.exit(_CONFIGURATION)
    from rig.cli.main import main as command_line

    command_line()


def _end(number: int, frame: object) -> None:
    with suppress(OSError):
        os.write(2, b"stopped; nothing was opened, and nothing was written\n")
    os._exit(_STOPPED)


if __name__ == "__main__":
    main()
