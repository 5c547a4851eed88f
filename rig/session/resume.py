# SPDX-License-Identifier: Apache-2.0
"""The valid part of a session that was cut off, from which it is resumed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from rig.errors import ConfigError, DataError, storage_error
from rig.measure.measure import covered
from rig.model.step_record import StepRecord
from rig.results.results import Context, rails_of
from rig.store import session_folder
from rig.store.segments import counted, is_segment, segment, segments
from rig.store.session_folder import SessionFolder
from rig.trace.recovery import Begun as Recover
from rig.trace.recovery import recover
from rig.trace.trace import PARTIAL, TRACE


@dataclass(frozen=True, slots=True)
class Begun:
    """A trial that was cut off: its number, its valid step records, and the number of
    its next segment.
    """

    number: int
    done: tuple[StepRecord, ...]
    segment: int

    @property
    def step(self) -> int:
        """Number of the last valid step."""
        return self.done[-1].number


@dataclass(frozen=True, slots=True)
class Standing:
    """The valid part of a session that did not finish: its planned number of trials,
    the finished ones, and the one that was begun.
    """

    trials: int
    finished: tuple[int, ...]
    begun: Begun | None


def refuse_finished(folder: SessionFolder) -> None:
    """Raise DataError where there is no session, ConfigError where it is finished."""
    folder.refuse_other()
    folder.events()
    if folder.journal().status == "success":
        raise ConfigError(
            f"{folder.path} is finished: nothing is left to do",
            try_next="rig run BENCH, for another session",
        )


def standing(
    folder: SessionFolder,
    context: Context,
    resumable: bool,
    told: Recover | None = None,
) -> Standing:
    """Determine the valid part, and make its last segment readable; no measured data
    are removed.

    `resumable`: a trial that was begun can go on; else it is set aside, and begins
    again. Raises DataError where a finished trial was changed. `told` is called before
    a trace is recovered.
    """
    events = folder.events()
    finished = [event for event in events if event.event == "trial_finished"]
    for event in finished:
        for name, digest in event.files.items():
            path = folder.trial(event.trial) / name
            if not path.exists() or session_folder.sha256(path) != digest:
                raise DataError(
                    f"{path} is missing or was changed",
                    try_next=f"rig check {folder.path}",
                )
    numbers = tuple(event.trial for event in finished)
    cut_off = [number for number in folder.trials() if number not in numbers]
    try:
        if cut_off and not resumable:
            _set_aside(folder, cut_off[0])
        begun = (
            _begun(folder, context, cut_off[0], told) if cut_off and resumable else None
        )
    except OSError as error:
        raise storage_error(error, folder.path) from error
    return Standing(events[0].trials, numbers, begun)


def _begun(
    folder: SessionFolder, context: Context, number: int, told: Recover | None
) -> Begun | None:
    """Return the valid part of a trial that was begun; a segment without any is set
    aside.
    """
    path = folder.trial(number)
    _own_folder(path)
    places = segments(path)
    steps = counted(path)
    steps[-1] = _recovered(context, places[-1], steps[-1], told)
    if steps[-1]:
        done = tuple(chain.from_iterable(steps))
        return Begun(number, done, len(places) + 1)
    if len(places) == 1:
        _set_aside(folder, number)
        return None
    places[-1].rename(_free(path, f"{places[-1].name}-cut-off"))
    # The valid part of the segment before was to be read from the one that is gone.
    return _begun(folder, context, number, told)


def _set_aside(folder: SessionFolder, number: int) -> None:
    path = folder.trial(number)
    path.rename(_free(folder.path, f"{path.name}-cut-off"))


def _own_folder(path: Path) -> None:
    """Move the first segment of a trial into a folder of its own; a move that was
    interrupted is finished.
    """
    first = segment(path, 1)
    if segment(path, 2).exists():
        return
    first.mkdir(exist_ok=True)
    for entry in sorted(path.iterdir()):
        if entry != first and not is_segment(entry.name):
            entry.rename(first / entry.name)


def _recovered(
    context: Context, place: Path, done: list[StepRecord], told: Recover | None
) -> list[StepRecord]:
    """Make the traces of a cut-off segment readable, and return the steps that they
    hold whole.
    """
    try:
        for rail in context.provenance.monitors:
            if not (place / rail / TRACE).exists():
                recover(place / rail / PARTIAL, place / rail / TRACE, told)
        rails = rails_of(context, place)
    except DataError:
        return []
    sut = context.provenance.sut
    last = covered(done, sut.tick_hz, sut.sync_hold_s, rails, sut.clock)
    return [item for item in done if item.number <= last] if last else []


def _free(folder: Path, name: str) -> Path:
    """Find a name that is not taken."""
    return next(
        path
        for count in range(1, 10_000)
        if not (path := folder / f"{name}-{count}").exists()
    )
