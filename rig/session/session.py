# SPDX-License-Identifier: Apache-2.0
"""Open a bench, run trials, emit events: the only orchestrator."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rig.bench import own_calibration
from rig.bench.compatibility import (
    refuse_invisible_pulses,
    refuse_mismatch,
    refuse_unmetered,
)
from rig.errors import ConfigError, RigError
from rig.files import small_text
from rig.host.stop import Stop
from rig.interfaces.context import Wire
from rig.interfaces.task import OptimizationTask
from rig.kinds import registry as kinds
from rig.live.block import Observer
from rig.model.metric import Metric
from rig.model.trial import Trial
from rig.results import document, results
from rig.results.document import Results
from rig.session import complexity, estimate
from rig.session.estimate import Estimate
from rig.session.open_parts import BenchParts, open_parts
from rig.session.planning import refuse_claim, refuse_unresolved, steps
from rig.session.resume import Standing, refuse_finished, standing
from rig.session.time_left import TimeLeft
from rig.session.trial import Running, run_trial
from rig.session.trial_count import trial_count
from rig.session.turns import interleaved, seed_of
from rig.store import provenance, provenance_file, session_folder
from rig.store.events import (
    Event,
    Recovering,
    SessionFinished,
    SessionResumed,
    SessionStarted,
    Subscriber,
    TrialKept,
)
from rig.store.session_folder import RESULTS, SessionFolder
from rig.store.writer import Store


@dataclass(frozen=True, slots=True)
class SessionResult:
    """A finished session: its folder, its trials, and its results."""

    folder: Path
    trials: tuple[Trial, ...]
    results: Results

    @property
    def content(self) -> dict[str, Any]:
        """The results as results.json has them."""
        return document.to_json(self.results)

    @property
    def metrics(self) -> dict[str, Metric]:
        """Each metric as stated for all trials, with its standard error over the
        samples of one.
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
        """Whether the verdict is PASS and every trial valid."""
        return self.results.ok


class Bench(BenchParts):
    """An open bench: the DUT is powered and has answered."""

    def run(
        self,
        trials: int | None = None,
        root: Path | str = "sessions",
        subscribers: Sequence[Subscriber] = (),
    ) -> SessionResult:
        """Run all trials into a new session folder; raises RigError, and Stopped where
        `stop` was asked for; measured data are kept in each case.
        """
        with self.context.stop.heard():
            return run(self, trials, Path(root), subscribers)


#: Opens a Bench, with the arguments of `open_parts` after its `kind`.
open_bench = partial(open_parts, Bench)


def run(
    bench: BenchParts,
    asked: int | None,
    root: Path,
    subscribers: Sequence[Subscriber],
) -> SessionResult:
    """Run the trials that are asked for, None: as many as the bench file says; reduce
    each from its raw files, and write the results.
    """
    trials = bench.config.bench.trials if asked is None else trial_count(asked)
    bench_toml = bench.config.toml()
    about, queries = _prepared(bench, bench_toml)
    planned = _estimated(bench, trials, root)
    estimate.refuse_no_room(
        needed_b=planned.known_b,
        folder=root,
        what="this session",
        try_next=(
            "free some room, another disk for the session, fewer trials, or a lower"
            " sampling rate"
        ),
    )
    kept = bench.task.kept()
    calibrations = {}
    for rail, path in own_calibration.files(bench.config.monitors).items():
        name = own_calibration.kept_name(rail)
        calibrations[name] = small_text.read_block(path)
    folder = SessionFolder.create(root, bench.config.bench.name)
    started = SessionStarted(
        folder=folder.path,
        trials=trials,
        queries=queries,
        provenance=about,
        catalogue=tuple(bench.task.catalogue()),
        kept=kept,
        calibrations=calibrations,
    )
    keeper = Store(folder, bench_toml)
    stands = Standing(trials, (), None)
    return _session(
        bench=bench,
        keeper=keeper,
        started=started,
        stands=stands,
        planned=planned,
        subscribers=subscribers,
    )


def resume(
    path: Path,
    subscribers: Sequence[Subscriber] = (),
    stop: Stop | None = None,
    *,
    observers: Sequence[Observer] = (),
    listeners: Sequence[Wire] = (),
) -> SessionResult:
    """Go on with a session that was cut off, on the same bench; other arguments as of
    `open_bench`.

    Finished trials stay; the one that was begun goes on after the last step that was
    measured completely, or, where a monitor is not resumable, begins again.

    Raises what `standing` does, and ConfigError where device, instruments, task or rig
    have changed.
    """
    folder = SessionFolder(path)
    refuse_finished(folder)
    again = 1 + sum(event.event == "session_resumed" for event in folder.events())
    with (
        closing(Store(folder, None)) as keeper,
        open_bench(
            path / session_folder.BENCH,
            (),
            subscribers,
            stop,
            again=again,
            observers=observers,
            listeners=listeners,
        ) as bench,
        bench.context.stop.heard(),
    ):
        now, queries = _prepared(bench, bench.config.toml())
        before = provenance_file.read(folder)
        if differences := provenance_file.changed(
            before, provenance_file.from_json(now)
        ):
            raise ConfigError(
                f"the bench is not what it was when {path} began",
                evidence="; ".join(differences),
                try_next="rig run, for a new session",
            )
        resumable = all(monitor.info.resumable for monitor in bench.monitors.values())

        def recovering(trace: Path, limit_s: float) -> None:
            for subscriber in subscribers:
                subscriber(Recovering(trace, limit_s))

        stands = standing(folder, results.Context.of(folder), resumable, recovering)
        if stands.begun:
            answered = sum(kinds.of(item.step).measured for item in stands.begun.done)
        else:
            answered = 0
        resumed = SessionResumed(
            path, stands.trials, queries, len(stands.finished), answered
        )
        planned = _estimated(bench, stands.trials, path.parent)
        return _session(bench, keeper, resumed, stands, planned)


def _estimated(bench: BenchParts, trials: int, root: Path) -> Estimate:
    infos = {rail: monitor.info for rail, monitor in bench.monitors.items()}
    return estimate.of_plan(
        bench.scenario, bench.task, bench.config, trials, root, monitors=infos
    )


def _prepared(bench: BenchParts, bench_toml: str) -> tuple[dict[str, Any], int]:
    """Refuse what cannot be measured, fit the scenario to the device; return the
    provenance, and the queries of a trial.
    """
    refuse_mismatch(bench.sut.info, bench.task)
    choices = bench.config.monitors
    monitors = {
        rail: (choices[rail].kind, monitor.info)
        for rail, monitor in bench.monitors.items()
    }
    refuse_invisible_pulses(bench.sut.info, bench.config.sut.kind, monitors)
    refuse_unmetered(bench.scenario, len(monitors))
    # A scenario that does not suit its task is refused before a lacking device.
    steps(bench.scenario, bench.task, 0)
    bench.scenario = bench.scenario.fitted(bench.sut.info)
    listed = steps(bench.scenario, bench.task, 0)
    infos = [monitor.info for monitor in bench.monitors.values()]
    refuse_unresolved(listed, bench.sut.info, infos)
    queries = [step for step in listed if kinds.of(step).measured]
    about = _provenance(bench, bench_toml, kinds.own_phases(queries))
    # A plug-in whose description has the wrong form is refused before a step is done.
    phases = provenance_file.from_json(about).task.phases
    refuse_claim(bench.config, bench.scenario, bench.task, phases)
    return about, len(queries)


def _session(
    bench: BenchParts,
    keeper: Store,
    started: SessionStarted | SessionResumed,
    stands: Standing,
    planned: Estimate,
    subscribers: Sequence[Subscriber] = (),
) -> SessionResult:
    folder = SessionFolder(started.folder)
    keeper.opened(bench.opening)
    remove = bench.listen(keeper.wire)
    more = (each for each in subscribers if each not in bench.subscribers)
    everyone: tuple[Subscriber, ...] = (keeper, *bench.subscribers, *more)

    def emit(event: Event) -> None:
        for subscriber in everyone:
            subscriber(event)

    try:
        emit(started)
        running = Running(
            trials=stands.trials,
            bench=bench,
            context=results.Context.of(folder),
            folder=folder,
            keeper=keeper,
            emit=emit,
            time_left=TimeLeft(planned),
            is_virtual=planned.virtual,
        )
        finished = _trials(running, stands)
        derived = results.derive(running.context, finished)
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
                SessionFinished(
                    "fail", str(error) if isinstance(error, RigError) else repr(error)
                )
            )
        raise
    finally:
        remove()
        with suppress(RigError, OSError):
            keeper.close()


def _trials(running: Running, stands: Standing) -> list[Trial]:
    """Reduce the trials that are finished, and run the others."""
    bench = running.bench
    trials = []
    for number in range(1, stands.trials + 1):
        if number in stands.finished:
            bench.context.stop.check()
            seed = seed_of(bench.scenario, bench.config.bench.seed, number)
            recorded = running.folder.recorded(number)
            kept = results.reduce_trial(running.context, recorded, number, seed)
            trials.append(kept)
            running.emit(TrialKept(kept))
            continue
        is_begun = stands.begun is not None and stands.begun.number == number
        trials.append(run_trial(running, number, stands.begun if is_begun else None))
        bench.context.stop.check()
    return trials


def _provenance(
    bench: BenchParts, bench_toml: str, own_phases: Sequence[str]
) -> dict[str, Any]:
    sut = dataclasses.asdict(bench.sut.info)
    rails = {
        rail: dataclasses.asdict(monitor.info)
        for rail, monitor in bench.monitors.items()
    }
    # A device that marks only start and end has one phase: the last, as its time stamps
    # stand around the inference.
    if bench.sut.info.marks_phases:
        phases = list(bench.task.phases)
    else:
        phases = list(bench.task.phases[-1:])
    # The window of a batch holds all phases of all its samples, and shows none of them
    # apart.
    phases = list(own_phases) or phases
    if isinstance(bench.task, OptimizationTask):
        names = {
            "names": [bench.task.workload(index) for index in range(len(bench.task))]
        }
    else:
        names = {}
    task = {
        "name": bench.task.name,
        "phases": phases,
        "samples": len(bench.task),
        **bench.task.provenance(),
        **complexity.facts(bench.task),
        **names,
    }
    none = bench.config.no_monitor
    clock = (
        {}
        if none is None
        else {
            "limit_ppm": none.settings.clock_ppm,
            "source": none.settings.clock_source,
        }
    )
    return provenance.collect(bench_toml) | {
        "uart_log": provenance_file.WHOLE,
        "simulated": bool(
            bench.sut.info.simulated
            or any(monitor.info.simulated for monitor in bench.monitors.values())
        ),
        "sut": sut,
        "monitors": rails,
        **({"device_clock": clock} if clock else {}),
        "task": task,
        "metadata": bench.config.metadata,
        **({"interleaved": True} if interleaved(bench.scenario) else {}),
    }
