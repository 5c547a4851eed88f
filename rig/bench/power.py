# SPDX-License-Identifier: Apache-2.0
"""The supply of a bench, switched on by hand and read, with no other part open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rig.bench import config, supply
from rig.bench.labgrid.loan import on_loan
from rig.bench.opening import Announcer, monitored
from rig.bench.probe import read_supply
from rig.errors import ConfigError
from rig.host.stop import Stop
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import EnergyMonitor
from rig.store.events import RailState, Subscriber


class PoweredBench:
    """A bench with only its supply on."""

    def __init__(
        self, monitors: dict[str, EnergyMonitor], context: BenchContext
    ) -> None:
        self._monitors = monitors
        self._context = context

    def read(self) -> dict[str, str]:
        """Return voltage and current of each rail in words; a simulated device that is
        not open draws no current.
        """
        readings = {}
        for rail, monitor in self._monitors.items():
            if monitor.info.sync == "start":
                readings[rail] = (
                    "not read: this monitor records from the first edge of SYNC on"
                )
                continue
            reading = read_supply(monitor, self._context)
            readings[rail] = (
                "nothing could be read"
                if reading is None
                else supply.in_words(reading, monitor.info)
            )
        return readings


@contextmanager
def powered(
    path: Path | str,
    overrides: Sequence[str] = (),
    subscribers: Sequence[Subscriber] = (),
    stop: Stop | None = None,
) -> Iterator[PoweredBench]:
    """Switch the supplies of a bench on; they are off at the end in every case. Raises
    ConfigError if no monitor switches any, and the errors of opening a monitor.
    """
    stop = stop or Stop()
    announce = Announcer(subscribers, stop)
    resolved = config.load(Path(path), overrides)
    with (
        on_loan(resolved, stop) as lent,
        monitored(lent, announce) as (context, monitors),
        stop.heard(),
    ):
        switched = {rail: each for rail, each in monitors.items() if each.info.switches}
        if not switched:
            raise ConfigError(
                "no monitor of this bench switches a supply",
                path="monitor",
                try_next="switch the device's own supply by hand",
            )
        for rail, monitor in switched.items():
            monitor.power(True)
            announce(RailState(rail, True))
        yield PoweredBench(monitors, context)
