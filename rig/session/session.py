# SPDX-License-Identifier: Apache-2.0
"""Open a bench, run trials, emit events: the only orchestrator."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rig.bench import config
from rig.bench.compatibility import refuse_invisible_pulses, refuse_mismatch, refuse_unmetered
from rig.bench.config import Config
from rig.bench.named_monitor import open_monitor
from rig.bench.parts import open_part, open_task
from rig.bench.supply_watchdog import SupplyWatchdog
from rig.errors import BenchError, ConfigError, DataError, RigError, storage_error
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import EnergyMonitor, Recording
from rig.interfaces.scenario import Fitter, Scenario
from rig.interfaces.sut import SystemUnderTest
from rig.interfaces.task import Catalogued, Optimized, Task
from rig.kinds import registry as kinds
from rig.model.completion import Completion
from rig.model.metric import Metric
from rig.model.step_record import StepRecord
from rig.model.steps import Load, Step, Sync
from rig.model.trial import Trial
from rig.results import document, results
from rig.results.document import Results
from rig.session import estimate
from rig.session.execute import do, done
from rig.session.planning import refuse_claim, steps, trial_seed
from rig.session.resume import Begun, Standing, refuse_finished, standing
from rig.store import codec, provenance, session_folder
from rig.store.events import (
    Event,
    SessionFinished,
    SessionResumed,
    SessionStarted,
    StepDone,
    Subscriber,
    TrialFinished,
    TrialResumed,
    TrialStarted,
)
from rig.store.provenance_file import from_json
from rig.store.segments import segment
from rig.store.session_folder import LINES, RESULTS, SAMPLES, SessionFolder, hashes
from rig.store.writer import Store


@dataclass(frozen=True, slots=True)
class SessionResult:
    """A finished session: its folder, its trials, and its results."""

    folder: Path
    trials: tuple[Trial, ...]
    results: Results

    @property
    def content(self) -> dict[str, Any]:
        """Return the results as results.json has them."""
        return document.to_json(self.results)

    @property
    def metrics(self) -> dict[str, Metric]:
        """Return each metric as stated for all trials, with its standard error over the samples of
        one.
        """
        return {
            name: Metric(
                math.nan if row.value is None else row.value,
                row.unit,
                row.standard_error_over_samples,
                row.per_trial[0].n,
                higher_is_better=row.higher_is_better,
            )
            for name, row in self.results.metrics.items()
        }

    @property
    def ok(self) -> bool:
        """Return whether the verdict is true and every trial valid."""
        return self.results.ok


@dataclass(slots=True)
class Bench:
    """An open bench: the DUT is powered and has answered."""

    config: Config
    context: BenchContext
    task: Task
    scenario: Scenario
    monitors: dict[str, EnergyMonitor]
    sut: SystemUnderTest

    def run(
        self,
        trials: int | None = None,
        root: Path | str = "sessions",
        subscribers: Sequence[Subscriber] = (),
    ) -> SessionResult:
        """Run all trials into a new session folder; raises RigError, and whatever happens keeps
        what was measured.
        """
        return run(self, trials or self.config.bench.trials, Path(root), subscribers)


@contextmanager
def open_bench(path: Path | str, overrides: Sequence[str] = (), again: int = 0) -> Iterator[Bench]:
    """Open everything a bench file names; on leaving, the DUT's supply is off and every port
    closed, whatever happened.

    `again`: how often it was opened for the same session before. What is random on the bench is
    then drawn again: a simulated monitor that began with the same noise once more would write a
    trace that another trial has already.
    """
    resolved = config.load(Path(path), overrides)
    seed = resolved.bench.seed
    with SupplyWatchdog() as watchdog, ExitStack() as stack:
        task, bench_context = open_task(resolved, trial_seed(seed, -again) if again else seed)
        scenario = open_part("scenario", resolved, bench_context)
        refuse_claim(resolved, scenario, task)
        monitors = {}
        for rail, choice in resolved.monitors.items():
            monitors[rail] = open_monitor(rail, choice, bench_context)
            stack.push(partial(_leave, monitors[rail].close))
        watchdog.watch(
            resolved, [rail for rail, monitor in monitors.items() if not monitor.info.simulated]
        )
        for monitor in monitors.values():
            stack.push(partial(_leave, partial(monitor.power, False)))
            monitor.power(True)
        sut = open_part("sut", resolved, bench_context)
        stack.callback(sut.close)
        bench_context.state.program = bench_context.state.program or ""
        yield Bench(resolved, bench_context, task, scenario, monitors, sut)


def _leave(
    action: Callable[[], None],
    kind: type[BaseException] | None,
    error: BaseException | None,
    trace: object,
) -> None:
    """Switch a supply off or let go of an instrument; where that fails after an error, that error
    stays the one to report, with a note.
    """
    try:
        action()
    except RigError as failure:
        if error is None:
            raise
        known_off = isinstance(failure, BenchError) and failure.supply_is_off
        note = failure.cause if known_off else f"the supply may still be on: {failure.cause}"
        # What is gone is gone once.
        if failure.cause != getattr(error, "cause", "") and note not in getattr(
            error, "__notes__", ()
        ):
            error.add_note(note)


def run(bench: Bench, trials: int, root: Path, subscribers: Sequence[Subscriber]) -> SessionResult:
    """Run the trials, reduce each from its raw files, and write the results."""
    bench_toml = bench.config.toml()
    about, queries = _prepared(bench, bench_toml)
    infos = {rail: monitor.info for rail, monitor in bench.monitors.items()}
    estimate.refuse_no_room(
        estimate.of_open(bench.scenario, bench.task, bench.config, infos, trials, root), root
    )
    folder = SessionFolder.create(root, bench.config.bench.name)
    entries = tuple(bench.task.catalogue()) if isinstance(bench.task, Catalogued) else ()
    started = SessionStarted(folder.path, trials, queries, about, entries)
    return _session(
        bench, Store(folder, bench_toml), started, Standing(trials, (), None), subscribers
    )


def resume(path: Path, subscribers: Sequence[Subscriber] = ()) -> SessionResult:
    """Go on with a session that was cut off, on the same bench.

    Finished trials stay; the one that was begun goes on behind the last step of which everything
    was measured, or, where a monitor is not resumable, begins again.

    Raises what `standing` does, and ConfigError where device, instruments, task or rig are not what
    they were.
    """
    folder = SessionFolder(path)
    refuse_finished(folder)
    again = 1 + sum(event.event == "session_resumed" for event in folder.events())
    with (
        closing(Store(folder, None)) as keeper,
        open_bench(path / session_folder.BENCH, again=again) as bench,
    ):
        now, queries = _prepared(bench, bench.config.toml())
        if differences := provenance.changed(folder.provenance(), now):
            raise ConfigError(
                f"the bench is not what it was when {path} began",
                evidence="; ".join(differences),
                try_next="rig run, for a new session",
            )
        resumable = all(monitor.info.resumable for monitor in bench.monitors.values())
        stands = standing(folder, results.Context.of(folder), resumable)
        answered = (
            sum(kinds.of(item.step).measured for item in stands.begun.done) if stands.begun else 0
        )
        resumed = SessionResumed(path, stands.trials, queries, len(stands.finished), answered)
        return _session(bench, keeper, resumed, stands, subscribers)


def _prepared(bench: Bench, bench_toml: str) -> tuple[dict[str, Any], int]:
    """Refuse what cannot be measured, fit the scenario to the device; return the provenance, and
    the queries of a trial.
    """
    refuse_mismatch(bench.sut.info, bench.task)
    choices = bench.config.monitors
    monitors = {
        rail: (choices[rail].kind, monitor.info) for rail, monitor in bench.monitors.items()
    }
    refuse_invisible_pulses(bench.sut.info, bench.config.sut.kind, monitors)
    refuse_unmetered(bench.scenario, len(monitors))
    steps(
        bench.scenario, bench.task, 0
    )  # that scenario and task do not suit each other is said before what the device lacks
    if isinstance(bench.scenario, Fitter):
        bench.scenario = bench.scenario.fitted(bench.sut.info)
    queries = [step for step in steps(bench.scenario, bench.task, 0) if kinds.of(step).measured]
    about = _provenance(bench, bench_toml, kinds.own_phases(queries))
    # What a plug-in says of itself in another form than is due is refused before anything is done.
    phases = from_json(about).task.phases
    refuse_claim(bench.config, bench.scenario, bench.task, phases)
    return about, len(queries)


def _session(
    bench: Bench,
    keeper: Store,
    started: SessionStarted | SessionResumed,
    stands: Standing,
    subscribers: Sequence[Subscriber],
) -> SessionResult:
    folder = SessionFolder(started.folder)
    bench.context.state.wire = keeper.wire
    everyone: tuple[Subscriber, ...] = (keeper, *subscribers)

    def emit(event: Event) -> None:
        for subscriber in everyone:
            subscriber(event)

    try:
        emit(started)
        context = results.Context.of(folder)
        finished = []
        for number in range(1, stands.trials + 1):
            if number in stands.finished:
                seed = trial_seed(bench.config.bench.seed, number)
                finished.append(results.reduce_trial(context, folder.trial(number), number, seed))
                continue
            begun = (
                stands.begun if stands.begun is not None and stands.begun.number == number else None
            )
            finished.append(_trial(bench, context, folder, number, keeper, emit, begun))
        derived = results.derive(context, finished)
        session_folder.write_text(folder.path / RESULTS, document.text(derived))
        emit(
            SessionFinished(
                "success", files={RESULTS: session_folder.sha256(folder.path / RESULTS)}
            )
        )
        return SessionResult(folder.path, tuple(finished), derived)
    except KeyboardInterrupt:
        emit(SessionFinished("abort", "stopped by the user"))
        raise
    except BaseException as error:
        # The disk may be full: the first error is the one to report.
        with suppress(RigError):
            emit(
                SessionFinished("fail", str(error) if isinstance(error, RigError) else repr(error))
            )
        raise
    finally:
        bench.context.state.wire = lambda direction, block: None
        with suppress(RigError, OSError):
            keeper.close()


def _trial(
    bench: Bench,
    context: results.Context,
    folder: SessionFolder,
    number: int,
    keeper: Store,
    emit: Subscriber,
    begun: Begun | None = None,
) -> Trial:
    path = folder.trial(number)
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
    with ExitStack() as stack:
        recordings = [
            stack.enter_context(monitor.record(_rail_folder(place, rail)))
            for rail, monitor in bench.monitors.items()
        ]
        for item in _carry_out(bench, recordings, seed, begun.done if begun else ()):
            emit(StepDone(number, item))
    keeper.end_trial()
    trial = results.reduce_trial(context, path, number, seed)
    session_folder.write_text(path / SAMPLES, codec.samples_text(trial))
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
    bench: Bench, recordings: Sequence[Recording], seed: int, before: Sequence[StepRecord] = ()
) -> Iterator[StepRecord]:
    """Do the steps of one trial between two SYNC bursts; those `before` are done already, in a
    segment that was cut off.
    """
    info = bench.sut.info
    at = before[-1].number if before else 0
    yield StepRecord(at, Sync(), bench.sut.do(Sync()))
    plan = bench.scenario.plan(bench.task, seed)
    number = 0
    completion = None
    known = {item.number: item for item in before if not isinstance(item.step, Sync)}
    loaded: dict[int, None] = {}
    while True:
        try:
            step = plan.send(completion)
        except StopIteration:
            break
        number += 1
        if number <= at:
            completion = _known(step, known.get(number), loaded)
            continue
        if loaded:
            for index in list(loaded)[-info.slots :]:
                bench.sut.do(Load(index), [bench.task.payload(index)])
            loaded.clear()
        for recording in recordings:
            recording.check()
        completion = do(bench.sut, info, bench.task, step)
        if completion is not None:
            yield done(bench.task, number, step, completion)
    yield StepRecord(max(number, at) + 1, Sync(), bench.sut.do(Sync()))
    for recording in recordings:
        recording.check()


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


def _provenance(bench: Bench, bench_toml: str, own_phases: Sequence[str]) -> dict[str, Any]:
    sut = dataclasses.asdict(bench.sut.info)
    rails = {rail: dataclasses.asdict(monitor.info) for rail, monitor in bench.monitors.items()}
    # A device that marks only start and end has one phase: the last, as its time stamps stand
    # around the inference.
    phases = (
        list(bench.task.phases) if bench.sut.info.marks_phases else list(bench.task.phases[-1:])
    )
    # The window of a batch holds all phases of all its samples, and shows none of them apart.
    phases = list(own_phases) or phases
    task = {
        "name": bench.task.name,
        "phases": phases,
        "samples": len(bench.task),
    } | bench.task.provenance()
    if isinstance(bench.task, Optimized):
        task["names"] = [bench.task.workload(index) for index in range(len(bench.task))]
    none = bench.config.no_monitor
    clock = (
        {}
        if none is None
        else {"limit_ppm": none.settings.clock_ppm, "source": none.settings.clock_source}
    )
    return provenance.collect(bench_toml) | {
        "simulated": bool(
            bench.sut.info.simulated
            or any(monitor.info.simulated for monitor in bench.monitors.values())
        ),
        "sut": sut,
        "monitors": rails,
        **({"device_clock": clock} if clock else {}),
        "task": task,
        "metadata": bench.config.metadata,
    }
