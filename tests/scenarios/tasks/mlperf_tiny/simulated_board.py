# SPDX-License-Identifier: Apache-2.0
"""The interface board of MLPerf Tiny on a pseudo terminal, with a device behind it, as
benchmark/interface/Application of mlcommons/tiny (1afd2c98) has it.

Menu.cpp: a command ends in "%", is known by its beginning, and its answer ends in
"m-ready\\r\\n". InterfaceMenu.cpp: the words of each answer, eight edges in a line, and
no line's end after the last ones. DeviceUnderTest.cpp: detections in ms, but
one within 10 ms of the last is none; 100 edges of each kind, in tens of microseconds. The
time of `play` passes at once.
"""

from __future__ import annotations

import os
import threading
import tty
from collections.abc import Sequence
from dataclasses import dataclass, field

MAX_FRAMES = 100


@dataclass
class SimulatedBoard:
    """The board and its SD card; a file has a length in windows, and those in which the
    device detects the word.
    """

    files: dict[str, tuple[int, Sequence[int]]]
    first_us: int = 57_000
    period_us: int = 32_000
    took_us: int = 8_270
    name: str = "tinyML Enhanced Interface Board"
    pulses: bool = True
    commands: list[str] = field(default_factory=list)
    _detections_ms: list[int] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)
    _stops: list[int] = field(default_factory=list)
    _windows: int = 0
    _listening: bool = False

    def __enter__(self) -> SimulatedBoard:
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        self.port = os.ttyname(self._slave)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        os.write(self._slave, b"\x04%")
        self._thread.join()
        os.close(self._master)
        os.close(self._slave)

    def _run(self) -> None:
        received = b""
        while True:
            received += os.read(self._master, 4096)
            while b"%" in received:
                command, received = received.split(b"%", 1)
                if command.endswith(b"\x04"):
                    return
                self.commands.append(command.decode())
                self._obey(command.decode())

    def _send(self, text: str) -> None:
        os.write(self._master, text.encode())

    def _obey(self, command: str) -> None:
        word, _, argument = command.partition(" ")
        if word == "name":
            self._send(f"{self.name}\r\n")
        elif word == "dut":
            self._send(f"m-dut-passthrough({argument})\r\nm-ready\r\n")
            for line in (*self._dut(argument), "m-ready"):
                self._send(f"[dut]: {line}\r\n")
            return
        elif word == "record_detections":
            self._detections_ms, self._starts, self._stops = [], [], []
            self._send("Now recording detections\r\n")
        elif word == "play":
            self._send(f"Attempting to play {argument}\n")
            self._send("succeeded.\n" if self._play(argument) else self._refused())
        elif word == "print_detections":
            self._send("Detection Timestamps (ms)\r\n")
            for time_ms in self._detections_ms:
                self._send(f"{time_ms},\r\n")
        elif word == "print_dutycycle":
            self._send("Duty cycle start times (s)\r\n")
            self._edges(self._starts)
            self._send("\r\nDuty cycle stop times (s)\r\n")
            self._edges(self._stops)
        self._send("m-ready\r\n")

    def _refused(self) -> str:
        return (
            "Error playing file. Check that the file exists and is a 2-channel wav"
            " file.\n"
        )

    def _edges(self, edges: Sequence[int]) -> None:
        for number, edge in enumerate(edges, start=1):
            self._send(f"{edge}, ")
            if number % 8 == 0:
                self._send("\r\n")

    def _dut(self, command: str) -> list[str]:
        """Return the lines of the reference firmware (sww_ref_util.c)."""
        found = [f"Received command: {command}"]
        if command == "start":
            self._listening, self._windows = True, 0
            found += ["Listening for I2S data ...", "DMA receive initiated."]
        elif command == "stop":
            self._listening = False
            shares = ",".join(["-128"] * self._windows)
            found += ["Streaming stopped.", "target activations: ", f"[{shares}]"]
        return found

    def _play(self, name: str) -> bool:
        if name not in self.files:
            return False
        count, detected = self.files[name]
        self._windows = count if self._listening else 0
        for window in range(self._windows):
            start_us = self.first_us + window * self.period_us
            stop_us = start_us + self.took_us
            if len(self._starts) < MAX_FRAMES:
                self._starts.append(start_us // 10)
            if len(self._stops) < MAX_FRAMES:
                self._stops.append(stop_us // 10)
            if self.pulses and (window == 0 or window in detected):
                self._detect(stop_us // 1000)
        return True

    def _detect(self, time_ms: int) -> None:
        if not self._detections_ms or self._detections_ms[-1] < time_ms - 10:
            self._detections_ms.append(time_ms)
