# SPDX-License-Identifier: Apache-2.0
"""Interfaces of the classes behind entry points: the contract of plug-ins.

A class of each group has its `Settings`, a frozen dataclass whose fields are the keys
of its table in a bench file, and `open(settings, context)`, which returns an instance:
a SystemUnderTest, an EnergyMonitor, a Scenario or a Task. Hooks are optional: a class
that offers one has its Protocol.

`rig.bench.plugins.find` refuses a class that lacks something;
tests/rig/bench/test_plugins.py checks all that are installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from rig.interfaces.console import Decoder
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import EnergyMonitor, FoundInstrument, Sampling
from rig.interfaces.scenario import Scenario
from rig.interfaces.sut import SystemUnderTest
from rig.interfaces.task import Task
from rig.model.finding import Finding
from rig.model.origin import Origin, Origins
from rig.model.pace import Pace
from rig.model.wiring import Connection, Talk


class SutClass(Protocol):
    """The class of a backend (entry point group rig.suts)."""

    Settings: type[Any]

    def open(self, settings: Any, context: BenchContext) -> SystemUnderTest:
        """Connect to the device, and ask it what it is."""


class MonitorClass(Protocol):
    """The class of a driver (rig.monitors)."""

    Settings: type[Any]

    def open(self, settings: Any, context: BenchContext) -> EnergyMonitor:
        """Connect to the instrument; the DUT's supply stays as it is."""


class ScenarioClass(Protocol):
    """The class of a scenario (rig.scenarios)."""

    Settings: type[Any]

    def open(self, settings: Any, context: BenchContext) -> Scenario:
        """Check the settings; no device is touched."""


class TaskClass(Protocol):
    """The class of a task (rig.tasks)."""

    Settings: type[Any]

    def open(self, settings: Any, context: BenchContext) -> Task:
        """Load the data; no device is touched."""


@runtime_checkable
class Simulates(Protocol):
    """Optional hook of a backend's or a driver's class: whether it is simulated, so
    set."""

    def simulates(self, settings: Any) -> bool | None:
        """Return whether this kind, so set, is simulated; None where the settings do
        not determine it.
        """


@runtime_checkable
class StatesOrigins(Protocol):
    """Optional hook of a backend's class: what its times and energies are, so set."""

    def origins(self, settings: Any) -> Origins | None:
        """Return the origins; None: measured, or simulated where the class says
        that."""


@runtime_checkable
class StatesOrigin(Protocol):
    """Optional hook of a driver's class: what its energies are, so set."""

    def origin(self, settings: Any) -> Origin | None:
        """Return the origin; None: measured, or simulated where the class says that."""


@runtime_checkable
class Restates(Protocol):
    """Optional hook of a backend's or a driver's class: what its settings determine of
    its info."""

    def restated(self, settings: Any, info: Any) -> Any:
        """Return an info of a session with every field that the settings determine
        computed once more: rates, clocks, limits of error; no device is touched. What
        only the device knows stays as `info` has it, and so do limits from a
        calibration file, which no session holds.
        """


@runtime_checkable
class Answers(Protocol):
    """Optional hook of the class of a simulated backend: what it may answer where the
    right answer is known.
    """

    def answers(self, settings: Any, right: bytes) -> Sequence[bytes]:
        """Return all outputs that it may give to a sample whose right output is
        `right`."""


@runtime_checkable
class MapsNetworks(Protocol):
    """Optional hook of a backend's class: how its chip would hold a network, with no
    chip."""

    def mapping(
        self, settings: Any, model: Path, dt_s: float | None, rule: str = ""
    ) -> Mapping[str, Any]:
        """Return what there is to say of a NIR file, JSON-able; DataError or BenchError
        where the chip cannot be it. `dt_s` is the time step where the file states none;
        `rule` the text of the conventions (rig/network/conventions.py), where others
        than the file's were chosen.
        """


@runtime_checkable
class SensesItself(Protocol):
    """Optional hook of a backend's class: times and energies by the board's own means,
    without SYNC and so without a monitor.
    """

    def sense(
        self,
        settings: Any,
        model: Path,
        dt_s: float | None,
        inputs: Any,
        rule: str = "",
    ) -> Mapping[str, Any]:
        """Run a NIR file on inputs (samples, steps, channels) and return what the board
        or its SDK says of that, JSON-able, each with its origin (rig/model/origin.py).
        `dt_s` and `rule` are as of MapsNetworks.
        """


@runtime_checkable
class Paced(Protocol):
    """Optional hook of a backend's class: how long things take, for a plan without the
    device."""

    def pace(self, settings: Any) -> Pace:
        """Return what the settings determine of the device's times; no device is
        touched."""


@runtime_checkable
class Sampled(Protocol):
    """Optional hook of a driver's class: what it will write, for a plan without the
    instrument."""

    def sampling(self, settings: Any) -> Sampling | None:
        """Return the rates that the settings determine, None where they do not."""


@runtime_checkable
class Wires(Protocol):
    """Optional hook of a backend's or a driver's class: the wires that have to be
    made."""

    def wires(self, settings: Any) -> Sequence[Connection]:
        """Return the wires between device and host, or between device and instrument,
        so set; none where there is no wire.
        """


@runtime_checkable
class Talks(Protocol):
    """Optional hook of the class of a backend with a line: listen and speak to a device
    of which nothing is known yet, so that each wire can be told from the others.
    """

    def talk(
        self,
        settings: Any,
        context: BenchContext,
        power_on: Callable[[], None],
        watch: Callable[[Callable[[], None]], int | None],
    ) -> Talk:
        """Listen while `power_on` switches the supply on, and ask for the name; where
        none comes, ask for two SYNC pulses. `watch` does what it is given, and returns
        how many pulses a monitor saw meanwhile. Raises RigError where the port does not
        open.
        """


@runtime_checkable
class Overhears(Protocol):
    """Optional hook of the class of a backend with a line: ask a device of which the
    supply is off, and which must not answer.
    """

    def overhears(self, settings: Any, context: BenchContext) -> str | None:
        """Return the name that it answered with, empty where it is silent; None where
        that cannot be asked. Raises RigError where the port does not open.
        """


@runtime_checkable
class Probes(Protocol):
    """Optional hook of a backend's class: talk to the device step by step, for `rig
    probe`."""

    def probe(self, settings: Any, context: BenchContext) -> Iterable[Finding]:
        """Yield a finding a step; the first that is not ok ends the probe."""


@runtime_checkable
class Decodes(Protocol):
    """Optional hook of a backend's class: what passes its line, in words, for a
    console."""

    def decoder(self) -> Decoder:
        """Return a decoder for one line, which has heard nothing yet."""


@runtime_checkable
class Scans(Protocol):
    """Optional hook of a driver's class: look for its instruments, for `rig scan`."""

    def scan(self) -> Sequence[FoundInstrument]:
        """Return the instruments that are attached; changes nothing on them."""


@runtime_checkable
class TakesModel(Protocol):
    """Optional hook of a task's class with the settings `model` and `samples`: which
    NIR files are models of it.
    """

    def takes(self, model: Path) -> bool:
        """Return whether a NIR file is a model of this task; False for what is no NIR
        file."""
