# SPDX-License-Identifier: Apache-2.0
"""Instruments of a contact file, played back on sockets of this machine: recorded
commands get the recorded answers.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

from rig.bench import contact_file
from rig.bench.contact_script import Script
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
