# SPDX-License-Identifier: Apache-2.0
"""A session folder -> trials, metrics, verdicts: the one way to every reported number,
used by the run and by the check alike.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path

from rig.bench import config, plugins
from rig.bench.config import REDUCED_RATE, Config
from rig.errors import DataError, errors_in
from rig.files import typed
from rig.interfaces.context import BenchContext
from rig.interfaces.scenario import Scenario
from rig.measure import repeated_answers
from rig.measure.measure import MeasuredTrial, Rail, attached, measure, together
from rig.model import grid
from rig.model.catalogue import Entry
from rig.model.comparison import Compared
from rig.model.grid import Coverage, Covered
from rig.model.metric import Metric
from rig.model.step_record import StepRecord
from rig.model.trial import Measured, Trial
from rig.problems import Problem
from rig.results import (
    claim,
    document,
    interleaving,
    judging,
    labels,
    origins,
    replication,
    resolution,
    result_lines,
    session_verdicts,
)
from rig.results.document import (
    BetweenWindows,
    MetricResult,
    RailResult,
    Results,
    SampleCounts,
    TrialResult,
    VerdictResult,
)
from rig.results.judging import Measurement
from rig.results.metric_result import metric_result, statements
from rig.store import provenance_file, session_folder
from rig.store.provenance_file import Provenance
from rig.store.segments import counted, cut, segments, word
from rig.store.session_folder import (
    BENCH,
    CATALOGUE,
    PROVENANCE,
    RESULTS,
    SessionFolder,
)
from rig.timebase.align import Alignment
from rig.timebase.edge_clock import EDGE_CLOCK
from rig.timebase.timebase import Timebase
from rig.trace.reduced import MARGIN_S, MEAN_HZ
from rig.trace.trace import TRACE, Trace
from rig.uncertainty import budget
from rig.uncertainty.jackknife import jackknife

#: From this schema on a metric of results.json states its properties.
STATED_SINCE = 4
#: The monitor of a session without one.
UNMETERED = "no energy monitor"
#: Units of metrics that need an energy monitor, and the reason of their absence.
_ENERGETIC = ("J", "W")
NO_ENERGY = "there is no energy monitor: [monitor.none]"


@dataclass(frozen=True, slots=True)
class RecordedTrial:
    """Steps and open traces of one recording, segment by segment, and how the marks of
    each segment are attached to its traces; None where the measurement attaches them.
    """

    steps: Sequence[Sequence[StepRecord]]
    rails: Sequence[Sequence[Rail]]
    alignments: Sequence[Sequence[Alignment] | None]

    @property
    def done(self) -> list[StepRecord]:
        """The steps of all segments."""
        return list(chain.from_iterable(self.steps))


@dataclass(slots=True)
class Recordings:
    """Steps and traces of the trial that was read last: interleaved trials share one
    recording, and a check reads the steps of each trial three times.
    """

    _steps: tuple[Path, list[list[StepRecord]]] | None = None
    _last: tuple[Path, Path, RecordedTrial] | None = None

    def steps(self, folder: Path) -> list[list[StepRecord]]:
        """Return the steps of a trial, segment by segment."""
        if self._steps is None or self._steps[0] != folder:
            self._steps = None
            self._steps = folder, counted(folder)
        return self._steps[1]

    def keep(self, folder: Path, read: list[list[StepRecord]]) -> None:
        """Take the steps of a trial as they were just read, segment by segment."""
        self._steps = folder, cut(read)

    def of(self, context: Context, folder: Path, traces: Path) -> RecordedTrial:
        """Return the recording of a trial; of interleaved ones it is read once."""
        if self._last is None or self._last[:2] != (folder, traces):
            # The memory of the one before is free while the next is read.
            self._last = None
            self._last = folder, traces, self._read(context, folder, traces)
        return self._last[2]

    def _read(self, context: Context, folder: Path, traces: Path) -> RecordedTrial:
        sut = context.provenance.sut
        places = segments(folder)
        steps = self.steps(folder)
        rails = [
            rails_of(context, traces / place.relative_to(folder)) for place in places
        ]
        alignments: list[Sequence[Alignment] | None] = [None] * len(places)
        if context.interleaved and sut.clock != EDGE_CLOCK:
            alignments = []
            for place, done, own in zip(places, steps, rails, strict=True):
                open_end = place != places[-1]
                alignment = attached(
                    done,
                    sut.tick_hz,
                    sut.sync_hold_s,
                    own,
                    sut.clock,
                    open_end=open_end,
                )
                alignments.append(alignment)
        return RecordedTrial(steps, rails, alignments)


@dataclass(frozen=True, slots=True)
class Context:
    """The data that reduce a trial, besides the raw files; all of them are in the
    session folder.
    """

    config: Config
    scenario: Scenario
    provenance: Provenance
    catalogue: tuple[Entry, ...] = ()
    recordings: Recordings = field(
        default_factory=Recordings, compare=False, repr=False
    )

    @classmethod
    def of(cls, folder: SessionFolder) -> Context:
        """Read it; raises DataError where the bench cannot be read."""
        with errors_in(BENCH):
            folder.bench_text()
            resolved = config.load(folder.path / BENCH)
            kind = plugins.find("scenario", resolved.scenario.kind)
            scenario = kind.open(resolved.scenario.settings, BenchContext())
        with errors_in(PROVENANCE):
            provenance = provenance_file.read(folder)
        with errors_in(CATALOGUE):
            entries = folder.catalogue()
        return cls(resolved, scenario, provenance, entries)

    @property
    def phases(self) -> list[str]:
        """The names of the task's phases, in order."""
        return list(self.provenance.task.phases)

    @property
    def interleaved(self) -> bool:
        """Whether the trials took turns, in one recording."""
        return self.provenance.interleaved

    @property
    def monitored(self) -> bool:
        """Whether an energy monitor recorded: a session without one has no traces, and
        no energies.
        """
        return bool(self.provenance.monitors)

    def summarise(self, measured: Measured) -> dict[str, Metric]:
        """Reduce one trial to metrics; without a monitor there are none of energy."""
        return self._known(self.scenario.summarise(measured, self.phases))

    def summarise_variation(self, measured: Measured) -> dict[str, Metric]:
        """Reduce a variation of a trial to the same metrics; some scenarios leave out
        their standard errors.
        """
        metrics = self.scenario.summarise_variation(measured, self.phases)
        return self._known(metrics)

    def _known(self, metrics: dict[str, Metric]) -> dict[str, Metric]:
        """Return the metrics that a session with these monitors can have."""
        if self.monitored:
            return metrics
        return {
            name: metric
            for name, metric in metrics.items()
            if metric.unit not in _ENERGETIC
        }


def reduce_trial(
    context: Context, folder: Path, number: int, seed: int, traces: Path | None = None
) -> Trial:
    """Measure one trial from its raw files; `traces` is the folder of the traces where
    they do not lie in `folder`, which is the one that has the recording
    (SessionFolder.recorded).
    """
    recording = context.recordings.of(context, folder, traces or folder)
    outcome = _measured(context, recording, folder, number)

    metrics = context.summarise(outcome.measured)
    influences = budget.influences(
        outcome.measured, metrics, context.summarise_variation
    )
    if context.interleaved:
        influences = interleaving.common(influences)
    problems = (*outcome.problems, *context.scenario.problems(outcome.measured))
    return typed.like(
        Trial,
        outcome,
        number=number,
        seed=seed,
        metrics=metrics,
        problems=problems,
        influences=influences,
        lines=_lines(context, outcome.measured, problems),
        segments=len(segments(folder)),
        survey=_survey(context, recording.done),
    )


def survey_of(context: Context, folder: Path) -> tuple[Covered, ...]:
    """List the cells of its plan that a trial has done, also one that was cut off or
    never begun; empty where the plan is no grid.
    """
    return _survey(context, list(chain.from_iterable(counted(folder))))


def _survey(context: Context, done: Sequence[StepRecord]) -> tuple[Covered, ...]:
    return context.scenario.survey(context.provenance.task.names, done)


def rails_of(context: Context, folder: Path) -> list[Rail]:
    """Open the traces of a segment."""
    rails = []
    for name, info in context.provenance.monitors.items():
        trace = Trace.open(folder / name / TRACE)
        rails.append(Rail(name, trace, info.accuracy))
    return rails


def _measured(
    context: Context, recording: RecordedTrial, folder: Path, number: int
) -> MeasuredTrial:
    """Measure each segment of a trial, and join them."""
    sut = context.provenance.sut
    device_clock = context.provenance.device_clock
    if not context.monitored and device_clock is None:
        raise DataError(f"{PROVENANCE} has no device_clock, and no monitor")
    clock_ppm = device_clock.limit_ppm if device_clock is not None else 0.0
    trial = number if context.interleaved else 0
    last = len(recording.steps) - 1
    parts = []
    for place, done in enumerate(recording.steps):
        part = measure(
            done=done,
            phases=context.phases,
            tick_hz=sut.tick_hz,
            hold_s=sut.sync_hold_s,
            rails=recording.rails[place],
            clock=sut.clock,
            open_end=place != last,
            device_clock_ppm=clock_ppm,
            trial=trial,
            alignments=recording.alignments[place],
        )
        parts.append(part)
    outcome = together(parts, word(folder))
    changed = repeated_answers.changed(recording.done, trial)
    return dataclasses.replace(outcome, problems=(*outcome.problems, *changed))


def _lines(
    context: Context, measured: Measured, problems: Sequence[Problem]
) -> tuple[str, ...]:
    """Make the lines of a trial; of one that does not count, its problems instead."""
    if not context.scenario.states_lines:
        return ()
    lines = () if problems else context.scenario.lines(measured)
    return result_lines.of_trial(context.provenance.stored, lines, problems)


def derive(context: Context, trials: Sequence[Trial]) -> Results:
    """Derive the content of results.json."""
    about = context.provenance
    names = _common(trials)
    metrics = _metrics(context, trials, names)
    monitors = about.monitors.values()
    bench = context.config.bench
    reduced = bench.between_windows == REDUCED_RATE
    covered = grid.summed(trial.survey for trial in trials)
    replicated, audit = _verdicts(context, trials, metrics)
    results = Results(
        bench=bench.name,
        task=about.task.name,
        scenario=context.config.scenario.kind,
        sut=about.sut.name,
        monitor=" + ".join(info.name for info in monitors) or UNMETERED,
        simulated=about.simulated,
        origins=origins.of_parts(
            (about.sut.simulated, about.sut.origins),
            [(info.simulated, info.origin) for info in monitors],
        ),
        data=labels.statement(about.task.stored),
        samples=SampleCounts(
            tuple(len(trial.measured.samples) for trial in trials),
            tuple(f"trial-{trial.number}/samples.jsonl" for trial in trials),
        ),
        trials=tuple(_trial(trial) for trial in trials),
        metrics=metrics,
        absent=_absent(context, trials),
        replication=replicated,
        resolution=tuple(resolution.resolve(trials, context.phases)),
        problems=_problems(trials),
        provenance=about,
        between_windows=BetweenWindows(1 / MEAN_HZ, MARGIN_S) if reduced else None,
        coverage=Coverage.of(covered) if covered else None,
        targets=_targets(context.scenario, trials),
        audit=audit,
    )
    return document.finite(results)


def _verdicts(
    context: Context, trials: Sequence[Trial], metrics: dict[str, MetricResult]
) -> tuple[VerdictResult, VerdictResult | None]:
    """Judge the trials, or the claim of the bench by replication and audit."""
    invalid = sum(not trial.valid for trial in trials)
    outside = session_verdicts.outside(context.provenance, metrics)
    measured = Measurement(
        metrics=metrics,
        trials=len(trials),
        invalid=invalid,
        outside=outside,
    )
    stated = partial(
        session_verdicts.verdict_result,
        metrics=metrics,
        interleaved=context.interleaved,
    )
    claimed = claim.of_values(context.config.claim)
    if not claimed:
        return stated(judging.of_trials(measured), policy=replication.POLICY), None
    judged = judging.of_claim(claimed, measured)
    return stated(judged.replication, policy=replication.POLICY), stated(judged.audit)


def _targets(
    scenario: Scenario, trials: Sequence[Trial]
) -> tuple[Compared, ...] | None:
    rows = scenario.comparisons([trial.measured for trial in trials])
    return None if rows is None else tuple(rows)


def read(folder: SessionFolder, trials: Sequence[Trial] = ()) -> Results:
    """Read results.json. Properties of metrics that an older schema does not state are
    taken from `trials`, which are reduced again where they are not given.
    """
    path = folder.path / RESULTS
    stored = document.read(path)
    if document.schema_of(session_folder.read_json(path)) >= STATED_SINCE:
        return stored
    if not trials:
        context = Context.of(folder)
        reduced = []
        for trial in stored.trials:
            recorded = folder.recorded(trial.number)
            reduced.append(reduce_trial(context, recorded, trial.number, trial.seed))
        trials = reduced
    metrics = {}
    for name, metric in stored.metrics.items():
        single = [trial.metrics[name] for trial in trials]
        metrics[name] = dataclasses.replace(metric, **statements(single))
    return dataclasses.replace(stored, metrics=metrics)


def _problems(trials: Sequence[Trial]) -> tuple[Problem, ...]:
    """Collect the problems of all trials, each with the number of its trial."""
    problems: list[Problem] = []
    for trial in trials:
        for problem in trial.problems:
            problems.append(dataclasses.replace(problem, trial=trial.number))
    return tuple(problems)


def _common(trials: Sequence[Trial]) -> list[str]:
    """List the metrics that all trials have: an invalid one may lack some."""
    if not trials:
        return []
    names = list(trials[0].metrics)
    for trial in trials:
        names = [name for name in names if name in trial.metrics]
    return names


def _absent(context: Context, trials: Sequence[Trial]) -> dict[str, str]:
    scenario = context.scenario
    reasons = dict[str, str]()
    for trial in trials:
        if not context.monitored:
            metrics = scenario.summarise(trial.measured, context.phases)
            reasons |= {
                name: NO_ENERGY
                for name, metric in metrics.items()
                if metric.unit in _ENERGETIC
            }
        for name, reason in scenario.absent(trial.measured).items():
            reasons.setdefault(name, f"trial {trial.number}: {reason}")
    return reasons


def _trial(trial: Trial) -> TrialResult:
    rails = {
        name: _rail(timebase, trial.timebase)
        for name, timebase in trial.rails.items()
        if name
    }
    samples = len(trial.measured.samples)
    return typed.like(TrialResult, trial, samples=samples, rails=rails)


def _rail(timebase: Timebase, reference: Timebase | None) -> RailResult:
    """Compute the skew of one of several monitors' clocks against the first one's."""
    skew_ppm = (
        None
        if reference is None
        else (timebase.s_per_tick / reference.s_per_tick - 1) * 1e6
    )
    return RailResult(timebase, skew_ppm, _skew_u_ppm(timebase, reference))


def _skew_u_ppm(timebase: Timebase, reference: Timebase | None) -> float | None:
    if reference is None or timebase.slope_u is None or reference.slope_u is None:
        return None
    return (
        0.0
        if timebase is reference
        else math.hypot(timebase.slope_u, reference.slope_u) * 1e6
    )


def _metrics(
    context: Context, trials: Sequence[Trial], names: Sequence[str]
) -> dict[str, MetricResult]:
    if not trials:
        return {}
    knife = jackknife(trials, context.catalogue, context.summarise_variation)
    measured = [trial.measured for trial in trials]
    intervals = context.scenario.intervals(measured, context.phases)
    values = context.scenario.pooled_metrics(measured, context.phases)
    rows = {
        name: metric_result(name, trials, knife, intervals.get(name)) for name in names
    }
    if context.interleaved:
        rows = {name: interleaving.noted(row) for name, row in rows.items()}
    for name in rows.keys() & values.keys():
        rows[name] = dataclasses.replace(rows[name], value=values[name])
    return rows
