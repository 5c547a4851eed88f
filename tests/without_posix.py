# SPDX-License-Identifier: Apache-2.0
"""Makes this computer look like Windows to the rig's own modules, and to no library.

`python -m tests.without_posix run BENCH ...` is `rig run BENCH ...` there, and `pytest
-p tests.without_posix` runs tests there. Modules that only Linux and macOS have cannot
be imported, and their functions and constants are missing in `os`, `signal` and `time`.
"""

from __future__ import annotations

import builtins
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

OURS = ("rig", "drivers", "sut_backends", "scenarios", "gui")
ABSENT = {"fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"}
_OS = (
    "O_CLOEXEC O_DIRECTORY O_NOCTTY O_NOFOLLOW O_NONBLOCK chown fchmod fchown fork"
    " geteuid getgid getpgid getuid killpg mkfifo openpty pidfd_open posix_spawn pread"
    " pwrite register_at_fork sched_getaffinity sched_setaffinity set_blocking setsid"
    " statvfs ttyname uname"
)
_SIGNAL = (
    "SIGALRM SIGCHLD SIGHUP SIGKILL SIGPIPE SIGQUIT SIGTSTP SIGUSR1 SIGUSR2 SIGXCPU "
    "pidfd_send_signal pthread_kill pthread_sigmask set_wakeup_fd setitimer sigwait"
)


class _Changed(ModuleType):
    """A module with some of its names missing or other values in their place."""

    def __init__(
        self, real: ModuleType, hidden: str, instead: Mapping[str, Any]
    ) -> None:
        super().__init__(real.__name__)
        self.__dict__.update(instead)
        self._real = real
        self._hidden = set(hidden.split())

    def __getattr__(self, name: str) -> Any:
        if name in self._hidden:
            raise AttributeError(
                f"module {self.__name__!r} has no attribute {name!r} on Windows"
            )
        return getattr(self._real, name)


_CHANGED = {
    "os": _Changed(os, _OS, {"name": "nt", "supports_dir_fd": set()}),
    "signal": _Changed(signal, _SIGNAL, {}),
    "sys": _Changed(sys, "getdlopenflags", {"platform": "win32"}),
    "time": _Changed(time, "CLOCK_MONOTONIC_RAW clock_gettime_ns", {}),
}
_import = builtins.__import__


def _import_here(
    name: str,
    globals: Mapping[str, object] | None = None,
    locals: Mapping[str, object] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> ModuleType:
    importer = str((globals or {}).get("__name__", "")).partition(".")[0]
    if importer in OURS and level == 0:
        if name in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r} on Windows", name=name)
        if name in _CHANGED:
            return _CHANGED[name]
    return _import(name, globals, locals, fromlist or (), level)


builtins.__import__ = _import_here

if __name__ == "__main__":
    from rig.cli.main import main

    sys.argv[0] = "rig"
    main()
