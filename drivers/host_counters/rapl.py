# SPDX-License-Identifier: Apache-2.0
"""RAPL: the energy counters that a processor keeps of itself, as Linux shows them under
/sys/class/powercap.

Sources: the kernel's Documentation/power/powercap/powercap.rst (files, units) and
drivers/powercap/intel_rapl_common.c (a 32-bit register times a unit). Never run on
hardware: tested on a simulated powercap tree only.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Self

from annotated_types import Interval, Unit, doc

from drivers.host_counters.driver import CounterDriver
from drivers.host_counters.grid import counted
from drivers.host_counters.recording import (
    STAND_IN_V,
    CounterClock,
    CounterRecording,
    HostClock,
    Polling,
)
from drivers.host_counters.settings import CounterSettings, Longest, is_of_kernel
from drivers.host_counters.sim.rapl import RaplSimulator
from rig.errors import BenchError, ConfigError, DeviceLost, DeviceNotFound
from rig.files import typed
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import FoundInstrument, MonitorInfo
from rig.settings.declare import Or, Ratio, Why
from rig.uncertainty import accuracy
from rig.uncertainty.accuracy import Accuracy, Range

POWERCAP = "/sys/class/powercap"
#: No processor, and no machine that shows a psys domain, draws more: a counter that
#: would say so ran backwards or was reset.
_MOST_W = 5_000.0
#: A late counter may catch up with so much time at once.
_CATCH_UP_S = 0.1
#: A reading takes microseconds; one that took half a period of 100 Hz was interrupted,
#: and its time is not known.
_SPREAD_S = 0.005
#: "Approximately every millisecond": a second-hand figure (it is ascribed to Khan et
#: al. 2018), not verified here.
_UPDATE_S = 0.001
#: The most that NTP may slew CLOCK_MONOTONIC (MAXFREQ of linux/timex.h); from general
#: knowledge.
_CLOCK_PPM = 500.0
_REGISTER = 1 << 32
_HINT = (
    "sudo chmod o+r {path} (until the next boot), or a udev rule:"
    ' SUBSYSTEM=="powercap", KERNEL=="intel-rapl*", RUN+="/bin/chgrp rapl'
    ' /sys%p/energy_uj", RUN+="/bin/chmod g+r /sys%p/energy_uj"'
)


@dataclass(frozen=True, slots=True)
class _Counted:
    """Details of the counter that are read back from a session."""

    max_energy_range_uj: int


class Rapl(CounterDriver):
    """The processor's own energy counters (Linux powercap): a host measures itself."""

    kind = "rapl"
    tested = "on a simulated powercap tree only, never on hardware"

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Settings(CounterSettings):
        """Settings: the counter, how it is polled, and the limit of error that you
        claim."""

        root: Annotated[
            str,
            doc(
                "Folder of the kernel's counters, an absolute path; outside /sys it is"
                ' simulated. Or "simulator".'
            ),
        ] = POWERCAP
        domain: Annotated[
            str,
            doc(
                "Counter, as package-0, package-0/core or psys; `rig scan` lists them."
            ),
        ] = "package-0"
        poll_hz: Annotated[
            int,
            Interval(ge=1, le=1000),
            Unit("Hz"),
            Why("the counter is updated about once a millisecond"),
            doc(
                "Readings a second; each costs the processor that is measured some"
                " time."
            ),
        ] = 100
        longest_s: Longest = 0.05
        gain_limit: Annotated[
            Ratio,
            Or(0, "none claimed"),
            Interval(gt=0, lt=1),
            doc("Relative limit of error that you claim; the maker states none."),
        ] = 0.0
        simulator: Annotated[RaplSimulator.Settings, doc("The simulated counter.")] = (
            field(default_factory=RaplSimulator.Settings)
        )

        @property
        def simulated(self) -> bool:
            """Whether the bench file names the simulator."""
            return self.root == "simulator"

        @property
        def reads_a_copy(self) -> bool:
            """Whether `root` is a folder of files that are not the kernel's."""
            return not is_of_kernel(self.root)

    def __init__(
        self, settings: Settings, zone: Zone, simulator: RaplSimulator | None
    ) -> None:
        self._settings = settings
        self.simulator = simulator
        self._counter = ZoneCounter(zone)
        self._accuracy = _accuracy(settings, self._counter.modulus_nj)
        self._clock: CounterClock = simulator.counter if simulator else HostClock()

    @staticmethod
    def restated(settings: Settings, info: MonitorInfo) -> MonitorInfo:
        """Return rates and limits of error as the settings have them, for the counter's
        range."""
        counted = typed.take(_Counted, dict(info.details), "provenance.json, monitor")
        modulus = modulus_nj(counted.max_energy_range_uj)
        limits = info.accuracy if settings.calibration else _accuracy(settings, modulus)
        rate_hz = settings.poll_hz
        return replace(info, sample_hz=rate_hz, edge_hz=rate_hz, accuracy=limits)

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        """Find the counter and read it once; the host stays on."""
        _validate(settings)
        simulator = (
            RaplSimulator(settings.simulator, context.world)
            if settings.simulated
            else None
        )
        if simulator:
            context.world.supply_on = True
        try:
            return cls(
                settings,
                _chosen(
                    zones(simulator.root if simulator else Path(settings.root)),
                    settings,
                ),
                simulator,
            )
        except BaseException:
            if simulator:
                simulator.close()
            raise

    @classmethod
    def scan(cls, root: str = POWERCAP) -> list[FoundInstrument]:
        """List the counters of this host, each with its problem."""
        instruments = []
        for zone in zones(Path(root)):
            problem = try_next = ""
            try:
                ZoneCounter(zone).count()
            except BenchError as error:
                problem = f"{error.cause}: {error.evidence}"
                try_next = error.try_next
            instruments.append(
                FoundInstrument(
                    f"RAPL {zone.label}",
                    "",
                    f'domain = "{zone.label}"',
                    problem,
                    try_next,
                )
            )
        return instruments

    @property
    def info(self) -> MonitorInfo:
        """Description of the counter."""
        return self._described(
            f"RAPL {self._counter.zone.label}",
            {
                "processor": platform.processor() or platform.machine(),
                "zone": self._counter.zone.folder.name,
                "max_energy_range_uj": self._counter.largest_uj,
                "clock": "CLOCK_MONOTONIC; the trace holds start_monotonic_ns",
            },
        )

    def record(self, folder: Path) -> CounterRecording:
        """Record into `folder`."""
        settings = self._settings
        polling = Polling(
            settings.poll_hz,
            settings.longest_s,
            _SPREAD_S,
            start_s=0.02,
            lag_s=5 * _UPDATE_S,
        )
        return self._recording(self._counter, polling, folder, self.info.name)


@dataclass(frozen=True, slots=True)
class Zone:
    """A folder of the powercap tree that has an energy counter; `label` is what
    `domain` names it by.
    """

    folder: Path
    name: str
    label: str


class ZoneCounter:
    """Reads one energy counter, in microjoules, and knows where it wraps."""

    def __init__(self, zone: Zone) -> None:
        self.zone = zone
        self.name = f"the energy counter {zone.label}"
        # A part of the chip that is switched off draws no power; the whole always does
        # while a program runs on it.
        self.always_moves = zone.name.startswith(("package", "psys", "dram"))
        self._path = zone.folder / "energy_uj"
        self.largest_uj = _number(zone.folder / "max_energy_range_uj")
        self.modulus_nj = modulus_nj(self.largest_uj)
        self.count()

    def count(self) -> int:
        """Read the counter, in microjoules."""
        return _number(self._path)

    def energy_j(self, previous: int, present: int, elapsed_s: float) -> float:
        """Return the energy between two readings; raises BenchError where the counter
        cannot have gone forward.
        """
        most_nj = _MOST_W * (elapsed_s + _CATCH_UP_S) * 1e9
        step_nj = counted(
            1000 * previous,
            1000 * present,
            self.modulus_nj,
            min(most_nj, self.modulus_nj - 1),
        )
        if step_nj is None or most_nj >= self.modulus_nj:
            raise BenchError(
                f"{self.name} ran backwards",
                evidence=(
                    f"{previous} uJ, then {present} uJ {elapsed_s:.3f} s later; it"
                    f" wraps after {self.largest_uj} uJ"
                ),
                try_next=(
                    "was it reset, or the machine suspended? nothing else may write to "
                    "energy_uj; measure again"
                ),
            )
        return step_nj * 1e-9


def modulus_nj(largest_uj: int) -> int:
    """Return after how many nanojoules a counter wraps, given the largest number it
    shows (max_energy_range_uj).

    The kernel shows (2**32 - 1) units, rounded down to microjoules, and counts 2**32 of
    them: a range of another form is taken to end one microjoule after the largest
    number.
    """
    unit_nj = -(-1000 * largest_uj // (_REGISTER - 1))
    if (_REGISTER - 1) * unit_nj // 1000 == largest_uj:
        return _REGISTER * unit_nj
    return 1000 * (largest_uj + 1)


def zones(root: Path) -> list[Zone]:
    """Return all energy counters under a powercap folder; empty where there are
    none."""
    folders = sorted(
        path.parent
        for path in root.glob("intel-rapl*:*/name")
        if (path.parent / "max_energy_range_uj").exists()
    )
    names = {
        folder.name: (folder / "name").read_text(encoding="utf-8").strip()
        for folder in folders
    }
    zones_found = []
    for folder in folders:
        parent = names.get(folder.name.rpartition(":")[0], "")
        name = names[folder.name]
        label = f"{parent}/{name}" if parent else name
        # A processor may show its package a second time (intel-rapl-mmio): that one
        # goes by the name of its folder.
        if not folder.name.startswith("intel-rapl:"):
            label = folder.name
        zones_found.append(Zone(folder, name, label))
    return zones_found


def _chosen(candidates: list[Zone], settings: Rapl.Settings) -> Zone:
    if not candidates:
        raise DeviceNotFound(
            "this machine shows no energy counters of its processor",
            evidence=f"no intel-rapl zones in {settings.root}",
            try_next=(
                "sudo modprobe intel_rapl_msr; virtual machines and containers have"
                " none, ARM processors neither"
            ),
        )
    matches = [
        zone for zone in candidates if settings.domain in (zone.label, zone.folder.name)
    ]
    matches = matches or [zone for zone in candidates if zone.name == settings.domain]
    if len(matches) != 1:
        raise DeviceNotFound(
            f"{len(matches) or 'no'} energy counter{'s' if matches else ''} named "
            f"{settings.domain}",
            evidence=f"there are {', '.join(zone.label for zone in candidates)}",
            try_next="domain: one of these",
        )
    return matches[0]


def _number(path: Path) -> int:
    try:
        text = path.read_bytes()
    except PermissionError as error:
        raise BenchError(
            "no permission to read the energy counter",
            evidence=f"{path}: {error.strerror}; most kernels let only root read it",
            try_next=_HINT.format(path=path),
        ) from error
    except OSError as error:
        raise DeviceLost(
            "the energy counter is gone",
            evidence=f"{path}: {error.strerror}",
            try_next="was the driver unloaded (intel_rapl_msr)?",
        ) from error
    try:
        return int(text)
    except ValueError as error:
        raise BenchError(
            "the energy counter shows no number",
            evidence=f"{path}: {text[:40]!r}",
            try_next="is this a powercap tree?",
        ) from error


def _accuracy(settings: Rapl.Settings, largest_nj: int) -> Accuracy:
    if settings.calibration:
        return accuracy.load(Path(settings.calibration))
    simulated = settings.simulated
    if not settings.gain_limit and not simulated:
        raise ConfigError(
            "how far this counter may be off is not known",
            path="monitor.rapl.gain_limit",
            evidence=(
                "Intel states no limit of error of RAPL; published comparisons range"
                " from a close match with wall power (Khan et al. 2018, doi"
                " 10.1145/3177754) to 73 % mean error of dynamic energy (Energies 2019,"
                " 12, 2204): abstracts"
            ),
            try_next=(
                "gain_limit = 0.1 where you claim 10 % (say why), or calibration = FILE"
                " from a comparison with a power meter"
            ),
        )
    gain = settings.gain_limit or abs(settings.simulator.gain)
    unit_j = largest_nj / _REGISTER * 1e-9
    claim = (
        "the simulator's own error"
        if simulated
        else "the limit in the bench file (the maker states none)"
    )
    lsb_a = unit_j * settings.poll_hz / STAND_IN_V
    return Accuracy(
        current=(Range(_MOST_W / STAND_IN_V, gain, 0.0, lsb=lsb_a),),
        voltage=(Range(STAND_IN_V, 0.0, 0.0),),
        clock_ppm=abs(settings.simulator.clock_ppm) if simulated else _CLOCK_PPM,
        source=(
            f"gain: {claim}; step: max_energy_range_uj / 2**32; clock: the largest slew"
            " of NTP; voltage: 1 V by definition"
        ),
        verified=simulated,
        # A counter is late by up to one update; the energy of a stretch between
        # readings may lie anywhere in it: a quarter of it is the largest error of a
        # straight line in place of a step.
        edge_s=_UPDATE_S + _SPREAD_S / 2 + settings.longest_s / 4,
    )


def _validate(settings: Rapl.Settings) -> None:
    if not settings.simulated and not Path(settings.root).is_absolute():
        raise ConfigError(
            settings.root,
            path="monitor.rapl.root",
            try_next='an absolute path, or "simulator"',
        )
    settings.validate("rapl")
