# SPDX-License-Identifier: Apache-2.0
"""The backend of a device on a UART: any pyserial URL, the text or the framed layer of
docs/reference/PROTOCOL.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence

from rig.interfaces.context import BenchContext
from rig.interfaces.sut import SutInfo
from rig.model.finding import Finding
from rig.model.need import Need, NeedKind
from rig.model.wiring import Connection, Talk
from sut_backends.uart.bring_up import probe
from sut_backends.uart.connect import PortSettings, open_line
from sut_backends.uart.shim_sut import ShimSut
from sut_backends.uart.wiring import connections, overheard, talked, words_at_power_up

_REMOTE = (
    "over a network: its latency is in the host's times and between steps;"
    " marks are counted by the device, and SYNC edges do not pass the network"
)


class UartSut(ShimSut):
    """A device at a serial port or URL that speaks the shim protocol."""

    Settings = PortSettings

    @staticmethod
    def simulates(settings: PortSettings) -> bool:
        """Check whether the bench file calls the device simulated."""
        return settings.simulated

    @classmethod
    def open(cls, settings: PortSettings, context: BenchContext) -> UartSut:
        """Open the port and find the DUT; raise BenchError, DeadlineError or
        ProtocolError with what to try next.
        """
        line = open_line(settings.port, settings, context)
        return cls(line, settings, simulated=settings.simulated)

    @property
    def info(self) -> SutInfo:
        """The device's report about itself; of a port that a network is part of, what
        that means for times.
        """
        info = super().info
        if not self.line.name.startswith(("rfc2217://", "tls://")):
            return info
        return dataclasses.replace(info, details={**info.details, "port": _REMOTE})

    @staticmethod
    def probe(settings: PortSettings, context: BenchContext) -> Iterator[Finding]:
        """Check the connection to the DUT step by step; where it does not answer, try
        other line rates.
        """
        return probe(settings, context, lambda: UartSut.open(settings, context))

    @staticmethod
    def wires(settings: PortSettings) -> Sequence[Connection]:
        """Return the wires of the UART."""
        return connections()

    @staticmethod
    def needs(settings: PortSettings, context: BenchContext) -> Sequence[Need]:
        """Return the port."""
        return (Need(NeedKind.PORT, settings.port),)

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
