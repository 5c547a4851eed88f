# SPDX-License-Identifier: Apache-2.0
"""The change of the line rate: docs/reference/PROTOCOL.md section 6."""

from __future__ import annotations

import time
from typing import NamedTuple

from rig.errors import DeadlineError, RemoteProtocolError, SutError
from sut_backends.shim import messages
from sut_backends.shim.messages import MessageKind
from sut_backends.uart.exchange import FrameExchange

_ATTEMPTS = 2  # a lost STATUS costs one
_PINGS = 5
_BACK_S = 0.6


class Switch(NamedTuple):
    """Result of a change of the line rate: the rate in use, and why it is not the one
    asked for."""

    baud: int
    refusal: str = ""


def switch_baud(exchange: FrameExchange, baud: int) -> Switch:
    """Change the line rate of a DUT that can; stay at the old one where the new one
    does not work.
    """
    for _ in range(_ATTEMPTS):
        try:
            exchange.ask(MessageKind.BAUD, messages.BaudMessage(baud).pack())
        except SutError as error:
            return Switch(exchange.line.baud, f"{error.cause} ({error.evidence})")
        if _moved(exchange, baud):
            return Switch(baud)
    return Switch(exchange.line.baud, f"no answer at {baud} baud")


def _moved(exchange: FrameExchange, baud: int) -> bool:
    old = exchange.line.baud
    status_s = time.monotonic()
    _set_baud(exchange, baud)
    if _answers(exchange):
        return True
    _set_baud(exchange, old)
    time.sleep(max(status_s + _BACK_S - time.monotonic(), 0.0))
    if _answers(exchange):
        return False
    where = f"neither at {baud} nor at {old} baud on {exchange.line.name}"
    waited_s = time.monotonic() - status_s
    raise DeadlineError(
        "answer after the change of the line rate",
        waited_s,
        evidence=where,
        try_next="reset the DUT",
    )


def _set_baud(exchange: FrameExchange, baud: int) -> None:
    exchange.line.set_baud(baud)
    exchange.link.timeouts.baud = baud


def _answers(exchange: FrameExchange) -> bool:
    try:
        exchange.ask(
            MessageKind.PING, b"baud", expect=MessageKind.PONG, repeats_max=_PINGS
        )
    except (DeadlineError, RemoteProtocolError):
        # The DUT may not have received this number: the next PING carries it again.
        exchange.link.rewind()
        return False
    return True
