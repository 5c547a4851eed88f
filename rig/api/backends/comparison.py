# SPDX-License-Identifier: Apache-2.0
"""Sessions of one model compared: each with the reference, and its main numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from rig.api.backends import agreement as agreeing
from rig.api.backends import trains
from rig.api.backends.agreement import Agreed, Agreement, Answers
from rig.api.backends.file_reference import FileRun, of_file, with_membranes
from rig.api.backends.rows import (
    AS_FILE,
    AS_INTEGERS,
    BLOCKS,
    INSTRUCTIONS,
    SETTING,
    BackendRow,
    ComparedBackend,
    Figure,
    ModelComparison,
)
from rig.api.sessions.session import Session
from rig.bench import config, plugins
from rig.bench.parts import open_task
from rig.check.replay import Replay
from rig.errors import DataError, RigError
from rig.interfaces.task import Task
from rig.model.metric import Prominence, Statistic
from rig.network.conventions import NOT_STATED, STATE_IT
from rig.results import changed, origins
from rig.results.complexity import of_facts
from rig.results.document import MetricResult, Results
from rig.results.results import UNMETERED, Context
from rig.results.verdict import Outcome
from rig.store.session_folder import BENCH, SessionFolder

#: A detail of an emulated board: an instruction takes 2**shift ns.
_SHIFT = "icount_shift"
_NO_REFERENCE = "none: the task has no answers of its own, or its samples are not here"


def compare(
    backends: Sequence[ComparedBackend], task: Task | None = None
) -> ModelComparison:
    """Compare sessions of one model on the same samples; raises DataError where they
    are not that, or none has results.

    The reference is the task's network, its NIR file in floating point; of a task that
    was trained in whole numbers, and of one without a network, the task's own answers.
    No session is a reference for another, so that their order changes the order of the
    rows alone. `task` has the samples; without one it is opened from a session's bench
    file.
    """
    sessions = [each.session for each in backends if each.session is not None]
    if not sessions:
        raise _no_results(backends)
    first = sessions[0].results
    _refuse_others(sessions)
    answers_of = {
        each.name: agreeing.answers(each.session) for each in backends if each.session
    }
    kept = {each.name: trains.read(each.session) for each in backends if each.session}
    task = task or next(filter(None, map(_task, sessions)), None)
    indices = sorted(set().union(*answers_of.values()))
    references = _references(task, indices, _replica(sessions[0]))
    reference, second = [*references, None, None][:2]
    rows = []
    for each in backends:
        if each.session is None:
            rows.append(BackendRow(each.name, failure=each.failure))
            continue
        answers, own = answers_of[each.name], kept[each.name]
        agreement = reference.agreement(answers, own) if reference else None
        beside = second.agreed(answers) if second else None
        rows.append(_row(each.name, each.session, agreement, beside))
    beside_name, quantisation = "", None
    if reference is not None and second is not None:
        beside_name = AS_FILE if second.file else AS_INTEGERS
        quantisation = reference.agreement(second.answers, second.kept)
    facts = first.provenance.task
    source = first.data.statement or first.data.source
    reference_name = reference.name(facts.model) if reference else _NO_REFERENCE
    return ModelComparison(
        model=facts.model,
        task=first.task,
        scenario=first.scenario,
        samples=facts.samples,
        data=", ".join(filter(None, (source, facts.subset))),
        reference=reference_name,
        rows=tuple(rows),
        beside=beside_name,
        quantisation=quantisation,
        complexity=of_facts(first.provenance.stored),
        notes=(*_notes(rows), *_of_reset(facts.stored)),
        metrics=_metrics(rows),
    )


def _no_results(backends: Sequence[ComparedBackend]) -> DataError:
    """Return the error where no backend ran: with what to try where all have one
    reason.
    """
    failures = {each.name: each.failure for each in backends if each.failure}
    cause = "no backend has results"
    if len(set(failures.values())) == 1:
        first = next(iter(failures.values()))
        evidence = ": ".join(filter(None, (first.cause, first.evidence)))
        return DataError(cause, evidence=evidence, try_next=first.try_next)
    reasons = [f"{name}: {failure.cause}" for name, failure in failures.items()]
    return DataError(
        cause,
        evidence="; ".join(reasons),
        try_next="what is printed at each backend, above",
    )


def _of_reset(facts: Mapping[str, Any]) -> list[str]:
    """Return the note that the reset is a guess, where neither the file nor the bench
    says it."""
    if facts.get("reset_is_stated", True):
        return []
    remark = f"{NOT_STATED}: run by the rule {facts.get('rule')}; try: {STATE_IT}"
    return [remark]


def _metrics(rows: Sequence[BackendRow]) -> tuple[str, ...]:
    """Return the metrics of all rows in an order that does not depend on that of the
    rows."""
    places: dict[str, int] = {}
    for row in rows:
        for place, one in enumerate(row.figures):
            places[one.metric] = min(place, places.get(one.metric, place))
    return tuple(sorted(places, key=lambda name: (places[name], name)))


def _refuse_others(sessions: Sequence[Session]) -> None:
    """Raise DataError for sessions of several models, or of several sets of samples."""
    first = about(sessions[0])
    for session in sessions[1:]:
        now = about(session)
        if differing := [key for key in first if now.get(key) != first[key]]:
            key = differing[0]
            raise DataError(
                "these sessions are not of one model and one set of samples",
                evidence=(
                    f"{key}: {now.get(key)!r:.80} in {session.path.name},"
                    f" {first[key]!r:.80} in {sessions[0].path.name}"
                ),
                try_next=(
                    "rig compare A B, which shows what differs between two sessions"
                ),
            )


def about(session: Session) -> dict[str, Any]:
    """Return a session's scenario, and the facts that identify model and samples."""
    results = session.results
    facts = results.provenance.task.stored
    keys = ["name", "model", "samples", "subset", "data"]
    keys += [key for key in facts if key.endswith("sha256")]
    return {"scenario": results.scenario} | {key: facts.get(key) for key in keys}


def _replica(session: Session) -> Task | None:
    """Return the session's task without its data, which knows the parts of an
    output."""
    with suppress(RigError):
        replay = Replay.of(Context.of(SessionFolder(session.path)))
        return replay.task if replay is not None else None
    return None


def _task(first: Session) -> Task | None:
    """Return the task of a session with its data, where these are here."""
    with suppress(RigError):
        return open_task(config.load(first.path / BENCH))[0]
    return None


@dataclass(frozen=True, slots=True)
class _Reference:
    """Answers and spike trains that sessions are compared with: those of the file in
    floating point, or the task's own; `parted` knows the parts of an output.
    """

    task: Task
    parted: Task
    answers: Answers
    kept: trains.Trains
    file: FileRun | None = None

    def name(self, model: str) -> str:
        """Return whose answers they are."""
        if self.file is None:
            return ", ".join(filter(None, ("the task's own answers", model)))
        return f"the file of {model} in floating point, rule {self.file.rule}"

    def agreement(self, answered: Answers, kept: trains.Trains) -> Agreement:
        """Compare answers, trains where there are any, and membranes."""
        found = agreeing.agreement(answered, self.answers, self.parted)
        agreed = trains.agreed(kept, self.kept)
        if agreed is not None:
            found = replace(found, parts=(agreed, *found.parts))
        if self.file is None:
            return found
        return with_membranes(found, answered, self.file, self.task)

    def agreed(self, answered: Answers) -> Agreed:
        """Return on how many samples answers agree: with whole numbers in all outputs,
        with floating point in decisions.
        """
        agreement = agreeing.agreement(answered, self.answers, None)
        return agreement.outputs if self.file is None else agreement.decisions


def _references(
    task: Task | None, indices: Sequence[int], replica: Task | None
) -> list[_Reference]:
    """Return the reference of a task, and what stands beside it, as far as they are
    there.

    A task that has the trains of its own answers was trained by the rule that its file
    states in whole numbers: its own answers are the reference, and the file in floating
    point stands beside. Of any other network the file is the reference, and the network
    in whole numbers beside.
    """
    notes: list[_Reference] = []
    if task is None:
        return notes
    tasks = task, replica or task
    file = of_file(task, indices)
    if file is not None:
        notes.append(_Reference(*tasks, file.answers, file.trains, file))
    right_answers = agreeing.of_task(task, indices)
    if right_answers is not None:
        kept = trains.of_task(task, indices)
        notes.append(_Reference(*tasks, right_answers, kept))
        if kept and task.membrane_unit is None:
            notes.reverse()
    return notes


def _row(
    name: str, session: Session, agreement: Agreement | None, beside: Agreed | None
) -> BackendRow:
    results = session.results
    sut = results.provenance.sut
    labels = (*results.labels, *changed.mark(session.changed))
    return BackendRow(
        name=name,
        session=session.path,
        sut=sut.name,
        kind=sut.kind,
        monitor=results.monitor,
        trials=len(results.trials),
        valid=session.valid,
        verdict=session.verdict.outcome,
        reason=session.verdict.reason,
        labels=tuple(label.text for label in labels),
        rule=_rule(sut.details),
        counts=_counts(session),
        instructions=_instructions(results),
        agreement=agreement,
        beside=beside,
        figures=tuple(_figures(results)),
    )


def _rule(details: Mapping[str, Any]) -> str:
    """Return how a backend runs the network by its own statement: the reason where its
    rule is not the file's, else its arithmetic or program; empty where it states none.
    """
    if differs := details.get("rule differs"):
        return f"differs: {differs}"
    for key in ("answers", "arithmetic", "program"):
        if isinstance(details.get(key), str):
            return f"{key}: {details[key]}"
    return "the file's rule" if "rule" in details else ""


def _counts(session: Session) -> str:
    """Return the unit that the simulated times of a session count; empty where they
    are none, or those of a simulator on this computer.
    """
    sut = session.results.provenance.sut
    if not sut.simulated:
        return ""
    if _SHIFT in sut.details:
        return INSTRUCTIONS
    if "block_ns" in sut.details:
        return BLOCKS
    with suppress(RigError):
        choice = config.load(session.path / BENCH).sut
        if plugins.find("sut", choice.kind).step_s(choice.settings):
            return SETTING
    return ""


def _instructions(results: Results) -> float | None:
    """Return the instructions of an inference, which an emulator counts by its time:
    those of the task's last phase.
    """
    provenance = results.provenance
    shift = provenance.sut.details.get(_SHIFT)
    latency = results.metrics.get(f"latency_{provenance.task.phases[-1]}")
    if not isinstance(shift, int) or latency is None or latency.value is None:
        return None
    return float(latency.value * 1e9 / 2**shift)


def _figures(results: Results) -> list[Figure]:
    figures = []
    for name, metric in results.metrics.items():
        if metric.prominence is Prominence.HEADLINE:
            figures.append(figure_of(name, metric, results))
    return figures


def figure_of(name: str, metric: MetricResult, results: Results) -> Figure:
    """Return a metric of a session with its intervals and its origin."""
    same, other = metric.same_samples, metric.other_samples
    share = metric.statistic is Statistic.SHARE
    return Figure(
        metric=name,
        value=metric.value,
        unit=metric.unit,
        higher_is_better=metric.higher_is_better,
        same_samples=(same.low, same.high),
        other_samples=(other.low, other.high),
        shown="other samples" if share else "same samples",
        origin=_origin(metric.unit, results),
        reason=(other if share else same).reason,
    )


def _origin(unit: str, results: Results) -> str:
    """Return which of the four labels a number has: times that of the device's times,
    powers and energies that of its energies.
    """
    found = origins.of_facts(results.provenance.stored)
    if unit == "s":
        return str(found.time)
    return str(found.energy or "") if unit in ("W", "J") else ""


def _notes(rows: Sequence[BackendRow]) -> list[str]:
    """Return the notes that stand before the numbers."""
    notes = []
    labels = set(chain.from_iterable(row.labels for row in rows))
    for label in sorted(labels):
        labelled = [row.name for row in rows if label in row.labels]
        notes.append(f"{label}: {_listed(labelled, rows)}")
    unmetered = [row.name for row in rows if row.monitor == UNMETERED]
    if unmetered:
        listed = _listed(unmetered, rows)
        notes.append(f"no energy, as the session has no monitor: {listed}")
    for row in rows:
        if changed.CHANGED in row.labels:
            notes.append(
                f"{row.name}: {row.reason}; its numbers may not be those of the run"
            )
        elif row.failure is None and not row.valid:
            notes.append(f"{row.name}: a trial is invalid; its numbers are no results")
        elif row.failure is None and row.verdict is not Outcome.PASS:
            word = "" if row.verdict is None else row.verdict.upper()
            notes.append(f"{row.name}: {word}: {row.reason}")
    return notes


def _listed(names: Sequence[str], rows: Sequence[BackendRow]) -> str:
    everyone = len(names) == sum(row.failure is None for row in rows)
    return "all" if everyone else ", ".join(names)
