# SPDX-License-Identifier: Apache-2.0
"""NVML: the energy counter and power sensor that an NVIDIA board keeps of itself, through NVIDIA's
own binding (nvidia-ml-py).

Sources: the binding's source (13.615), and NVIDIA's reference of nvmlDeviceGetPowerUsage and
nvmlDeviceGetTotalEnergyConsumption. Never run on hardware: tested on a simulated binding, and with
the real binding on a simulated library.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from annotated_types import Ge, Interval, Unit, doc

from drivers.host_counters.grid import counted
from drivers.host_counters.recording import (
    ALWAYS_ON,
    STAND_IN,
    STAND_IN_V,
    CounterClock,
    CounterRecording,
    HostClock,
    Polling,
)
from drivers.host_counters.sim.nvml import NvmlSimulator
from rig.errors import BenchError, ConfigError, DeviceLost, DeviceNotFound
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import FoundInstrument, MonitorInfo, Sampling
from rig.model.origin import Origin
from rig.settings.declare import Number, PathText, Ratio, Why
from rig.uncertainty import accuracy
from rig.uncertainty.accuracy import Accuracy, Range

ENERGY: Final = "energy"
POWER: Final = "power"
_INVALID = 2
_NOT_SUPPORTED = 3
_NO_PERMISSION = 4
_NOT_FOUND = 6
_NO_DRIVER = 9
_NO_LIBRARY = 12
_NO_FUNCTION = 13
_LOST = 15
_RESET = 16
_MISMATCH = 18
#: No board draws more; a counter that would say so was reset.
_MOST_W = 5_000.0
_CATCH_UP_S = 1.0
_SPREAD_S = 0.02
#: "For newer GPUs, energy readings are updated every 20-100ms" (PETSc manual,
#: PetscLogGpuEnergyMeter); not verified here.
_UPDATE_S = 0.1
#: "On Ampere (except GA100) or newer GPUs, the API returns power averaged over 1 sec interval"
#: (nvmlDeviceGetPowerUsage).
_FILTER_S = 1.0
#: The most that NTP may slew CLOCK_MONOTONIC (MAXFREQ of linux/timex.h); from general knowledge.
_CLOCK_PPM = 500.0
_FILTERS = {
    ENERGY: "the board's own energy counter, in steps of 1 mJ, updated every 20 to 100 ms",
    POWER: "the driver's power reading, held since the one before: the mean of the last second on "
    "Ampere (except GA100) and newer, "
    "a momentary value on older boards",
}
_SOURCE = (
    'NVIDIA, nvmlDeviceGetPowerUsage: "On Fermi and Kepler GPUs the reading is accurate to within '
    '+/- 5% of current power draw." '
    "For newer boards, and for the energy counter, NVIDIA states nothing: that 5 % holds there is "
    "assumed, not verified. "
    "On A100 and H100 only 25 % of the run time is sampled (arXiv 2312.02741, abstract), which no "
    "limit of gain covers. "
    "Clock: the largest slew of NTP; voltage: 1 V by definition"
)


class Nvml:
    """The power and energy sensors of an NVIDIA GPU board, through NVML."""

    @dataclass(frozen=True, slots=True)
    class Settings:
        """Settings: the board, and how it is polled."""

        index: Annotated[Number, Ge(0), doc("Number of the board in this host.")] = 0
        uuid: Annotated[
            str, doc('Name of the board ("GPU-..."), which goes before its number; or "simulator".')
        ] = ""
        source: Annotated[
            Literal["energy", "power"], doc("Counter of energy (Volta and newer), or power.")
        ] = ENERGY
        poll_hz: Annotated[
            int,
            Interval(ge=1, le=200),
            Unit("Hz"),
            Why("the sensors are updated every 20 to 100 ms"),
            doc("Readings a second."),
        ] = 50
        longest_s: Annotated[
            float,
            Interval(gt=0, le=10),
            Unit("s"),
            doc("Time without news of the counter that makes a gap; 2 / poll_hz or more."),
        ] = 0.25
        gain_limit: Annotated[
            Ratio,
            Interval(gt=0, lt=1),
            doc("Relative limit of error; NVIDIA states 5 % for some boards."),
        ] = 0.05
        calibration: Annotated[
            PathText, doc("File of limits of error, in place of `gain_limit`.")
        ] = ""
        simulator: Annotated[NvmlSimulator.Settings, doc("The simulated board.")] = field(
            default_factory=NvmlSimulator.Settings
        )

    def __init__(self, settings: Settings, library: Any, simulator: NvmlSimulator | None) -> None:
        self._settings = settings
        self._library = library
        self.simulator = simulator
        self._board = _board(library, settings)
        self._counter: BoardEnergy | BoardPower = (
            BoardEnergy if settings.source == ENERGY else BoardPower
        )(library, self._board)
        self._counter.count()
        self._accuracy = (
            accuracy.load(Path(settings.calibration))
            if settings.calibration
            else _accuracy(settings)
        )
        self._clock: CounterClock = simulator.counter if simulator else HostClock()
        self._open = True

    @staticmethod
    def simulates(settings: Settings) -> bool:
        """Return whether the bench file names the simulator."""
        return settings.uuid == "simulator"

    @staticmethod
    def origin(settings: Settings) -> Origin:
        """Return that its energies are the board's own, or the simulator's."""
        simulated = settings.uuid == "simulator"
        return Origin.SIMULATED if simulated else Origin.OWN_SENSOR

    @staticmethod
    def sampling(settings: Settings) -> Sampling:
        """Return how often the sensor is read."""
        return Sampling(settings.poll_hz, settings.poll_hz, "clock")

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        """Find the board and read its sensor once; the board stays on."""
        _validate(settings)
        simulator = (
            NvmlSimulator(settings.simulator, context.world)
            if settings.uuid == "simulator"
            else None
        )
        if simulator:
            context.world.supply_on = True
        library = simulator or _binding()
        with _translated(library, "the driver"):
            library.nvmlInit()
        try:
            return cls(settings, library, simulator)
        except BaseException:
            with suppress(library.NVMLError):  # what went wrong before matters more
                library.nvmlShutdown()
            raise

    @classmethod
    def scan(cls, library: Any = None) -> list[FoundInstrument]:
        """Return the boards of this host; none where there is no driver library. Raises ConfigError
        without the binding.
        """
        library = library or _binding()
        try:
            with _translated(library, "the driver"):
                library.nvmlInit()
        except DeviceNotFound:
            return []
        try:
            with _translated(library, "the driver"):
                count = library.nvmlDeviceGetCount()
            return [_found(library, index) for index in range(count)]
        finally:
            library.nvmlShutdown()

    @property
    def info(self) -> MonitorInfo:
        """Return what the board reports about itself."""
        return MonitorInfo(
            name=self._board.name,
            kind="nvml",
            simulated=self.simulator is not None,
            origin=self.origin(self._settings),
            sample_hz=self._settings.poll_hz,
            edge_hz=self._settings.poll_hz,
            accuracy=self._accuracy,
            serial=self._board.serial,
            sync="clock",
            switches=False,
            reads_voltage=False,
            details={
                "uuid": self._board.uuid,
                "driver": self._board.driver,
                "source": f"{self._settings.source}: {_FILTERS[self._settings.source]}",
                "clock": "CLOCK_MONOTONIC; the trace holds start_monotonic_ns",
                "voltage": STAND_IN,
                "power": ALWAYS_ON,
                "tested": "on a simulated library only, never on hardware",
            },
        )

    def power(self, on: bool) -> None:
        """Do nothing: a host cannot be switched off from itself."""

    def record(self, folder: Path) -> CounterRecording:
        """Record into `folder`."""
        settings = self._settings
        lag_s = 2 * _UPDATE_S
        polling = Polling(settings.poll_hz, settings.longest_s, _SPREAD_S, start_s=0.3, lag_s=lag_s)
        about = {
            "monitor": "nvml",
            "simulated": self.simulator is not None,
            "settings": asdict(settings),
        }
        return CounterRecording(
            self._counter, self._clock, polling, folder, self._board.name, self._board.serial, about
        )

    def close(self) -> None:
        """Let go of the library; closing twice is allowed."""
        if self._open:
            self._open = False
            with _translated(self._library, "the driver"):
                self._library.nvmlShutdown()


@dataclass(frozen=True, slots=True)
class Board:
    """One board: the library's handle of it, and what it reports about itself."""

    handle: Any
    name: str
    uuid: str
    serial: str
    driver: str


class BoardEnergy:
    """The energy counter of a board, in millijoules since the driver was loaded; 64 bits, so it
    does not wrap.
    """

    always_moves = True

    def __init__(self, library: Any, board: Board) -> None:
        self._library = library
        self._board = board
        self.name = f"the energy counter of {board.name}"

    def count(self) -> int:
        """Return what the counter shows."""
        with _translated(self._library, self.name):
            return int(self._library.nvmlDeviceGetTotalEnergyConsumption(self._board.handle))

    def energy_j(self, previous: int, present: int, elapsed_s: float) -> float:
        """Return the energy between two readings; raises BenchError where the counter cannot have
        gone forward.
        """
        step_mj = counted(previous, present, None, _MOST_W * (elapsed_s + _CATCH_UP_S) * 1e3)
        if step_mj is None:
            raise BenchError(
                f"{self.name} ran backwards",
                evidence=f"{previous} mJ, then {present} mJ {elapsed_s:.3f} s later",
                try_next="was the driver reloaded, or the board reset? nvidia-smi -pm 1 keeps the "
                "driver loaded; measure again",
            )
        return step_mj * 1e-3


class BoardPower:
    """The power reading of a board, in milliwatts, taken to hold since the reading before."""

    always_moves = False

    def __init__(self, library: Any, board: Board) -> None:
        self._library = library
        self._board = board
        self.name = f"the power sensor of {board.name}"

    def count(self) -> int:
        """Return what the sensor shows."""
        with _translated(self._library, self.name):
            return int(self._library.nvmlDeviceGetPowerUsage(self._board.handle))

    def energy_j(self, previous: int, present: int, elapsed_s: float) -> float:
        """Return the energy since the previous reading: a reading is a mean of what came before
        it.
        """
        return present * 1e-3 * elapsed_s


def _board(library: Any, settings: Nvml.Settings) -> Board:
    wanted = settings.uuid or f"number {settings.index}"
    with _translated(library, f"GPU {wanted}"):
        count = library.nvmlDeviceGetCount()
        try:
            by_uuid = library.nvmlDeviceGetHandleByUUID
            by_index = library.nvmlDeviceGetHandleByIndex
            handle = by_uuid(settings.uuid) if settings.uuid else by_index(settings.index)
        except library.NVMLError as error:
            if error.value not in (_INVALID, _NOT_FOUND):
                raise
            raise DeviceNotFound(
                f"no GPU {wanted}",
                evidence=f"the driver knows {count}",
                try_next="rig scan, or nvidia-smi -L, lists them",
            ) from error
        return _described(library, handle)


def _described(library: Any, handle: Any) -> Board:
    try:
        serial = library.nvmlDeviceGetSerial(handle)
    except library.NVMLError as error:
        if error.value != _NOT_SUPPORTED:
            raise
        serial = ""  # boards for desktops have none
    name = library.nvmlDeviceGetName(handle)
    uuid = library.nvmlDeviceGetUUID(handle)
    return Board(handle, name, uuid, serial, library.nvmlSystemGetDriverVersion())


def _found(library: Any, index: int) -> FoundInstrument:
    try:
        with _translated(library, f"GPU number {index}"):
            board = _described(library, library.nvmlDeviceGetHandleByIndex(index))
        setting = f'uuid = "{board.uuid}"'
        try:
            BoardEnergy(library, board).count()
        except BenchError:
            BoardPower(library, board).count()
            setting += f'\nsource = "{POWER}"'
        return FoundInstrument(board.name, board.serial, setting)
    except BenchError as error:
        return FoundInstrument(
            f"GPU {index}",
            "",
            f"index = {index}",
            f"{error.cause}: {error.evidence}",
            error.try_next,
        )


def _binding() -> Any:
    try:
        import pynvml
    except ImportError as error:
        raise ConfigError(
            "needs NVIDIA's binding", path="monitor.nvml", try_next="pip install 'neurorig[nvml]'"
        ) from error
    return pynvml


@contextmanager
def _translated(library: Any, what: str) -> Iterator[None]:
    """Turn the library's error codes into the rig's errors."""
    try:
        yield
    except library.NVMLError as error:
        code = error.value
        evidence = f"NVML code {error.value}: {error}"
        if code == _NO_LIBRARY:
            raise DeviceNotFound(
                "no NVIDIA driver on this machine",
                evidence=evidence,
                try_next="install the driver; libnvidia-ml.so.1 comes with it",
            ) from error
        if code in (_LOST, _RESET):
            raise DeviceLost(
                f"{what} is gone",
                evidence=evidence,
                try_next="dmesg (Xid), power and seat of the board; it needs a reset",
            ) from error
        raise BenchError(
            f"{what} cannot be read",
            evidence=evidence,
            try_next=_HINTS.get(code, "nvidia-smi says more"),
        ) from error


_HINTS = {
    _NOT_SUPPORTED: 'this board does not count energy (Volta and newer do): source = "power"; some '
    "boards tell neither",
    _NO_PERMISSION: "the device files /dev/nvidia* must be readable; in a container, pass the GPU "
    "through with utility capability",
    _NO_DRIVER: "sudo modprobe nvidia; nvidia-smi says more",
    _NO_FUNCTION: "the driver is older than this function: update it",
    _MISMATCH: "driver and library are of different versions, as after an update: restart the "
    "machine",
}


def _accuracy(settings: Nvml.Settings) -> Accuracy:
    simulated = settings.uuid == "simulator"
    gain = abs(settings.simulator.gain) if simulated else settings.gain_limit
    step_w = 1e-3 * settings.poll_hz if settings.source == ENERGY else 1e-3
    late_s = _UPDATE_S if settings.source == ENERGY else _FILTER_S
    own = (
        ""
        if settings.gain_limit == Nvml.Settings().gain_limit
        else f"gain: {settings.gain_limit:g}, from the bench file. "
    )
    return Accuracy(
        current=(Range(_MOST_W / STAND_IN_V, gain, 0.0, lsb=step_w / STAND_IN_V),),
        voltage=(Range(STAND_IN_V, 0.0, 0.0),),
        clock_ppm=abs(settings.simulator.clock_ppm) if simulated else _CLOCK_PPM,
        source="the simulator's own errors" if simulated else own + _SOURCE,
        verified=simulated,
        edge_s=late_s + _SPREAD_S / 2 + settings.longest_s / 4,
    )


def _validate(settings: Nvml.Settings) -> None:
    if settings.longest_s < 2 / settings.poll_hz:
        raise ConfigError(
            f"{settings.longest_s}", path="monitor.nvml.longest_s", try_next="2 / poll_hz or more"
        )
