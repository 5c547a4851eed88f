# SPDX-License-Identifier: Apache-2.0
"""Spike trains of a session's backend: its network once more over the session's
samples, untimed, kept beside the measurement.

A session keeps the answers alone. A backend that runs the task's network
(rig/interfaces/ network_task.py) also gives what leaves it in each step; others give no
trains.
"""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from rig.api.backends.agreement import Agreed, farthest
from rig.api.sessions.session import Session
from rig.arrays import Float64s
from rig.bench import config
from rig.bench.parts import open_part, open_task
from rig.errors import DataError, NotInSession
from rig.files import foreign_files
from rig.interfaces.task import Task
from rig.model.steps import Load, Query
from rig.network.trains import UNREADABLE, unpacked
from rig.store.event_file import write_derived
from rig.store.session_folder import BENCH, TRAINS, SessionFolder

#: Name of the comparison of trains in tables.
WHAT = "spike trains"
#: So much later trains are looked at that are not equal as they are.
_LAG_MAX = 4
_LIMIT_S = 600.0

Trains = Mapping[int, Float64s]


def gives_trains(session: Session) -> bool:
    """Check whether a session's backend runs the task's network, in a process of this
    computer: a board would need its supply.
    """
    sut = session.results.provenance.sut
    return "rule" in sut.details and sut.clock == "CLOCK_MONOTONIC"


def record(session: Session, indices: Sequence[int]) -> None:
    """Run the backend's network over samples, and keep the trains in the session's
    folder, unless they are there or the backend gives none; raises the errors of
    opening and running.
    """
    if (session.path / TRAINS).exists() or not gives_trains(session):
        return
    resolved = config.load(session.path / BENCH)
    task, context = open_task(resolved)
    if context.network is None:
        return
    context.world.supply_on = True
    with_trains = dataclasses.replace(context.network, trains=True)
    sut = open_part("sut", resolved, dataclasses.replace(context, network=with_trains))
    trains: dict[str, Any] = {}
    with closing(sut):
        for index in indices:
            sut.do(Load(index), [task.payload(index)])
            output = sut.do(Query((index,), _LIMIT_S)).output
            try:
                trains[str(index)] = unpacked(output)[0]
            except ValueError as error:
                raise DataError(
                    "the backend gives no trains", evidence=str(error)
                ) from error
    _write(session.path, trains)


def _write(folder: Path, trains: Mapping[str, Any]) -> None:
    stream = io.BytesIO()
    np.savez_compressed(stream, **trains)
    write_derived(SessionFolder(folder), TRAINS, stream.getvalue())


def read(session: Session) -> Trains:
    """Return the trains that a session keeps; none where it keeps none. Raises
    DataError."""
    path = session.path / TRAINS
    try:
        block = foreign_files.read_bytes(path, session.path)
    except FileNotFoundError:
        return {}
    try:
        with np.load(io.BytesIO(block), allow_pickle=False) as stored:
            return {int(name): np.asarray(stored[name], np.float64) for name in stored}
    except UNREADABLE as error:
        raise DataError(f"{path} holds no trains", evidence=str(error)) from error


def of_task(task: Task | None, indices: Sequence[int]) -> Trains:
    """Return the trains of the task's own answers; none where it tells none."""
    if task is None:
        return {}
    trains: dict[int, Float64s] = {}
    try:
        for index in indices:
            train = task.trains(task.payload(index))
            if train is None:
                return {}
            trains[index] = np.asarray(train, np.float64)
    except NotInSession:
        return {}
    return trains


def agreed(theirs: Trains, ours: Trains) -> Agreed | None:
    """Return on how many samples all trains are equal, spike by spike; None without a
    common one.

    Where they are not, a backend that is some steps late is looked for, and named.
    """
    common = sorted(set(theirs) & set(ours))
    if not common:
        return None
    best = (0, 0)
    for lag in range(_LAG_MAX + 1):
        count = sum(_equal(theirs[index], ours[index], lag) for index in common)
        if count > best[0]:
            best = (count, lag)
    count, lag = best
    away = [farthest(theirs[index], ours[index]) for index in common]
    known = [each for each in away if each is not None]
    largest = max(known) if len(known) == len(away) and not lag else None
    return Agreed(WHAT, count, len(common), largest, lag_steps=lag)


def _equal(theirs: Float64s, ours: Float64s, lag: int) -> bool:
    if theirs.shape != ours.shape or lag >= len(ours):
        return False
    due = ours[: len(ours) - lag]
    return np.array_equal(theirs[lag:], due) and not theirs[:lag].any()
