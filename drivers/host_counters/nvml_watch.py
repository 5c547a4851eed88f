# SPDX-License-Identifier: Apache-2.0
"""Watch a GPU board during a measurement: other users, clocks and the reasons that
limit them. The states are written to board.json, next to the trace."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from drivers.host_counters.nvml_board import GpuBoard
from drivers.host_counters.nvml_state import (
    COMPUTES,
    BoardProcess,
    BoardState,
    read_state,
)
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
        others = []
        for process in self.opened.processes or ():
            if process.kind == COMPUTES and not process.own:
                others.append(process)
        return tuple(others)

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
                f"{self.board.name} is in use by another program",
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
