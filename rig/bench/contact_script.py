# SPDX-License-Identifier: Apache-2.0
"""The recorded conversation with one instrument as commands and their answers, and
which of them comes next.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from rig.bench.contact_file import Block
from rig.interfaces.contact import Conversation


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
        self._polls: dict[bytes, bytes] = {}
        for begin, nothing in conversation.polls.items():
            self._polls[begin.encode()] = f"{nothing}\n".encode()
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
