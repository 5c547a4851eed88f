# SPDX-License-Identifier: Apache-2.0
"""The wires between host and DUT, and tests of single wires.

At power-up the firmware sends text by itself, which needs only its Tx; `timestamp`
pulses SYNC, which needs only its Rx and a monitor (docs/reference/PROTOCOL.md section
1).
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from rig.errors import DeadlineError, ProtocolError
from rig.host.stop import pause
from rig.model.wiring import Connection, Pin, Talk, WireName
from sut_backends.lines.line import DutLine
from sut_backends.uart.connect import LinkSettings
from sut_backends.uart.rates_to_try import USUAL_BAUDS
from sut_backends.uart.text_client import ATTENTION_S, READY, TextClient

#: Longest time of a device from its supply to its first bytes.
BOOT_S = 1.5
_PULSES = 2
_PULSE_PAUSE_S = 0.2
_PRINTABLE = frozenset(range(0x20, 0x7F)) | {0x0D, 0x0A}


def connections() -> Sequence[Connection]:
    """Return the wires of a UART, by the DUT's pins."""
    return (
        Connection(WireName.TX, Pin("dut", "Tx"), Pin("host", "Rx")),
        Connection(WireName.RX, Pin("host", "Tx"), Pin("dut", "Rx")),
        Connection(WireName.GROUND, Pin("dut", "ground"), Pin("host", "ground")),
    )


def overheard(line: DutLine, settings: LinkSettings) -> str:
    """Ask a device that must not answer; return its name, empty where none comes."""
    with suppress(DeadlineError, ProtocolError):
        return TextClient(line, settings.timeout_s).attention(2 * ATTENTION_S)
    return ""


def words_at_power_up(read: Callable[[float], bytes], limit_s: float = BOOT_S) -> bytes:
    """Return the bytes of a device until it is ready, or until the time is up."""
    heard = b""
    end_s = time.monotonic() + limit_s
    while (left_s := end_s - time.monotonic()) > 0 and READY.encode() not in heard:
        heard += read(min(left_s, 0.1))
    return heard


def talked(
    line: DutLine,
    settings: LinkSettings,
    at_power_up: bytes,
    watch: Callable[[Callable[[], None]], int | None],
) -> Talk:
    """Ask for the name, and where none comes for pulses and at other rates."""
    client = TextClient(line, settings.timeout_s)
    name = ""
    with suppress(DeadlineError, ProtocolError):
        name = client.attention(settings.timeout_s)
    spoilt_b = sum(byte not in _PRINTABLE for byte in at_power_up)
    heard_b = len(at_power_up) + client.received_b
    words = at_power_up.decode("ascii", "backslashreplace").split()
    talk = Talk(
        heard_b=heard_b,
        unreadable_b=spoilt_b + client.unprintable_b,
        at_power_up=" ".join(words),
        name=name,
    )
    if name:
        return talk
    pulses = watch(lambda: _ask_for_pulses(line))
    other_baud = _other_baud(line, settings) if talk.garbled else 0
    return dataclasses.replace(talk, pulses=pulses, other_baud=other_baud)


def _ask_for_pulses(line: DutLine) -> None:
    for _ in range(_PULSES):
        line.write(b"timestamp%")
        pause(_PULSE_PAUSE_S)


def _other_baud(line: DutLine, settings: LinkSettings) -> int:
    for baud in USUAL_BAUDS:
        if baud == settings.baud:
            continue
        line.set_baud(baud)
        try:
            TextClient(line, settings.timeout_s).attention(2 * ATTENTION_S)
        except (DeadlineError, ProtocolError):
            continue
        return baud
    line.set_baud(settings.baud)
    return 0
