# SPDX-License-Identifier: Apache-2.0
"""Open the parts of a bench, and leave them with the supply off, also after errors."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from rig.bench import config
from rig.bench.config import Config
from rig.bench.labgrid.loan import on_loan
from rig.bench.named_monitor import open_monitor
from rig.bench.opening import Announcer
from rig.bench.parts import open_part, open_task
from rig.bench.supply_watchdog import SupplyWatchdog, switching
from rig.errors import BenchError, RigError
from rig.host.stop import Stop
from rig.interfaces.context import BenchContext, Wire
from rig.interfaces.monitor import EnergyMonitor, Recording
from rig.interfaces.recount import WireBlock
from rig.interfaces.scenario import Scenario
from rig.interfaces.sut import SystemUnderTest
from rig.interfaces.task import Task
from rig.live.block import Observer
from rig.live.observers import Observers
from rig.session.planning import refuse_claim, trial_seed
from rig.store.events import Opening, PartOpened, RailState, Subscriber
from rig.trace.tap import tapped
from rig.trace.thinning import QuietTimes, thinned


@dataclass(slots=True)
class BenchParts:
    """The parts of an open bench, its observers and listeners; `opening` holds the
    blocks of the UART until the device had answered.
    """

    config: Config
    context: BenchContext
    task: Task
    scenario: Scenario
    monitors: dict[str, EnergyMonitor]
    sut: SystemUnderTest
    subscribers: tuple[Subscriber, ...]
    observers: Observers
    opening: tuple[WireBlock, ...] = ()

    def listen(self, listener: Wire) -> Callable[[], None]:
        """Call `listener` with every block that passes the line to the device, as "tx"
        or "rx"; return a function that ends that.

        It is called in the thread that talks to the device, and must be quick. One that
        raises is dropped and named in `dropped`.
        """
        return self.context.listen(listener)

    @property
    def dropped(self) -> tuple[str, ...]:
        """Observers and listeners that raised an error and are no longer called."""
        return (*self.observers.dropped, *self.context.state.deaf)

    def stop(self) -> None:
        """Ask for the end of all actions of this bench, from any thread; returns at
        once.

        A run raises Stopped within a second, and its session is kept as one that was
        aborted. A stopped bench cannot be used again.
        """
        self.context.stop.request()

    def record(
        self, stack: ExitStack, rail: str, folder: Path, quiet: QuietTimes | None = None
    ) -> Recording:
        """Record a rail into `folder` until `stack` is left, for the observers too;
        with `quiet` times the trace is thinned there.
        """
        stack.enter_context(tapped(folder, partial(self.observers.tap, rail)))
        if quiet is not None:
            stack.enter_context(thinned(folder, quiet))
        return stack.enter_context(self.monitors[rail].record(folder))


class _Opening:
    """A listener that keeps the blocks of the line while a bench is opened."""

    def __init__(self) -> None:
        self.blocks: list[WireBlock] = []

    def __call__(self, direction: str, block: bytes) -> None:
        """Keep a block."""
        self.blocks.append(WireBlock(time.monotonic(), direction, block))


_PartsT = TypeVar("_PartsT", bound=BenchParts)


@contextmanager
def open_parts(
    kind: type[_PartsT],
    path: Path | str,
    overrides: Sequence[str] = (),
    subscribers: Sequence[Subscriber] = (),
    stop: Stop | None = None,
    *,
    again: int = 0,
    observers: Sequence[Observer] = (),
    listeners: Sequence[Wire] = (),
) -> Iterator[_PartsT]:
    """Open everything a bench file names; on leaving, the DUT's supply is off and every
    port closed, also after errors.

    `subscribers` get the events of opening, and those of each session that is run.
    `observers` get live blocks, `listeners` the blocks on the line to the device, from
    the beginning on.

    `again`: how often it was opened for the same session before. What is random on the
    bench is then drawn again: a simulated monitor that began with the same noise once
    more would write a trace that another trial has already.
    """
    resolved = config.load(Path(path), overrides)
    stop = stop or Stop()
    with (
        on_loan(resolved, stop) as lent,
        SupplyWatchdog() as watchdog,
        ExitStack() as stack,
    ):
        watching = Observers(observers)
        stack.callback(watching.close)
        with stop.heard():
            heard = _Opening()
            bench = kind(
                resolved,
                *_opened(
                    resolved=lent,
                    stack=stack,
                    watchdog=watchdog,
                    subscribers=tuple(subscribers),
                    stop=stop,
                    again=again,
                    listeners=(heard, *listeners),
                ),
                tuple(subscribers),
                watching,
            )
            bench.opening = tuple(heard.blocks)
            bench.context.forget(heard)
        yield bench


def _opened(
    resolved: Config,
    stack: ExitStack,
    watchdog: SupplyWatchdog,
    subscribers: tuple[Subscriber, ...],
    stop: Stop,
    again: int,
    listeners: Sequence[Wire],
) -> tuple[BenchContext, Task, Scenario, dict[str, EnergyMonitor], SystemUnderTest]:
    emit = Announcer(subscribers, stop)
    seed = resolved.bench.seed
    emit(Opening("task", resolved.task.kind))
    task, context = open_task(
        resolved,
        trial_seed(seed, -again) if again else seed,
        stop=stop,
        listeners=listeners,
    )
    emit(PartOpened("task", resolved.task.kind))
    emit(Opening("scenario", resolved.scenario.kind))
    scenario = open_part("scenario", resolved, context)
    refuse_claim(resolved, scenario, task)
    emit(PartOpened("scenario", resolved.scenario.kind))
    monitors: dict[str, EnergyMonitor] = {}
    for rail, choice in resolved.monitors.items():
        emit(Opening("monitor", choice.kind, rail))
        monitors[rail] = open_monitor(rail, choice, context)
        stack.push(partial(_leave, monitors[rail].close))
        emit(PartOpened("monitor", choice.kind, monitors[rail].info, rail))
    watchdog.watch(resolved, switching(monitors), stop)
    for rail, monitor in monitors.items():
        stack.push(partial(_leave, partial(_off, rail, monitor, subscribers)))
        monitor.power(True)
        emit(RailState(rail, True))
    emit(Opening("sut", resolved.sut.kind))
    sut = open_part("sut", resolved, context)
    stack.callback(sut.close)
    context.state.program = context.state.program or ""
    emit(PartOpened("sut", resolved.sut.kind, sut.info))
    return context, task, scenario, monitors, sut


def _off(rail: str, monitor: EnergyMonitor, subscribers: Sequence[Subscriber]) -> None:
    monitor.power(False)
    for subscriber in subscribers:
        # The other supplies have to be switched off even if one of them fails.
        with suppress(Exception):
            subscriber(RailState(rail, False))


def _leave(
    action: Callable[[], None],
    kind: type[BaseException] | None,
    error: BaseException | None,
    trace: object,
) -> None:
    """Switch a supply off or release an instrument; where that fails after an error,
    the first error is reported, with a note.
    """
    try:
        action()
    except RigError as failure:
        if error is None:
            raise
        known_off = isinstance(failure, BenchError) and failure.supply_is_off
        note = (
            failure.cause
            if known_off
            else f"the supply may still be on: {failure.cause}"
        )
        # A lost part is reported once.
        if failure.cause != getattr(error, "cause", "") and note not in getattr(
            error, "__notes__", ()
        ):
            error.add_note(note)
