# SPDX-License-Identifier: Apache-2.0
"""One trial: its recordings, its steps between two SYNC bursts, and what is reduced from them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rig.errors import DataError, storage_error
from rig.interfaces.monitor import Recording
from rig.kinds import registry as kinds
from rig.model.completion import Completion
from rig.model.step_record import StepRecord
from rig.model.steps import Load, Step, Sync
from rig.model.trial import Trial
from rig.results import results
from rig.session.execute import do, done
from rig.session.open_parts import BenchParts
from rig.session.planning import trial_seed
from rig.session.resume import Begun
from rig.session.time_left import TimeLeft
from rig.store import sample_lines, session_folder
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


@dataclass(frozen=True, slots=True)
class Running:
    """What the trials of a running session share."""

    bench: BenchParts
    context: results.Context
    folder: SessionFolder
    keeper: Store
    emit: Subscriber
    time_left: TimeLeft


def run_trial(running: Running, number: int, begun: Begun | None = None) -> Trial:
    """Run a trial, or go on with one that was `begun`, and reduce it from its raw files."""
    bench = running.bench
    emit = running.emit
    path = running.folder.trial(number)
    seed = trial_seed(bench.config.bench.seed, number)
    bench.context.state.trial = number
    place = path if begun is None else segment(path, begun.segment)
    try:
        place.mkdir()
    except OSError as error:
        raise storage_error(error, place) from error
    if begun is None:
        emit(TrialStarted(number, seed, path))
    else:
        emit(TrialResumed(number, begun.segment, begun.step, place, hashes(path)))
    running.time_left.trial(number)
    with ExitStack() as stack:
        recordings = [
            bench.record(stack, rail, _rail_folder(place, rail)) for rail in bench.monitors
        ]
        for item in _carry_out(running, number, recordings, begun.done if begun else ()):
            emit(StepDone(number, item))
    running.time_left.finish()
    running.keeper.end_trial()
    bench.context.stop.check()
    trial = results.reduce_trial(running.context, path, number, seed)
    session_folder.write_text(path / SAMPLES, sample_lines.text(trial))
    if trial.lines:
        session_folder.write_text(path / LINES, "".join(line + "\n" for line in trial.lines))
    emit(TrialFinished(trial, hashes(path)))
    return trial


def _rail_folder(path: Path, rail: str) -> Path:
    try:
        (path / rail).mkdir(exist_ok=True)
    except OSError as error:
        raise storage_error(error, path / rail) from error
    return path / rail


def _carry_out(
    running: Running,
    trial: int,
    recordings: Sequence[Recording],
    before: Sequence[StepRecord] = (),
) -> Iterator[StepRecord]:
    """Do the steps of one trial between two SYNC bursts; those `before` are done already, in a
    segment that was cut off.
    """
    bench = running.bench
    info = bench.sut.info
    at = before[-1].number if before else 0

    def sync(number: int) -> StepRecord:
        _begin(running, trial, number, Sync())
        return StepRecord(number, Sync(), bench.sut.do(Sync()))

    yield sync(at)
    plan = bench.scenario.plan(bench.task, trial_seed(bench.config.bench.seed, trial))
    number = 0
    completion = None
    known = {item.number: item for item in before if kinds.planned(item.step)}
    loaded: dict[int, None] = {}
    while True:
        try:
            step = plan.send(completion)
        except StopIteration:
            break
        number += 1
        if number <= at:
            running.time_left.skip(step)
            completion = _known(step, known.get(number), loaded)
            continue
        if loaded:
            for index in list(loaded)[-info.slots :]:
                bench.sut.do(Load(index), [bench.task.payload(index)])
            loaded.clear()
        for recording in recordings:
            recording.check()
        _begin(running, trial, number, step)
        completion = do(bench.sut, info, bench.task, step)
        if completion is not None:
            yield done(bench.task, number, step, completion)
    yield sync(max(number, at) + 1)
    for recording in recordings:
        recording.check()
    running.time_left.end(time.monotonic())


def _begin(running: Running, trial: int, number: int, step: Step) -> None:
    """Tell that a step begins; what came behind the one before counts as a part of that."""
    running.bench.context.stop.check()
    now_s = time.monotonic()
    left = running.time_left
    expected_s = left.expected_s(step) or 0.0
    running.emit(StepBegun(trial, number, step, expected_s, left.share, left.left_s(now_s)))
    left.begin(step, now_s)


def _known(step: Step, item: StepRecord | None, loaded: dict[int, None]) -> Completion | None:
    """Return what came of a step in an earlier segment; note what the device had in its memory by
    then.
    """
    if item is not None and item.step != step:
        raise DataError(
            f"step {item.number} was {item.step}, the plan has {step}",
            try_next="rig run, for a new session: this one's plan has changed",
        )
    if kinds.of(step).loads and item is None:
        for index in step.samples_named:
            loaded.pop(index, None)
            loaded[index] = None
    return item.completion if item is not None else None
