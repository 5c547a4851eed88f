# SPDX-License-Identifier: Apache-2.0
"""A device under test behind a UART: any pyserial URL, the text or the framed layer of docs/PROTOCOL.md."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from rig.errors import ConfigError, DeadlineError, ProtocolError, RigError, SutError
from rig.finding import Finding
from rig.plan import Query, Solve, Stream
from rig.serial_port import SerialPort
from rig.sut import Completion, SutInfo
from rig.table import Table
from sut_backends.faulty_link import Faults, FaultyLink
from sut_backends.framed_layer import FramedLayer
from sut_backends.layer import Layer, Pulses
from sut_backends.resuming_layer import ResumingLayer
from sut_backends.self_test import SelfTested
from sut_backends.shim.io_manager import IoManagerLine
from sut_backends.shim.line import Line
from sut_backends.shim.text import TextClient
from sut_backends.text_layer import TextLayer


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSettings:
    """How to speak with the DUT. `frame_baud` 0 means no change of the line rate; `faults` spoil the line on purpose.

    `through` says whether to look for an IO manager between here and the DUT.
    """

    baud: int = 115_200
    frame_baud: int = 0
    layer: Literal["auto", "text", "framed"] = "auto"
    through: Literal["auto", "nothing"] = "auto"
    sync_hold_us: int = 50
    sync_count: int = 8
    sync_period_us: int = 5_000
    timeout_s: float = 2.0
    faults: Faults = field(default_factory=Faults)

    def __post_init__(self) -> None:
        ranges = {"sync_hold_us": (0, 65_535), "sync_count": (2, 255), "sync_period_us": (1, 10_000_000), "baud": (1, 100_000_000)}
        for name, (low, high) in ranges.items():
            if not low <= getattr(self, name) <= high:
                raise ConfigError(f"{getattr(self, name)} is not in {low}..{high}", path=f"sut.{name}")
        if self.frame_baud < 0 or self.timeout_s <= 0:
            raise ConfigError("frame_baud is 0 or more, timeout_s above 0", path="sut")


class UartSut:
    """A device behind a serial port or URL, over the shim protocol."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Settings(LinkSettings):
        """`port` is a device or URL as pyserial takes it; `simulated` says that an emulator is behind it, and no device."""

        port: str
        simulated: bool = False

    def __init__(self, line: Line, layer: ResumingLayer, timeout_s: float, simulated: bool) -> None:
        self.line = line
        self._simulated = simulated
        self._layer, self._timeout_s = layer, timeout_s
        self._closed = False

    @staticmethod
    def simulates(settings: UartSut.Settings) -> bool:
        """Say whether the bench file calls the device simulated."""
        return settings.simulated

    @classmethod
    def open(cls, settings: UartSut.Settings, table: Table) -> UartSut:
        """Open the port and find the DUT; raise BenchError, DeadlineError or ProtocolError with what to try next."""
        return cls.on(open_line(settings.port, settings, table), settings, settings.simulated)

    @classmethod
    def on(cls, line: Line, settings: LinkSettings, simulated: bool) -> UartSut:
        """Find the DUT at an open line, which is closed where none answers; raises as `open` does."""
        try:
            return cls(line, ResumingLayer(lambda: _enter(line, settings)), settings.timeout_s, simulated)
        except BaseException:
            line.close()
            raise

    @staticmethod
    def probe(settings: UartSut.Settings, table: Table) -> Iterator[Finding]:
        """Say step by step what works between here and the DUT; tries other line rates where nothing does."""
        from sut_backends.probe import probe  # which itself opens this class

        return probe(settings, table)

    @property
    def info(self) -> SutInfo:
        """Return what the device said of itself."""
        return dataclasses.replace(self._layer.info, simulated=self._simulated)

    def load(self, index: int, payload: bytes) -> None:
        """Bring `payload` into device memory as sample `index`."""
        self._layer.load(index, payload)

    def idle(self, duration_s: float) -> Completion:
        """Stay configured and ready for `duration_s`; two marks."""
        return self._layer.idle(duration_s)

    def sync(self) -> Completion:
        """Give one SYNC burst; one mark a pulse."""
        return self._layer.sync()

    def run(self, query: Query) -> Completion:
        """Process the loaded sample of `query`; a mark at the start of each phase and one at the end."""
        return self._layer.run(query)

    def solve(self, step: Solve) -> Completion:
        """Search the loaded workload: a mark at the start, at thresholds and at the end."""
        return self._layer.solve(step)

    def stream(self, step: Stream, windows: Sequence[bytes]) -> Completion:
        """Play a stream: a mark where it starts, at each phase of each window and behind it, and at the end."""
        return self._layer.stream(step, windows)

    def self_test(self) -> SelfTested | None:
        """Let the DUT test itself; None in the text layer, which has no self-test. Raise SutError where the firmware has none."""
        layer = self._layer.layer
        return layer.self_test() if isinstance(layer, FramedLayer) else None

    def close(self) -> None:
        """Leave the DUT in the text layer where it still listens, and close the port."""
        if self._closed:
            return
        self._closed = True
        try:
            self._layer.leave()
        except RigError:
            with suppress(RigError):
                TextClient(self.line, self._timeout_s).attention(0.0)
        finally:
            self.line.close()


def open_line(port: str, settings: LinkSettings, table: Table) -> Line:
    """Open the port, with an IO manager found by itself, and the faults of `settings` in front of it where there are any."""
    # The table's `wire` changes from session to session: it is looked up anew for every block.
    opened = SerialPort.open(port, settings.baud, lambda direction, block: table.wire(direction, block))
    line = IoManagerLine(opened) if settings.through == "auto" else opened
    return FaultyLink(line, settings.faults) if settings.faults.any else line


def _enter(line: Line, settings: LinkSettings) -> Layer:
    if line.baud != settings.baud:
        line.set_baud(settings.baud)  # a DUT that restarts does so at its first rate
    pulses = Pulses(settings.sync_hold_us, settings.sync_count, settings.sync_period_us)
    client = TextClient(line, settings.timeout_s)
    name = _attention(client, settings)
    if settings.layer == "text":
        return TextLayer(client, name, pulses)
    if client.frame():
        # The rate to come back to: not that of a dead host's frames; where the line has a slower part in it, the line says its own.
        bauds = (settings.baud if line.baud == settings.frame_baud else line.baud, settings.frame_baud)
        return FramedLayer.enter(line, pulses, settings.timeout_s, bauds, secrets.randbits(32))
    if settings.layer == "framed":
        raise SutError("the DUT knows only the text layer", code=0, evidence=name, try_next='layer = "auto", or another firmware')
    return TextLayer(client, name, pulses)


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
