# SPDX-License-Identifier: Apache-2.0
"""The conversation with a Keysight N6705 over VISA: messages, its error queue, blocks
of numbers; errors in the rig's words.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from drivers.keysight_n6705.visa import (
    Silence,
    VisaSession,
    libraries,
    lost,
    open_session,
    translated,
)
from rig.errors import (
    BenchError,
    DeadlineError,
    DeviceLost,
    DeviceNotFound,
    RemoteProtocolError,
)
from rig.interfaces.contact import Conversation, Heard, unheard

#: Of the *IDN? answer: the mainframes that log for an external computer.
_MODELS = ("N6705A", "N6705B", "N6705C")
#: More errors in a row than the queue of the instrument holds: then the answer is
#: something else.
_QUEUE = 50
_OPTION_MISSING = 302
#: A query came before the answer to the one before it had been read: that is lost
#: (N6705C operating guide, Queries).
_INTERRUPTED = -410
#: The answer to *IDN? can be distinguished from all others, also after the rest of one.
#: How an instrument may answer where it has no records yet, other than by an empty
#: block. The empty line is an assumption, and so is SCPI's "no number": neither was
#: seen on an instrument.
_NOTHING_YET = re.compile(rb"\s*([+]?9[.]91E[+]?37)?\s*")
_NAME = re.compile(
    rb"[A-Za-z ]*, *(?:%s) *,[^,\n]*,[^,\n]*\r?\n" % "|".join(_MODELS).encode()
)


class CommandRefused(BenchError):
    """The instrument put an error in its queue; `code` is the one of SCPI, or of the
    maker where it is positive.
    """

    def __init__(self, cause: str, *, code: int, evidence: str, try_next: str) -> None:
        super().__init__(cause, evidence=evidence, try_next=try_next)
        self.code = code


class ScpiLink:
    """One open VISA session; calls may come from any thread, one at a time.

    No answer is ever taken for that to another query: if one was not read to its end,
    for any reason, everything up to the answer to a unique query is dropped; a session
    without that answer is not used again.

    Raises DeviceNotFound, DeviceBusy, ConfigError when opened; DeviceLost once the
    instrument does not answer any more; DeadlineError for an answer that comes late;
    Refused for an entry of its error queue; RemoteProtocolError for an answer of
    another form.
    """

    def __init__(
        self, resource: str, visa_library: str, timeout_s: float, heard: Heard = unheard
    ) -> None:
        self.resource = resource
        self._library = visa_library
        self._timeout_s = timeout_s
        self._heard = heard
        self._lock = threading.RLock()
        self._owing = False
        self._session: VisaSession | None = open_session(
            resource, visa_library, timeout_s, heard
        )

    def identity(self) -> tuple[str, str, str]:
        """Return model, serial number and firmware; raises DeviceNotFound where
        something else answers.
        """
        try:
            answer = self._query("*IDN?")
        except DeviceLost as error:
            raise DeviceNotFound(
                f"no instrument answers at {self.resource}",
                evidence=error.evidence,
                try_next="is it switched on, and the address right?",
            ) from error
        words = [word.strip() for word in answer.split(",")]
        if len(words) != 4 or words[1] not in _MODELS:
            raise DeviceNotFound(
                f"{self.resource} is no N6705",
                evidence=f"*IDN? gave {answer[:100]!r}",
                try_next=f"one of {', '.join(_MODELS)}",
            )
        return words[1], words[2], words[3]

    def do(self, message: str, step: str) -> None:
        """Send a command and empty the error queue; raises Refused with the `step` of
        the set-up that failed.
        """
        with self._lock:
            first = _entry(self._answer(self._with_error_query(message), step, message))
            if first[0]:
                self._refuse([first, *self.errors()], step, message)

    def _with_error_query(self, message: str) -> str:
        # Two messages: after an error in a command an instrument may drop the rest of
        # its message, and the answer would be waited for in vain. In one piece, as over
        # a socket the second one would wait 40 ms for the acknowledgement of the first
        # (Nagle), 40 times in a set-up; USB and VXI-11 acknowledge each, and may take a
        # line's end for a part of the first.
        if self.resource.upper().endswith("::SOCKET"):
            return f"{message}\n:SYST:ERR?"
        with translated(self.resource):
            if self._session is None:
                raise lost(self.resource, "its session is closed")
            if self._owing:
                self._catch_up()
            self._session.write(message)
        return ":SYST:ERR?"

    def ask(self, message: str, step: str) -> str:
        """Return the answer to a query; raises Refused where the instrument has put an
        error in its queue instead.
        """
        return self._answer(message, step, message)

    def numbers(self, message: str, step: str) -> list[float]:
        """Return the answer to a query as numbers; raises RemoteProtocolError for
        anything else."""
        answer = self.ask(message, step)
        try:
            return [float(word) for word in answer.split(",")]
        except ValueError as error:
            raise RemoteProtocolError(
                f"{step}: the N6705 answered no number",
                evidence=f"{message} gave {answer[:80]!r}",
                try_next=FIRMWARE,
            ) from error

    def block(self, message: str, step: str) -> NDArray[np.float64]:
        """Return a definite length block of big-endian 32-bit floats, none where the
        instrument answers by a line that says that there are none yet; raises
        RemoteProtocolError for a damaged one.
        """
        with self._lock:
            try:
                with self._exchange() as session:
                    session.write(message)
                    values = np.frombuffer(_block(session), ">f4")
            except ValueError as error:
                raise RemoteProtocolError(
                    f"{step}: no block of numbers",
                    evidence=str(error)[:200],
                    try_next=FIRMWARE,
                ) from error
            except Silence as error:
                self._explain(step, message, error)
                raise RemoteProtocolError(
                    f"{step}: the block ended before its announced length",
                    evidence=message,
                    try_next=FIRMWARE,
                ) from error
            return np.asarray(values, dtype=np.float64)

    def errors(self) -> list[tuple[int, str]]:
        """Return and clear the error queue."""
        errors: list[tuple[int, str]] = []
        with self._lock:
            for _ in range(_QUEUE):
                entry = _entry(self._answer("SYST:ERR?", "error queue", "SYST:ERR?"))
                if not entry[0]:
                    return errors
                errors.append(entry)
        raise RemoteProtocolError(
            "the error queue never becomes empty",
            evidence=f"last {errors[-1]}",
            try_next="switch the instrument off and on",
        )

    def require_no_errors(self, step: str, message: str) -> None:
        """Empty the error queue; raises Refused for the first entry."""
        errors = self.errors()
        if errors:
            self._refuse(errors, step, message)

    def _refuse(
        self, errors: list[tuple[int, str]], step: str, message: str
    ) -> NoReturn:
        code = errors[0][0]
        hint = (
            "the module's manual for what it can do; *RST on the instrument brings it"
            " to a known state"
        )
        if code == _OPTION_MISSING:
            hint = "a mainframe with option 055 has no data logger: another mainframe"
        raise CommandRefused(
            f"the N6705 refused: {step}",
            code=code,
            evidence=(
                f"{message} gave"
                f" {'; '.join(f'{number} {what}' for number, what in errors)}"
            ),
            try_next=hint,
        )

    def reopen(self) -> None:
        """Open another session to the same instrument in place of this one."""
        self.close()
        with self._lock:
            self._session = open_session(
                self.resource, self._library, self._timeout_s, self._heard
            )
            self._owing = False

    def close(self) -> None:
        """Let go of the session; closing twice is allowed."""
        with self._lock:
            session = self._session
            self._session = None
        if session is not None:
            # A lost session cannot be closed properly, and need not be.
            with suppress(Exception):
                session.close()

    def _answer(self, query: str, step: str, message: str) -> str:
        with self._lock:
            try:
                return self._query(query)
            except Silence as silence:
                self._explain(step, message, silence)
                raise self._late(
                    step, f"{message}: none came, and other queries are answered"
                ) from silence

    def _query(self, message: str) -> str:
        try:
            with self._lock, self._exchange() as session:
                return str(session.query(message)).strip()
        except UnicodeDecodeError as error:
            raise RemoteProtocolError(
                "the N6705 answered no text",
                evidence=f"{message} gave {error.object[:80]!r}",
                try_next=FIRMWARE,
            ) from error

    @contextmanager
    def _exchange(self) -> Iterator[VisaSession]:
        """Lend the session, under the lock, for one query and its whole answer: until
        that has been read the instrument owes it.
        """
        # The lock is not taken here: Ctrl-C in the machinery of context managers can
        # leave this one open.
        with translated(self.resource):
            if self._session is None:
                raise lost(self.resource, "its session is closed")
            if self._owing:
                self._catch_up()
            self._owing = True
            yield self._session
            self._owing = False

    def _catch_up(self) -> bytes:
        """Read and return all outstanding answers. A session that fails here is
        closed."""
        owed = b""
        assert self._session is not None
        try:
            # Not session.clear(): pyvisa-py's never ends where the other side has hung
            # up (0.8.1), nor does it know of an answer that has not come yet.
            self._session.write("*IDN?")
            while not (name := _NAME.search(line := bytes(self._session.read_raw()))):
                owed += line
        except BaseException:
            self.close()
            raise
        self._owing = False
        return (owed + line[: name.start()]).strip()

    def _explain(self, step: str, message: str, silence: Silence) -> None:
        """Raise the reason for a missing answer: DeviceLost, DeadlineError if it came
        late, Refused. Otherwise none was to come."""
        errors: list[tuple[int, str]] = []
        try:
            with translated(self.resource):
                owed = self._catch_up()
            # Not `errors`: an answer that is late again is lost.
            while (
                len(errors) < _QUEUE and (entry := _entry(self._query("SYST:ERR?")))[0]
            ):
                errors.append(entry)
        except DeviceLost as error:
            evidence = (
                f"no answer to {message} within {self._timeout_s:g} s, nor to what was "
                f"asked next: {error.evidence}"
            )
            raise lost(self.resource, evidence) from error
        if owed:
            raise self._late(
                step, f"{message}: its answer came later, {owed[:80]!r}"
            ) from silence
        if errors and errors[0][0] == _INTERRUPTED:
            interrupted = f"{errors[0][0]} {errors[0][1]}"
            raise self._late(
                step,
                f"{message}: its answer was dropped for the next query, {interrupted}",
            ) from silence
        if errors:
            self._refuse(errors, step, message)

    def _late(self, step: str, evidence: str) -> DeadlineError:
        return DeadlineError(
            f"answer of the N6705, {step},",
            self._timeout_s,
            evidence=evidence,
            try_next=(
                "what keeps it busy: its front panel, another program, the network?"
                " else a larger timeout_s"
            ),
        )


def conversation(resource: str) -> Conversation:
    """Return how the instrument is talked to."""
    polls = {"FETC:ELOG?": "#10", "SYST:ERR?": '+0,"No error"'}
    return Conversation(
        "keysight_n6705",
        "SCPI",
        resource,
        # How often it is asked depends on how quick host and network are.
        polls=polls,
        anew="INIT:ELOG",
        versions=libraries(),
    )


def socket_of(address: str) -> str:
    """Return the VISA name of a TCP address."""
    host, _, port = address.partition(":")
    return f"TCPIP::{host}::{port}::SOCKET"


FIRMWARE = (
    "another program on the same connection? else the instrument's firmware: note its"
    " version"
)


def _block(session: VisaSession) -> bytes:
    """Return the content of a definite length block; none for a line that states that
    there are no data yet. ValueError for any other line."""
    begin = session.read_bytes(1)
    if begin != b"#":
        line = begin if begin == b"\n" else begin + session.read_raw()
        if _NOTHING_YET.fullmatch(line):
            return b""
        raise ValueError(f"the answer begins with {line[:80]!r}")
    digits = int(session.read_bytes(1))
    size_b = int(session.read_bytes(digits))
    # The end of the line is read with it: a line end may be among the numbers.
    answer: bytes = session.read_numbers(size_b + 1)
    return answer[:size_b]


def _entry(answer: str) -> tuple[int, str]:
    """Return code and text of an entry of the error queue."""
    number, _, text = answer.partition(",")
    try:
        return int(number), text.strip().strip('"')
    except ValueError as error:
        raise RemoteProtocolError(
            "the error queue gave something else",
            evidence=repr(answer[:80]),
            try_next=FIRMWARE,
        ) from error
