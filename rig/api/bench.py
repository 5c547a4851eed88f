# SPDX-License-Identifier: Apache-2.0
"""An open bench whose runs end in sessions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rig.api.sessions.session import Session
from rig.bench import config
from rig.bench.console import console
from rig.errors import ConfigError
from rig.files import toml_text
from rig.model.steps import Sync
from rig.session import session
from rig.session.open_parts import BenchParts, open_parts

if TYPE_CHECKING:
    from rig.host.stop import Stop
    from rig.interfaces.console import WireLine
    from rig.interfaces.context import Wire
    from rig.live.block import Observer
    from rig.model.completion import Completion
    from rig.store.events import Subscriber

Settings = Mapping[str, Any] | Sequence[str]


class OpenBench(BenchParts):
    """An open bench: the DUT is powered and has answered. A run that `stop` ends raises
    rig.Stopped, its folder is kept, and `rig resume` continues it.
    """

    def console(self, out: Callable[[WireLine], None]) -> Callable[[], None]:
        """Call `out` with every message that passes the line to the device, in words
        (rig.interfaces.console); return what ends that.
        """
        return self.listen(console(self.config.sut.kind, out))

    def sync(self) -> Completion:
        """Let the device pulse SYNC; its marks say when."""
        return self.sut.do(Sync())

    def run(
        self,
        trials: int | None = None,
        root: Path | str = "sessions",
        subscribers: Sequence[Subscriber] = (),
    ) -> Session:
        """Run all trials into a new session folder, as many as the bench file says
        where `trials` is left out; raises RigError, and keeps the measurements in every
        case.
        """
        with self.context.stop.heard():
            ended = session.run(self, trials, Path(root), subscribers)
        return Session(ended.folder)

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
    return open_parts(
        OpenBench,
        path,
        given,
        subscribers,
        stop=stop,
        observers=observers,
        listeners=listeners,
    )


def overrides(settings: Settings) -> list[str]:
    """Return settings as the command line takes them: a.b=v, the value in TOML."""
    if isinstance(settings, str):
        raise TypeError(f"settings {settings!r}: a list of them, or a dict")
    if not isinstance(settings, Mapping):
        return list(settings)
    return [f"{name}={_toml(name, value)}" for name, value in settings.items()]


def _toml(name: str, value: Any) -> str:
    try:
        return toml_text.of_value(_plain(value))
    except TypeError as error:
        raise ConfigError(
            f"a {value.__class__.__name__} is no value of a bench file",
            path=name,
            evidence=str(error),
            try_next="a number, a text, a path, True or False, or a list of them",
        ) from error


def _plain(value: Any) -> Any:
    """Return paths as texts, and numbers and arrays of NumPy as Python's own."""
    if isinstance(value, PathLike):
        return fspath(value)
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value
