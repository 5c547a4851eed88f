# SPDX-License-Identifier: Apache-2.0
"""The client of the text layer: docs/reference/PROTOCOL.md section 1. The layer has no
check sum; every property of an answer that can be checked is checked here.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from rig.errors import (
    DeadlineError,
    DeviceRestarted,
    LocalProtocolError,
    RemoteProtocolError,
    RigError,
    SutError,
)
from sut_backends.lines.line import DutLine
from sut_backends.shim import messages
from sut_backends.shim.text_answers import (
    LAP,
    REFUSALS,
    RESULTS,
    Inference,
    activations,
    take_apart,
    thousandths,
)
from sut_backends.shim.text_timestamps import LapClock
from sut_backends.uart import echo, rates_to_try

READY = "m-ready"
BOOT = "m-init-done"
# `db `, an even number of digits and `%` in 80 characters. The EEMBC shim keeps 80 as
# well; its own runner sends 31 bytes.
DB_STEP_B = (messages.TEXT_COMMAND_MAX - len("db ") - len("%")) // 2
_US_PER_S = 1_000_000
#: Time to wait for an answer to `name` before the next `name`. The answer of a slower
#: device still counts, and its round trip is measured.
ATTENTION_S = 0.3
_QUIET_S = 0.1
_STRAY_MAX = 20  # lines
_SHOWN = 20
_KEPT = 100  # lines of the search for a name
_FRAME_ATTEMPTS = 5
# the remains of a frame may stand before it
_NAME = re.compile(r".*?m-name-dut-\[(.*)\]")
_PRINTABLE = frozenset(range(0x20, 0x7F)) | {0x0D, 0x0A}


class GarbledAnswer(RemoteProtocolError):
    """The bytes of the DUT are no text."""


class TextClient:
    """Speak the text layer; one command at a time.

    `received_b` and `unprintable_b` count bytes of the DUT: evidence for wiring and
    line rate. `tells_time` is False once `find_mode` found a DUT that only pulses SYNC;
    its stamps are then the host's time, which is no measurement. `attention` determines
    `echo`, the form of the DUT's echo of a command (empty: none), and `round_trip_s`,
    the longest time of an answer, as far as one is known.
    """

    def __init__(
        self,
        line: DutLine,
        timeout_s: float = 2.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.line = line
        self.timeout_s = timeout_s
        self._clock = clock
        self.received_b = 0
        self.unprintable_b = 0
        self.tells_time = True
        self.echo = ""
        self.round_trip_s = 0.0
        self._arrived_s: list[float] = []
        self._laps = LapClock()
        self._partial = b""

    def attention(self, limit_s: float) -> str:
        """Bring a DUT in any state to the text layer; return its name. Raise
        DeadlineError or RemoteProtocolError.

        Sets `round_trip_s` and `echo`.
        """
        started_s = self._clock()
        attempts = 0
        lines: list[str] = []
        while attempts < 2 or self._clock() - started_s < limit_s:
            self.line.write(b"name%")
            attempts += 1
            lines = [*lines, *self._lines_within(ATTENTION_S, lines)][-_KEPT:]
            if _answers(lines):
                self.round_trip_s = self._clock() - started_s
                self.echo = echo.form_of(lines)
                if attempts > 1 or lines[-1] != READY:
                    self._drain(attempts, lines)
                names = [match for line in lines if (match := _NAME.fullmatch(line))]
                return names[-1][1]
        raise self._no_attention(self._clock() - started_s, lines[-1] if lines else "")

    def command(self, words: str, limit_s: float | None = None) -> list[str]:
        """Send one command; return its answer without the closing m-ready, and without
        the echo of a device that echoes.
        """
        if len(words) >= messages.TEXT_COMMAND_MAX or "%" in words or not words:
            raise LocalProtocolError(f"no command of the text layer: {words!r}")
        self._expect_nothing()
        started_s = self._clock()
        limit_s = self.timeout_s if limit_s is None else limit_s
        self.line.write(words.encode("ascii") + b"%")
        lines: list[str] = []
        self._arrived_s = []
        echoed: bool | None = None if self.echo else True
        while READY not in lines:
            left_s = started_s + limit_s - self._clock()
            more = self._lines(max(left_s, 0.0))
            if more and echoed is None:
                answer = echo.without(self.echo, words, more)
                echoed = answer is not None
                more = more if answer is None else answer
            lines += more
            self._arrived_s += [self._clock()] * len(more)
            if BOOT in lines:
                raise _restarted(lines)
            # Lines that came up to the limit are examined once; a DUT that never stops
            # has not answered.
            if left_s <= 0 and READY not in lines:
                raise self._unanswered(words, limit_s, lines[-_SHOWN:])
        if not echoed:
            raise _echoes_another(self.echo.format(words), lines)
        if lines[-1] != READY:
            raise RemoteProtocolError(
                f"the DUT said more than it was asked after `{words}`",
                evidence=repr(lines),
            )
        return lines[:-1]

    def ask(self, words: str, limit_s: float | None = None) -> list[str]:
        """Do as `command`, and raise SutError where the DUT answers with an error."""
        lines = self.command(words, limit_s)
        errors = [line for line in lines if line.startswith(REFUSALS)]
        if errors:
            try_next = "a byte lost on the line looks like this too"
            raise SutError(
                f"the DUT refused `{words}`",
                code=0,
                evidence=errors[0],
                try_next=try_next,
            )
        return lines

    def profile(self) -> tuple[str, str]:
        """Return profile and model as the DUT names them."""
        lines = self.ask("profile")
        profile = _first(re.compile(r"m-profile-\[(.*)\]"), lines)
        model = _first(re.compile(r"m-model-\[(.*)\]"), lines)
        if profile is None or model is None:
            raise RemoteProtocolError(
                "the answer to `profile` is incomplete", evidence=repr(lines)
            )
        return profile, model

    def find_mode(self) -> None:
        """Determine whether `timestamp` prints the time or, as in firmware built for
        energy mode, only pulses SYNC.

        No byte that is lost makes a whole line vanish, let alone twice. Raises
        RemoteProtocolError where it does both.
        """
        sent_s = self._clock()
        first = self.ask("timestamp")
        self.tells_time = bool(first) or bool(self.ask("timestamp"))
        if self.tells_time:
            self._stamp(first, sent_s)

    def timestamp(self) -> int:
        """Return the DUT's time in microseconds, or the host's where the DUT reports
        none; the DUT pulses SYNC once.
        """
        sent_s = self._clock()
        return self._stamp(self.ask("timestamp"), sent_s)

    def load(self, content: bytes) -> None:
        """Bring `content` into the DUT's memory. Lost and doubled digits are found; a
        digit changed into another is not.
        """
        lines = self.ask(f"db load {len(content)}")
        expecting = f"Expecting {len(content)} bytes"
        if lines not in ([f"m-[{expecting}]"], [expecting]):
            cause = f"the DUT does not expect {len(content)} bytes"
            try_next = "it may take less; or a byte was lost on the line"
            raise RemoteProtocolError(cause, evidence=repr(lines), try_next=try_next)
        for at in range(0, len(content), DB_STEP_B):
            # Never more than announced: the EEMBC shim writes beyond its buffer.
            lines = self.ask("db " + content[at : at + DB_STEP_B].hex())
            done = at + DB_STEP_B >= len(content)
            due = (
                [["m-load-done"]]
                if done
                else [[], [f"{at + DB_STEP_B} bytes received"]]
            )
            if lines not in due:
                cause = (
                    "the DUT counts other bytes than were sent: "
                    f"{'no m-load-done' if done else 'an early answer'}"
                )
                raise RemoteProtocolError(
                    cause,
                    evidence=(
                        f"after byte {at + DB_STEP_B} of {len(content)}: {lines!r}"
                    ),
                )

    def infer(self, repeat: int, limit_s: float) -> Inference:
        """Run the loaded sample `repeat` times without warm-up; read the results twice,
        as they have no check sum.
        """
        sent_s = self._clock()
        lines = self.ask(f"infer {repeat} 0", limit_s)
        received_s = self._clock()
        arrived_s = self._arrived_s
        answer = take_apart(lines, repeat, self.tells_time)
        if self.tells_time:
            start_us, stop_us = self._laps.judge_pair(
                *answer.laps_us[:2], sent_s=sent_s, received_s=received_s
            )
        else:
            start_us = round(arrived_s[answer.start_line] * _US_PER_S)
            stop_us = round(arrived_s[answer.stop_line] * _US_PER_S)
        again = _first(RESULTS, self.ask("results"))
        if answer.results is None or answer.results != again:
            cause = "the results are unreadable, or differ when read again"
            try_next = "three decimals each are due; or a byte was lost on the line"
            raise RemoteProtocolError(
                cause, evidence=f"{lines[-1]!r}, then {again!r}", try_next=try_next
            )
        return Inference(start_us, stop_us, thousandths(answer.results))

    def start_stream(self) -> None:
        """Bring the DUT to the state before the first window of a stream.

        The public firmware for streaming wake words has no command for it alone: its
        `start` clears what it has heard, and listens to its audio input until `stop`.
        """
        if self.command("start_uart_stream") == ["m-stream-started"]:
            return
        for words in ("stop", "start", "stop"):
            self.ask(words)

    def extract(self, limit_s: float) -> tuple[int, ...]:
        """Take the loaded sample for the next window of a stream; return the numbers
        that the DUT answers. It is not asked again: a window is taken once.
        """
        lines = self.ask("extract_uart_stream", limit_s)
        numbers = activations(lines)
        if numbers is None:
            raise RemoteProtocolError(
                "the answer to `extract_uart_stream` is unreadable",
                evidence=repr(lines),
                try_next="m-features and m-activations of int8 are due; or a byte was"
                " lost on the line",
            )
        return numbers

    def frame(self) -> bool:
        """Ask for the framed layer; return False where the DUT does not have it.

        One refusal may be a lost byte; two in a row are none. After an unclear answer
        the text layer is entered again.
        """
        limit_s = 2 * max(self.round_trip_s, ATTENTION_S)
        refusals = 0
        for _ in range(_FRAME_ATTEMPTS):
            try:
                lines = self.command(f"frame {messages.PROTOCOL}", limit_s)
            except (DeadlineError, RemoteProtocolError):
                self.attention(self.timeout_s)
                continue
            if lines == [f"m-frame-[{messages.PROTOCOL}]"]:
                return True
            refusals += any(line.startswith(REFUSALS) for line in lines)
            if refusals == 2:
                return False
            self.attention(self.timeout_s)
        raise DeadlineError(
            f"clear answer to `frame {messages.PROTOCOL}`",
            _FRAME_ATTEMPTS * limit_s,
            evidence=self._evidence,
        )

    @property
    def _evidence(self) -> str:
        where = f"{self.line.name} at {self.line.baud} baud"
        return (
            f"{self.received_b} bytes received on {where}, {self.unprintable_b} of them"
            " not printable"
        )

    def _stamp(self, lines: list[str], sent_s: float) -> int:
        received_s = self._clock()
        lap = LAP.fullmatch(lines[0]) if len(lines) == 1 else None
        if self.tells_time and lap is not None:
            return self._laps.judge(int(lap[1]), sent_s=sent_s, received_s=received_s)
        if self.tells_time or lines:
            raise RemoteProtocolError(
                "the answer to `timestamp` is no time stamp", evidence=repr(lines)
            )
        return round(received_s * _US_PER_S)

    def _lines(self, timeout_s: float) -> list[str]:
        block = self.line.read(timeout_s)
        self.received_b += len(block)
        self.unprintable_b += sum(byte not in _PRINTABLE for byte in block)
        *ended, self._partial = (self._partial + block).split(b"\n")
        # A line that never ends is no line, nor is the rest of a line end the other way
        # round.
        self._partial = self._partial[-1000:].lstrip(b"\r")
        texts = []
        for piece in ended:
            text = piece.strip(b"\r").decode("ascii", "backslashreplace")
            if text:
                texts.append(text)
        return texts

    def _lines_within(self, duration_s: float, before: list[str]) -> list[str]:
        """Return the lines of `duration_s`, or up to a whole answer to `name` in them
        and the lines `before`. The next answer may begin in one piece with its end.
        """
        end_s = self._clock() + duration_s
        lines = list[str]()
        while (left_s := end_s - self._clock()) > 0:
            if lines and _answers([*before, *lines]):
                break
            lines += self._lines(left_s)
        return lines

    def _drain(self, asked: int, lines: list[str]) -> None:
        """Read the answers to a `name` that was `asked` more than once and, with
        `lines`, not answered so often yet, as far as they come: each may be as late as
        the first was.
        """
        end_s = self._clock() + self.timeout_s
        heard_s = self._clock()
        while (now_s := self._clock()) < end_s:
            received_b = self.received_b
            lines = [*lines, *self._lines(_QUIET_S)][-_KEPT:]
            if self.received_b > received_b:
                heard_s = self._clock()
            elif (
                _answers(lines) >= asked
                or now_s - heard_s > self.round_trip_s + _QUIET_S
            ):
                break
        self._partial = b""

    def _expect_nothing(self) -> None:
        stray = self._lines(0.0)
        heard_b = 0
        end_s = self._clock() + self.timeout_s
        while (stray or self._partial) and self.received_b > heard_b:
            if len(stray) >= _STRAY_MAX or self._clock() >= end_s:
                break
            heard_b = self.received_b
            stray += self._lines(_QUIET_S)  # the rest is evidence for its origin
        if BOOT in stray:
            raise _restarted(stray)
        if stray or self._partial:
            evidence = repr([*stray, self._partial.decode("ascii", "backslashreplace")])
            raise RemoteProtocolError(
                "the DUT speaks unasked",
                evidence=evidence,
                try_next="something else may write to this line",
            )

    def _unanswered(self, words: str, waited_s: float, lines: list[str]) -> RigError:
        evidence = f"so far {lines!r} and {self._partial!r}; {self._evidence}"
        return DeadlineError(
            f"m-ready after `{words}`",
            waited_s,
            evidence=evidence,
            try_next="a byte was lost, or the DUT hangs",
            see="bytes-are-lost",
        )

    def _no_attention(self, waited_s: float, heard: str) -> RigError:
        if self.received_b == 0:
            try_next = (
                "swap Tx and Rx; look at power, ground and reset; "
                + rates_to_try.others(self.line.name, self.line.baud)
            )
            return DeadlineError(
                "answer to `name`: the DUT is silent",
                waited_s,
                evidence=self._evidence,
                try_next=try_next,
                see="no-answer",
            )
        if self.unprintable_b * 5 > self.received_b:
            cause = "the DUT's answer is garbled: probably another line rate"
            try_next = rates_to_try.others("", self.line.baud)
            return GarbledAnswer(
                cause, evidence=self._evidence, try_next=try_next, see="garbled"
            )
        evidence = f"{self._evidence}; last line: {heard!r}"
        cause = "the DUT talks, but does not answer `name`"
        return RemoteProtocolError(
            cause,
            evidence=evidence,
            try_next="is it a shim firmware?",
            see="other-firmware",
        )


def _answers(lines: list[str]) -> int:
    """Return how many answers to `name` are whole; lines of a power-up are none."""
    names = 0
    answers = 0
    for line in lines:
        if line == READY:
            answers += bool(names)
            names = 0
        names += _NAME.fullmatch(line) is not None
    return answers


def _first(pattern: re.Pattern[str], lines: list[str]) -> str | None:
    return next(
        (match[1] for line in lines if (match := pattern.fullmatch(line))), None
    )


def _restarted(lines: list[str]) -> DeviceRestarted:
    try_next = "look at its supply, its reset line and its watchdog"
    return DeviceRestarted(
        "the DUT restarted", evidence=repr(lines[-4:]), try_next=try_next
    )


def _echoes_another(sent: str, lines: list[str]) -> RemoteProtocolError:
    return RemoteProtocolError(
        "the DUT echoes another command than was sent",
        evidence=f"due {sent!r}, heard {lines[-_SHOWN:]!r}",
        try_next="a byte was lost on the line; or switch its echo off",
    )
