# SPDX-License-Identifier: Apache-2.0
"""Base classes of backends and drivers, the plug-ins of the entry point groups rig.suts
and rig.monitors.

A plug-in derives from Backend, Driver, Scenario (rig/interfaces/scenario.py) or Task
(rig/interfaces/task.py) and overrides the methods it needs; the others have defaults.
It has its `Settings`, a frozen dataclass whose fields are the keys of its table in a
bench file. Class methods answer by the settings alone, and `open(settings, context)`
returns an instance: a SystemUnderTest, an EnergyMonitor, a Scenario or a Task.

A Protocol here is offered by some backends only, and the rig must know which without
calling them.

`rig.bench.plugins.find` refuses a class that derives from no base or lacks something;
tests/rig/bench/test_plugins.py checks all that are installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from rig.interfaces.console import Decoder, HexDecoder
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import EnergyMonitor, FoundInstrument, Sampling
from rig.interfaces.recount import Recount, WireBlock
from rig.interfaces.sut import SystemUnderTest
from rig.model.finding import Finding
from rig.model.need import Need
from rig.model.origin import Origin, Origins
from rig.model.wiring import Connection, Talk


class DevicePlugin:
    """Methods that backends and drivers share; none touches a device."""

    Settings: ClassVar[type[Any]]

    @classmethod
    def simulates(cls, settings: Any) -> bool | None:
        """Check whether the SUT or instrument is simulated with these settings; None
        where the settings do not determine it.
        """
        return None

    @classmethod
    def restated(cls, settings: Any, info: Any) -> Any:
        """Return the SutInfo or MonitorInfo of a session with every field that the
        settings determine computed a second time: rates, clocks, limits of error. The
        fields that only the device knows stay as `info` has them, and so do limits from
        a calibration file, which no session holds.
        """
        return info

    @classmethod
    def wires(cls, settings: Any) -> Sequence[Connection]:
        """Return the wires that have to be made to the device."""
        return ()

    @classmethod
    def needs(cls, settings: Any, context: BenchContext) -> Sequence[Need]:
        """Return the programs, files, packages and ports of this computer that it
        needs, for `rig doctor`; raise RigError for one that is missing and of none of
        these kinds.
        """
        return ()


class Backend(DevicePlugin):
    """Base class of backends, each a way to a kind of SUT. No method but `open`,
    `probe` and `overhears` touches a device.
    """

    @classmethod
    def open(cls, settings: Any, context: BenchContext) -> SystemUnderTest:
        """Connect to the device, and ask for its description."""
        raise NotImplementedError

    @classmethod
    def origins(cls, settings: Any) -> Origins | None:
        """Return the origins of times and energies; None: measured, or simulated where
        `simulates` says so.
        """
        return None

    @classmethod
    def answers(cls, settings: Any, right: bytes) -> Sequence[bytes] | None:
        """Return all outputs that a simulated device may give to a sample whose right
        output is `right`; None where they are not known.
        """
        return None

    @classmethod
    def step_s(cls, settings: Any) -> Mapping[str, float]:
        """Return the seconds of steps by their kind, where the settings state them:
        those of a virtual device. A query's are for one run on one sample.
        """
        return {}

    @classmethod
    def probe(cls, settings: Any, context: BenchContext) -> Iterable[Finding]:
        """Talk to the device step by step, for `rig probe`: yield a finding a step; the
        first that is not ok ends the probe.
        """
        return ()

    @classmethod
    def overhears(cls, settings: Any, context: BenchContext) -> str | None:
        """Ask a device whose supply is off, and which must not answer.

        Return the name that it answered with, empty where it is silent; None where that
        cannot be asked. Raises RigError where the port does not open.
        """
        return None

    @classmethod
    def decoder(cls) -> Decoder:
        """Return a new decoder of the traffic on the line, for a console."""
        return HexDecoder()

    @classmethod
    def recount(cls, blocks: Sequence[WireBlock]) -> Recount | None:
        """Decode a log of the line, by the decoder that talks to the device; any
        content is allowed. None where the backend has no line.
        """
        return None


class Driver(DevicePlugin):
    """Base class of drivers, each for a kind of energy monitor. No method but `open`
    and `scan` touches an instrument.

    `knows_range`: it corrects each sample by the range that the instrument reports, and
    not by the reading.
    """

    knows_range: ClassVar[bool] = False

    @classmethod
    def open(cls, settings: Any, context: BenchContext) -> EnergyMonitor:
        """Connect to the instrument; the DUT's supply stays as it is."""
        raise NotImplementedError

    @classmethod
    def origin(cls, settings: Any) -> Origin | None:
        """Return the origin of the energies; None: measured, or simulated where
        `simulates` says so.
        """
        return None

    @classmethod
    def sampling(cls, settings: Any) -> Sampling | None:
        """Return the rates that the settings determine, for a plan without the
        instrument; None where they do not.
        """
        return None

    @classmethod
    def in_each_range(cls, settings: Any) -> Sequence[Any]:
        """Return settings that hold the instrument in one range of the current each, in
        the order of its limits of error; empty where it chooses its range itself, or
        has one.
        """
        return ()

    @classmethod
    def scan(cls) -> Sequence[FoundInstrument]:
        """List the attached instruments, for `rig scan`, without changing them; empty
        where the driver cannot look for any.
        """
        return ()


@runtime_checkable
class MapsNetworks(Protocol):
    """A backend's class whose chip maps networks, without a chip."""

    def mapping(
        self, settings: Any, model: Path, dt_s: float | None, rule: str = ""
    ) -> Mapping[str, Any]:
        """Describe how the chip would hold a NIR file, JSON-able; DataError or
        BenchError where it cannot. `dt_s` is the time step where the file states none;
        `rule` the text of the conventions (rig/network/conventions.py), where others
        than the file's were chosen.
        """


@runtime_checkable
class SensesItself(Protocol):
    """A backend's class whose board reads times and energies by its own sensors,
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
        """Run a NIR file on inputs (samples, steps, channels) and return the readings
        of the board or its SDK, JSON-able, each with its origin (rig/model/origin.py).
        `dt_s` and `rule` are as of MapsNetworks.
        """


@runtime_checkable
class Talks(Protocol):
    """A backend's class that listens and speaks to a device before its wires are
    proven, so that each wire can be distinguished from the others.
    """

    def talk(
        self,
        settings: Any,
        context: BenchContext,
        power_on: Callable[[], None],
        watch: Callable[[Callable[[], None]], int | None],
    ) -> Talk:
        """Listen while `power_on` switches the supply on, and ask for the name; where
        none comes, ask for two SYNC pulses. `watch` calls its argument, and returns how
        many pulses a monitor saw meanwhile. Raises RigError where the port does not
        open.
        """
