# SPDX-License-Identifier: Apache-2.0
"""Open the line to a DUT, and determine the layer that it speaks."""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Interval, Unit, doc

from rig.errors import DeadlineError, ProtocolError, RigError, SutError
from rig.host.serial_port import SerialPort
from rig.host.tls_port import Trust
from rig.interfaces.context import BenchContext
from rig.settings.declare import DEVICE, Count, Or, PathText
from sut_backends.lines.faults import FaultyLink, LineFaults
from sut_backends.lines.io_manager import IoManagerLine
from sut_backends.lines.line import DutLine
from sut_backends.uart.dut import Dut, Pulses
from sut_backends.uart.framed_dut import FramedDut
from sut_backends.uart.text_client import TextClient
from sut_backends.uart.text_dut import TextDut


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSettings:
    """Settings of the link to the DUT."""

    baud: Annotated[
        int,
        Interval(ge=1, le=100_000_000),
        Unit("Bd"),
        doc("Line rate at which the DUT starts."),
    ] = 115_200
    frame_baud: Annotated[
        int,
        Or(0, "as `baud`"),
        Interval(ge=1, le=100_000_000),
        Unit("Bd"),
        doc("Line rate of the framed layer."),
    ] = 0
    layer: Annotated[
        Literal["auto", "text", "framed"], doc("Layer of the shim protocol to speak.")
    ] = "auto"
    through: Annotated[
        Literal["auto", "nothing"],
        doc("Whether to look for an IO manager between the host and the DUT."),
    ] = "auto"
    sync_hold_us: Annotated[
        int, Interval(ge=0, le=65_535), Unit("us"), doc("Length of a SYNC pulse.")
    ] = 50
    sync_count: Annotated[
        Count, Interval(ge=2, le=255), doc("Pulses in a SYNC burst.")
    ] = 8
    sync_period_us: Annotated[
        int,
        Interval(ge=1, le=10_000_000),
        Unit("us"),
        doc("Period of the pulses in a SYNC burst."),
    ] = 5_000
    timeout_s: Annotated[
        float,
        Interval(gt=0, le=3600),
        Unit("s"),
        doc("Time within which the DUT answers a short request."),
    ] = 2.0
    faults: Annotated[LineFaults, doc("What spoils the line, on purpose.")] = field(
        default_factory=LineFaults
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PortSettings(LinkSettings):
    """A line by its port."""

    port: Annotated[str, DEVICE, doc("Serial device, or URL as pyserial takes it.")]
    simulated: Annotated[bool, doc("The port leads to an emulator.")] = False
    pins_of: Annotated[
        str,
        doc("Board of `rig firmware boards` whose pins the wiring diagram names."),
    ] = ""
    tls_ca: Annotated[
        PathText, doc("Certificates (PEM) that a port of tls:// is checked with.")
    ] = ""
    tls_fingerprint: Annotated[
        str, doc("SHA-256 of the one certificate that a port of tls:// may have.")
    ] = ""
    token_file: Annotated[
        PathText,
        doc("File of the token for a port of tls://; empty: NEURORIG_TOKEN."),
    ] = ""


def open_line(port: str, settings: LinkSettings, context: BenchContext) -> DutLine:
    """Open the port, with an IO manager found by itself, and the faults of `settings`
    in front of it where there are any.
    """
    trust = None
    if isinstance(settings, PortSettings):
        trust = Trust(settings.tls_ca, settings.tls_fingerprint, settings.token_file)
    line: DutLine = SerialPort.open(
        port, settings.baud, context.wire, hears_stop=True, trust=trust
    )
    if settings.through == "auto":
        line = IoManagerLine(line)
    return FaultyLink(line, settings.faults) if settings.faults.any else line


def enter(line: DutLine, settings: LinkSettings) -> Dut:
    """Find the DUT at an open line in any state, and enter the layer of `settings`.
    Raise DeadlineError or ProtocolError where none answers.
    """
    if line.baud != settings.baud:
        line.set_baud(settings.baud)  # a DUT that restarts does so at its first rate
    pulses = Pulses(settings.sync_hold_us, settings.sync_count, settings.sync_period_us)
    client = TextClient(line, settings.timeout_s)
    name = _attention(client, settings)
    if isinstance(line, IoManagerLine):
        line = client.line = line.beyond
    if settings.layer == "text":
        return TextDut(client, name, pulses)
    if client.frame():
        # A host that died may have left the DUT at `frame_baud`: that is no rate to
        # come back to. A line with a slower part in it states its own.
        left_at_frame_baud = line.baud == settings.frame_baud
        first_baud = settings.baud if left_at_frame_baud else line.baud
        nonce = secrets.randbits(32)
        return FramedDut.enter(
            line,
            pulses,
            timeout_s=settings.timeout_s,
            first_baud=first_baud,
            frame_baud=settings.frame_baud,
            nonce=nonce,
        )
    if settings.layer == "framed":
        raise SutError(
            "the DUT knows only the text layer",
            code=0,
            evidence=name,
            try_next='layer = "auto", or another firmware',
        )
    return TextDut(client, name, pulses)


def _attention(client: TextClient, settings: LinkSettings) -> str:
    try:
        return client.attention(settings.timeout_s)
    except RigError:
        # A host that died left the DUT at the rate of its frames.
        if settings.frame_baud in (0, settings.baud):
            raise
        client.line.set_baud(settings.frame_baud)
        with suppress(DeadlineError, ProtocolError):
            return client.attention(settings.timeout_s)
        client.line.set_baud(settings.baud)
        raise
