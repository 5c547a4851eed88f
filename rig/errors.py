# SPDX-License-Identifier: Apache-2.0
"""The error tree.

RigError
 + ConfigError      the bench file or an override is wrong
 + BenchError       a part of the bench
 |  + DeviceNotFound, DeviceBusy, StorageFull
 |  + DeviceLost
 |     + DeviceRestarted
 + ProtocolError
 |  + LocalProtocolError    we misused the protocol
 |  + RemoteProtocolError   the device sent nonsense, also after retries
 + SutError         the device answered with an error code
 + DeadlineError    no answer came in time
 + DataError        a file of the task or of a session is missing, truncated or of
   another format
    + NotInSession   the content of a sample, which a session folder does not hold

Stopped is none of them: a KeyboardInterrupt that a program asked for.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

#: Exceptions that the content of a damaged file raises in code that reads it.
DAMAGE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
#: Length of a quotation from a file, a device or a program.
_MOST = 4000
#: A part of a name that is shorter than this means no name.
_PART = 3


def shortened(text: str, most: int) -> str:
    """Return a long text as its beginning, its end and its length; others unchanged."""
    if len(text) <= most:
        return text
    end = most // 4
    return f"{text[: most - end]} ... {text[-end:]} ({len(text)} characters)"


class RigError(Exception):
    """Base class of the rig's errors: the cause, the evidence, and what to try next; of
    very long ones the beginning and the end.

    `exit_code` is that of the command line: 2 usage or configuration, 3 the bench
    failed. `rail` is the rail whose monitor raised it, where there are several. `see`
    is the row of docs/how-to/TROUBLESHOOTING.md that `rig docs` prints, empty where
    there is none; it is no part of the stored text. `file` is the file of a session
    folder that is wrong, where that is known.
    """

    exit_code = 3
    rail = ""
    see = ""
    file = ""

    def __init__(
        self, cause: str, *, evidence: str = "", try_next: str = "", see: str = ""
    ) -> None:
        if see:
            self.see = see
        self.cause = shortened(cause, _MOST)
        self.evidence = shortened(evidence, _MOST)
        self.try_next = try_next
        super().__init__(self.cause)

    def joined(self, between: str) -> str:
        """Return the cause and, where there is one, the evidence after `between`."""
        return between.join(filter(None, (self.cause, self.evidence)))

    @property
    def with_evidence(self) -> str:
        """The cause, with the evidence in brackets where there is one."""
        return f"{self.cause} ({self.evidence})" if self.evidence else self.cause

    def __str__(self) -> str:
        lines = [self.cause]
        if self.evidence:
            lines.append(f"evidence: {self.evidence}")
        if self.try_next:
            lines.append(f"try: {self.try_next}")
        return "\n".join(lines)


class ConfigError(RigError):
    """The bench file or an override is wrong; `path` names the key, as "sut.port", or
    the `keys` that contradict each other, and `fault` is the cause without it.
    """

    exit_code = 2

    def __init__(
        self,
        cause: str,
        *,
        path: str | tuple[str, ...] = "",
        evidence: str = "",
        try_next: str = "",
        see: str = "",
    ) -> None:
        try_next = (
            try_next or "the key's type and limits; rig bench list shows examples"
        )
        self.keys = (path,) if isinstance(path, str) else path
        self.path = ", ".join(self.keys)
        self.fault = cause
        super().__init__(
            f"{self.path}: {cause}" if self.path else cause,
            evidence=evidence,
            try_next=try_next,
            see=see,
        )

    def moved(self, section: str, to: str) -> None:
        """Name the key where it stands in this bench file: under `to`, where a part
        says `section`.
        """
        self.keys = tuple(
            to + key.removeprefix(section)
            if f"{key}.".startswith(f"{section}.")
            else key
            for key in self.keys
        )
        self.path = ", ".join(self.keys)
        if self.path:
            self.cause = f"{self.path}: {self.fault}"


class BenchError(RigError):
    """A part of the bench does not work; `supply_is_off`: that of the DUT is off all
    the same, and known to be.
    """

    supply_is_off = False


class DeviceNotFound(BenchError):
    """The named port, program or instrument does not exist."""


class DeviceBusy(BenchError):
    """Another user holds the device."""


class DeviceLost(BenchError):
    """The device was there and is gone."""


class DeviceRestarted(DeviceLost):
    """The device is there again, but has forgotten everything."""

    see = "restarts"


class StorageFull(BenchError):
    """The disk has no room for the measurement."""

    see = "disk-full"


class Stopped(KeyboardInterrupt):
    """The end was requested (rig/host/stop.py). As with Ctrl-C, no handler of
    errors catches it, and the session ends as "abort".
    """


class ProtocolError(RigError):
    """The conversation with a device broke its protocol."""


class LocalProtocolError(ProtocolError):
    """We asked for something the protocol forbids."""


class RemoteProtocolError(ProtocolError):
    """The device sent something the protocol forbids, also after retries."""

    def __init__(
        self, cause: str, *, evidence: str = "", try_next: str = "", see: str = ""
    ) -> None:
        hint = (
            "look at cable, ground and line rate; firmware that knows the framed layer "
            "repairs lost and spoilt bytes"
        )
        super().__init__(cause, evidence=evidence, try_next=try_next or hint, see=see)


class SutError(RigError):
    """The system under test answered with an error code."""

    def __init__(
        self, cause: str, *, code: int, evidence: str = "", try_next: str = ""
    ) -> None:
        super().__init__(cause, evidence=evidence, try_next=try_next)
        self.code = code


class DeadlineError(RigError):
    """No answer came in time."""

    def __init__(
        self,
        awaited: str,
        waited_s: float,
        *,
        evidence: str = "",
        try_next: str = "",
        see: str = "",
    ) -> None:
        super().__init__(
            f"no {awaited} within {waited_s:.3g} s",
            evidence=evidence,
            try_next=try_next,
            see=see,
        )
        self.awaited = awaited
        self.waited_s = waited_s


class DataError(RigError):
    """A file of the task, the model or a session is missing, truncated or of another
    format."""

    exit_code = 2

    def __init__(
        self,
        cause: str,
        *,
        evidence: str = "",
        try_next: str = "",
        see: str = "",
        file: str = "",
    ) -> None:
        super().__init__(
            cause,
            evidence=evidence,
            try_next=try_next or "fetch or make the file again, or name another one",
            see=see,
        )
        if file:
            self.file = file


class NotInSession(DataError):
    """A session folder does not hold the content of a sample, and something that is
    made again from it would need it.
    """


@contextmanager
def errors_in(file: str) -> Iterator[None]:
    """Name a file of a session folder in the rig's errors that are raised here, where
    they name none.
    """
    try:
        yield
    except RigError as error:
        error.file = error.file or file
        raise


def cause_of(error: Exception) -> str:
    """Return the cause of an error of the rig, and the text of any other."""
    return error.cause if isinstance(error, RigError) else repr(error)


_PERMISSION = "its owner's permission to read it: chmod a+rX, or a copy of your own"


def denied(error: PermissionError) -> DataError:
    """Translate a refusal of the operating system to this account, of a file or folder
    by its name."""
    return DataError(
        f"{error.filename} may not be read, or not be written, by this account",
        evidence=error.strerror or str(error),
        try_next=_PERMISSION,
    )


def unread(error: OSError, path: Path, try_next: str = "") -> DataError:
    """Translate the operating system's error for a file or folder that cannot be read;
    `try_next` helps where its owner's permission does not.
    """
    return DataError(
        f"{path} cannot be read",
        evidence=error.strerror or str(error),
        try_next=_PERMISSION if isinstance(error, PermissionError) else try_next,
    )


def storage_error(error: OSError, path: Path, try_next: str = "") -> BenchError:
    """Translate the operating system's error for a file or folder of ours; `try_next`
    helps where another folder for new sessions does not.
    """
    evidence = error.strerror or str(error)
    # A file of ours that begins with a dot is one that the user never sees.
    named = Path(str(error.filename or "."))
    if named.name and named != path and not named.name.startswith("."):
        evidence += f": {named}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFull(
            f"the disk of {path} is full",
            evidence=evidence,
            try_next="free some room; what has been measured is kept",
        )
    return BenchError(
        f"{path} cannot be written or read",
        evidence=evidence,
        try_next=try_next or "another folder, or the permissions of this one",
        see="folder-not-writable",
    )


def did_you_mean(name: str, known: Iterable[str], most: int = 1) -> str:
    """Return "did you mean A? " for the names that come nearest to one that does not
    exist, or of which it is a part; empty where none does.
    """
    folded = {each.casefold(): each for each in known}
    meant = name.casefold()
    close = get_close_matches(meant, folded, most)
    if not close and len(meant) >= _PART:
        close = [each for each in folded if meant in each][:most]
    return (
        f"did you mean {' or '.join(folded[each] for each in close)}? " if close else ""
    )
