# SPDX-License-Identifier: Apache-2.0
"""A simulated GPU for NVIDIA's management library: an object with those functions of
the binding (pynvml) that are used.

Codes and units are those of nvml.h: milliwatts, millijoules since the driver was
loaded. The C library itself is simulated in tests/drivers/host_counters/nvml_stub.c.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated

from annotated_types import Gt, Unit, doc

from drivers.host_counters.settings import (
    BasePower,
    SimulatedCounterSettings,
    UpdateInterval,
)
from drivers.host_counters.sim.simulator import SimulatedCounter
from rig.simulation.world import World

#: Faults that a test may set as `fault`, one at a time, and the code that the library
#: then returns.
FAULTS = {"lost": 15, "permission": 4, "timeout": 10}
#: Faults that change the board's description of itself.
STATES = ("hot", "mig", "process", "display", "dumb", "no instant", "capped")
_IDLE_MHZ = 210
_BUSY_MHZ = 1980
_MEMORY_MHZ = 2619
_HOPPER = 9
_PASCAL = 4
_STRANGER = 1
_NOT_SUPPORTED = 3
_NOT_FOUND = 6
_INVALID = 2
_UNINITIALIZED = 1
_MEMORY = 2
_INSTANT = 186


class SimulatedNvmlError(Exception):
    """An error code of the library, as the binding raises it."""

    def __init__(self, value: int) -> None:
        super().__init__(f"simulated code {value}")
        self.value = value


class NvmlSimulator:
    """One GPU whose energy follows the world. `fault` acts on the next reading; "stuck"
    stops the counter.
    """

    NVMLError = SimulatedNvmlError

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Settings(SimulatedCounterSettings):
        """Power of the simulated board apart from the DUT, and errors of its sensor."""

        base_w: BasePower = 20.0
        update_s: UpdateInterval = 0.02
        counts_energy: Annotated[
            bool, doc("It counts energy; an old board tells only its power.")
        ] = True
        busy_w: Annotated[
            float, Gt(0), Unit("W"), doc("Power from which on its clocks are up.")
        ] = 60.0

    def __init__(self, settings: Settings, world: World) -> None:
        self.counter = SimulatedCounter(world, settings)
        self.counter.updated = self._update
        self.fault = ""
        self.initialized = 0
        self._settings = settings
        self._energy_mj = 7_000_000
        self._power_mw = round(settings.base_w * 1e3)
        self._seen = (0.0, 0.0)

    def nvmlInit(self) -> None:  # noqa: N802, as the binding names it
        """Begin."""
        self.initialized += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        """End."""
        self._require(board=False)
        self.initialized -= 1

    def nvmlSystemGetDriverVersion(self) -> str:  # noqa: N802
        """Return the version of the driver."""
        self._require(board=False)
        return "0.0-simulated"

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        """Return how many GPUs there are."""
        self._require(board=False)
        return 1

    def nvmlDeviceGetHandleByIndex(self, index: int, /) -> int:  # noqa: N802
        """Return the handle of a GPU."""
        self._require()
        if index != 0:
            raise SimulatedNvmlError(_INVALID)
        return 1

    def nvmlDeviceGetHandleByUUID(self, uuid: str, /) -> int:  # noqa: N802
        """Return the handle of a GPU."""
        self._require()
        if uuid != "simulator":
            raise SimulatedNvmlError(_NOT_FOUND)
        return 1

    def nvmlDeviceGetName(self, handle: int, /) -> str:  # noqa: N802
        """Return the name of the board."""
        self._require()
        return "simulated GPU"

    def nvmlDeviceGetUUID(self, handle: int, /) -> str:  # noqa: N802
        """Return the unique name of the board."""
        self._require()
        return "GPU-simulated-0"

    def nvmlDeviceGetSerial(self, handle: int, /) -> str:  # noqa: N802
        """Refuse, as boards for desktops do."""
        self._require()
        raise SimulatedNvmlError(_NOT_SUPPORTED)

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: int, /) -> int:  # noqa: N802
        """Return the energy since the driver was loaded, in millijoules."""
        self._require()
        if not self._settings.counts_energy:
            raise SimulatedNvmlError(_NOT_SUPPORTED)
        return self._energy_mj

    def nvmlDeviceGetPowerUsage(self, handle: int, /) -> int:  # noqa: N802
        """Return the mean power since the update before, in milliwatts."""
        self._require()
        return self._power_mw

    def nvmlDeviceGetFieldValues(  # noqa: N802
        self, handle: int, fields: list[int], /
    ) -> list[SimpleNamespace]:
        """Return fields; only the momentary power (186) is known."""
        self._require()
        known = self._settings.counts_energy and self.fault != "no instant"
        value = SimpleNamespace(uiVal=self._power_mw)
        answers = []
        for number in fields:
            result = 0 if known and number == _INSTANT else _NOT_SUPPORTED
            answers.append(SimpleNamespace(nvmlReturn=result, value=value))
        return answers

    def nvmlSystemGetCudaDriverVersion(self) -> int:  # noqa: N802
        """Return the version of CUDA that the driver brings."""
        self._require(board=False)
        return 13_000

    def nvmlDeviceGetArchitecture(self, handle: int, /) -> int:  # noqa: N802
        """Return the board's generation: one that counts no energy is of an old one."""
        self._require()
        return _HOPPER if self._settings.counts_energy else _PASCAL

    def nvmlDeviceGetClockInfo(self, handle: int, kind: int, /) -> int:  # noqa: N802
        """Return the clock of its processors (1) or its memory (2), in MHz."""
        self._tell()
        if kind == _MEMORY:
            return _MEMORY_MHZ
        fast = _BUSY_MHZ // 2 if self.fault in ("hot", "capped") else _BUSY_MHZ
        return fast if self._busy else _IDLE_MHZ

    def nvmlDeviceGetCurrentClocksEventReasons(self, handle: int, /) -> int:  # noqa: N802
        """Return what holds its clocks down."""
        self._tell()
        if self.fault == "hot":
            return 0x40
        if self.fault == "capped":
            return 0x4
        return 0 if self._busy else 0x1

    def nvmlDeviceGetEnforcedPowerLimit(self, handle: int, /) -> int:  # noqa: N802
        """Return the limit of its power, in milliwatts."""
        self._tell()
        return 300_000 if self.fault == "capped" else 700_000

    def nvmlDeviceGetPowerManagementDefaultLimit(self, handle: int, /) -> int:  # noqa: N802
        """Return the limit that it was made with, in milliwatts."""
        self._tell()
        return 700_000

    def nvmlDeviceGetTemperature(self, handle: int, sensor: int, /) -> int:  # noqa: N802
        """Return its temperature, in degrees Celsius."""
        self._tell()
        return 92 if self.fault == "hot" else 41

    def nvmlDeviceGetMigMode(self, handle: int, /) -> list[int]:  # noqa: N802
        """Check whether it is shared out, now and after a reset."""
        self._tell()
        return [int(self.fault == "mig")] * 2

    def nvmlDeviceGetPersistenceMode(self, handle: int, /) -> int:  # noqa: N802
        """Check whether its driver stays loaded."""
        self._tell()
        return 1

    def nvmlDeviceGetComputeRunningProcesses(  # noqa: N802
        self, handle: int, /
    ) -> list[SimpleNamespace]:
        """Return who computes on it: under the fault "process" the first process of the
        system."""
        self._tell()
        return [SimpleNamespace(pid=_STRANGER)] if self.fault == "process" else []

    def nvmlDeviceGetGraphicsRunningProcesses(  # noqa: N802
        self, handle: int, /
    ) -> list[SimpleNamespace]:
        """Return who draws on it."""
        self._tell()
        return [SimpleNamespace(pid=_STRANGER)] if self.fault == "display" else []

    @property
    def _busy(self) -> bool:
        return self._power_mw >= 1e3 * self._settings.busy_w

    def _tell(self) -> None:
        """Refuse on an old board, which does not report its state."""
        self._require()
        if self.fault == "dumb":
            raise SimulatedNvmlError(_NOT_SUPPORTED)

    def _require(self, board: bool = True) -> None:
        if not self.initialized:
            raise SimulatedNvmlError(_UNINITIALIZED)
        if board and self.fault in FAULTS:
            raise SimulatedNvmlError(FAULTS[self.fault])

    def _update(self) -> None:
        if self.fault == "stuck":
            return
        if self.fault == "backwards":
            self._energy_mj = 0
            return
        self._energy_mj = 7_000_000 + int(self.counter.energy_j * 1e3)
        (seen_s, seen_j), counted_s = self._seen, self.counter.counted_s
        if counted_s > seen_s:
            self._power_mw = round(
                (self.counter.energy_j - seen_j) / (counted_s - seen_s) * 1e3
            )
            self._seen = (counted_s, self.counter.energy_j)
