# SPDX-License-Identifier: Apache-2.0
"""Watch a GPU board during a measurement: other users, clocks and the reasons that
limit them. The states are written to board.json, next to the trace.

The state of a GPU board that a published number needs beside it: clocks, limits of
power, temperature, what holds the clocks down, who else uses the board.

Sources: nvml.h and the binding (nvidia-ml-py 13.615) for codes and units. A value that
a board or its driver does not tell is None.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from drivers.host_counters.nvml_board import GpuBoard
from drivers.host_counters.recording import CounterRecording
from rig.errors import BenchError, storage_error
from rig.host.stop import pause

REFUSE: Final = "refuse"
FILE: Final = "board.json"
_LOOKS = 5
_APART_S = 0.2
_TRY = (
    'end them, or take another board (rig scan); others = "state" measures all the'
    " same, and the energy is that of all"
)


class BoardWatch:
    """A board's state as it was opened, and whether others may use it."""

    def __init__(self, library: Any, board: GpuBoard, refuses: bool) -> None:
        self._library = library
        self.board = board
        self._refuses = refuses
        self.opened = read_state(library, board.handle)
        # Who has just ended may be listed a moment longer.
        for _ in range(_LOOKS if refuses else 0):
            if not self._strangers:
                break
            pause(_APART_S)
            self.opened = read_state(library, board.handle)
        self._require(self._strangers)
        if refuses and self.opened.mig:
            raise BenchError(
                f"{board.name} is shared out by MIG",
                evidence="the energy counter is that of the whole board",
                try_next=(
                    'sudo nvidia-smi -mig 0; others = "state" measures all the same'
                ),
            )

    @property
    def _strangers(self) -> tuple[BoardProcess, ...]:
        """The processes that computed when the board was opened, before any of
        the rig's."""
        return tuple(
            one
            for one in self.opened.processes or ()
            if one.kind == COMPUTES and not one.own
        )

    @property
    def others_text(self) -> str:
        """Return in words who else is there."""
        if self.opened.processes is None:
            return "the board does not tell who uses it"
        there = (
            ", ".join(map(str, self._strangers)) or "nobody else computed on the board"
        )
        drawing = [str(one) for one in self.opened.processes if one.kind != COMPUTES]
        there += f"; displays: {', '.join(drawing)}" if drawing else ""
        return there + ("; MIG is on" if self.opened.mig else "")

    def look(self) -> BoardState:
        """Return the present state; raise BenchError for a new process of another
        user."""
        state = read_state(self._library, self.board.handle)
        self._require(state.strangers)
        return state

    def _require(self, strangers: Sequence[BoardProcess]) -> None:
        if self._refuses and strangers:
            raise BenchError(
                f"{self.board.name} is in use by somebody else",
                evidence=f"computing on it: {', '.join(map(str, strangers))}",
                try_next=_TRY,
            )


class BoardLog:
    """States of a board during one recording, written when it begins and when it
    ends."""

    def __init__(self, watch: BoardWatch, path: Path, simulated: bool) -> None:
        self._watch = watch
        self._path = path
        self._simulated = simulated
        self._states: list[BoardState] = []

    def look(self) -> None:
        """Add the present state; raise BenchError for a new process of another user."""
        self._states.append(self._watch.look())

    def write(self) -> None:
        """Write the states up to now."""
        try:
            self._path.write_text(
                json.dumps(self._plain(), indent=1) + "\n", encoding="utf-8"
            )
        except OSError as error:
            raise storage_error(error, self._path) from error

    def _plain(self) -> dict[str, Any]:
        board = self._watch.board
        seen = self._states
        clocks = {(state.sm_mhz, state.memory_mhz) for state in seen}
        held: set[str] = set()
        processes: dict[str, BoardProcess] = {}
        for state in seen:
            held |= set(state.held_down_by or ())
            processes |= {str(process): process for process in state.processes or ()}
        return {
            "simulated": self._simulated,
            "name": board.name,
            "uuid": board.uuid,
            "driver": board.driver,
            "cuda": board.cuda,
            "start": seen[0].plain(),
            "end": seen[-1].plain(),
            "looks": len(seen),
            "clocks_changed": len(clocks) > 1,
            "sm_mhz": _ends([state.sm_mhz for state in seen]),
            "memory_mhz": _ends([state.memory_mhz for state in seen]),
            "temperature_c": _ends([state.temperature_c for state in seen]),
            "held_down_by": sorted(held),
            "own_process_seen": any(one.own for one in processes.values()),
            "processes": [
                {"pid": one.pid, "name": one.name, "kind": one.kind, "own": one.own}
                for one in processes.values()
            ],
        }


class GpuRecording(CounterRecording):
    """The recording of a board's sensor, with a look at the board about once a
    second."""

    def __init__(self, *, log: BoardLog, looks_every: int, **parts: Any) -> None:
        super().__init__(**parts)
        self._log = log
        self._looks_every = looks_every
        self._polls = 0

    def __enter__(self) -> GpuRecording:
        self._log.look()
        self._log.write()
        super().__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        try:
            super().__exit__(kind, *rest)
            if kind is None:
                self._log.look()
        finally:
            self._log.write()

    def _poll(self) -> None:
        super()._poll()
        self._polls += 1
        if self._polls % self._looks_every == 0:
            self._log.look()


def _ends(values: Sequence[int | None]) -> list[int] | None:
    """Return the least and the greatest of the reported values; None if there are
    none."""
    readings = [value for value in values if value is not None]
    return [min(readings), max(readings)] if readings else None


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
        return tuple(
            one
            for one in self.processes or ()
            if one.kind == COMPUTES and one.own is False
        )


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
