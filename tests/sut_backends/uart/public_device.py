# SPDX-License-Identifier: Apache-2.0
"""A device that speaks as the public MLPerf Tiny firmware does, with its quirks;
written from observations of that firmware.

An empty command is its end, as is data beyond its memory. Its line takes 80 characters
and forgets the others, data beyond the declared size is stored all the same, and a
sample of another size than the model's is reported and the former one used.
"""

from __future__ import annotations

import os
import pty
import re
import select
import threading
import time
import tty
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

LINE_MAX = 80
MEMORY_B = 96 * 96 * 3


@dataclass(frozen=True)
class Build:
    """Choices of a submitter: model, size of a sample, classes, mode, time of an
    inference, how results are printed.

    `byte_s`: the time of a byte on its line, which it waits for.
    """

    model: str = "kws01"
    sample_b: int = 490
    classes: int = 12
    energy: bool = False
    infer_s: float = 0.002
    results: Callable[[list[float]], str] = lambda scores: ",".join(
        f"{score:.3f}" for score in scores
    )
    laps_from_us: int = 1_000
    wrap_us: int = 2**32
    byte_s: float = 0.0
    pulse_s: float = 0.0005
    on_pulse: Callable[[bool, str], None] = lambda level, what: None


@dataclass
class PublicDevice:
    """The device on a pseudo terminal, as a context manager; `commands`, `pulses` and
    `behind_b` record its events.
    """

    build: Build = field(default_factory=Build)
    commands: list[str] = field(default_factory=list)
    pulses: list[str] = field(default_factory=list)
    longest: int = 0
    behind_b: int = 0
    crashed: str = ""

    def __enter__(self) -> PublicDevice:
        self._master, self._slave = pty.openpty()
        tty.setraw(self._slave)
        self.port = os.ttyname(self._slave)
        self._woken, self._wake = os.pipe()
        self._line, self._memory = bytearray(), bytearray(MEMORY_B)
        self._size = self._at = 0
        self._tensor = b""
        self._booted_s = time.monotonic()
        self._thread = threading.Thread(target=self._work, name="public device")
        self.boot()
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        os.write(self._wake, b"x")
        self._thread.join()
        for fd in (self._master, self._slave, self._woken, self._wake):
            os.close(fd)

    def boot(self) -> None:
        """Send the text of power-up; a reset looks the same to a host."""
        self._say(
            f"m-timestamp-mode-{'energy' if self.build.energy else 'performance'}"
        )
        self._stamp("boot")
        self._say("m-init-done")
        self._say("m-ready")

    def _work(self) -> None:
        while not self.crashed:
            ready, _, _ = select.select([self._master, self._woken], [], [])
            if self._woken in ready:
                return
            for byte in os.read(self._master, 4096):
                self._hear(byte)

    def _say(self, text: str, end: str = "\r\n") -> None:
        os.write(self._master, (text + end).encode())
        time.sleep(len(text + end) * self.build.byte_s)  # the pace of its line

    def _hear(self, byte: int) -> None:
        if byte != ord("%"):
            self._line.append(byte)
            return
        line = self._line
        self._line = bytearray()
        self.longest = max(self.longest, len(line) + 1)
        command = line[:LINE_MAX].decode("ascii")
        self.commands.append(command)
        words = command.split()
        if not words:
            self.crashed = "an empty command"
        if self.crashed:
            return
        self._obey(*words)
        if not self.crashed:
            self._say("m-ready")

    def _obey(self, word: str, *rest: str) -> None:
        match word:
            case "name":
                self._say("m-name-dut-[unspecified]")
            case "timestamp":
                self._stamp("timestamp")
            case "profile":
                self._say("m-profile-[ULPMark for tinyML Firmware V0.0.1]")
                self._say(f"m-model-[{self.build.model}]")
            case "db":
                self._db(*rest)
            case "infer":
                self._infer(_atoi(rest[0]), _atoi(rest[1]) if rest[1:] else 10)
            case "results":
                self._results()
            case _:
                self._say(f"e-[Unknown command: {word}]")

    def _stamp(self, what: str) -> None:
        if self.build.energy:
            self.pulses.append(what)
            self.build.on_pulse(False, what)
            time.sleep(self.build.pulse_s)  # the length of its pulse
            self.build.on_pulse(True, what)
        else:
            now_us = self.build.laps_from_us + round(
                (time.monotonic() - self._booted_s) * 1e6
            )
            self._say(f"m-lap-us-{now_us % self.build.wrap_us}")

    def _db(self, word: str = "", number: str = "") -> None:
        if word == "load":
            self._size = _atoi(number)
            self._at = 0
            if self._size > MEMORY_B:
                self._say(
                    f"Supplied buffer size {self._size} exceeds maximum of {MEMORY_B}",
                    "\n",
                )
            else:
                self._say(f"m-[Expecting {self._size} bytes]")
        elif len(word) % 2:
            self._say("e-[Insufficent number of hex digits]")
        else:
            self._store(word)

    def _store(self, digits: str) -> None:
        for pair in (digits[at : at + 2] for at in range(0, len(digits), 2)):
            if not all(digit in "0123456789abcdefABCDEF" for digit in pair):
                self._say(f"e-[Invalid hex digit '{pair}']")
                return
            if self._at >= MEMORY_B:
                self.crashed = "data behind the memory"
                return
            self.behind_b += self._at >= self._size
            self._memory[self._at] = int(pair, 16)
            self._at += 1
            if self._at == self._size:
                self._say("m-load-done")
                return

    def _infer(self, count: int, warmups: int) -> None:
        if self._at == self.build.sample_b:
            self._tensor = bytes(self._memory[: self._at])
        else:
            self._say(
                f"Input db has {self._at} elemented, expected {self.build.sample_b}",
                "\n",
            )
        self._say(f"m-warmup-start-{warmups}")
        time.sleep(warmups * self.build.infer_s)  # it computes
        self._say("m-warmup-done")
        self._say(f"m-infer-start-{count}")
        self._stamp("start")
        time.sleep(count * self.build.infer_s)  # it computes
        self._stamp("stop")
        self._say("m-infer-done")
        self._results()

    def _results(self) -> None:
        # The class is the first byte; a shifted sample shows as the class after it, as
        # its last byte is not 5a.
        right = self._tensor[-1:] == b"\x5a"
        top = (
            (self._tensor[0] + (not right)) % self.build.classes if self._tensor else 0
        )
        scores = [
            0.89 if number == top else 0.11 / max(self.build.classes - 1, 1)
            for number in range(self.build.classes)
        ]
        self._say(f"m-results-[{self.build.results(scores)}]")


def _atoi(word: str) -> int:
    """Read a number as C's atoi does: up to the first character that is none."""
    match = re.match(r"[+-]?\d+", word)
    return int(match[0]) if match else 0
