# SPDX-License-Identifier: Apache-2.0
"""Instruments of a contact file, played back on sockets of this machine: recorded
commands get the recorded answers.

The recorded conversation with one instrument as commands and their answers, and
which of them comes next.
"""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from rig.bench import contact_file
from rig.bench.contact_file import Block
from rig.errors import ConfigError, DataError, RigError
from rig.interfaces.contact import Conversation, Heard, unheard
from rig.model.finding import Finding

_POLL_S = 0.002
_BLOCK_B = 65_536
_SEND_S = 10.0


class ContactPlayer:
    """Plays a contact file; on leaving, raises DataError for a command that it does not
    have."""

    plays = True

    def __init__(self, path: Path) -> None:
        self._path = path
        self._parts, findings = contact_file.read(path)
        self._findings = {finding.name: finding for finding in findings}
        self._instruments: dict[str, PlayedInstrument] = {}

    def begin(self, bench_toml: str) -> None:
        """Play with these settings: they need not be those of the recording."""

    def tap(self, part: str, conversation: Conversation) -> Heard:
        """Return a listener that discards all blocks."""
        return unheard

    def line(self, part: str) -> Heard:
        """Return a listener that discards all blocks."""
        return unheard

    def played(self, part: str) -> str:
        """Return where the instrument of a section is played; raises ConfigError for
        one that the file has not.
        """
        if part not in self._parts:
            raise ConfigError(
                f"{self._path} has no instrument of [{part}]",
                path="--replay",
                evidence=f"it has {', '.join(self._parts) or 'none'}",
                try_next="the bench file that it was recorded with",
            )
        if part not in self._instruments:
            recorded = self._parts[part]
            script = Script(recorded.conversation, recorded.blocks)
            self._instruments[part] = PlayedInstrument(script)
        return self._instruments[part].address

    def found(self, finding: Finding) -> None:
        """Take notice of a row of the probe."""

    def recorded(self, name: str) -> Finding | None:
        """Return the row of a name as it was recorded."""
        return self._findings.get(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: object, error: BaseException | None, trace: object
    ) -> None:
        for instrument in self._instruments.values():
            instrument.close()
        for part, instrument in self._instruments.items():
            if instrument.unknown:
                command, expected = instrument.unknown
                raise DataError(
                    f"{part}: the recording has no answer to {command!r}",
                    evidence=f"{self._path}: next there is {expected}{_said(error)}",
                    try_next=(
                        "record again what the driver asks now; a new setting in the"
                        " bench file asks something else as well"
                    ),
                ) from error


def _said(error: BaseException | None) -> str:
    # Often a consequence; where it is the cause, the command belongs to giving up.
    return f"; the driver said: {error.cause}" if isinstance(error, RigError) else ""


class PlayedInstrument:
    """An instrument that answers on a TCP port with the recorded delays, or at once if
    the next command has arrived. It hangs up at a command that was not recorded:
    `unknown` is that command and the expected one.
    """

    def __init__(self, script: Script) -> None:
        self._script = script
        self.unknown: tuple[str, str] | None = None
        self._stop = threading.Event()
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.settimeout(0.05)
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        # A daemon only so that an owner who forgets close() does not hang at the end of
        # the program.
        self._thread = threading.Thread(
            target=self._serve, name="played instrument", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """End it; closing twice is allowed."""
        self._stop.set()
        self._thread.join()
        self._server.close()

    def _serve(self) -> None:
        while not self._stop.is_set():
            try:
                connection, _ = self._server.accept()
            except TimeoutError:
                continue
            with connection, suppress(OSError):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._converse(connection)

    def _converse(self, connection: socket.socket) -> None:
        connection.settimeout(_POLL_S)
        waiting = b""
        asked_s = time.monotonic()
        due = self._script.greeting()
        while not self._stop.is_set() and self.unknown is None:
            while due and time.monotonic() - asked_s >= due[0][0]:
                self._send(connection, due.pop(0)[1])
            try:
                block = connection.recv(_BLOCK_B)
            except TimeoutError:
                continue
            if not block:
                return
            *lines, waiting = (waiting + block).split(b"\n")
            for command in filter(None, (line.strip() for line in lines)):
                for _, left in due:
                    self._send(connection, left)
                asked_s = time.monotonic()
                try:
                    due = list(self._script.answer(command))
                except (LookupError, ValueError) as error:
                    self.unknown = command.decode("latin-1"), str(error.args[0])
                    return

    def _send(self, connection: socket.socket, block: bytes) -> None:
        connection.settimeout(_SEND_S)
        connection.sendall(block)
        connection.settimeout(_POLL_S)


@dataclass(slots=True)
class Exchange:
    """A command (a line without its end) and the bytes after it, with seconds since the
    command.

    Bytes before the first command belong to an empty command. `line` is the line of the
    file.
    """

    command: bytes
    line: int
    answers: list[tuple[float, bytes]] = field(default_factory=list)
    done: bool = False


def exchanges(blocks: Sequence[Block]) -> list[Exchange]:
    """Return the commands in their order; a block may hold several, or a part of
    one."""
    listed = [Exchange(b"", 1)]
    began_s = 0.0
    partial = b""
    for block in blocks:
        if block.direction != "tx":
            listed[-1].answers.append((max(block.at_s - began_s, 0.0), block.content))
            continue
        began_s = block.at_s
        *lines, partial = (partial + block.content).split(b"\n")
        listed += [
            Exchange(command, block.line) for line in lines if (command := line.strip())
        ]
    return listed


class Script:
    """A recorded conversation, and how far it has been played.

    Commands are answered in the order of the recording, and skipped if they are not
    given again: a client that gives up early continues with the commands of the end.
    Polls may come more or less often.
    """

    def __init__(self, conversation: Conversation, blocks: Sequence[Block]) -> None:
        self._polls: Mapping[bytes, bytes] = {
            begin.encode(): f"{nothing}\n".encode()
            for begin, nothing in conversation.polls.items()
        }
        self._anew = conversation.anew.encode()
        self._varies = [re.compile(pattern.encode()) for pattern in conversation.varies]
        self._exchanges = exchanges(blocks)
        self._at = 0

    def greeting(self) -> list[tuple[float, bytes]]:
        """Return the bytes before the first command, once."""
        first = self._exchanges[0]
        first.done, answers = True, [] if first.done else first.answers
        return answers

    def answer(self, command: bytes) -> list[tuple[float, bytes]]:
        """Answer a command; raise LookupError with the expected command."""
        for begin, nothing in self._polls.items():
            if command.startswith(begin):
                return self._poll(command) or [(0.0, nothing)]
        # From here on; else one that was passed over.
        for place in (*range(self._at, len(self._exchanges)), *range(self._at)):
            exchange = self._exchanges[place]
            if exchange.done or (known := self._same(exchange, command)) is None:
                continue
            exchange.done = True
            self._at = max(self._at, place + 1)
            if self._anew and command.startswith(self._anew):
                for earlier in self._exchanges[:place]:
                    earlier.done = earlier.done or self._is_poll(earlier)
            return known
        raise LookupError(self._expected())

    def _poll(self, command: bytes) -> list[tuple[float, bytes]]:
        """Return the blocks that were not fetched yet; several skipped blocks are
        joined.
        """
        answers: list[Exchange] = []
        for place, exchange in enumerate(self._exchanges):
            if place >= self._at and not exchange.done and not self._is_poll(exchange):
                break
            if exchange.command == command and not exchange.done:
                answers.append(exchange)
                if place >= self._at:
                    break
        blocks = []
        for exchange in answers:
            blocks.append(b"".join(block for _, block in exchange.answers))
        if len(answers) > 1 and all(block.startswith(b"#") for block in blocks):
            for exchange in answers:
                exchange.done = True
            return [(0.0, _joined(blocks))]
        if answers:
            answers[0].done = True
        return answers[0].answers if answers else []

    def _same(
        self, exchange: Exchange, command: bytes
    ) -> list[tuple[float, bytes]] | None:
        """Return the answers of an exchange where its command is this one; else
        None."""
        if exchange.command == command:
            return exchange.answers
        for pattern in self._varies:
            recorded, given = (
                pattern.fullmatch(exchange.command),
                pattern.fullmatch(command),
            )
            if recorded and given and _around(recorded) == _around(given):
                return [
                    (at_s, block.replace(recorded[1], given[1]))
                    for at_s, block in exchange.answers
                ]
        return None

    def _is_poll(self, exchange: Exchange) -> bool:
        return exchange.command.startswith(tuple(self._polls))

    def _expected(self) -> str:
        for exchange in self._exchanges[self._at :]:
            if not exchange.done and not self._is_poll(exchange):
                return f"{exchange.command.decode('latin-1')!r} (line {exchange.line})"
        return "no command any more"


def _around(match: re.Match[bytes]) -> tuple[bytes, bytes]:
    """Return the text before and after the group."""
    return match.string[: match.start(1)], match.string[match.end(1) :]


def _joined(blocks: Sequence[bytes]) -> bytes:
    """Return definite length blocks (IEEE 488.2) as one."""
    content = b""
    for block in blocks:
        head = 2 + int(block[1:2])
        content += block[head : head + int(block[2:head] or b"0")]
    size = str(len(content)).encode()
    return b"#%d%s%s\n" % (len(size), size, content)
