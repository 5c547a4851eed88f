# SPDX-License-Identifier: Apache-2.0
"""VISA sessions, and their errors in our words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from rig.errors import ConfigError, DeviceBusy, DeviceLost, DeviceNotFound
from rig.interfaces.contact import Heard, unheard

_LINE_END = "\n"


class Silence(DeviceLost):
    """No answer in time: the instrument is gone, or slow, or has refused a query, which
    then has no answer.
    """


class VisaSession:
    """An open VISA session of lines; `heard` is called with all that passes. Raises
    what pyvisa raises, and UnicodeDecodeError.
    """

    def __init__(self, session: Any, heard: Heard) -> None:
        self._session = session
        self._heard = heard

    def write(self, message: str) -> None:
        """Send a message and the end of its line."""
        self._heard("tx", f"{message}{_LINE_END}".encode())
        self._session.write(message)

    def query(self, message: str) -> str:
        """Send a message; return the line that comes."""
        self.write(message)
        return self.read_raw().decode("ascii")

    def read_raw(self) -> bytes:
        """Read up to the end of a line."""
        return self._read(self._session.read_raw())

    def read_bytes(self, count: int) -> bytes:
        """Read so many bytes of any value."""
        return self._read(self._session.read_bytes(count))

    def read_numbers(self, count: int) -> bytes:
        """Read so many bytes with line ends as data: the library would return pieces
        that end there."""
        self._session.read_termination = None
        try:
            return self.read_bytes(count)
        finally:
            self._session.read_termination = _LINE_END

    def close(self) -> None:
        """Let go of it."""
        self._session.close()

    def _read(self, block: bytes) -> bytes:
        self._heard("rx", block)
        return block


def open_session(
    resource: str, visa_library: str, timeout_s: float, heard: Heard = unheard
) -> VisaSession:
    """Open a VISA session; raises ConfigError, DeviceNotFound or DeviceBusy."""
    manager = open_library(visa_library)
    from pyvisa import constants

    if not _is_name(resource):
        raise ConfigError(
            f"{resource!r} is no VISA resource",
            path="monitor.keysight_n6705.resource",
            try_next=(
                'a name such as "TCPIP::192.168.1.5::5025::SOCKET"; rig scan lists what'
                " answers"
            ),
        )
    try:
        session = manager.open_resource(
            resource, read_termination=_LINE_END, write_termination=_LINE_END
        )
        session.timeout = timeout_s * 1e3
        return VisaSession(session, heard)
    except Exception as error:  # pyvisa-py raises bare Exceptions here
        text = str(error)
        code = getattr(error, "error_code", None)
        if code == constants.StatusCode.error_invalid_resource_name:
            raise ConfigError(
                f"{resource!r} is no VISA resource",
                path="monitor.keysight_n6705.resource",
                evidence=text,
            ) from error
        if "PyUSB" in text or "gpib" in text.lower():
            evidence = text.replace("\n", " ")
            raise ConfigError(
                f"the VISA library {visa_library!r} cannot reach {resource}",
                path="monitor.keysight_n6705.visa_library",
                evidence=evidence,
                try_next=(
                    "pip install pyusb, or the vendor's library, or the instrument's"
                    " LAN address with ::5025::SOCKET"
                ),
                see="visa-does-not-reach",
            ) from error
        if code in (
            constants.StatusCode.error_resource_locked,
            constants.StatusCode.error_resource_busy,
        ):
            raise DeviceBusy(
                f"{resource} is in use",
                evidence=text,
                try_next="close the other program",
                see="instrument-busy",
            ) from error
        raise DeviceNotFound(
            f"no instrument at {resource}",
            evidence=text or repr(error),
            try_next="is it switched on, and the address right?",
            see="no-instrument",
        ) from error


def open_library(visa_library: str) -> Any:
    """Return the resource manager of a VISA library; raises ConfigError. All users
    share it: it is not to be closed.
    """
    try:
        import pyvisa
    except ImportError as error:
        raise ConfigError(
            "pyvisa is missing",
            try_next="pip install 'neurorig[keysight]'",
            see="visa-does-not-load",
        ) from error
    try:
        return pyvisa.ResourceManager(visa_library)
    except (ValueError, OSError, AttributeError, pyvisa.errors.Error) as error:
        # AttributeError: a library, but none of VISA.
        raise ConfigError(
            f"the VISA library {visa_library!r} cannot be loaded",
            path="monitor.keysight_n6705.visa_library",
            evidence=str(error),
            try_next=(
                '"@py", which pip install \'neurorig[keysight]\' brings; "@ivi" needs a'
                " vendor's library: install Keysight IO Libraries, or name its file"
            ),
        ) from error


def libraries() -> dict[str, str]:
    """Return the versions of the VISA packages in use."""
    by_name = {}
    for name in ("pyvisa", "pyvisa-py"):
        with suppress(PackageNotFoundError):
            by_name[name] = version(name)
    return by_name


def _is_name(resource: str) -> bool:
    from pyvisa import rname

    try:
        rname.ResourceName.from_string(resource)
    except ValueError:
        return False
    return True


def _is_timeout(error: Exception) -> bool:
    import pyvisa

    return bool(
        getattr(error, "error_code", None) == pyvisa.constants.StatusCode.error_timeout
    )


@contextmanager
def translated(resource: str) -> Iterator[None]:
    """Turn errors of the VISA library into DeviceLost: the state of the instrument is
    unknown after them; a time-out into Silence."""
    import pyvisa

    try:
        yield
    except (pyvisa.errors.Error, OSError, AttributeError) as error:
        # AttributeError: the library lost its socket.
        raise lost(
            resource,
            str(error) or repr(error),
            Silence if _is_timeout(error) else DeviceLost,
        ) from error


def lost(
    resource: str, evidence: str, kind: type[DeviceLost] = DeviceLost
) -> DeviceLost:
    """Return the error of an instrument that is gone."""
    return kind(
        f"the N6705 at {resource} does not answer any more",
        evidence=evidence,
        try_next=(
            "cable and power; the DUT's supply may still be on: switch it off at the "
            "instrument"
        ),
    )
