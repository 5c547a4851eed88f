# SPDX-License-Identifier: Apache-2.0
"""The enhanced interface board of MLPerf Tiny's runner: its commands, and its answers.

It plays a file of its SD card to a device by I2S, and notes the edges of two pins: the
word was detected, and the device is at work (benchmark/interface/Application of
mlcommons/tiny, commit 1afd2c9). Commands end in "%", answers in a line "m-ready".
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from rig.errors import ConfigError, DeadlineError, RemoteProtocolError
from rig.host.stop import pause
from rig.stats.summary import mean

#: InterfaceMenu.cpp, Name.
NAME = "tinyML Enhanced Interface Board"
#: The timer of the edges counts tens of microseconds, under the title "(s)".
EDGE_S = 10e-6
_READY = "m-ready"
_DUT = "[dut]: "
_ANSWER_S = 10.0
#: script.py, _ScriptStreamStep: timeout=file_truth["length_sec"]+10.0, and
#: time.sleep(0.25) before the device is stopped.
_PLAY_MORE_S = 10.0
_REST_S = 0.25
_LINE_B = 1 << 20
_ACTIVATIONS = re.compile(r"target activations:\s*\[([^\]]*)\]")


class BoardLine(Protocol):
    """Bytes to and from the board: a serial port."""

    name: str

    def read(self, timeout_s: float) -> bytes:
        """Return all bytes received, waiting so long for the first one."""

    def write(self, block: bytes) -> None:
        """Send a block."""


@dataclass(frozen=True, slots=True)
class BoardRecord:
    """Notes of the board and the device while a file was played: times of detections
    in ms, edges of the processing pin in tens of microseconds, and output 0 of every
    window, where the device states it.
    """

    detections_ms: tuple[int, ...]
    starts: tuple[int, ...]
    stops: tuple[int, ...]
    activations: tuple[int, ...]

    @property
    def took_s(self) -> float:
        """The mean time of processing of the windows whose edges were noted."""
        windows = zip(self.starts, self.stops, strict=False)
        return EDGE_S * mean([stop - start for start, stop in windows])

    @property
    def period_s(self) -> float:
        """The mean time from one window's processing to the next's."""
        apart = [later - start for start, later in pairwise(self._complete_starts)]
        return EDGE_S * mean(apart)

    @property
    def windows_timed(self) -> int:
        """The number of windows whose edges were noted."""
        return len(self._complete_starts)

    @property
    def _complete_starts(self) -> tuple[int, ...]:
        return self.starts[: len(self.stops)]


class InterfaceBoard:
    """The board at a line; it passes commands on to the device."""

    def __init__(self, line: BoardLine) -> None:
        self._line = line
        self._received = b""
        #: All lines of the conversation, for its log.
        self.said: list[str] = []

    def require_name(self) -> None:
        """Raise RemoteProtocolError where another device answers."""
        answer = self.command("name")
        if NAME not in answer:
            raise RemoteProtocolError(
                f"{self._line.name} is no interface board",
                evidence=f"it answers {answer!r} to `name`",
                try_next="the port of the board with the SD card: rig scan",
            )

    def command(self, words: str, limit_s: float = _ANSWER_S) -> list[str]:
        """Send a command; return the lines of its answer, without "m-ready"."""
        self._send(words)
        return self._lines(words, _READY, limit_s)

    def dut(self, words: str) -> list[str]:
        """Send a command through the board to the device; return its lines."""
        passed = f"dut {words}"
        self._send(passed)
        before = self._lines(passed, _READY, _ANSWER_S)
        if f"m-dut-passthrough({words})" not in before:
            raise RemoteProtocolError(
                f"the board passed `{words}` not on", evidence=repr(before)
            )
        answer = self._lines(passed, f"{_DUT}{_READY}", _ANSWER_S)
        return [line.removeprefix(_DUT) for line in answer]

    def listen(self, audio: str, length_s: float) -> BoardRecord:
        """Play a file of the SD card to the device, in the order of the runner's steps,
        and return the notes on it.
        """
        if not re.fullmatch(r"[\w.-]+", audio, re.ASCII):
            raise ConfigError(f"no name of a file on the SD card: {audio!r}")
        self.dut("stop")
        self.dut("start")
        self.command("record_detections")
        played = self.command(f"play {audio}", length_s + _PLAY_MORE_S)
        if any("Error" in line for line in played):
            raise RemoteProtocolError(
                f"the board does not play {audio}",
                evidence=repr(played),
                try_next="the file on its SD card, FAT32, of two channels",
            )
        pause(_REST_S)
        stopped = self.dut("stop")
        detections = detections_of(self.command("print_detections"))
        starts, stops = edges_of(self.command("print_dutycycle"))
        return BoardRecord(detections, starts, stops, activations_of(stopped))

    def _send(self, words: str) -> None:
        self.said.append(f"> {words}%")
        self._line.write(words.encode("ascii") + b"%")

    def _lines(self, words: str, end: str, limit_s: float) -> list[str]:
        """Return lines up to the one that ends in `end`, what it has before with it."""
        end_s = time.monotonic() + limit_s
        lines: list[str] = []
        while True:
            line = self._line_before(end_s)
            if line is None:
                raise DeadlineError(
                    f"answer to `{words}`",
                    limit_s,
                    evidence=f"it said {lines[-5:]!r}",
                    try_next="cable and baud of the board, and of the device behind it",
                )
            self.said.append(line)
            if line.endswith(end):
                # The last edges stand before it, in the same line.
                rest = line.removesuffix(end)
                return [*lines, rest] if rest.strip() else lines
            lines.append(line)

    def _line_before(self, end_s: float) -> str | None:
        """Return the next line, None where it does not come in time."""
        while b"\n" not in self._received:
            left_s = end_s - time.monotonic()
            if left_s <= 0:
                return None
            self._received += self._line.read(left_s)
            if len(self._received) > _LINE_B:
                raise RemoteProtocolError(f"{self._line.name} sends no lines")
        line, self._received = self._received.split(b"\n", 1)
        return line.rstrip(b"\r").decode("ascii", "replace")


def detections_of(lines: Sequence[str]) -> tuple[int, ...]:
    """Return the times of an answer to print_detections, in ms."""
    if not lines or lines[0] != "Detection Timestamps (ms)":
        raise RemoteProtocolError("no detections", evidence=repr(lines[:5]))
    return _numbers(lines[1:])


def edges_of(lines: Sequence[str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return beginnings and ends of an answer to print_dutycycle, in tens of
    microseconds; raises RemoteProtocolError where they do not follow each other.
    """
    titles = ["Duty cycle start times (s)", "Duty cycle stop times (s)"]
    places = [lines.index(title) if title in lines else -1 for title in titles]
    if places[0] != 0 or places[1] < 1:
        raise RemoteProtocolError("no duty cycle", evidence=repr(lines[:5]))
    starts = _numbers(lines[1 : places[1]])
    stops = _numbers(lines[places[1] + 1 :])
    count = min(len(starts), len(stops))
    windows = list(zip(starts, stops, strict=False))
    pairs = zip(windows, starts[1:], strict=False)
    late = any(stop > later for (_, stop), later in pairs)
    if count < 2 or late or any(stop < start for start, stop in windows):
        raise RemoteProtocolError(
            "the edges of the processing pin do not alternate",
            evidence=f"{len(starts)} rising, {len(stops)} falling, the first"
            f" {starts[:3]} and {stops[:3]}",
            try_next="the wire from the device's PROCESSING pin to the board",
        )
    return starts, stops


def activations_of(lines: Sequence[str]) -> tuple[int, ...]:
    """Return output 0 of each window, as the device lists it at `stop`; empty where it
    does not.
    """
    match = _ACTIVATIONS.search(" ".join(lines))
    return _numbers([match[1]]) if match else ()


def _numbers(lines: Sequence[str]) -> tuple[int, ...]:
    words = ",".join(lines).replace(" ", "").split(",")
    try:
        return tuple(int(word) for word in words if word)
    except ValueError as error:
        raise RemoteProtocolError(
            "the board lists something that is no number", evidence=str(error)
        ) from error
