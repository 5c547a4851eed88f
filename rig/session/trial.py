# SPDX-License-Identifier: Apache-2.0
"""One trial: its recordings, its steps between two SYNC bursts, and its reduction."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from rig.bench.config import REDUCED_RATE
from rig.errors import DataError, storage_error
from rig.interfaces.monitor import Recording
from rig.kinds import registry as kinds
from rig.model.completion import Completion
from rig.model.step_record import StepRecord
from rig.model.steps import Load, Step, Sync
from rig.model.trial import Trial
from rig.results import results
from rig.session import estimate
from rig.session.execute import do, done
from rig.session.open_parts import BenchParts
from rig.session.resume import Begun
from rig.session.time_left import TimeLeft
from rig.session.turns import KeptSample, Turn, seed_of, turns
from rig.store import inventory, sample_lines, session_folder
from rig.store.events import (
    StepBegun,
    StepDone,
    Subscriber,
    TrialFinished,
    TrialResumed,
    TrialStarted,
)
from rig.store.segments import segment
from rig.store.session_folder import LINES, SAMPLES, SessionFolder, hashes
from rig.store.writer import Store
from rig.trace.thinning import Quiet, QuietTimes


@dataclass(frozen=True, slots=True)
class Running:
    """The state that trials of a running session share; `trials` is their planned
    number. `is_virtual`: recordings pass in virtual time, and not in that of
    `time_left`.
    """

    trials: int
    bench: BenchParts
    context: results.Context
    folder: SessionFolder
    keeper: Store
    emit: Subscriber
    time_left: TimeLeft
    is_virtual: bool


class _MarkCount:
    """The number of marks that the device has made, and the times of the last two;
    quiet times are added to `times`, where traces are to be thinned.
    """

    def __init__(self, times: QuietTimes | None, tick_hz: float) -> None:
        self._times = times
        self._tick_hz = tick_hz
        self._count = 0
        self._last: tuple[int, ...] = ()

    def add(self, completion: Completion) -> Completion:
        """Count the marks of a completion, and return it."""
        ticks = [mark.tick for mark in completion.marks]
        self._count += len(ticks)
        self._last = (*self._last, *ticks)[-2:]
        return completion

    def quiet(self) -> None:
        """Note that the device only receives data until its next mark."""
        if self._times is not None and len(self._last) == 2:
            earlier, later = self._last
            self._times.add(Quiet(self._count, (later - earlier) / self._tick_hz))


def run_trial(running: Running, number: int, begun: Begun | None = None) -> Trial:
    """Run a trial, or go on with one that was `begun`, and reduce it from its raw
    files.

    Interleaved trials are recorded with the first one, and only reduced one by one.
    """
    bench = running.bench
    path = running.folder.trial(number)
    seed = seed_of(bench.scenario, bench.config.bench.seed, number)
    if running.context.interleaved and number > 1:
        _make(path)
        running.emit(TrialStarted(number, seed, path, recorded=True))
    else:
        _record(running, number, seed, begun)
    bench.context.stop.check()
    recorded = running.folder.recorded(number)
    trial = results.reduce_trial(running.context, recorded, number, seed)
    session_folder.write_text(path / SAMPLES, sample_lines.text(trial))
    if trial.lines:
        session_folder.write_text(
            path / LINES, "".join(line + "\n" for line in trial.lines)
        )
    running.emit(TrialFinished(trial, hashes(path)))
    return trial


def _refuse_no_room(running: Running) -> None:
    """Raise StorageFull where the disk has no room for the rest of a session that goes
    on as it began.
    """
    folder = running.folder.path
    files = inventory.files(folder).values()
    recorded_b = sum(path.stat().st_size for path in files)
    share = running.time_left.share
    rest_b = round(recorded_b * (1 - share) / share)
    estimate.refuse_no_room(
        needed_b=rest_b,
        folder=folder,
        what="the rest of this session",
        try_next=f"free some room, then rig resume {folder}",
    )


def _make(place: Path) -> None:
    try:
        place.mkdir()
    except OSError as error:
        raise storage_error(error, place) from error


def _record(running: Running, number: int, seed: int, begun: Begun | None) -> None:
    """Record a trial, or all of them where they are interleaved."""
    bench = running.bench
    emit = running.emit
    path = running.folder.trial(number)
    bench.context.state.trial = number
    place = path if begun is None else segment(path, begun.segment)
    running.time_left.trial(number)
    if begun is None and number > 1:
        _refuse_no_room(running)
    _make(place)
    if begun is None:
        emit(TrialStarted(number, seed, path))
    else:
        emit(TrialResumed(number, begun.segment, begun.step, place, hashes(path)))
    times = QuietTimes() if bench.config.bench.between_windows == REDUCED_RATE else None
    count = _MarkCount(times, bench.sut.info.tick_hz)
    with ExitStack() as stack:
        recordings = [
            bench.record(stack, rail, _rail_folder(place, rail), times)
            for rail in bench.monitors
        ]
        before = begun.done if begun else ()
        for item in _carry_out(
            running=running,
            trial=number,
            seed=seed,
            recordings=recordings,
            count=count,
            before=before,
        ):
            emit(StepDone(item.trial or number, item))
    running.time_left.finish()
    running.keeper.end_trial()


def _rail_folder(path: Path, rail: str) -> Path:
    try:
        (path / rail).mkdir(exist_ok=True)
    except OSError as error:
        raise storage_error(error, path / rail) from error
    return path / rail


def _carry_out(
    running: Running,
    trial: int,
    seed: int,
    recordings: Sequence[Recording],
    count: _MarkCount,
    before: Sequence[StepRecord] = (),
) -> Iterator[StepRecord]:
    """Do the steps of one recording between two SYNC bursts; those in `before` are done
    already, in a segment that was cut off.
    """
    bench = running.bench
    info = bench.sut.info
    at = before[-1].number if before else 0

    def sync(number: int) -> StepRecord:
        _begin(running, trial, number, Sync())
        return StepRecord(number, Sync(), count.add(bench.sut.do(Sync())))

    yield sync(at)
    plan = turns(bench.scenario, bench.task, seed, running.trials)
    kept = KeptSample(running.trials)
    number = 0
    completion = None
    known = {item.number: item for item in before if kinds.planned(item.step)}
    loaded: dict[int, None] = {}
    while True:
        try:
            turn = plan.send(completion)
        except StopIteration:
            break
        number += 1
        step = turn.step
        if number <= at:
            running.time_left.skip(step)
            completion = _known(turn, known.get(number), loaded)
            continue
        if loaded:
            count.quiet()
            for index in list(loaded)[-info.slots :]:
                bench.sut.do(Load(index), [bench.task.payload(index)])
            loaded.clear()
        for recording in recordings:
            recording.check()
        _begin(running, turn.trial or trial, number, step)
        if kinds.of(step).loads:
            count.quiet()
        completion = do(bench.sut, info, bench.task, step)
        if completion is not None:
            count.add(completion)
            kept.take(turn, completion)
            yield replace(done(bench.task, number, step, completion), trial=turn.trial)
    yield sync(max(number, at) + 1)
    for recording in recordings:
        recording.check()
    running.time_left.end(time.monotonic())


def _begin(running: Running, trial: int, number: int, step: Step) -> None:
    """Emit that a step begins; the time since the step before counts as a part of
    that.
    """
    running.bench.context.stop.check()
    left = running.time_left
    was_known = left.is_known
    left.begin(step, time.monotonic())
    # Interleaved trials are one recording, which is looked at where a trial's steps are
    # done. A virtual device has stated its times before the run.
    is_recorded_so_far = running.context.interleaved and not running.is_virtual
    if is_recorded_so_far and left.is_known and not was_known:
        _refuse_no_room(running)
    running.emit(
        StepBegun(
            trial=trial,
            number=number,
            step=step,
            share=left.share,
            left_s=left.left_s(),
        )
    )


def _known(
    turn: Turn, item: StepRecord | None, loaded: dict[int, None]
) -> Completion | None:
    """Look up the completion of a step in an earlier segment; note the samples that the
    device held by then, least recently used first.
    """
    step = turn.step
    if item is not None and (item.step, item.trial) != (step, turn.trial):
        raise DataError(
            f"step {item.number} was {item.step}, the plan has {step}",
            try_next="rig run, for a new session: this one's plan has changed",
        )
    is_loaded = kinds.of(step).loads and item is None
    for index in step.samples_named:
        # A device forgets the least recently used sample, so a query counts as well as
        # a load.
        if loaded.pop(index, is_loaded) is not False:
            loaded[index] = None
    return item.completion if item is not None else None
