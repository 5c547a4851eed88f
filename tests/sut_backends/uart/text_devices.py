# SPDX-License-Identifier: Apache-2.0
"""Text devices on pseudo terminals that the runner of MLPerf Tiny drives, each with a
habit of its own; simulated.
"""

from __future__ import annotations

import os
import time

from tests.sut_backends.uart.public_device import PublicDevice

LATE_S = 0.35


class WrongWayRound(PublicDevice):
    """Ends its lines with LF CR."""

    def _say(self, text: str, end: str = "\n\r") -> None:
        super()._say(text, end)


class Late(PublicDevice):
    """Says m-ready long after the rest."""

    def _say(self, text: str, end: str = "\r\n") -> None:
        if text == "m-ready" and self.commands:
            time.sleep(LATE_S)  # its habit
        super()._say(text, end)


class Echoing(PublicDevice):
    """Sends back each byte as it comes, as a terminal's echo does; `spoil` is an echo
    of its own for a command.
    """

    behind = b""
    spoil: tuple[str, bytes] = ("", b"")

    def _hear(self, byte: int) -> None:
        command = self._line.decode("ascii", "replace")
        if byte != ord("%"):
            super()._hear(byte)
            return
        os.write(self._master, self._echo(command))
        super()._hear(byte)

    def _echo(self, command: str) -> bytes:
        named, instead = self.spoil
        return (instead if command == named else command.encode()) + b"%" + self.behind


class EchoingLines(Echoing):
    """Ends the line of its echo."""

    behind = b"\r\n"


class EchoingWords(Echoing):
    """Sends back the words of a command without the `%`, on a line of their own."""

    def _echo(self, command: str) -> bytes:
        return super()._echo(command).replace(b"%", b"\r\n")


class Announcing(PublicDevice):
    """Speaks as the public firmware for streaming wake words does, and infers as well.

    In sww_ref_util.c of mlcommons/tiny (1afd2c98, 12 May 2026) the handler of a command
    begins with `printf("Received command: %s\\r\\n", full_command)`; it ends an unknown
    one with `printf("Unrecognized command %s\\r\\n", full_command)`, where only the
    first word is left, `db load` with `printf("Expecting %d bytes\\r\\n",
    transfer_size)`, and a `db` that needs more with `printf("%d bytes received\\r\\n",
    bytes_loaded)`; its `timestamp` only pulses.
    """

    heard_wrong: tuple[str, str] = ("", "")

    def _obey(self, word: str, *rest: str) -> None:
        command = " ".join((word, *rest))
        wrong, heard = self.heard_wrong
        self._say(f"Received command: {heard if command == wrong else command}")
        if word == "timestamp":
            self.pulses.append(word)
        elif word == "db" and rest[0] == "load":
            self._size = int(rest[1])
            self._at = 0
            self._say(f"Expecting {self._size} bytes")
        elif word == "frame":
            self._say(f"Unrecognized command {word}")
        elif word == "db":
            super()._obey(word, *rest)
            if self._at < self._size:
                self._say(f"{self._at} bytes received")
        else:
            super()._obey(word, *rest)


class StreamingOnly(Announcing):
    """The same without `infer`, which the public firmware does not know."""

    def _obey(self, word: str, *rest: str) -> None:
        if word == "infer":
            self._say(f"Received command: {' '.join((word, *rest))}")
            self._say(f"Unrecognized command {word}")
        else:
            super()._obey(word, *rest)


class WakeWord(StreamingOnly):
    """Takes windows of a stream: `extract_uart_stream` answers with the bytes of the
    sums of all samples since `start`, in the form of sww_ref_util_submitter.c,
    `printf("%+3d")` each; `start` and `stop` print the same as there.
    """

    listens = False
    sum = 0
    lose = ""
    shows_features = True

    def _obey(self, word: str, *rest: str) -> None:
        if word not in ("start", "stop", "extract_uart_stream", "start_uart_stream"):
            super()._obey(word, *rest)
            return
        self._say(f"Received command: {' '.join((word, *rest))}")
        match word:
            case "start":
                self.listens, self.sum = True, 0
                self._say("Listening for I2S data ... ")
                self._say("DMA receive initiated.")
            case "stop" if self.listens:
                self.listens = False
                self._say("Streaming stopped.")
                self._say("target activations: ")
                self._say("[]")
            case "stop":
                self._say("I2S is already idle.  Ignoring stop request")
            case "extract_uart_stream":
                self._extract()
            case _:
                self._say(f"Unrecognized command {word}")

    def _extract(self) -> None:
        self.sum += sum(self._memory[: self._at])
        numbers = [(self.sum * factor) % 256 - 128 for factor in (1, 3, 7)]
        features = ", ".join(f"{number:+3d}" for number in numbers * 13 + numbers[:1])
        answer = ", ".join(f"{number:+3d}" for number in numbers)
        if self.shows_features:
            self._say(f"m-features-[{features}]")
        self._say(f"m-activations-[{answer}]{self.lose}")
