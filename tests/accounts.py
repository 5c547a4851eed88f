# SPDX-License-Identifier: Apache-2.0
"""Commands of an account as clusters, containers and services have them. A process is
started as that account starts `rig`, imports the rig's modules there, and forks for
each command, since imports take most of the time of a short one.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_LIMIT_S = 240.0

_SERVER = """
import json, os, socket, sys
sys.path.remove("")  # the console script does not import from the current folder
import matplotlib.backends.backend_svg, rig.check.check, rig.report.report
from rig.__main__ import main
from rig.cli import check_session, compare, list, measure, report, run_bench, sessions
asked = socket.socket(fileno=int(sys.argv[1]))
for line in asked.makefile():
    words, folder, outputs = json.loads(line)
    pid = os.fork()
    if not pid:
        os.chdir(folder)
        for number, path in outputs.items():
            file = os.open(path, os.O_WRONLY)
            os.dup2(file, int(number))
            os.close(file)
        sys.argv = ["rig", *(os.fsdecode(word.encode()) for word in words)]
        try:
            main()
        except SystemExit as ended:
            if sys.stdout:
                sys.stdout.flush()
            os._exit(ended.code or 0)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    asked.sendall(b"%d\\n" % code)
os._exit(0)  # without the half second in which a process takes its modules apart
"""


@dataclass(frozen=True)
class Account:
    """How a command is started: `shell` is the line that starts "$@", and `prelude` is
    Python that runs first.
    """

    name: str
    shell: str = 'exec "$@"'
    umask: int = 0o022
    environment: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    tool: tuple[str, ...] = ()
    prelude: str = ""
    shadowed: bool = False
    #: Numbers of the standard files that tests read; the others stay as `shell` has
    #: them.
    read: tuple[int, ...] = (1, 2)


class Commands:
    """The commands that an account gives; `is_over` after one that had no answer."""

    def __init__(self, account: Account) -> None:
        self._read = account.read
        self._asked, end = socket.socketpair()
        self._asked.settimeout(_LIMIT_S)
        kept = {name: os.environ[name] for name in os.environ.keys() - account.unset}
        line = f"umask {account.umask:03o}; {account.shell}"
        program = account.prelude + _SERVER
        python = (sys.executable, "-c", program, str(end.fileno()))
        with end:
            self._process = subprocess.Popen(
                ["sh", "-c", line, "sh", *account.tool, *python],
                env=kept | account.environment,
                pass_fds=[end.fileno()],
            )
        self._answers = self._asked.makefile()
        self.is_over = False

    def close(self) -> None:
        """End the process."""
        self._answers.close()
        self._asked.close()
        if self.is_over:
            self._process.kill()
        self._process.wait(_LIMIT_S)

    def rig(self, folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a command in a folder to its end; return its exit code and output."""
        with tempfile.TemporaryDirectory() as scratch:
            paths = {number: Path(scratch, str(number)) for number in (1, 2)}
            for path in paths.values():
                path.touch()
            outputs = {number: str(paths[number]) for number in self._read}
            asked = (list(map(str, words)), str(folder), outputs)
            self._asked.sendall(json.dumps(asked).encode() + b"\n")
            # An answer that comes too late is never taken for that of a later command.
            self.is_over = True
            code = int(self._answers.readline())
            self.is_over = False
            printed = [path.read_text(errors="replace") for path in paths.values()]
        return subprocess.CompletedProcess(words, code, *printed)
