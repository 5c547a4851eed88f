# SPDX-License-Identifier: Apache-2.0
"""The monitor of one rail of several: every error of its own names the rail.

A driver does not know which rail it measures, and two instruments of a kind have the
same words.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from rig.bench import plugins
from rig.bench.config import PluginChoice
from rig.bench.own_calibration import refuse_other
from rig.errors import ConfigError, RigError
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import EnergyMonitor, MonitorInfo, Recording
from rig.interfaces.plugin_classes import Driver


def open_monitor(
    rail: str, choice: PluginChoice, context: BenchContext
) -> EnergyMonitor:
    """Open the monitor of a rail, of the empty name where it is the only one; raises
    what its driver does.
    """
    kind = plugins.find("monitor", choice.kind)
    section = f"rail.{rail}.{choice.kind}" if rail else f"monitor.{choice.kind}"
    context = replace(context, section=section)
    if not rail:
        return _opened(kind, choice, context)
    naming = _Naming(rail, choice.kind)
    with naming.errors():
        return _Monitor(naming, _opened(kind, choice, context))


def _opened(
    kind: type[Driver], choice: PluginChoice, context: BenchContext
) -> EnergyMonitor:
    """Open a monitor; it is closed again where its calibration file is not its own."""
    monitor = kind.open(choice.settings, context)
    try:
        refuse_other(choice, monitor.info, f"monitor.{choice.kind}")
    except BaseException:
        monitor.close()
        raise
    return monitor


class _Naming:
    """Put the name of a rail, and the section of its settings, into the errors of a
    driver.

    A driver names a key with its section in the error's `path` alone; in sentences it
    says the key by itself.
    """

    def __init__(self, rail: str, kind: str) -> None:
        self._rail = rail
        self._section = f"monitor.{kind}"
        self._own = f"rail.{rail}.{kind}"

    @contextmanager
    def errors(self, passing: BaseException | None = None) -> Iterator[None]:
        """Name the rail in errors that are raised here; one that is only `passing`
        through may be of anything else.
        """
        try:
            yield
        except RigError as error:
            if error is not passing:
                self._name(error)
            raise

    def _name(self, error: RigError) -> None:
        # A driver may raise an error that it keeps more than once.
        if error.rail:
            return
        error.rail = self._rail
        keyed = False
        if isinstance(error, ConfigError):
            error.moved(self._section, self._own)
            keyed = error.path.startswith(f"rail.{self._rail}.")
        # The key of a ConfigError names the rail already.
        if not keyed:
            error.cause = f"rail {self._rail}: {error.cause}"
        error.args = (error.cause,)


class _Monitor:
    """An energy monitor whose errors name its rail."""

    def __init__(self, naming: _Naming, monitor: EnergyMonitor) -> None:
        self._naming = naming
        self._monitor = monitor

    @property
    def info(self) -> MonitorInfo:
        with self._naming.errors():
            return self._monitor.info

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
    """A recording whose errors name its rail."""

    def __init__(
        self, naming: _Naming, recording: AbstractContextManager[Recording]
    ) -> None:
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
