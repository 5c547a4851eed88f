# SPDX-License-Identifier: Apache-2.0
"""The monitor of one rail of several: what it says of itself, and every error of its own, names the
rail.

A driver does not know which rail it measures, and two instruments of a kind have the same words.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from rig.bench import plugins
from rig.bench.config import Choice
from rig.errors import ConfigError, RigError
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import EnergyMonitor, MonitorInfo, Recording


def open_monitor(rail: str, choice: Choice, context: BenchContext) -> EnergyMonitor:
    """Open the monitor of a rail, of the empty name where it is the only one; raises what its
    driver does.
    """
    kind = plugins.find("monitor", choice.kind)
    if not rail:
        monitor: EnergyMonitor = kind.open(choice.settings, context)
        return monitor
    naming = _Naming(rail, choice.kind)
    with naming.errors():
        return _Monitor(naming, kind.open(choice.settings, context))


class _Naming:
    """Put the name of a rail, and its own keys, into the words of a driver."""

    def __init__(self, rail: str, kind: str) -> None:
        self._rail = rail
        self._place = f"monitor.{kind}"
        self._here = f"rail.{rail}.{kind}"

    @contextmanager
    def errors(self, passing: BaseException | None = None) -> Iterator[None]:
        """Name the rail in errors that are raised here; one that is only `passing` through may be
        of anything else.
        """
        try:
            yield
        except RigError as error:
            if error is not passing:
                self._name(error)
            raise

    def _name(self, error: RigError) -> None:
        error.cause, error.evidence, error.try_next = (
            self.keys(text) for text in (error.cause, error.evidence, error.try_next)
        )
        if isinstance(error, ConfigError):
            error.path = self.keys(error.path)
        # A driver may raise an error that it keeps more than once; one that begins with a key has
        # said which rail.
        if not error.cause.startswith(("rail ", f"rail.{self._rail}.")):
            error.cause = f"rail {self._rail}: {error.cause}"
        error.args = (error.cause,)

    def keys(self, said: Any) -> Any:
        """Return a text, or a table or list with texts in it, with the keys that this bench has."""
        if isinstance(said, str):
            return said.replace(self._place, self._here)
        if isinstance(said, dict):
            return {name: self.keys(value) for name, value in said.items()}
        return type(said)(map(self.keys, said)) if isinstance(said, list | tuple) else said


class _Monitor:
    """An energy monitor behind another, for its words."""

    def __init__(self, naming: _Naming, monitor: EnergyMonitor) -> None:
        self._naming = naming
        self._monitor = monitor

    @property
    def info(self) -> MonitorInfo:
        with self._naming.errors():
            info = self._monitor.info
        return replace(
            info, no_sync=self._naming.keys(info.no_sync), details=self._naming.keys(info.details)
        )

    def power(self, on: bool) -> None:
        with self._naming.errors():
            self._monitor.power(on)

    def record(self, folder: Path) -> _Recording:
        with self._naming.errors():
            return _Recording(self._naming, self._monitor.record(folder))

    def close(self) -> None:
        with self._naming.errors():
            self._monitor.close()


class _Recording:
    """A recording behind another, for its words."""

    def __init__(self, naming: _Naming, recording: AbstractContextManager[Recording]) -> None:
        self._naming = naming
        self._recording = recording

    def __enter__(self) -> _Recording:
        with self._naming.errors():
            self._running = self._recording.__enter__()
        return self

    def check(self) -> None:
        with self._naming.errors():
            self._running.check()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        with self._naming.errors(passing=value):
            return self._recording.__exit__(kind, value, trace)
