# SPDX-License-Identifier: Apache-2.0
"""Open the monitors of a bench, with events for the subscribers of that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from rig.bench.config import Config
from rig.bench.named_monitor import open_monitor
from rig.bench.parts import open_task
from rig.bench.supply_watchdog import SupplyWatchdog, switching
from rig.host.stop import Stop
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import EnergyMonitor
from rig.store.events import Event, Opening, PartOpened, RailState, Subscriber


@dataclass(frozen=True, slots=True)
class Announcer:
    """Pass events on to subscribers; raise Stopped where the end was requested."""

    subscribers: Sequence[Subscriber]
    stop: Stop

    def __call__(self, event: Event) -> None:
        """Pass an event on."""
        self.stop.check()
        for subscriber in self.subscribers:
            subscriber(event)


@contextmanager
def monitored(
    resolved: Config, announce: Announcer
) -> Iterator[tuple[BenchContext, dict[str, EnergyMonitor]]]:
    """Open the task and the monitors of a bench, without its device; on leaving, the
    supplies are off, also after the end of this process.
    """
    with SupplyWatchdog() as watchdog, ExitStack() as stack:
        # A stop ends the opening; it does not keep monitors from being closed.
        with announce.stop.heard():
            _, context = open_task(resolved, probing=True, stop=announce.stop)
            monitors = dict(opened_monitors(resolved, context, stack, announce))
            watchdog.watch(resolved, switching(monitors), announce.stop)
        yield context, monitors


def opened_monitors(
    resolved: Config, context: BenchContext, stack: ExitStack, announce: Announcer
) -> Iterator[tuple[str, EnergyMonitor]]:
    """Open the monitor of each rail, and yield it with the rail's name; leaving `stack`
    switches the supplies off and closes the monitors. Raises what their drivers do.
    """
    for rail, choice in resolved.monitors.items():
        announce(Opening("monitor", choice.kind, rail))
        monitor = open_monitor(rail, choice, context)
        stack.callback(_close, rail, monitor, announce.subscribers)
        announce(PartOpened("monitor", choice.kind, monitor.info, rail))
        yield rail, monitor


def _close(
    rail: str, monitor: EnergyMonitor, subscribers: Sequence[Subscriber]
) -> None:
    monitor.close()
    for subscriber in subscribers:
        # The rest has to be closed as well, also where a subscriber fails.
        with suppress(Exception):
            subscriber(RailState(rail, False))
