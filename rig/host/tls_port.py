# SPDX-License-Identifier: Apache-2.0
"""The port `tls://HOST:PORT` of a device that `rig serve --tls-cert` offers: both ends
of its beginning, a certificate and a token.

The host sends the token in a line of its own, and gets ADMITTED or REFUSED. There are
no modem lines and no line rate.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import socket
import ssl
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from rig.errors import BenchError, ConfigError, DeadlineError, DeviceNotFound
from rig.files import small_text
from rig.host.ready import can_read
from rig.host.stop import LOOK_S, look

SCHEME = "tls://"
TOKEN = "NEURORIG_TOKEN"
ADMITTED = b"admitted\n"
REFUSED = b"refused\n"
#: Longest line that is read before a host is known.
LINE_B = 256
_TOKEN_LEAST = 16
_CONNECT_S = 10.0
_BLOCK_B = 65_536
_TOKEN_TRY = (
    f"the token of rig serve in {TOKEN}, or its file: token_file in [sut.uart],"
    " --token-file of rig serve"
)


@dataclass(frozen=True, slots=True)
class Trust:
    """Whom a host trusts, and its token: a file of certificates, or the SHA-256 of the
    server's one.
    """

    ca: str = ""
    fingerprint: str = ""
    token_file: str = ""


def token(file: str) -> bytes:
    """Return the token in a file, else that of the environment; raise ConfigError."""
    name = file or TOKEN
    try:
        text = small_text.read(Path(file)) if file else os.environ.get(TOKEN, "")
    except (OSError, ValueError) as error:
        raise ConfigError(
            "the token cannot be read",
            path=name,
            evidence=str(error),
            try_next=_TOKEN_TRY,
        ) from error
    content = text.strip().encode()
    if not _TOKEN_LEAST <= len(content) < LINE_B or b"\n" in content:
        raise ConfigError(
            f"a token is one line of {_TOKEN_LEAST} to {LINE_B - 1} bytes, there are"
            f" {len(content)}",
            path=name,
            try_next=_TOKEN_TRY,
        )
    return content


def read_line(host: socket.socket, limit_s: float) -> bytes:
    """Return the first line of the other end, byte by byte; what there is of it where
    the end closes, waits too long, or sends too much.
    """
    end_s = time.monotonic() + limit_s
    line = b""
    while not line.endswith(b"\n") and len(line) < LINE_B:
        left_s = end_s - time.monotonic()
        if left_s <= 0:
            break
        host.settimeout(left_s)
        with suppress(TimeoutError):
            byte = host.recv(1)
            if not byte:
                break
            line += byte
    return line


class TlsPort:
    """A connection with the methods of pyserial that rig.host.serial_port uses."""

    def __init__(self, connection: ssl.SSLSocket, baud: int, timeout_s: float) -> None:
        self.baudrate = baud
        self._timeout_s = timeout_s
        self._connection = connection
        self._held = b""

    @property
    def in_waiting(self) -> int:
        """The number of bytes that were received and not read."""
        return len(self._held)

    def read(self, count: int) -> bytes:
        """Return up to `count` bytes; empty where none came in time."""
        if not self._held and count:
            self._held = self._received()
        block, self._held = self._held[:count], self._held[count:]
        return block

    def write(self, block: bytes) -> None:
        """Send a block."""
        self._connection.settimeout(_CONNECT_S)
        self._connection.sendall(block)

    def flush(self) -> None:
        """Return at once: a written block is on its way."""

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _received(self) -> bytes:
        connection = self._connection
        if not connection.pending() and not can_read(connection, self._timeout_s):
            return b""
        connection.settimeout(0.0)
        try:
            block = connection.recv(_BLOCK_B)
        except (ssl.SSLWantReadError, BlockingIOError):
            return b""  # of the protocol itself
        if not block:
            raise OSError("the other end has closed the connection")
        return block


def open_port(url: str, baud: int, timeout_s: float, trust: Trust) -> TlsPort:
    """Connect; raise ConfigError, DeviceNotFound, BenchError or DeadlineError."""
    host, number = _place(url)
    context = _context(trust)
    secret = token(trust.token_file)
    try:
        plain = socket.create_connection((host, number), _CONNECT_S)
    except OSError as error:
        raise DeviceNotFound(
            f"no device answers at {url}",
            evidence=str(error),
            try_next="start rig serve there; look at host and port",
            see="nothing-at-the-address",
        ) from error
    try:
        connection = _greeted(plain, context, host, url)
        _refuse_other(connection, trust, url)
        _show(connection, secret, url)
    except BaseException:
        plain.close()
        raise
    return TlsPort(connection, baud, timeout_s)


def _place(url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigError(f"{url!r} is no address", evidence=str(error)) from error
    if not host or port is None:
        raise ConfigError(f"{url!r} is no address", try_next="tls://HOST:PORT")
    return host, port


def _context(trust: Trust) -> ssl.SSLContext:
    if bool(trust.ca) == bool(trust.fingerprint):
        raise ConfigError(
            "one of tls_ca and tls_fingerprint says which server is trusted",
            path="sut.uart.tls_ca",
            try_next="the fingerprint that rig serve prints, or a CA's certificate",
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if trust.fingerprint:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    try:
        context.load_verify_locations(trust.ca)
    except OSError as error:
        raise ConfigError(
            f"{trust.ca} holds no certificate",
            path="sut.uart.tls_ca",
            evidence=str(error),
            try_next="the certificate of the CA, or of the server, as PEM",
        ) from error
    return context


def _greeted(
    plain: socket.socket, context: ssl.SSLContext, host: str, url: str
) -> ssl.SSLSocket:
    try:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return context.wrap_socket(plain, server_hostname=host)
    except ssl.SSLCertVerificationError as error:
        raise BenchError(
            f"the certificate of {url} is not trusted: {error.verify_message}",
            evidence=str(error),
            try_next="tls_ca of its issuer, the name that it is for, a valid one there",
        ) from error
    except TimeoutError as error:
        raise DeadlineError(
            f"TLS at {url}", _CONNECT_S, try_next="socket://, if it has no TLS"
        ) from error
    except OSError as error:
        raise BenchError(
            f"{url} does not speak TLS",
            evidence=str(error),
            try_next="socket:// in place of tls://, or rig serve with --tls-cert",
        ) from error


def _refuse_other(connection: ssl.SSLSocket, trust: Trust, url: str) -> None:
    if not trust.fingerprint:
        return
    presented = fingerprint(connection.getpeercert(binary_form=True) or b"")
    stated = trust.fingerprint.replace(":", "").lower()
    if not hmac.compare_digest(presented.encode(), stated.encode()):
        raise BenchError(
            f"the certificate of {url} has another fingerprint",
            evidence=f"{presented}, tls_fingerprint is {stated}",
            try_next="the one that rig serve prints, if you renewed its certificate",
        )


def fingerprint(certificate: bytes) -> str:
    """Return the SHA-256 of a certificate, in hexadecimal."""
    return hashlib.sha256(certificate).hexdigest()


def _show(connection: ssl.SSLSocket, secret: bytes, url: str) -> None:
    """Send the token, and wait for the word that admits this host."""
    try:
        connection.sendall(secret + b"\n")
        end_s = time.monotonic() + _CONNECT_S
        word = b""
        while not word and time.monotonic() < end_s:
            look()
            word = read_line(connection, LOOK_S)
    except OSError as error:
        raise BenchError(f"{url} hangs up", evidence=str(error)) from error
    if word == REFUSED:
        raise BenchError(
            f"the token is not that of the server at {url}", try_next=_TOKEN_TRY
        )
    if word != ADMITTED:
        raise BenchError(
            f"{url} does not admit this host",
            evidence=repr(word),
            try_next="rig serve --tls-cert of the same version at the other end",
        )
