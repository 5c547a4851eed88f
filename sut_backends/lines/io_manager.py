# SPDX-License-Identifier: Apache-2.0
"""The line to a DUT through an IO manager, which passes commands and, if it is one of
ours, frames: docs/reference/PROTOCOL.md section 8.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress
from enum import Enum, auto

from rig.errors import ConfigError, DeadlineError, DeviceLost, RigError
from rig.host.stop import pause
from sut_backends.lines.line import DutLine

PREFIX = b"[dut]: "
# how far the host may be ahead of the DUT's line: the IO manager has room for 127 bytes
AHEAD_B = 64
_ASK_NAME = b"name%"
_READY = b"m-ready"
_ECHO = b"m-dut-passthrough("
_ESCAPE_S = 0.3
_GIVEN_UP_S = 1.5  # when an IO manager of ours says that the DUT does not answer
_BITS_PER_BYTE = 10
# an echo of the question may stand before it
_DIRECT = re.compile(rb"(?:.*name%?)?m-name-dut-\[")
# the remains of a frame may stand before it
_OWN_NAME = re.compile(rb".*?m-name-io-\[(.*)\]")
_BAUD = re.compile(rb"m-dut-baud-(\d+)")
_WATCHED_B = 400


class Way(Enum):
    """The way to the DUT; unknown at first."""

    UNKNOWN = auto()
    DIRECT = auto()
    COMMANDS = auto()  # commands as `dut ...`, answers with PREFIX before each line
    FRAMES = auto()  # every byte unchanged


class IoManagerLine:
    """A line on which an IO manager may answer; without one it passes every byte.

    An IO manager is recognised by the answer to `name%`: the name of one of ours; or
    twice an answer that is none of a DUT, and then one to `dut name%` that is passed
    on. Raises DeadlineError where the IO manager reports that the DUT does not answer
    it, DeviceLost where it has itself restarted.
    """

    def __init__(self, line: DutLine) -> None:
        self._line = line
        self._way = Way.UNKNOWN
        self._heard = b""  # while UNKNOWN: what may become the name of an IO manager
        self._partial = b""  # while COMMANDS: a line that has begun
        self._own_answer = b""  # an answer in place of the DUT's
        self._io_name = ""
        self._dut_baud = 0  # 0: not known, and no frames pass
        self._last = b""  # command
        self._asked_again = False
        # progress of the last command
        self._echoed = self._answered = self._refused = self._enters_frames = False
        self._free_s = 0.0  # when the DUT's line has carried all that was sent

    @property
    def name(self) -> str:
        """The name of the line for messages."""
        return (
            f"{self._line.name} through {self._io_name}"
            if self._behind
            else self._line.name
        )

    @property
    def baud(self) -> int:
        """The line rate in bits per second: of the slower part, where that is
        known."""
        return (
            min(self._line.baud, self._dut_baud)
            if self._behind and self._dut_baud
            else self._line.baud
        )

    @property
    def beyond(self) -> DutLine:
        """The line to use once a DUT has answered: the port itself where no IO
        manager passes its bytes.
        """
        return self._line if self._way is Way.DIRECT else self

    def read(self, timeout_s: float) -> bytes:
        """Return the bytes of the DUT, without the prefix; waits up to `timeout_s` for
        the first of them.
        """
        end_s = time.monotonic() + timeout_s
        while True:
            heard = self._own_answer
            self._own_answer = b""
            block = self._line.read(
                0.0 if heard else max(end_s - time.monotonic(), 0.0)
            )
            heard += self._take(block)
            if heard or time.monotonic() >= end_s:
                return heard

    def write(self, block: bytes) -> None:
        """Send `block`: one command, or frames."""
        if self._way is Way.UNKNOWN and block == _ASK_NAME:
            self._ask_unknown()
        elif self._way is Way.COMMANDS:
            self._write_command(block)
        elif self._way is Way.FRAMES:
            if block == _ASK_NAME:
                self._watch()
            self._write_paced(block)
        else:
            self._line.write(block)

    def set_baud(self, baud: int) -> None:
        """Change the line rate; raise ConfigError where an IO manager, whose rates are
        fixed, passes the bytes.
        """
        if self._behind and baud != self._line.baud:
            cause = (
                f"{self._io_name} speaks with the DUT at"
                f" {self._dut_baud or 'a rate of its own'}"
            )
            raise ConfigError(
                cause, path="sut.uart.frame_baud", try_next="frame_baud = 0"
            )
        if baud != self._line.baud:
            self._line.set_baud(baud)

    def close(self) -> None:
        """Leave the IO manager usable for any host, and close the line; closing twice
        is allowed.
        """
        if self._way is Way.FRAMES:
            with suppress(RigError):
                self._escape()
        self._way = Way.DIRECT
        self._line.close()

    @property
    def _behind(self) -> bool:
        return self._way in (Way.COMMANDS, Way.FRAMES)

    # ---- while it is unknown what answers ----

    def _take(self, block: bytes) -> bytes:
        if self._way is Way.UNKNOWN:
            return self._take_unknown(block)
        if self._way is Way.COMMANDS:
            return self._take_answers(block)
        return block

    def _watch(self) -> None:
        self._way = Way.UNKNOWN
        self._heard = b""
        self._partial = b""
        self._last = b""

    def _ask_unknown(self) -> None:
        """Ask for the name; after a whole answer that is none of a DUT, ask for the
        name of the DUT through an IO manager of another make.
        """
        lines = self._heard_lines
        is_whole = not self._last and _READY in lines
        is_foreign = any(line[:2] not in (b"", b"m-", b"e-") for line in lines)
        self._heard = b""
        self._last = b"dut name%" if is_whole and is_foreign else b""
        self._line.write(self._last or _ASK_NAME)

    @property
    def _heard_lines(self) -> list[bytes]:
        return [line.rstrip(b"\r") for line in self._heard.split(b"\n")[:-1]]

    def _take_unknown(self, block: bytes) -> bytes:
        self._heard = (self._heard + block)[-_WATCHED_B:]
        lines = self._heard_lines
        name = _first_match(_OWN_NAME, lines)
        if name is not None and lines[-1] == _READY:
            baud = int(_first_match(_BAUD, lines) or 0)
            self._found(name.decode("ascii", "backslashreplace"), baud)
            self._write_command(_ASK_NAME)
            return b""
        if self._last and any(line.startswith(_ECHO) for line in lines):
            self._found("an IO manager", 0)
            self._last = _ASK_NAME
            return self._take_answers(self._heard[self._heard.index(_ECHO) :])
        if any(_DIRECT.match(line) for line in lines):
            self._way = Way.DIRECT
        return block

    def _found(self, name: str, dut_baud: int) -> None:
        self._io_name = name
        self._dut_baud = dut_baud
        self._way = Way.COMMANDS
        self._partial = b""
        self._last = b""
        self._asked_again = False
        self._echoed = self._answered = self._refused = self._enters_frames = False

    # ---- commands ----

    def _write_command(self, block: bytes) -> None:
        again = block == self._last == _ASK_NAME and not self._answered
        if again and not self._echoed:
            self._watch()  # it passes frames, and took the command for part of one
            self._line.write(block)
        elif again and (self._asked_again or not self._dut_baud):
            return  # the IO manager waits for the DUT, and reports a time-out itself
        elif block.startswith(b"frame ") and not self._dut_baud:
            # An IO manager that passes lines does not pass frames: the DUT would enter
            # the framed layer out of reach.
            refusal = b"e-[frames do not pass this IO manager]"
            self._own_answer += refusal + b"\r\n" + _READY + b"\r\n"
        else:
            # The name is asked for once more, as the DUT may have taken the first
            # command for the rest of a frame that a restarted IO manager broke off.
            self._last = block
            self._asked_again = again
            self._echoed = self._answered = self._refused = self._enters_frames = False
            self._line.write(b"dut " + block)

    def _take_answers(self, block: bytes) -> bytes:
        answers = b""
        *lines, self._partial = (self._partial + block).split(b"\n")
        for number, line in enumerate(lines):
            answers += self._answer(line.rstrip(b"\r"))
            if self._way is Way.FRAMES:
                answers += b"\n".join([*lines[number + 1 :], self._partial])
                self._partial = b""
                break
        return answers

    def _answer(self, line: bytes) -> bytes:
        if line.startswith(PREFIX):
            return self._dut_line(line.removeprefix(PREFIX))
        if line.startswith(_ECHO):
            self._echoed = True
        elif line.startswith(b"m-io-init-done"):
            raise DeviceLost(
                f"{self._io_name} restarted",
                evidence=self._line.name,
                try_next="its supply; who else opens its port?",
            )
        elif line.startswith(b"e-") and not self._answered:
            if self._echoed:
                raise self._no_answer(line)
            # A byte was lost on the way to the IO manager: the client reports it.
            self._refused = True
        if self._refused:
            self._refused = line != _READY
            return line + b"\r\n"
        return b""

    def _no_answer(self, line: bytes) -> RigError:
        self._answered = True
        evidence = f"{line.decode('ascii', 'backslashreplace')} on {self.name}"
        try_next = (
            "the DUT's supply; Tx and Rx between the two; the rate at which they speak"
        )
        return DeadlineError(
            "answer of the DUT behind the IO manager",
            _GIVEN_UP_S,
            evidence=evidence,
            try_next=try_next,
        )

    def _dut_line(self, line: bytes) -> bytes:
        self._enters_frames |= line.startswith(b"m-frame-[")
        if line == _READY:
            self._answered = True
            if self._enters_frames:
                self._way, self._free_s = Way.FRAMES, time.monotonic()
        return line + b"\r\n"

    # ---- frames ----

    def _write_paced(self, block: bytes) -> None:
        """Send no faster than the DUT's line carries it: the IO manager has little
        memory."""
        byte_s = _BITS_PER_BYTE / self._dut_baud if self._dut_baud else 0.0
        for at in range(0, len(block), AHEAD_B // 2):
            piece = block[at : at + AHEAD_B // 2]
            self._free_s = max(self._free_s, time.monotonic()) + len(piece) * byte_s
            early_s = self._free_s - time.monotonic() - AHEAD_B * byte_s
            if early_s > 0:
                pause(early_s)
            self._line.write(piece)

    def _escape(self) -> None:
        for _ in range(2):  # the first may follow the rest of a frame
            self._line.write(_ASK_NAME)
            end_s = time.monotonic() + _ESCAPE_S
            heard = b""
            while (left_s := end_s - time.monotonic()) > 0:
                heard += self._line.read(left_s)
                if b"m-name-io-[" in heard and heard.endswith(b"m-ready\r\n"):
                    return


def _first_match(pattern: re.Pattern[bytes], lines: list[bytes]) -> bytes | None:
    """Return the group of the first line that matches as a whole."""
    for line in lines:
        match = pattern.fullmatch(line)
        if match:
            return match[1]
    return None
