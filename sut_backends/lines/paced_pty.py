# SPDX-License-Identifier: Apache-2.0
"""A line of a real rate and delay in front of a port that has none, such as the
firmware's pseudo-terminal; simulated.

`python -m sut_backends.lines.paced_pty PORT --baud 115200 --delay-s 0.001` prints `pty
PATH` and carries bytes between PATH and PORT until its standard input ends. PacedLine
does so in a process of its own, so that no thread of the caller delays a byte.
"""

from __future__ import annotations

import argparse
import os
import select
import sys
import time
from typing import Self

from rig.host.pseudo_terminal import open_port, open_terminal
from rig.host.python_child import PythonChild
from sut_backends.lines.pace import LinePace

#: A byte may be late by so much if others follow it; the last one of a block is on
#: time.
_QUANTUM_S = 0.0002
_READ_B = 4096
#: So long the process may take to end once its pipe is closed; then it is killed.
_LEAVE_S = 5.0


class PacedLine:
    """Start the process in front of `port`; a client opens `path`."""

    def __init__(self, port: str, baud: int, delay_s: float) -> None:
        arguments = [port, "--baud", str(baud), "--delay-s", repr(delay_s)]
        what = f"the paced line in front of {port}"
        self._child = PythonChild(__spec__.name, arguments, what, ready="pty")
        self.path = self._child.words

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process; closing twice is allowed."""
        self._child.close(_LEAVE_S)


class _End:
    """One end of the line: its descriptor, and the pace of the bytes written to it."""

    def __init__(self, fd: int, pace: LinePace) -> None:
        self.fd = fd
        self.pace = pace

    def deliver(self, now_s: float) -> bool:
        """Write the bytes that are ready; return False where the reader is full."""
        block = self.pace.ready(now_s)
        if not block:
            return True
        try:
            count_b = os.write(self.fd, block)
        except BlockingIOError:
            count_b = 0
        self.pace.take(count_b)
        return count_b == len(block)

    def wake_s(self, now_s: float) -> float:
        """Return when to deliver next."""
        return min(self.pace.last_s, max(self.pace.first_s, now_s + _QUANTUM_S))


def carry(ends: tuple[_End, _End], parent_fd: int) -> None:
    """Carry bytes between both ends until the parent ends or an end is gone."""
    while True:
        now_s = time.monotonic()
        full = [end.fd for end in ends if not end.deliver(now_s)]
        wakes_s = [end.wake_s(now_s) for end in ends if end.fd not in full]
        wait_s = min(wakes_s, default=now_s + 1.0) - now_s
        others = {ends[0].fd: ends[1], ends[1].fd: ends[0]}
        readable = [fd for fd, other in others.items() if other.pace.room_b]
        # select() waits for parts of a millisecond, which poll() rounds up; this
        # process has too few descriptors for its limit.
        wait_s = min(max(wait_s, 0.0), 1.0)
        ready, _, _ = select.select([*readable, parent_fd], full, [], wait_s)  # noqa: TID251
        now_s = time.monotonic()
        for fd in ready:
            if fd == parent_fd:
                return
            pace = others[fd].pace
            try:
                block = os.read(fd, min(pace.room_b, _READ_B))
            except OSError:
                return  # the device is gone
            pace.put(block, now_s)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="paced_line", description="put a line of a real rate in front of a port"
    )
    parser.add_argument("port")
    parser.add_argument("--baud", type=int, default=115_200)
    parser.add_argument("--delay-s", type=float, default=0.0)
    options = parser.parse_args()
    terminal = open_terminal("a paced line")
    port_fd = open_port(options.port, raw=True)
    sys.stdout.write(f"pty {terminal.path}\n")
    sys.stdout.flush()
    host = _End(terminal.device_fd, LinePace(options.baud, options.delay_s))
    device = _End(port_fd, LinePace(options.baud, options.delay_s))
    carry((host, device), sys.stdin.fileno())


if __name__ == "__main__":
    main()
