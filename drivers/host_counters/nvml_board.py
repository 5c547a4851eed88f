# SPDX-License-Identifier: Apache-2.0
"""A GPU board as NVIDIA's library shows it: found by name or number, its energy counter
and its power sensors, and the library's codes as the rig's errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from drivers.host_counters.grid import counted
from rig.errors import BenchError, ConfigError, DeviceLost, DeviceNotFound
from rig.interfaces.monitor import FoundInstrument

ENERGY: Final = "energy"
POWER: Final = "power"
INSTANT: Final = "instant"
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
#: NVML_FI_DEV_POWER_INSTANT: "current power draw of the GPU", in milliwatts.
_FIELD_INSTANT = 186
#: NVML_DEVICE_ARCH_AMPERE: from here on, but for GA100, the usual reading is a mean of
#: 1 s.
_AMPERE = 7
#: No board draws more; a counter that would say so was reset.
MOST_W = 5_000.0
_CATCH_UP_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuBoard:
    """Handle and description of one board. `averages`: its usual reading of power is
    the mean of a second."""

    handle: Any
    name: str
    uuid: str
    serial: str
    driver: str
    cuda: str
    averages: bool


class BoardEnergy:
    """The energy counter of a board, in millijoules since the driver was loaded; 64
    bits, so it does not wrap.
    """

    always_moves = True

    def __init__(self, library: Any, board: GpuBoard) -> None:
        self._library = library
        self._board = board
        self.name = f"the energy counter of {board.name}"

    def count(self) -> int:
        """Read the counter."""
        with translated(self._library, self.name):
            return int(
                self._library.nvmlDeviceGetTotalEnergyConsumption(self._board.handle)
            )

    def energy_j(self, previous: int, present: int, elapsed_s: float) -> float:
        """Return the energy between two readings; raises BenchError where the counter
        cannot have gone forward.
        """
        step_mj = counted(
            previous, present, None, MOST_W * (elapsed_s + _CATCH_UP_S) * 1e3
        )
        if step_mj is None:
            raise BenchError(
                f"{self.name} ran backwards",
                evidence=f"{previous} mJ, then {present} mJ {elapsed_s:.3f} s later",
                try_next=(
                    "was the driver reloaded, or the board reset? nvidia-smi -pm 1"
                    " keeps the driver loaded; measure again"
                ),
            )
        return step_mj * 1e-3


class BoardPower:
    """The power reading of a board, in milliwatts, taken to hold since the reading
    before."""

    always_moves = False

    def __init__(self, library: Any, board: GpuBoard) -> None:
        self._library = library
        self._board = board
        self.name = f"the power sensor of {board.name}"

    def count(self) -> int:
        """Return the sensor's reading."""
        with translated(self._library, self.name):
            return int(self._library.nvmlDeviceGetPowerUsage(self._board.handle))

    def energy_j(self, previous: int, present: int, elapsed_s: float) -> float:
        """Return the energy since the previous reading: a reading is a mean over the
        time before it."""
        return present * 1e-3 * elapsed_s


class BoardInstant(BoardPower):
    """The momentary power of a board (NVML_FI_DEV_POWER_INSTANT), taken to hold since
    the reading before.
    """

    def count(self) -> int:
        """Return the sensor's reading."""
        with translated(self._library, f"the momentary power of {self._board.name}"):
            field = self._library.nvmlDeviceGetFieldValues(
                self._board.handle, [_FIELD_INSTANT]
            )[0]
            if field.nvmlReturn:
                raise self._library.NVMLError(field.nvmlReturn)
        return int(field.value.uiVal)


COUNTERS: Final[dict[str, type[BoardEnergy] | type[BoardPower]]] = {
    ENERGY: BoardEnergy,
    POWER: BoardPower,
    INSTANT: BoardInstant,
}


def find(library: Any, uuid: str, index: int) -> GpuBoard:
    """Return the board with a unique name, else that with a number."""
    name = uuid or f"number {index}"
    with translated(library, f"GPU {name}"):
        count = library.nvmlDeviceGetCount()
        try:
            by_uuid = library.nvmlDeviceGetHandleByUUID
            by_index = library.nvmlDeviceGetHandleByIndex
            handle = by_uuid(uuid) if uuid else by_index(index)
        except library.NVMLError as error:
            if error.value not in (_INVALID, _NOT_FOUND):
                raise
            raise DeviceNotFound(
                f"no GPU {name}",
                evidence=f"the driver knows {count}",
                try_next="rig scan, or nvidia-smi -L, lists them",
            ) from error
        return _described(library, handle)


def _described(library: Any, handle: Any) -> GpuBoard:
    try:
        serial = library.nvmlDeviceGetSerial(handle)
    except library.NVMLError as error:
        if error.value != _NOT_SUPPORTED:
            raise
        serial = ""  # boards for desktops have none
    return GpuBoard(
        handle=handle,
        name=library.nvmlDeviceGetName(handle),
        uuid=library.nvmlDeviceGetUUID(handle),
        serial=serial,
        driver=library.nvmlSystemGetDriverVersion(),
        cuda=_cuda(library),
        averages=_architecture(library, handle) >= _AMPERE,
    )


def _cuda(library: Any) -> str:
    try:
        number = int(library.nvmlSystemGetCudaDriverVersion())
    except library.NVMLError:
        return "not readable"
    return f"{number // 1000}.{number % 1000 // 10}"


def _architecture(library: Any, handle: Any) -> int:
    """Return the generation of a board; that of Ampere where an old driver does not
    know it."""
    try:
        return int(library.nvmlDeviceGetArchitecture(handle))
    except library.NVMLError:
        return _AMPERE


def listed(library: Any, index: int) -> FoundInstrument:
    """Return a board as a scan lists it."""
    try:
        with translated(library, f"GPU number {index}"):
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


def binding() -> Any:
    """Return NVIDIA's binding; raises ConfigError where it is not installed."""
    try:
        import pynvml
    except ImportError as error:
        raise ConfigError(
            "needs NVIDIA's binding",
            path="monitor.nvml",
            try_next="pip install 'neurorig[nvml]'",
        ) from error
    return pynvml


@contextmanager
def translated(library: Any, what: str) -> Iterator[None]:
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
    _NOT_SUPPORTED: (
        "this board does not count energy (Volta and newer do), or has no momentary "
        'reading: source = "power"; some boards tell neither'
    ),
    _NO_PERMISSION: (
        "the device files /dev/nvidia* must be readable; in a container, pass the GPU "
        "through with utility capability"
    ),
    _NO_DRIVER: "sudo modprobe nvidia; nvidia-smi says more",
    _NO_FUNCTION: "the driver is older than this function: update it",
    _MISMATCH: (
        "driver and library are of different versions, as after an update: restart the "
        "machine"
    ),
}
