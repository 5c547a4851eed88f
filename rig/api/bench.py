# SPDX-License-Identifier: Apache-2.0
"""An open bench whose runs end in sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from rig.api.sessions.session import Session
from rig.bench import config
from rig.bench.console import console
from rig.model.steps import Sync
from rig.session import session

if TYPE_CHECKING:
    from rig.bench.config import Config
    from rig.host.stop import Stop
    from rig.interfaces.console import WireLine
    from rig.interfaces.context import BenchContext, Wire
    from rig.interfaces.monitor import EnergyMonitor
    from rig.interfaces.sut import SystemUnderTest
    from rig.live.block import Observer
    from rig.model.completion import Completion
    from rig.store.events import Subscriber

Settings = Mapping[str, Any] | Sequence[str]


class OpenBench:
    """An open bench: the DUT is powered and has answered."""

    def __init__(self, bench: session.Bench) -> None:
        self._bench = bench

    @property
    def config(self) -> Config:
        """The bench file as resolved."""
        return self._bench.config

    @property
    def sut(self) -> SystemUnderTest:
        """The system under test."""
        return self._bench.sut

    @property
    def monitors(self) -> dict[str, EnergyMonitor]:
        """The energy monitors by the names of their rails."""
        return self._bench.monitors

    @property
    def context(self) -> BenchContext:
        """The context that the parts of the bench share."""
        return self._bench.context

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Give `observer` live blocks of every rail that is recorded (rig.live.block);
        return the function that ends this. The observer is called in a thread of its
        own; blocks that it is too slow for are left out.
        """
        return self._bench.observe(observer)

    def listen(self, listener: Wire) -> Callable[[], None]:
        """Call `listener` with the direction, "tx" or "rx", and the bytes of every
        block that passes the line to the device, in the thread that talks to it; return
        what ends that.
        """
        return self._bench.listen(listener)

    def console(self, out: Callable[[WireLine], None]) -> Callable[[], None]:
        """Call `out` with every message that passes the line to the device, in words
        (rig.interfaces.console); return what ends that.
        """
        return self._bench.listen(console(self.config.sut.kind, out))

    @property
    def dropped(self) -> tuple[str, ...]:
        """Return which observers and listeners raised, and are called no more."""
        return self._bench.dropped

    def stop(self) -> None:
        """Request the end of a run or an opening, from any thread: a run raises
        rig.Stopped within a second, its folder is kept, and `rig resume` continues it.
        """
        self._bench.stop()

    def sync(self) -> Completion:
        """Let the device pulse SYNC; its marks say when."""
        return self.sut.do(Sync())

    def run(
        self,
        trials: int | None = None,
        root: Path | str = "sessions",
        subscribers: Sequence[Subscriber] = (),
    ) -> Session:
        """Run all trials into a new session folder; raises RigError, and keeps the
        measurements in every case.
        """
        return Session(self._bench.run(trials, root, subscribers).folder)

    def __repr__(self) -> str:
        config = self.config
        return (
            f"<OpenBench {config.bench.name}: {config.sut.kind}, {config.scenario.kind}"
            f" on {config.task.kind}>"
        )


def open_bench(
    path: Path | str,
    settings: Settings = (),
    subscribers: Sequence[Subscriber] = (),
    stop: Stop | None = None,
    *,
    observers: Sequence[Observer] = (),
    listeners: Sequence[Wire] = (),
) -> AbstractContextManager[OpenBench]:
    """Open all parts of a bench file, in a `with` statement; on leaving, the DUT's
    supply is off and every port closed, also after an error. An invalid file is refused
    before any part is opened.

    `settings` override keys of the file: {"task.asc.samples": 12}, or
    ["task.asc.samples=12"] as on the command line. `subscribers` get the events of
    opening and of each session (rig.store.events), `observers` live blocks, `listeners`
    the traffic on the line to the device, all from the beginning; `stop` ends opening
    and runs from another thread.
    """
    given = overrides(settings)
    config.load(Path(path), given)
    return _opened(
        Path(path),
        given,
        subscribers,
        stop=stop,
        observers=observers,
        listeners=listeners,
    )


@contextmanager
def _opened(
    path: Path,
    settings: Sequence[str],
    subscribers: Sequence[Subscriber],
    stop: Stop | None,
    observers: Sequence[Observer],
    listeners: Sequence[Wire],
) -> Iterator[OpenBench]:
    with session.open_bench(
        path, settings, subscribers, stop, observers=observers, listeners=listeners
    ) as bench:
        yield OpenBench(bench)


def overrides(settings: Settings) -> list[str]:
    """Return settings as the command line takes them: a.b=v, the value in TOML."""
    if isinstance(settings, str):
        raise TypeError(f"settings {settings!r}: a list of them, or a dict")
    if not isinstance(settings, Mapping):
        return list(settings)
    return [f"{name}={_toml(value)}" for name, value in settings.items()]


def _toml(value: Any) -> str:
    if isinstance(value, PathLike):
        value = fspath(value)
    return tomli_w.dumps({"value": value}).removeprefix("value = ").strip()
