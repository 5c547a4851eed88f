# SPDX-License-Identifier: Apache-2.0
"""A line of a real rate and delay in front of a port that has none, such as the
firmware's pseudo-terminal; simulated.

`python benchmarks/paced_line.py PORT --baud 115200 --delay-s 0.001` prints `pty PATH`
and carries bytes between PATH and PORT until its standard input ends. PacedLine does so
in a process of its own, so that no thread of the caller delays a byte.
"""

from __future__ import annotations

import argparse
import os
import select
import subprocess
import sys
import time
from collections import deque
from dataclasses import dataclass
from typing import Self

from rig.host.pseudo_terminal import open_port, open_terminal
from sut_backends.shim.timeouts import BITS_PER_BYTE

# bytes that a driver of a serial port buffers before a write waits
CAPACITY_B = 4096
INFINITE_S = float("inf")
#: A byte may be late by so much if others follow it; the last one of a block is on
#: time.
_QUANTUM_S = 0.0002
_READ_B = 4096
#: So long the process may take to end once its pipe is closed; then it is killed.
_LEAVE_S = 5.0


@dataclass(slots=True)
class _Piece:
    """Bytes that leave one after the other, the first at `leaves_s`."""

    block: bytes
    leaves_s: float


class LinePace:
    """One direction of a line of `baud`, with an additional delay as of bridges and
    schedulers; times are the caller's, in seconds.

    A byte occupies the line from its arrival, or from the end of the byte before; it
    leaves `delay_s` after it was transferred. No byte is lost: `room_b` states how many
    may be put.
    """

    def __init__(self, baud: int, delay_s: float, capacity_b: int = CAPACITY_B) -> None:
        self._byte_s = BITS_PER_BYTE / baud
        self._delay_s = delay_s
        self._capacity_b = capacity_b
        self._pieces: deque[_Piece] = deque()
        self._free_s = 0.0
        self._held_b = 0

    @property
    def room_b(self) -> int:
        """Return how many bytes may be put now."""
        return max(self._capacity_b - self._held_b, 0)

    @property
    def first_s(self) -> float:
        """Return when the next byte leaves."""
        return self._pieces[0].leaves_s if self._pieces else INFINITE_S

    @property
    def last_s(self) -> float:
        """Return when the last byte leaves."""
        return self._free_s + self._delay_s if self._pieces else INFINITE_S

    def put(self, block: bytes, now_s: float) -> None:
        """Take bytes that arrive at `now_s`."""
        begin_s = max(self._free_s, now_s)
        self._free_s = begin_s + len(block) * self._byte_s
        self._held_b += len(block)
        self._pieces.append(_Piece(block, begin_s + self._byte_s + self._delay_s))

    def ready(self, now_s: float) -> bytes:
        """Return the bytes that leave up to `now_s` and have not been taken yet."""
        out = b""
        for piece in self._pieces:
            if piece.leaves_s > now_s:
                break
            count = int((now_s - piece.leaves_s) / self._byte_s + 1e-6) + 1
            out += piece.block[:count]
        return out

    def take(self, count_b: int) -> None:
        """Remove so many bytes, from the first on."""
        self._held_b -= count_b
        while count_b:
            piece = self._pieces[0]
            taken_b = min(count_b, len(piece.block))
            piece.block = piece.block[taken_b:]
            piece.leaves_s += taken_b * self._byte_s
            count_b -= taken_b
            if not piece.block:
                self._pieces.popleft()


class PacedLine:
    """Start the process in front of `port`; a client opens `path`."""

    def __init__(self, port: str, baud: int, delay_s: float) -> None:
        options = ["--baud", str(baud), "--delay-s", repr(delay_s)]
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__, port, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        word, _, self.path = self._process.stdout.readline().strip().partition(" ")
        if word != "pty":
            self.close()
            raise RuntimeError(f"the paced line in front of {port} does not start")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process; closing twice is allowed."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(_LEAVE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


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
        ready, _, _ = select.select([*readable, parent_fd], full, [], wait_s)
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


def carry_for_parent() -> int:
    """Run the command line; return its exit code."""
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
    return 0


if __name__ == "__main__":
    sys.exit(carry_for_parent())
