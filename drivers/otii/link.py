# SPDX-License-Identifier: Apache-2.0
"""The conversation with an Otii server: lines of JSON over TCP, a request and its
response at a time. Errors of the server become the rig's here alone.

From github.com/qoitech/otii-tcp-client-python 1.0.13 and qoitech.com/help/tcpserver.
"""

from __future__ import annotations

import json
import socket
import time
from typing import Any

from rig.errors import (
    BenchError,
    ConfigError,
    DeadlineError,
    DeviceBusy,
    DeviceLost,
    DeviceNotFound,
    RemoteProtocolError,
)
from rig.interfaces.contact import Conversation, Heard, unheard

#: The maker's client waits 3 s for most answers, 10 s for some, and without end for
#: data.
ANSWER_S = 10.0
_READ_B = 1 << 18
#: More than any answer has: 40 000 numbers of 25 characters.
_LONGEST_B = 1 << 26
_SHOWN = 200
TRY = "look at the window of the Otii application and at the device's cable"
#: Stands for a user's name and password in a recorded conversation.
_HIDDEN = "not recorded"


def conversation(server: str) -> Conversation:
    """Return how it is talked to."""
    return Conversation("otii", "lines of JSON over TCP", server)


class OtiiRefusal(BenchError):
    """An error that the server answered with; `code` is its kind, in the server's
    words."""

    def __init__(self, request: str, code: str, evidence: str) -> None:
        super().__init__(
            f"the Otii server refuses {request}: {code}",
            evidence=evidence,
            try_next=TRY,
        )
        self.code = code


class OtiiLink:
    """One connection to a server. Calls come from one thread at a time."""

    def __init__(self, server: str, line: socket.socket, heard: Heard) -> None:
        self._server = server
        self._line = line
        self._heard = heard
        self._pending = b""
        self._count = 0
        self._owing = False
        self.version = ""

    @classmethod
    def open(cls, server: str, heard: Heard = unheard) -> OtiiLink:
        """Connect and take the server's greeting; raises ConfigError, DeviceNotFound
        and DeviceBusy."""
        host, _, port = server.rpartition(":")
        if not host or not port.isdecimal():
            raise ConfigError(
                f"{server!r} names no server",
                path="monitor.otii.server",
                try_next='HOST:PORT, as "127.0.0.1:1905"',
            )
        try:
            line = socket.create_connection((host, int(port)), ANSWER_S)
        except (OSError, OverflowError) as error:
            raise DeviceNotFound(
                f"no Otii server answers at {server}",
                evidence=str(error),
                try_next=(
                    "start the Otii application, and its TCP server: by default it is"
                    " at port 1905"
                ),
                see="no-instrument",
            ) from error
        link = cls(server, line, heard)
        try:
            greeting = link._message(time.monotonic() + ANSWER_S, "greeting")
        except BaseException:
            line.close()
            raise
        if greeting.get("type") != "information":
            line.close()
            raise DeviceBusy(
                f"the Otii server at {server} does not take the connection",
                evidence=json.dumps(greeting)[:_SHOWN],
                try_next="close other programs that are connected to it",
                see="instrument-busy",
            )
        about = greeting.get("data", {})
        link.version = f"{about.get('server', '')} {about.get('otii_version', '')}"
        return link

    def request(self, name: str, limit_s: float = 0.0, **data: Any) -> Any:
        """Send a request and return the data of its response, which comes within
        `limit_s`, by default ANSWER_S.

        Raises OtiiRefusal for an error of the server, DeadlineError where no answer
        comes, after which the connection is not used again, DeviceLost where the server
        is gone, and RemoteProtocolError for an answer of another form.
        """
        if self._owing:
            raise self._lost("an earlier request was not answered")
        self._count += 1
        number = str(self._count)
        asked = {"type": "request", "cmd": name, "trans_id": number}
        self._owing = True
        self._send(asked, data)
        end_s = time.monotonic() + (limit_s or ANSWER_S)
        while True:
            answer = self._message(end_s, name)
            if answer.get("type") in ("response", "error"):
                break
        self._owing = False
        if answer.get("trans_id") != number:
            raise RemoteProtocolError(
                f"the Otii server's answer to {name} is that to another request",
                evidence=json.dumps(answer)[:_SHOWN],
                try_next=TRY,
            )
        if answer.get("type") == "error":
            code = str(answer.get("errorcode", "an error without a name"))
            raise OtiiRefusal(name, code, json.dumps(answer.get("data", {}))[:_SHOWN])
        return answer.get("data", {})

    def value(self, name: str, *keys: str, **data: Any) -> Any:
        """Send a request and return one value of its response, the first of `keys` that
        is there; raises RemoteProtocolError where none is."""
        answer = self.request(name, **data)
        for key in keys:
            if isinstance(answer, dict) and key in answer:
                return answer[key]
        raise RemoteProtocolError(
            f"the Otii server's answer to {name} has no {keys[0]}",
            evidence=json.dumps(answer)[:_SHOWN],
            try_next="another version of the Otii application",
        )

    def close(self) -> None:
        """Close the connection; closing twice is allowed."""
        self._line.close()

    def _send(self, asked: dict[str, Any], data: dict[str, Any]) -> None:
        shown = dict.fromkeys(data, _HIDDEN) if "password" in data else data
        self._heard("tx", _line(asked, shown))
        try:
            self._line.settimeout(ANSWER_S)
            self._line.sendall(_line(asked, data))
        except OSError as error:
            raise self._lost(str(error)) from error

    def _message(self, end_s: float, awaited: str) -> dict[str, Any]:
        """Return the next message."""
        while b"\n" not in self._pending:
            left_s = end_s - time.monotonic()
            if left_s <= 0 or len(self._pending) > _LONGEST_B:
                raise self._late(awaited)
            try:
                self._line.settimeout(left_s)
                block = self._line.recv(_READ_B)
            except TimeoutError as error:
                raise self._late(awaited) from error
            except OSError as error:
                raise self._lost(str(error)) from error
            if not block:
                raise self._lost("it has closed the connection")
            self._heard("rx", block)
            self._pending += block
        line, _, self._pending = self._pending.partition(b"\n")
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            raise RemoteProtocolError(
                f"what is at {self._server} is no Otii server",
                evidence=f"it said {line[:_SHOWN]!r}",
                try_next="the address in the bench file",
            )
        return message

    def _late(self, awaited: str) -> DeadlineError:
        return DeadlineError(
            f"answer of the Otii server to {awaited}", ANSWER_S, try_next=TRY
        )

    def _lost(self, evidence: str) -> DeviceLost:
        return DeviceLost(
            f"the Otii server at {self._server} is gone",
            evidence=evidence,
            try_next=(
                "the DUT's supply may still be on; start the Otii application again: it"
                " may have kept the recording"
            ),
            see="supply-may-be-on",
        )


def _line(asked: dict[str, Any], data: dict[str, Any]) -> bytes:
    return json.dumps(asked | {"data": data}).encode() + b"\r\n"
