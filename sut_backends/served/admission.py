# SPDX-License-Identifier: Apache-2.0
"""Admission of a host to a served device: TLS, and a token."""

from __future__ import annotations

import hmac
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from rig.errors import ConfigError
from rig.host.ready import can_read
from rig.host.tls_port import ADMITTED, REFUSED, fingerprint, read_line, token

#: A host that has not shown its token by then is disconnected.
_LIMIT_S = 5.0
#: Sent to a host without TLS before its connection is closed.
NO_TLS = b'e-[this port speaks TLS: port = "tls://HOST:PORT"]\r\n'
_HANDSHAKE = b"\x16"


class Admission:
    """The certificate and the token of a server; `tell` gets why a host is refused.
    Raises ConfigError.
    """

    def __init__(
        self, certificate: Path, key: Path, token_file: str, tell: Callable[[str], None]
    ) -> None:
        self._token = token(token_file)
        self._tell = tell
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            self._context.load_cert_chain(certificate, key, password="")
            pem = certificate.read_text(encoding="ascii")
            first = pem[pem.index("-----BEGIN CERTIFICATE-----") :]
            first = first[: first.index("-----END") + len("-----END CERTIFICATE-----")]
            self.fingerprint = fingerprint(ssl.PEM_cert_to_DER_cert(first))
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"{certificate} and {key} are no certificate and its key",
                path="--tls-cert, --tls-key",
                evidence=str(error),
                try_next="two PEM files that belong together, the key not encrypted",
            ) from error

    def admitted(self, host: socket.socket) -> ssl.SSLSocket | bytes:
        """Return the connection of an admitted host; else what to answer one without
        TLS. One that is refused is closed, and the answer is empty.
        """
        host.settimeout(_LIMIT_S)
        where = _where(host)
        try:
            if not can_read(host, _LIMIT_S):
                return self._refused(host, f"{where} sends no byte")
            if host.recv(1, socket.MSG_PEEK) != _HANDSHAKE:
                self._tell(f"refused: {where} does not speak TLS")
                return NO_TLS
            connection = self._context.wrap_socket(host, server_side=True)
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", "") or str(error)
            return self._refused(host, f"{where} breaks off the handshake: {reason}")
        try:
            line = read_line(connection, _LIMIT_S)
            if hmac.compare_digest(line.rstrip(b"\n"), self._token):
                connection.sendall(ADMITTED)
                return connection
            connection.settimeout(_LIMIT_S)
            connection.sendall(REFUSED)
        except OSError as error:
            return self._refused(connection, f"{where} hangs up: {error}")
        return self._refused(connection, f"{where} has another token")

    def _refused(self, host: socket.socket, why: str) -> bytes:
        self._tell(f"refused: {why}")
        host.close()
        return b""


def _where(host: socket.socket) -> str:
    with suppress(OSError):
        return str(host.getpeername()[0])
    return "a host"
