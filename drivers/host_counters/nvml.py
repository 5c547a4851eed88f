# SPDX-License-Identifier: Apache-2.0
"""NVML: the energy counter and power sensor that an NVIDIA board keeps of itself,
through NVIDIA's own binding (nvidia-ml-py).

Sources: the binding's source (13.615), and NVIDIA's reference of
nvmlDeviceGetPowerUsage and nvmlDeviceGetTotalEnergyConsumption. Never run on hardware:
tested on a simulated binding, and with the real binding on a simulated library.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from annotated_types import Ge, Interval, Unit, doc

from drivers.host_counters.driver import CounterDriver
from drivers.host_counters.nvml_board import (
    COUNTERS,
    ENERGY,
    INSTANT,
    MOST_W,
    POWER,
    GpuBoard,
    binding,
    find,
    listed,
    translated,
)
from drivers.host_counters.nvml_watch import (
    FILE,
    REFUSE,
    BoardLog,
    BoardWatch,
    GpuRecording,
)
from drivers.host_counters.recording import (
    STAND_IN_V,
    CounterClock,
    HostClock,
    Polling,
)
from drivers.host_counters.settings import CounterSettings, Longest
from drivers.host_counters.sim.nvml import NvmlSimulator
from rig.errors import BenchError, DeviceNotFound
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import FoundInstrument, MonitorInfo
from rig.measure.problems import SHORT_PERIODS
from rig.model.need import Need, NeedKind
from rig.settings.declare import Number, Ratio, Why
from rig.uncertainty import accuracy
from rig.uncertainty.accuracy import Accuracy, Range

_SPREAD_S = 0.02
#: "For newer GPUs, energy readings are updated every 20-100ms" (PETSc manual,
#: PetscLogGpuEnergyMeter); not verified here.
_UPDATE_S = 0.1
#: "On Ampere (except GA100) or newer GPUs, the API returns power averaged over 1 sec
#: interval" (nvmlDeviceGetPowerUsage).
_FILTER_S = 1.0
#: The most that NTP may slew CLOCK_MONOTONIC (MAXFREQ of linux/timex.h); from general
#: knowledge.
_CLOCK_PPM = 500.0
_FILTERS = {
    ENERGY: (
        "the board's own energy counter, in steps of 1 mJ, updated every 20 to 100 ms"
    ),
    POWER: (
        "the driver's power reading, held since the one before: the mean of the last"
        " second on Ampere (except GA100) and newer, a momentary value on older boards"
    ),
    INSTANT: (
        "the board's momentary power (NVML_FI_DEV_POWER_INSTANT), held since the"
        " reading before: what happened between two updates is not seen"
    ),
}
#: With the rig's least of 20 samples a window: 2 s, twice the second that the reading
#: averages.
_AVERAGED_HZ = 10
_SOURCE = (
    'NVIDIA, nvmlDeviceGetPowerUsage: "On Fermi and Kepler GPUs the reading is accurate'
    ' to within +/- 5% of current power draw." For newer boards, and for the energy'
    " counter, NVIDIA states nothing: that 5 % holds there is assumed, not verified. On"
    " A100 and H100 only 25 % of the run time is sampled (arXiv 2312.02741, abstract),"
    " which no limit of gain covers. Clock: the largest slew of NTP; voltage: 1 V by"
    " definition"
)


class Nvml(CounterDriver):
    """The power and energy sensors of an NVIDIA GPU board, through NVML."""

    kind = "nvml"
    tested = "on a simulated library only, never on hardware"

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Settings(CounterSettings):
        """Settings: the board, and how it is polled."""

        index: Annotated[Number, Ge(0), doc("Number of the board in this host.")] = 0
        uuid: Annotated[
            str,
            doc(
                'Name of the board ("GPU-..."), which goes before its number; or'
                ' "simulator".'
            ),
        ] = ""
        source: Annotated[
            Literal["energy", "power", "instant"],
            doc(
                "Counter of energy (Volta and newer), the usual power reading, or"
                " momentary power."
            ),
        ] = ENERGY
        others: Annotated[
            Literal["refuse", "state"],
            doc("What to do where others compute on the board, or MIG shares it out."),
        ] = REFUSE
        longest_s: Longest = 0.25
        poll_hz: Annotated[
            int,
            Interval(ge=1, le=50),
            Unit("Hz"),
            Why("the sensors are updated every 20 to 100 ms"),
            doc("Readings a second; a window needs 20 of them: 0.4 s at 50 Hz."),
        ] = 50
        gain_limit: Annotated[
            Ratio,
            Interval(gt=0, lt=1),
            doc("Relative limit of error; NVIDIA states 5 % for some boards."),
        ] = 0.05
        simulator: Annotated[NvmlSimulator.Settings, doc("The simulated board.")] = (
            field(default_factory=NvmlSimulator.Settings)
        )

        @property
        def simulated(self) -> bool:
            """Whether the bench file names the simulator."""
            return self.uuid == "simulator"

    @classmethod
    def needs(cls, settings: Settings, context: BenchContext) -> Sequence[Need]:
        """Return NVIDIA's package."""
        return () if settings.simulated else (Need(NeedKind.EXTRA, "nvml"),)

    def __init__(
        self, settings: Settings, library: Any, simulator: NvmlSimulator | None
    ) -> None:
        self._settings = settings
        self._library = library
        self.simulator = simulator
        self._board = find(library, settings.uuid, settings.index)
        _refuse_average(settings, self._board)
        self._counter = COUNTERS[settings.source](library, self._board)
        self._counter.count()
        self._watch = BoardWatch(library, self._board, settings.others == REFUSE)
        self._accuracy = (
            accuracy.load(Path(settings.calibration))
            if settings.calibration
            else _accuracy(settings)
        )
        self._clock: CounterClock = simulator.counter if simulator else HostClock()
        self._open = True

    @staticmethod
    def restated(settings: Settings, info: MonitorInfo) -> MonitorInfo:
        """Return rates and limits of error as the settings have them."""
        limits = info.accuracy if settings.calibration else _accuracy(settings)
        return replace(
            info,
            sample_hz=settings.poll_hz,
            edge_hz=settings.poll_hz,
            accuracy=limits,
        )

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        """Find the board and read its sensor once; the board stays on."""
        settings.validate("nvml")
        simulator = (
            NvmlSimulator(settings.simulator, context.world)
            if settings.simulated
            else None
        )
        if simulator:
            context.world.supply_on = True
        library = simulator or binding()
        with translated(library, "the driver"):
            library.nvmlInit()
        try:
            return cls(settings, library, simulator)
        except BaseException:
            with suppress(library.NVMLError):  # what went wrong before matters more
                library.nvmlShutdown()
            raise

    @classmethod
    def scan(cls, library: Any = None) -> list[FoundInstrument]:
        """Return the boards of this host; none where there is no driver library. Raises
        ConfigError without the binding.
        """
        library = library or binding()
        try:
            with translated(library, "the driver"):
                library.nvmlInit()
        except DeviceNotFound:
            return []
        try:
            with translated(library, "the driver"):
                count = library.nvmlDeviceGetCount()
            return [listed(library, index) for index in range(count)]
        finally:
            library.nvmlShutdown()

    @property
    def info(self) -> MonitorInfo:
        """The board's own description of itself."""
        return self._described(
            self._board.name,
            {
                "uuid": self._board.uuid,
                "driver": self._board.driver,
                "cuda": self._board.cuda,
                "board": self._watch.opened.plain(),
                "others": self._watch.others_text,
                "source": f"{self._settings.source}: {_FILTERS[self._settings.source]}",
                "shortest_window_s": SHORT_PERIODS / self._settings.poll_hz,
                "clock": "CLOCK_MONOTONIC; the trace holds start_monotonic_ns",
            },
            self._board.serial,
        )

    def record(self, folder: Path) -> GpuRecording:
        """Record into `folder`, where board.json has the state of the board."""
        settings = self._settings
        lag_s = 2 * _UPDATE_S
        polling = Polling(
            settings.poll_hz, settings.longest_s, _SPREAD_S, start_s=0.3, lag_s=lag_s
        )
        log = BoardLog(self._watch, folder / FILE, self.simulator is not None)
        return GpuRecording(
            counter=self._counter,
            clock=self._clock,
            polling=polling,
            folder=folder,
            source=self._board.name,
            serial=self._board.serial,
            about=self._about,
            log=log,
            looks_every=settings.poll_hz,
        )

    def close(self) -> None:
        """Let go of the library; closing twice is allowed."""
        if self._open:
            self._open = False
            with translated(self._library, "the driver"):
                self._library.nvmlShutdown()


def _accuracy(settings: Nvml.Settings) -> Accuracy:
    simulated = settings.simulated
    gain = abs(settings.simulator.gain) if simulated else settings.gain_limit
    step_w = 1e-3 * settings.poll_hz if settings.source == ENERGY else 1e-3
    late_s = _FILTER_S if settings.source == POWER else _UPDATE_S
    claimed = (
        ""
        if settings.gain_limit == Nvml.Settings().gain_limit
        else f"gain: {settings.gain_limit:g}, from the bench file. "
    )
    return Accuracy(
        current=(Range(MOST_W / STAND_IN_V, gain, 0.0, lsb=step_w / STAND_IN_V),),
        voltage=(Range(STAND_IN_V, 0.0, 0.0),),
        clock_ppm=abs(settings.simulator.clock_ppm) if simulated else _CLOCK_PPM,
        source="the simulator's own errors" if simulated else claimed + _SOURCE,
        verified=simulated,
        edge_s=late_s + _SPREAD_S / 2 + settings.longest_s / 4,
    )


def _refuse_average(settings: Nvml.Settings, board: GpuBoard) -> None:
    """Raise BenchError if a window could be shorter than the averaging of a reading."""
    if settings.source == POWER and board.averages and settings.poll_hz > _AVERAGED_HZ:
        raise BenchError(
            f"the power reading of {board.name} is the mean of a second",
            evidence=(
                f"at {settings.poll_hz} Hz the rig would take windows of "
                f"{SHORT_PERIODS / settings.poll_hz:g} s"
            ),
            try_next=(
                f'source = "energy", or "instant"; or poll_hz = {_AVERAGED_HZ} or less,'
                " and windows of 2 s and more (repeat)"
            ),
        )
