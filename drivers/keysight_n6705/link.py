# SPDX-License-Identifier: Apache-2.0
"""The conversation with a Keysight N6705 over VISA: messages, its error queue, blocks of numbers; errors in the rig's words."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from rig.errors import BenchError, ConfigError, DeviceBusy, DeviceLost, DeviceNotFound, RemoteProtocolError

#: Of the *IDN? answer: the mainframes that log for an external computer.
_MODELS = ("N6705A", "N6705B", "N6705C")
#: More errors in a row than the queue of the instrument holds: then the answer is something else.
_QUEUE = 50
_OPTION_MISSING = 302


class Refused(BenchError):
    """The instrument put an error in its queue; `code` is the one of SCPI, or of the maker where it is positive."""

    def __init__(self, cause: str, *, code: int, evidence: str, try_next: str) -> None:
        super().__init__(cause, evidence=evidence, try_next=try_next)
        self.code = code


class Link:
    """One open VISA session; calls may come from any thread, one at a time.

    Raises DeviceNotFound, DeviceBusy, ConfigError when opened; DeviceLost once the instrument does not answer any more; Refused for
    an entry of its error queue; RemoteProtocolError for an answer of another form.
    """

    def __init__(self, resource: str, visa_library: str, timeout_s: float) -> None:
        self.resource, self._library, self._timeout_s = resource, visa_library, timeout_s
        self._lock = threading.RLock()
        self._session: Any = open_session(resource, visa_library, timeout_s)

    def identity(self) -> tuple[str, str, str]:
        """Return model, serial number and firmware; raises DeviceNotFound where something else answers."""
        try:
            answer = self._ask("*IDN?")
        except DeviceLost as error:
            raise DeviceNotFound(
                f"nothing answers at {self.resource}", evidence=error.evidence, try_next="is it switched on, and the address right?"
            ) from error
        words = [word.strip() for word in answer.split(",")]
        if len(words) != 4 or words[1] not in _MODELS:
            raise DeviceNotFound(
                f"{self.resource} is no N6705", evidence=f"*IDN? gave {answer[:100]!r}", try_next=f"one of {', '.join(_MODELS)}"
            )
        return words[1], words[2], words[3]

    def do(self, message: str, step: str) -> None:
        """Send a command and empty the error queue; raises Refused with the `step` of the set-up that failed."""
        with self._lock:
            try:
                # In one message: a second one would wait 40 ms for the acknowledgement of the first (Nagle), 40 times in a set-up.
                first = _entry(self._ask(f"{message};:SYST:ERR?"))
            except DeviceLost:
                # After an error in a command an instrument may drop the rest of its message.
                self.require_no_errors(step, message)
                raise
            if first[0]:
                self._refuse([first, *self.errors()], step, message)

    def ask(self, message: str, step: str) -> str:
        """Return the answer to a query; raises Refused where the instrument has put an error in its queue instead."""
        with self._lock:
            try:
                return self._ask(message)
            except DeviceLost:
                # A refused query has no answer: the queue says which of the two this is, or the instrument is gone.
                self.require_no_errors(step, message)
                raise

    def numbers(self, message: str, step: str) -> list[float]:
        """Return the answer to a query as numbers; raises RemoteProtocolError for anything else."""
        answer = self.ask(message, step)
        try:
            return [float(word) for word in answer.split(",")]
        except ValueError as error:
            raise RemoteProtocolError(
                f"{step}: the N6705 answered no number", evidence=f"{message} gave {answer[:80]!r}", try_next=FIRMWARE
            ) from error

    def block(self, message: str, step: str) -> NDArray[np.float64]:
        """Return a definite length block of big-endian 32-bit floats; raises RemoteProtocolError for a damaged one."""
        with self._lock, _translated(self.resource):
            try:
                values = self._session.query_binary_values(
                    message, datatype="f", is_big_endian=True, container=np.array, raise_on_late_block=True
                )
            except (ValueError, RuntimeError) as error:
                self._discard()
                raise RemoteProtocolError(f"{step}: no block of numbers", evidence=str(error)[:200], try_next=FIRMWARE) from error
            except Exception as error:
                if not _is_timeout(error):
                    raise
                # Either a refused query, or a block that ends before it should: an instrument that is gone says neither.
                self._discard()
                self.require_no_errors(step, message)
                raise RemoteProtocolError(
                    f"{step}: the block ended before its announced length", evidence=message, try_next=FIRMWARE
                ) from error
            return np.asarray(values, dtype=np.float64)

    def errors(self) -> list[tuple[int, str]]:
        """Return and clear the error queue."""
        found: list[tuple[int, str]] = []
        with self._lock:
            for _ in range(_QUEUE):
                entry = _entry(self._ask("SYST:ERR?"))
                if not entry[0]:
                    return found
                found.append(entry)
        raise RemoteProtocolError(
            "the error queue never becomes empty", evidence=f"last {found[-1]}", try_next="switch the instrument off and on"
        )

    def require_no_errors(self, step: str, message: str) -> None:
        """Empty the error queue; raises Refused for the first entry."""
        found = self.errors()
        if found:
            self._refuse(found, step, message)

    def _refuse(self, found: list[tuple[int, str]], step: str, message: str) -> NoReturn:
        code = found[0][0]
        hint = "the module's manual for what it can do; *RST on the instrument brings it to a known state"
        if code == _OPTION_MISSING:
            hint = "a mainframe with option 055 has no data logger: another mainframe"
        raise Refused(
            f"the N6705 refused: {step}",
            code=code,
            evidence=f"{message} gave {'; '.join(f'{one} {what}' for one, what in found)}",
            try_next=hint,
        )

    def reopen(self) -> None:
        """Open another session to the same instrument in place of this one."""
        self.close()
        with self._lock:
            self._session = open_session(self.resource, self._library, self._timeout_s)

    def close(self) -> None:
        """Let go of the session; closing twice is allowed."""
        with self._lock:
            session, self._session = self._session, None
        if session is not None:
            # What is gone cannot be closed properly, and need not be.
            with suppress(Exception):
                session.close()

    def _ask(self, message: str) -> str:
        with self._lock, _translated(self.resource):
            return str(self._session.query(message)).strip()

    def _discard(self) -> None:
        """Drop what is left of an answer, so that the next one begins at its beginning."""
        session = self._session
        before_ms = session.timeout
        # Not session.clear(): pyvisa-py's never ends where the other side has hung up (0.8.1).
        session.timeout = _QUIET_MS
        with suppress(Exception):
            session.read_bytes(_REST_B)
        session.timeout = before_ms


#: An answer that is under way comes in pieces closer together than this; and none is longer than that.
_QUIET_MS = 200
_REST_B = 16 << 20
FIRMWARE = "another program on the same connection? else the instrument's firmware: note its version"


def open_session(resource: str, visa_library: str, timeout_s: float) -> Any:
    """Open a VISA session; raises ConfigError, DeviceNotFound or DeviceBusy."""
    manager = open_library(visa_library)
    from pyvisa import constants

    if not _is_name(resource):
        raise ConfigError(
            f"{resource!r} is no VISA resource",
            path="monitor.keysight_n6705.resource",
            try_next='a name such as "TCPIP::192.168.1.5::5025::SOCKET"; rig scan lists what answers',
        )
    try:
        session = manager.open_resource(resource, read_termination="\n", write_termination="\n")
        session.timeout = timeout_s * 1e3
        return session
    except Exception as error:  # pyvisa-py raises bare Exceptions here
        text = str(error)
        code = getattr(error, "error_code", None)
        if code == constants.StatusCode.error_invalid_resource_name:
            raise ConfigError(f"{resource!r} is no VISA resource", path="monitor.keysight_n6705.resource", evidence=text) from error
        if "PyUSB" in text or "gpib" in text.lower():
            raise ConfigError(
                f"the VISA library {visa_library!r} cannot reach {resource}",
                path="monitor.keysight_n6705.visa_library",
                evidence=text.replace("\n", " "),
                try_next="pip install pyusb, or the vendor's library, or the instrument's LAN address with ::5025::SOCKET",
            ) from error
        if code in (constants.StatusCode.error_resource_locked, constants.StatusCode.error_resource_busy):
            raise DeviceBusy(f"{resource} is in use", evidence=text, try_next="close the other program") from error
        raise DeviceNotFound(
            f"nothing at {resource}", evidence=text or repr(error), try_next="is it switched on, and the address right?"
        ) from error


def open_library(visa_library: str) -> Any:
    """Return the resource manager of a VISA library; raises ConfigError. All users share it: it is not to be closed."""
    try:
        import pyvisa
    except ImportError as error:
        raise ConfigError("pyvisa is missing", try_next="pip install 'neurorig[keysight]'") from error
    try:
        return pyvisa.ResourceManager(visa_library)
    except (ValueError, OSError, AttributeError, pyvisa.errors.Error) as error:
        # AttributeError: a library, but none of VISA.
        raise ConfigError(
            f"the VISA library {visa_library!r} cannot be loaded",
            path="monitor.keysight_n6705.visa_library",
            evidence=str(error),
            try_next='"@py", which pip install \'neurorig[keysight]\' brings; "@ivi" needs a vendor\'s library: install Keysight IO'
            " Libraries, or name its file",
        ) from error


def _entry(answer: str) -> tuple[int, str]:
    """Return code and text of an entry of the error queue."""
    number, _, text = answer.partition(",")
    try:
        return int(number), text.strip().strip('"')
    except ValueError as error:
        raise RemoteProtocolError("the error queue gave something else", evidence=repr(answer[:80]), try_next=FIRMWARE) from error


def _is_name(resource: str) -> bool:
    from pyvisa import rname

    try:
        rname.ResourceName.from_string(resource)
    except ValueError:
        return False
    return True


def _is_timeout(error: Exception) -> bool:
    import pyvisa

    return bool(getattr(error, "error_code", None) == pyvisa.constants.StatusCode.error_timeout)


@contextmanager
def _translated(resource: str) -> Iterator[None]:
    """Turn errors of the VISA library into DeviceLost: after them nothing is known of the instrument."""
    import pyvisa

    try:
        yield
    except (pyvisa.errors.Error, OSError, AttributeError) as error:
        # AttributeError: the session had been closed, or the library lost its socket.
        raise DeviceLost(
            f"the N6705 at {resource} does not answer any more",
            evidence=str(error) or repr(error),
            try_next="cable and power; the DUT's supply may still be on: switch it off at the instrument",
        ) from error
