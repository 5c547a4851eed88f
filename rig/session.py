# SPDX-License-Identifier: Apache-2.0
"""Open a bench, run trials, emit events: the only orchestrator."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rig import config, plugins, provenance, results, store, streaming
from rig.config import Config
from rig.done import Done
from rig.errors import BenchError, ConfigError, DataError, LocalProtocolError, RemoteProtocolError, RigError, SutError
from rig.events import (
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
from rig.guardian import Guardian
from rig.monitor import EnergyMonitor, Recording
from rig.plan import (
    Chooser,
    Fitter,
    Idle,
    Load,
    Optimized,
    Played,
    Query,
    Scenario,
    Score,
    Searched,
    Solve,
    Step,
    Stream,
    Task,
)
from rig.program import Programmed
from rig.resume import Begun, Standing, refuse_finished, standing
from rig.sitting import hashes, sitting
from rig.store import LINES, RESULTS, SAMPLES, SessionFolder, Store
from rig.streaming import Windows
from rig.sut import Completion, Solving, Streaming, SutInfo, SystemUnderTest
from rig.table import Table
from rig.trace import storage_error
from rig.trial import Metric, Trial

#: Steps that are measured.
_TIMED = (Query, Solve, Stream)


@dataclass(frozen=True, slots=True)
class Result:
    """A finished session: its folder, its trials, and the content of results.json."""

    folder: Path
    trials: tuple[Trial, ...]
    content: dict[str, Any]

    @property
    def metrics(self) -> dict[str, Metric]:
        """Return each metric as the mean over trials, with its standard error."""
        rows = self.content["metrics"]
        return {name: Metric(row["value"], row["unit"], row["standard_error"], len(row["per_trial"])) for name, row in rows.items()}

    @property
    def ok(self) -> bool:
        """Say whether the verdict is true and every trial valid."""
        return bool(self.content["replication"]["ok"]) and all(trial.valid for trial in self.trials)


@dataclass(slots=True)
class Bench:
    """An open bench: the DUT is powered and has answered."""

    config: Config
    table: Table
    task: Task
    scenario: Scenario
    monitors: dict[str, EnergyMonitor]
    sut: SystemUnderTest

    def run(self, trials: int | None = None, root: Path | str = "sessions", subscribers: Sequence[Subscriber] = ()) -> Result:
        """Run all trials into a new session folder; raises RigError, and whatever happens keeps what was measured."""
        return run(self, trials or self.config.bench.trials, Path(root), subscribers)


@contextmanager
def open_bench(path: Path | str, overrides: Sequence[str] = ()) -> Iterator[Bench]:
    """Open everything a bench file names; on leaving, the DUT's supply is off and every port closed, whatever happened."""
    resolved = config.load(Path(path), overrides)
    table = Table(folder=resolved.folder, seed=resolved.bench.seed)
    with Guardian() as guardian, ExitStack() as stack:
        task = open_part("task", resolved, table)
        table.reference = getattr(task, "reference", None)
        table.searcher = task.searcher if isinstance(task, Searched) else None
        table.programs = task.programs if isinstance(task, Programmed) else {}
        scenario = open_part("scenario", resolved, table)
        monitors = {}
        for rail, choice in resolved.monitors.items():
            monitors[rail] = plugins.find("monitor", choice.kind).open(choice.settings, table)
            stack.push(partial(_leave, monitors[rail].close))
        guardian.watch(resolved, [rail for rail, monitor in monitors.items() if not monitor.info.simulated])
        for monitor in monitors.values():
            stack.push(partial(_leave, partial(monitor.power, False)))
            monitor.power(True)
        sut = open_part("sut", resolved, table)
        stack.callback(sut.close)
        yield Bench(resolved, table, task, scenario, monitors, sut)


def _leave(action: Callable[[], None], kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
    """Switch a supply off or let go of an instrument; where that fails after an error, that error stays the one to tell, with a
    note."""
    try:
        action()
    except RigError as failure:
        if error is None:
            raise
        note = f"the supply may still be on: {failure.cause}"
        # What is gone is gone once.
        if failure.cause != getattr(error, "cause", "") and note not in getattr(error, "__notes__", ()):
            error.add_note(note)


def open_plan(path: Path | str, overrides: Sequence[str] = ()) -> tuple[Scenario, Task, Config]:
    """Open only what a plan needs: no device is touched."""
    resolved = config.load(Path(path), overrides)
    table = Table(folder=resolved.folder, seed=resolved.bench.seed)
    return open_part("scenario", resolved, table), open_part("task", resolved, table), resolved


def open_part(section: str, resolved: Config, table: Table) -> Any:
    """Open the kind that a section of the bench file names."""
    choice = getattr(resolved, section)
    return plugins.find(section, choice.kind).open(choice.settings, table)


def trial_seed(seed: int, number: int) -> int:
    """Return the seed of a trial: fixed by the bench's seed and the trial's number."""
    return random.Random(f"{seed}/{number}").getrandbits(32)


def steps(scenario: Scenario, task: Task, seed: int) -> list[Step]:
    """List the steps of a plan without doing any: completions are empty ones."""
    plan = scenario.plan(task, seed)
    listed: list[Step] = []
    try:
        step = next(plan)
        while True:
            _refuse_unsuited(step, scenario, task)
            listed.append(step)
            step = plan.send(Completion(()))
    except StopIteration:
        return listed


def _refuse_unsuited(step: Step, scenario: Scenario, task: Task) -> None:
    if isinstance(step, Query) and isinstance(task, Optimized):
        raise ConfigError(
            f"{task.name} has workloads to search, no samples to answer",
            path=f"scenario.{scenario.name}",
            try_next="[scenario.optimization]",
        )


def run(bench: Bench, trials: int, root: Path, subscribers: Sequence[Subscriber]) -> Result:
    """Run the trials, reduce each from its raw files, and write the results."""
    bench_toml = bench.config.toml()
    about, queries = _prepared(bench, bench_toml)
    folder = SessionFolder.create(root, bench.config.bench.name)
    started = SessionStarted(folder.path, trials, queries, about)
    return _session(bench, Store(folder, bench_toml), started, Standing(trials, (), None), subscribers)


def resume(path: Path, subscribers: Sequence[Subscriber] = ()) -> Result:
    """Go on with a session that was cut off, on the same bench.

    Finished trials stay; the one that was begun goes on behind the last step of which everything was measured.

    Raises what `standing` does, and ConfigError where device, instruments, task or rig are not what they were.
    """
    folder = SessionFolder(path)
    refuse_finished(folder)
    with closing(Store(folder, None)) as keeper, open_bench(path / store.BENCH) as bench:
        now, queries = _prepared(bench, bench.config.toml())
        if differences := provenance.changed(folder.provenance(), now):
            raise ConfigError(
                f"the bench is not what it was when {path} began",
                evidence="; ".join(differences),
                try_next="rig run, for a new session",
            )
        stands = standing(folder, results.Context.of(folder))
        done = [item for item in stands.begun.done if isinstance(item.step, _TIMED)] if stands.begun else []
        resumed = SessionResumed(path, stands.trials, queries, len(stands.finished), len(done))
        return _session(bench, keeper, resumed, stands, subscribers)


def _prepared(bench: Bench, bench_toml: str) -> tuple[dict[str, Any], int]:
    """Refuse what cannot be measured, fit the scenario to the device; return the provenance, and the queries of a trial."""
    refuse_mismatch(bench.sut.info, bench.task)
    _refuse_invisible_pulses(bench)
    steps(bench.scenario, bench.task, 0)  # that scenario and task do not suit each other is said before what the device lacks
    if isinstance(bench.scenario, Fitter):
        bench.scenario = bench.scenario.fitted(bench.sut.info)
    queries = [step for step in steps(bench.scenario, bench.task, 0) if isinstance(step, _TIMED)]
    return _provenance(bench, bench_toml, any(isinstance(query, Query) and query.batch for query in queries)), len(queries)


def _session(
    bench: Bench, keeper: Store, started: SessionStarted | SessionResumed, stands: Standing, subscribers: Sequence[Subscriber]
) -> Result:
    folder = SessionFolder(started.folder)
    bench.table.wire = keeper.wire
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
            begun = stands.begun if stands.begun is not None and stands.begun.number == number else None
            finished.append(_trial(bench, context, folder, number, keeper, emit, begun))
        content = results.derive(context, finished)
        store.write_text(folder.path / RESULTS, store.json_text(content))
        emit(SessionFinished("success", files={RESULTS: store.sha256(folder.path / RESULTS)}))
        return Result(folder.path, tuple(finished), content)
    except KeyboardInterrupt:
        emit(SessionFinished("abort", "stopped by the user"))
        raise
    except BaseException as error:
        # The disk may be full: the first error is the one to tell.
        with suppress(RigError):
            emit(SessionFinished("fail", str(error) if isinstance(error, RigError) else repr(error)))
        raise
    finally:
        bench.table.wire = lambda direction, block: None
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
    path, seed = folder.trial(number), trial_seed(bench.config.bench.seed, number)
    place = path if begun is None else sitting(path, begun.sitting)
    try:
        place.mkdir()
    except OSError as error:
        raise storage_error(error, place) from error
    if begun is None:
        emit(TrialStarted(number, seed, path))
    else:
        emit(TrialResumed(number, begun.sitting, begun.step, place, hashes(path, list(bench.monitors))))
    with ExitStack() as stack:
        recordings = [stack.enter_context(monitor.record(_rail_folder(place, rail))) for rail, monitor in bench.monitors.items()]
        for done in _carry_out(bench, recordings, seed, begun.done if begun else ()):
            emit(StepDone(number, done))
    keeper.end_trial()
    trial = results.reduce_trial(context, path, number, seed)
    store.write_text(path / SAMPLES, store.samples_text(trial))
    if trial.lines:
        store.write_text(path / LINES, "".join(line + "\n" for line in trial.lines))
    emit(TrialFinished(trial, hashes(path, list(bench.monitors))))
    return trial


def _rail_folder(path: Path, rail: str) -> Path:
    try:
        (path / rail).mkdir(exist_ok=True)
    except OSError as error:
        raise storage_error(error, path / rail) from error
    return path / rail


def _carry_out(bench: Bench, recordings: Sequence[Recording], seed: int, before: Sequence[Done] = ()) -> Iterator[Done]:
    """Do the steps of one trial between two SYNC bursts; those `before` are done already, in a sitting that was cut off."""
    at = before[-1].number if before else 0
    yield Done(at, None, bench.sut.sync())
    plan, number, completion = bench.scenario.plan(bench.task, seed), 0, None
    known = {item.number: item for item in before if item.step is not None}
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
        for index in list(loaded)[-bench.sut.info.slots :]:
            bench.sut.load(index, bench.task.payload(index))
        loaded.clear()
        for recording in recordings:
            recording.check()
        completion = _do(bench, step)
        if completion is not None:
            yield _done(bench.task, number, step, completion)
    yield Done(max(number, at) + 1, None, bench.sut.sync())
    for recording in recordings:
        recording.check()


def _known(step: Step, item: Done | None, loaded: dict[int, None]) -> Completion | None:
    """Return what came of a step in an earlier sitting; note what the device had in its memory by then."""
    if item is not None and item.step != step:
        raise DataError(
            f"step {item.number} was {item.step}, the plan has {step}",
            try_next="rig run, for a new session: this one's plan has changed",
        )
    if isinstance(step, Load) and item is None:
        loaded.pop(step.index, None)
        loaded[step.index] = None
    return item.completion if item is not None else None


def _do(bench: Bench, step: Step) -> Completion | None:
    match step:
        case Load():
            return _load(bench, step)
        case Idle(duration_s):
            return bench.sut.idle(duration_s)
        case Query():
            return bench.sut.run(step)
        case Solve():
            if not isinstance(bench.sut, Solving):
                raise LocalProtocolError(f"{bench.sut.info.name} cannot search by itself")
            return bench.sut.solve(step)
        case Stream():
            if not isinstance(bench.sut, Streaming):
                raise LocalProtocolError(f"{bench.sut.info.name} cannot listen to a stream")
            return bench.sut.stream(step, _windows(bench.task, step))


def _load(bench: Bench, step: Load) -> Completion | None:
    payload = bench.task.payload(step.index)
    try:
        bench.sut.load(step.index, payload)
    except (SutError, LocalProtocolError) as error:
        # What a device says that it cannot hold, its backend may refuse already.
        if not step.optional:
            raise
        return Completion((), refusal=" ".join(filter(None, (error.cause, error.evidence))))
    return None


def _windows(task: Task, step: Stream) -> Windows:
    """Return the payload of each window of a stream: what is played, cut anew every hop."""
    assert isinstance(task, Played)
    width_b = task.sample_b
    scenes = (b"".join(task.payload(index) for index in scene.indices)[: scene.samples * width_b] for scene in step.scenes)
    return Windows(b"".join(scenes), step, width_b)


def _done(task: Task, number: int, step: Step, completion: Completion) -> Done:
    """Score what a query's samples, or a stream's windows, were answered; several outputs follow each other, all of one length."""
    if isinstance(step, Stream):
        return Done(number, step, completion, each=streaming.scores(task, step, completion))
    if isinstance(step, Solve):
        return Done(number, step, completion, _searched(task, step, completion))
    if not isinstance(step, Query):
        return Done(number, step, completion)
    if not step.batch:
        return Done(number, step, completion, task.score(step.indices[0], completion.output))
    length_b, rest_b = divmod(len(completion.output), len(step.indices))
    if rest_b:
        raise RemoteProtocolError(f"{len(completion.output)} bytes are no outputs of one length for {len(step.indices)} samples")
    outputs = [completion.output[at * length_b : (at + 1) * length_b] for at in range(len(step.indices))]
    each = tuple(task.score(index, output) for index, output in zip(step.indices, outputs, strict=True))
    return Done(number, step, completion, each=each)


def _searched(task: Task, step: Solve, completion: Completion) -> Score:
    """Score what a search found; an answer of no use makes the trial a problem, and does not end the session."""
    try:
        return task.score(step.index, completion.output)
    except RemoteProtocolError as error:
        case = task.cell(step.index) if isinstance(task, Optimized) else ""
        return Score(False, "", "", case=case, fault=error.cause)


def refuse_mismatch(info: SutInfo, task: Task) -> None:
    """Raise where the device runs another workload or another model than the bench says, or cannot be tied to energy."""
    if not (task.accepts(info) if isinstance(task, Chooser) else info.task in (task.name, "any", "")):
        raise LocalProtocolError(
            f"the device runs {info.task or info.model!r}, the bench asks for {task.name!r}",
            evidence="" if info.task else f"the model it names: {info.model}",
            try_next="flash the other workload, or change [task.*]",
        )
    model = task.provenance().get("model", "")
    if info.task == task.name and model and info.model != model:
        raise LocalProtocolError(
            f"the device runs model {info.model!r}, the bench says {model!r}",
            try_next=f"flash the other image, or name the device's model: task.{task.name}.model",
        )
    if not info.has_sync_line and info.clock != "CLOCK_MONOTONIC":
        raise BenchError(
            "the device has no SYNC line, so energy cannot be tied to its phases", try_next="give its port a mark() and a pin"
        )


def _refuse_invisible_pulses(bench: Bench) -> None:
    hold_s = bench.sut.info.sync_hold_s
    for rail, monitor in bench.monitors.items():
        info = monitor.info
        if info.sync == "clock" and bench.sut.info.clock == "CLOCK_MONOTONIC":
            continue  # the device is the host, and its marks count the clock that the monitor reads
        if not bench.sut.info.has_sync_line and not info.simulated:
            raise ConfigError(
                f"{bench.sut.info.name} has no SYNC line for {info.name} to see",
                path=f"{f'rail.{rail}' if rail else 'monitor'}.{bench.config.monitors[rail].kind}",
                try_next="a monitor that reads this host's own clock (rapl, nvml), or a simulated one for a try",
            )
        if info.sync in ("none", "clock"):
            raise ConfigError(
                f"{info.name} sees no SYNC line, so energy cannot be tied to phases",
                path=f"{f'rail.{rail}' if rail else 'monitor'}.{bench.config.monitors[rail].kind}",
                try_next="a monitor that sees edges (rig list)"
                + (
                    ", or a SUT that is this host and counts its clock: [sut.cpu], or [sut.posix] host_clock = true"
                    if info.sync == "clock"
                    else ""
                ),
            )
        needed_s = info.min_pulse_s or 2 / info.edge_hz
        if hold_s and hold_s < needed_s * (1 - 1e-9):
            raise ConfigError(
                f"a SYNC pulse of {hold_s * 1e6:g} us can be missed by {info.name}, which needs {needed_s * 1e6:g} us",
                path=f"sut.{bench.config.sut.kind}.sync_hold_us",
                try_next=f"{math.ceil(needed_s * 1e6 - 1e-6)} or more, or a faster monitor",
            )


def _provenance(bench: Bench, bench_toml: str, batches: bool) -> dict[str, Any]:
    sut = dataclasses.asdict(bench.sut.info)
    rails = {rail: dataclasses.asdict(monitor.info) for rail, monitor in bench.monitors.items()}
    # A device that marks only start and end has one phase: the last, as its time stamps stand around the inference.
    phases = list(bench.task.phases) if bench.sut.info.marks_phases else list(bench.task.phases[-1:])
    # The window of a batch holds all phases of all its samples, and shows none of them apart.
    phases = ["batch"] if batches else phases
    task = {"name": bench.task.name, "phases": phases, "samples": len(bench.task)} | bench.task.provenance()
    if isinstance(bench.task, Optimized):
        task["names"] = [bench.task.workload(index) for index in range(len(bench.task))]
    return provenance.collect(bench_toml) | {
        "simulated": bool(bench.sut.info.simulated or any(monitor.info.simulated for monitor in bench.monitors.values())),
        "sut": sut,
        "monitors": rails,
        "task": task,
        "metadata": bench.config.metadata,
    }
