# SPDX-License-Identifier: Apache-2.0
"""Open the line to a DUT, and determine the layer that it speaks.

A DUT in the text layer, which every EEMBC / MLPerf Tiny firmware has, built for
performance or for energy mode.
"""

from __future__ import annotations

import secrets
import struct
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Interval, Unit, doc

from rig.errors import (
    DeadlineError,
    LocalProtocolError,
    ProtocolError,
    RemoteProtocolError,
    RigError,
    SutError,
)
from rig.host.serial_port import SerialPort
from rig.host.stop import pause
from rig.host.tls_port import Trust
from rig.interfaces.context import BenchContext
from rig.interfaces.sut import SutInfo
from rig.model.completion import END, IDLE, SYNC, Completion, Mark
from rig.model.pace import Pace
from rig.model.steps import Idle, Load, Query, Step, Sync
from rig.settings.declare import DEVICE, Count, Or, PathText
from rig.timebase.edge_clock import EDGE_CLOCK
from sut_backends.lines.faults import FaultyLink, LineFaults
from sut_backends.lines.io_manager import IoManagerLine
from sut_backends.lines.line import DutLine
from sut_backends.shim.messages import SyncMessage
from sut_backends.uart.dut import Dut, Pulses
from sut_backends.uart.framed_dut import FramedDut
from sut_backends.uart.slots import only_index
from sut_backends.uart.text_client import TextClient

#: Bits on the line for each byte: start, eight, stop.
_BITS = 10
#: Bytes on the line for each byte of a payload: COBS, numbers and checks of a frame; or
#: its hexadecimal digits, with the commands around them.
_SYMBOLS_FRAMED = 1.02
_SYMBOLS_TEXT = 2.3
#: Time of a short request and its answer.
_REQUEST_S = 2e-3
#: Silent time around a window if the firmware knows GO; 40 ms without GO.
_SILENT_S = 0.005
#: Multiples of the SYNC period after each pulse: docs/reference/PROTOCOL.md section 4.
_PATTERN = (1, 2, 1, 4)


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


def pace(settings: LinkSettings, byte_s: float | None = None) -> Pace:
    """Return the times of a link; `byte_s` where its line rate does not determine that
    of a byte.
    """
    text = settings.layer == "text"
    baud = settings.baud if text else settings.frame_baud or settings.baud
    symbols = _SYMBOLS_TEXT if text else _SYMBOLS_FRAMED
    periods = sum(
        _PATTERN[pulse % len(_PATTERN)] for pulse in range(settings.sync_count)
    )
    return Pace(
        load_s=_REQUEST_S,
        byte_s=_BITS * symbols / baud if byte_s is None else byte_s,
        sync_s=periods * settings.sync_period_us * 1e-6,
        overhead_s=_REQUEST_S + _SILENT_S,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PortSettings(LinkSettings):
    """A line by its port."""

    port: Annotated[str, DEVICE, doc("Serial device, or URL as pyserial takes it.")]
    simulated: Annotated[bool, doc("An emulator is behind the port.")] = False
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
        return FramedDut.enter(
            line,
            pulses,
            timeout_s=settings.timeout_s,
            first_baud=settings.baud if left_at_frame_baud else line.baud,
            frame_baud=settings.frame_baud,
            nonce=secrets.randbits(32),
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


PHASE = 0x01  # of `infer`, which is one phase here
_TICK_HZ = 1_000_000
_US_PER_S = 1_000_000
_OWN_PROFILE = "neurorig "
_OWN_HOLD_S = 50e-6  # PROTOCOL section 5; unknown for other firmware


class TextDut:
    """Turn steps into commands; marks are the DUT's `m-lap-us` stamps.

    Firmware built for energy mode prints none and only pulses SYNC: then the edges at
    the monitor are the only clock, and the ticks of the marks are the host's, which
    only serve to pair marks with edges (rig/timebase/edge_clock.py).
    """

    def __init__(self, client: TextClient, name: str, pulses: Pulses) -> None:
        self._client = client
        self._name = name
        self._pulses = pulses
        self._profile, self._model = client.profile()
        self._loaded: int | None = None
        client.find_mode()  # and every later stamp is judged by this one

    @property
    def info(self) -> SutInfo:
        """The DUT's report about itself."""
        is_own = self._profile.startswith(_OWN_PROFILE)
        line = self._client.line
        mode = "performance" if self._client.tells_time else "energy"
        details = {
            "layer": "text",
            "baud": line.baud,
            "load_checked": False,
            "timestamp_mode": mode,
        }
        if self._client.echo:
            details |= {"echo": self._client.echo}
        return SutInfo(
            name=self._name,
            kind="uart",
            simulated=False,
            tick_hz=_TICK_HZ,
            task=self._profile.removeprefix(_OWN_PROFILE) if is_own else "",
            model=self._model,
            firmware=self._profile,
            link=f"{line.name}, {line.baud} baud, text",
            sync_hold_s=_OWN_HOLD_S if is_own else 0.0,
            marks_phases=False,
            clock="" if self._client.tells_time else EDGE_CLOCK,
            details=details,
        )

    def do(self, step: Step, payloads: Sequence[bytes] = ()) -> Completion:
        """Give the commands of a step; LocalProtocolError where there is none for
        it."""
        match step:
            case Load():
                return self._load(step.index, payloads[0])
            case Idle():
                return self._idle(step.duration_s)
            case Sync():
                return self._sync()
            case Query():
                return self._run(step)
            case _:
                raise LocalProtocolError(
                    f"the text layer has no command for a step of kind {step.kind!r}",
                    try_next='layer = "auto", and a firmware that knows frames',
                )

    def _load(self, index: int, payload: bytes) -> Completion:
        """Bring `payload` into the DUT: lost and doubled bytes are found, a digit
        changed into another digit is not.
        """
        if not payload:
            raise LocalProtocolError(f"sample {index} is empty")
        self._loaded = None
        self._client.load(payload)
        self._loaded = index
        return Completion(())

    def _idle(self, duration_s: float) -> Completion:
        """Wait between two stamps."""
        start_us = self._client.timestamp()
        pause(duration_s)
        stop_us = self._client.timestamp()
        if stop_us - start_us < duration_s * _US_PER_S / 2:
            evidence = f"{stop_us - start_us} us in a wait of {duration_s} s"
            raise RemoteProtocolError(
                "the DUT's time stamps cannot be true", evidence=evidence
            )
        return Completion((Mark(IDLE, start_us), Mark(END, stop_us)))

    def _sync(self) -> Completion:
        """Ask for stamps in the pattern of a SYNC burst; the line's own time comes on
        top."""
        marks = []
        due_s = time.monotonic()
        for number in range(self._pulses.count):
            pause(max(due_s - time.monotonic(), 0.0))
            periods = SyncMessage.intervals[number % len(SyncMessage.intervals)]
            interval_s = periods * self._pulses.period_us / _US_PER_S
            due_s = time.monotonic() + interval_s
            marks.append(Mark(SYNC, self._client.timestamp()))
        return Completion(tuple(marks))

    def _run(self, query: Query) -> Completion:
        """Process the sample of `query`; the output is a signed 32-bit number of
        thousandths for each class.
        """
        index = only_index(query)
        if index != self._loaded:
            there = "nothing" if self._loaded is None else f"sample {self._loaded}"
            raise LocalProtocolError(
                f"sample {index} is not loaded", evidence=f"in the DUT: {there}"
            )
        if query.window is not None:
            return self._window(query)
        inference = self._client.infer(query.repeat, query.limit_s)
        output = struct.pack(
            f"<{len(inference.output_thousandths)}i", *inference.output_thousandths
        )
        return Completion(
            (Mark(PHASE, inference.start_us), Mark(END, inference.stop_us)), output
        )

    def _window(self, query: Query) -> Completion:
        """Take the loaded sample for the next window of a stream, between two stamps
        that include the link; the output is a signed byte for each class.
        """
        if query.window == 0:
            self._client.start_stream()
        start_us = self._client.timestamp()
        numbers = self._client.extract(query.limit_s)
        self._loaded = None
        stop_us = self._client.timestamp()
        output = struct.pack(f"{len(numbers)}b", *numbers)
        return Completion((Mark(PHASE, start_us), Mark(END, stop_us)), output)

    @property
    def unreported_retransmissions(self) -> int:
        """Return 0: the text layer has no retransmissions."""
        return 0

    def forgotten(self) -> bool:
        """Return False: a restart without a message cannot be distinguished from a lost
        byte."""
        return False

    def leave(self) -> None:
        """Return at once: the DUT is in the text layer already."""
