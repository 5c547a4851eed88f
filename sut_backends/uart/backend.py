# SPDX-License-Identifier: Apache-2.0
"""The system under test behind a UART: any pyserial URL, the text or the framed layer
of docs/PROTOCOL.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from rig.errors import ConfigError, RigError
from rig.interfaces.context import BenchContext
from rig.interfaces.plugin_classes import Backend
from rig.interfaces.recount import Recount, WireBlock
from rig.interfaces.sut import SutInfo
from rig.model.completion import Completion
from rig.model.finding import Finding
from rig.model.pace import Pace
from rig.model.steps import Step
from rig.model.wiring import Connection, Talk
from sut_backends.lines.line import Line
from sut_backends.shim.console import ShimDecoder
from sut_backends.shim.recount import recounted
from sut_backends.uart.bring_up import probe
from sut_backends.uart.connect import LinkSettings, PortSettings, enter, open_line, pace
from sut_backends.uart.framed_layer import FramedLayer
from sut_backends.uart.restarting import ResumingLayer
from sut_backends.uart.self_test import SelfTested
from sut_backends.uart.text_client import TextClient
from sut_backends.uart.wiring import connections, overheard, talked, words_at_power_up


class UartSut(Backend):
    """A device behind a serial port or URL, over the shim protocol."""

    Settings = PortSettings

    def __init__(
        self, line: Line, layer: ResumingLayer, timeout_s: float, simulated: bool
    ) -> None:
        self.line = line
        self._simulated = simulated
        self._layer = layer
        self._timeout_s = timeout_s
        self._closed = False
        self._left_in_a_step = False

    @staticmethod
    def simulates(settings: PortSettings) -> bool:
        """Return whether the bench file calls the device simulated."""
        return settings.simulated

    @staticmethod
    def pace(settings: PortSettings) -> Pace:
        """Return what its line rate determines; what a query takes, only the device
        knows."""
        return pace(settings)

    @staticmethod
    def decoder() -> ShimDecoder:
        """Return what puts the shim protocol into words."""
        return ShimDecoder()

    @staticmethod
    def recount(blocks: Sequence[WireBlock]) -> Recount:
        """Decode a log of the line."""
        return recounted(blocks)

    @classmethod
    def open(cls, settings: PortSettings, context: BenchContext) -> UartSut:
        """Open the port and find the DUT; raise BenchError, DeadlineError or
        ProtocolError with what to try next.
        """
        return cls.on(
            open_line(settings.port, settings, context), settings, settings.simulated
        )

    @classmethod
    def on(cls, line: Line, settings: LinkSettings, simulated: bool) -> UartSut:
        """Find the DUT at an open line, which is closed where none answers; raises as
        `open` does.
        """
        try:
            layer = ResumingLayer(lambda: enter(line, settings))
            if layer.info.simulated and not simulated:
                raise ConfigError(
                    f"{layer.info.name} says that it is simulated, the bench file"
                    " does not",
                    path="sut.uart.simulated",
                    try_next="simulated = true, and every page says so",
                )
            return cls(line, layer, settings.timeout_s, simulated)
        except BaseException:
            line.close()
            raise

    @staticmethod
    def probe(settings: PortSettings, context: BenchContext) -> Iterator[Finding]:
        """Check the connection to the DUT step by step; tries other line rates where
        nothing does.
        """
        return probe(settings, context, lambda: UartSut.open(settings, context))

    @staticmethod
    def wires(settings: PortSettings) -> Sequence[Connection]:
        """Return the wires of the UART."""
        return connections()

    @staticmethod
    def overhears(settings: PortSettings, context: BenchContext) -> str | None:
        """Ask the device for its name; None of a simulated one, which has no supply."""
        if settings.simulated:
            return None
        line = open_line(settings.port, settings, context)
        try:
            return overheard(line, settings)
        finally:
            line.close()

    @staticmethod
    def talk(
        settings: PortSettings,
        context: BenchContext,
        power_on: Callable[[], None],
        watch: Callable[[Callable[[], None]], int | None],
    ) -> Talk:
        """Listen at the open port while the supply comes on, and ask."""
        line = open_line(settings.port, settings, context)
        try:
            line.read(0.0)
            power_on()
            return talked(line, settings, words_at_power_up(line.read), watch)
        finally:
            line.close()

    @property
    def info(self) -> SutInfo:
        """Return what the device reports about itself."""
        return dataclasses.replace(self._layer.info, simulated=self._simulated)

    def do(self, step: Step, payloads: Sequence[bytes] = ()) -> Completion:
        """Do a step over the line, with the samples that it brings."""
        try:
            return self._layer.do(step, payloads)
        except KeyboardInterrupt:
            self._left_in_a_step = True
            raise

    def self_test(self) -> SelfTested | None:
        """Let the DUT test itself; None in the text layer, which has no self-test.
        Raise SutError where the firmware has none.
        """
        layer = self._layer.layer
        return layer.self_test() if isinstance(layer, FramedLayer) else None

    def close(self) -> None:
        """Leave the DUT in the text layer where it still listens, and close the port.

        One that was left in the middle of a step may not listen for minutes: whoever
        opens it next calls it to attention.
        """
        if self._closed:
            return
        self._closed = True
        try:
            if not self._left_in_a_step:
                self._layer.leave()
        except RigError:
            with suppress(RigError):
                TextClient(self.line, self._timeout_s).attention(0.0)
        finally:
            self.line.close()
