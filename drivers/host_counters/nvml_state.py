# SPDX-License-Identifier: Apache-2.0
"""The state of a GPU board that a published number needs beside it: clocks, limits of
power, temperature, what holds the clocks down, who else uses the board.

Sources: nvml.h and the binding (nvidia-ml-py 13.615) for codes and units. A value that
a board or its driver does not tell is None.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

#: nvmlClockType_t.
_SM = 1
_MEMORY = 2
_CORE_SENSOR = 0
#: Bits of nvmlDeviceGetCurrentClocksEventReasons; the first two are no loss of speed.
REASONS: Final = {
    0x001: "idle",
    0x002: "application clocks",
    0x004: "software power cap",
    0x008: "hardware slowdown",
    0x010: "sync boost",
    0x020: "software thermal slowdown",
    0x040: "hardware thermal slowdown",
    0x080: "hardware power brake",
    0x100: "display clocks",
    0x200: "board limit",
    0x400: "reliability",
}
COMPUTES = "computes"
DRAWS = "draws"
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class BoardProcess:
    """A process on a board: its use of it ("computes", "draws") and whether the rig
    started it. None: its number is of another name space, as in a container."""

    pid: int
    name: str
    kind: str
    own: bool | None

    def __str__(self) -> str:
        return f"{self.pid} ({self.name or 'name not readable'}, {self.kind})"


@dataclass(frozen=True, slots=True)
class BoardState:
    """State of a board at one time; None: the board does not report it."""

    sm_mhz: int | None
    memory_mhz: int | None
    limit_enforced_w: float | None
    limit_default_w: float | None
    temperature_c: int | None
    held_down_by: tuple[str, ...] | None
    mig: bool | None
    persistence: bool | None
    processes: tuple[BoardProcess, ...] | None

    def plain(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return asdict(self)

    @property
    def strangers(self) -> tuple[BoardProcess, ...]:
        """The processes that compute on the board and are known not to be the
        rig's."""
        foreign = []
        for process in self.processes or ():
            if process.kind == COMPUTES and process.own is False:
                foreign.append(process)
        return tuple(foreign)


def read_state(library: Any, handle: Any) -> BoardState:
    """Return the state of a board now."""
    # The binding's own, where a driver lacks the version of a function that it knows.
    mismatch = getattr(library, "NVMLLibraryMismatchError", library.NVMLError)

    def known(ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except (library.NVMLError, mismatch, AttributeError):
            return None

    def watts(milliwatts: int | None) -> float | None:
        return None if milliwatts is None else milliwatts * 1e-3

    bits = known(lambda: library.nvmlDeviceGetCurrentClocksEventReasons(handle))
    if bits is None:  # drivers before 535 call it so
        bits = known(lambda: library.nvmlDeviceGetCurrentClocksThrottleReasons(handle))
    mig = known(lambda: library.nvmlDeviceGetMigMode(handle)[0])
    persistence = known(lambda: library.nvmlDeviceGetPersistenceMode(handle))
    computing = known(lambda: library.nvmlDeviceGetComputeRunningProcesses(handle))
    drawing = known(lambda: library.nvmlDeviceGetGraphicsRunningProcesses(handle))
    return BoardState(
        sm_mhz=known(lambda: library.nvmlDeviceGetClockInfo(handle, _SM)),
        memory_mhz=known(lambda: library.nvmlDeviceGetClockInfo(handle, _MEMORY)),
        limit_enforced_w=watts(
            known(lambda: library.nvmlDeviceGetEnforcedPowerLimit(handle))
        ),
        limit_default_w=watts(
            known(lambda: library.nvmlDeviceGetPowerManagementDefaultLimit(handle))
        ),
        temperature_c=known(
            lambda: library.nvmlDeviceGetTemperature(handle, _CORE_SENSOR)
        ),
        held_down_by=None if bits is None else reasons(bits),
        mig=None if mig is None else bool(mig),
        persistence=None if persistence is None else bool(persistence),
        processes=None
        if computing is None
        else (*_processes(computing, COMPUTES), *_processes(drawing or (), DRAWS)),
    )


def reasons(bits: int) -> tuple[str, ...]:
    """Return by name what holds the clocks down; a bit of tomorrow by its number."""
    known = tuple(name for bit, name in REASONS.items() if bits & bit)
    rest = bits & ~sum(REASONS)
    return (*known, f"bits {rest:#x}") if rest else known


def _processes(processes: Iterable[Any], kind: str) -> list[BoardProcess]:
    return [
        BoardProcess(one.pid, _name(one.pid), kind, _is_ours(one.pid))
        for one in processes
    ]


def _name(pid: int) -> str:
    try:
        return (
            (_PROC / str(pid) / "comm")
            .read_text(encoding="utf-8", errors="replace")
            .strip()
        )
    except OSError:
        return ""


def _is_ours(pid: int) -> bool | None:
    """Check whether a process is this one or came of it; None where it is not to be
    seen."""
    if not (_PROC / str(pid)).exists():
        return None
    while pid > 1:
        if pid == os.getpid():
            return True
        try:
            # The name, in brackets, may hold any character; the parent is the second
            # field after it.
            text = (_PROC / str(pid) / "stat").read_text(
                encoding="utf-8", errors="replace"
            )
            pid = int(text.rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return False
    return False
