# SPDX-License-Identifier: Apache-2.0
"""Sessions of one model compared: each with the reference, and its main numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from rig.api.backends import agreement as agreeing
from rig.api.backends import trains
from rig.api.backends.agreement import Agreement, Answers
from rig.api.backends.rows import Backend, BackendRow, Figure, ModelComparison
from rig.api.sessions.session import Session
from rig.bench import config
from rig.bench.parts import open_task
from rig.check.replay import Replay
from rig.errors import DataError, RigError
from rig.interfaces.task import Task
from rig.model.metric import Prominence, Statistic
from rig.results import origins
from rig.results.complexity import of_facts
from rig.results.document import MetricResult, Results
from rig.results.results import Context
from rig.store.session_folder import BENCH, SessionFolder


def compare(backends: Sequence[Backend], task: Task | None = None) -> ModelComparison:
    """Compare sessions of one model on the same samples; raises DataError where they are not that,
    or none has results.

    `task` gives the reference's answers; without one it is opened from the first session's bench
    file, and where that cannot be, the first session is the reference.
    """
    sessions = [each.session for each in backends if each.session is not None]
    if not sessions:
        raise DataError(
            "no backend has results",
            evidence="; ".join(f"{each.name}: {each.failure.cause}" for each in backends
                               if each.failure),
        )  # fmt: skip
    first = sessions[0].results
    _refuse_others(sessions)
    replica = _replica(sessions[0])
    told = {each.name: agreeing.answers(each.session) for each in backends if each.session}
    task = task or _task(sessions[0])
    reference = _reference(told, task, first.provenance.task.model)
    kept = {each.name: trains.read(each.session) for each in backends if each.session}
    trained = trains.of_task(task, sorted({index for each in kept.values() for index in each}))
    shown = next((name for name, each in kept.items() if each), "")
    strange = not trained and bool(shown)
    trained = trained or kept.get(shown, {})
    rows = tuple(
        BackendRow(each.name, failure=each.failure)
        if each.session is None
        else _row(
            each.name,
            each.session,
            _agreement(told[each.name], reference.answers, replica, kept[each.name], trained),
        )
        for each in backends
    )
    facts = first.provenance.task
    return ModelComparison(
        model=facts.model,
        task=first.task,
        scenario=first.scenario,
        samples=facts.samples,
        data=", ".join(filter(None, (first.data.statement or first.data.source, facts.subset))),
        reference=reference.name,
        rows=rows,
        complexity=of_facts(first.provenance.stored),
        notes=(
            *_notes(rows),
            *([f"spike trains are compared with those of {shown}"] if strange else []),
        ),
        metrics=tuple(dict.fromkeys(one.metric for row in rows for one in row.figures)),
    )


def _refuse_others(sessions: Sequence[Session]) -> None:
    """Raise DataError for sessions of several models, or of several sets of samples."""
    first = _about(sessions[0])
    for session in sessions[1:]:
        now = _about(session)
        if differing := [key for key in first if now.get(key) != first[key]]:
            key = differing[0]
            raise DataError(
                "these sessions are not of one model and one set of samples",
                evidence=f"{key}: {now.get(key)!r:.80} in {session.path.name}, {first[key]!r:.80} "
                f"in {sessions[0].path.name}",
                try_next="rig compare A B, which shows what differs between two sessions",
            )


def _about(session: Session) -> dict[str, Any]:
    results = session.results
    facts = results.provenance.task.stored
    wanted = ["name", "model", "samples", "subset", "data"]
    wanted += [key for key in facts if key.endswith("sha256")]
    return {"scenario": results.scenario} | {key: facts.get(key) for key in wanted}


def _replica(session: Session) -> Task | None:
    """Return the session's task without its data, which knows the parts of an output."""
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
    """Answers that others are compared with, and whose they are."""

    answers: Answers
    name: str


def _reference(told: Mapping[str, Answers], task: Task | None, model: str) -> _Reference:
    """Return the task's own answers, else those of the first backend."""
    indices = sorted({index for each in told.values() for index in each})
    own = agreeing.of_task(task, indices) if task is not None else None
    if own is not None:
        return _Reference(own, f"the task's own answers, {model}")
    name, answered = next(iter(told.items()))
    return _Reference(answered, f"the answers of {name}")


def _agreement(
    told: Answers,
    reference: Answers,
    replica: Task | None,
    theirs: trains.Trains,
    ours: trains.Trains,
) -> Agreement:
    """Compare answers, and trains where there are any."""
    found = agreeing.agreement(told, reference, replica)
    agreed = trains.agreed(theirs, ours)
    return found if agreed is None else replace(found, parts=(agreed, *found.parts))


def _row(name: str, session: Session, agreement: Agreement) -> BackendRow:
    results = session.results
    sut = results.provenance.sut
    return BackendRow(
        name=name,
        session=session.path,
        sut=sut.name,
        kind=sut.kind,
        monitor=results.monitor,
        trials=len(results.trials),
        valid=session.valid,
        verdict=bool(session.verdict),
        reason=session.verdict.reason,
        labels=tuple(label.text for label in results.labels),
        rule=_rule(sut.details),
        agreement=agreement,
        figures=tuple(_figures(results)),
    )


def _rule(details: Mapping[str, Any]) -> str:
    """Return how a backend says that it runs the network: where its rule is another one than the
    file's, why; else its arithmetic or program; empty where it says nothing.
    """
    if differs := details.get("rule differs"):
        return f"differs: {differs}"
    for key in ("answers", "arithmetic", "program"):
        if isinstance(details.get(key), str):
            return f"{key}: {details[key]}"
    return "the file's rule" if "rule" in details else ""


def _figures(results: Results) -> list[Figure]:
    return [
        _figure(name, metric, results)
        for name, metric in results.metrics.items()
        if metric.prominence is Prominence.HEADLINE
    ]


def _figure(name: str, metric: MetricResult, results: Results) -> Figure:
    same, other = metric.same_samples, metric.other_samples
    return Figure(
        metric=name,
        value=metric.value,
        unit=metric.unit,
        higher_is_better=metric.higher_is_better,
        same_samples=(same.low, same.high),
        other_samples=(other.low, other.high),
        shown="other samples" if metric.statistic is Statistic.SHARE else "same samples",
        origin=_origin(metric.unit, results),
    )


def _origin(unit: str, results: Results) -> str:
    """Return which of the four labels a number has: times that of the device's times, powers and
    energies that of its energies.
    """
    found = origins.of_facts(results.provenance.stored)
    if unit == "s":
        return str(found.time)
    return str(found.energy or "") if unit in ("W", "J") else ""


def _notes(rows: Sequence[BackendRow]) -> list[str]:
    """Return what a reader must know before the numbers."""
    found = []
    for label in dict.fromkeys(label for row in rows for label in row.labels):
        names = [row.name for row in rows if label in row.labels]
        everyone = len(names) == sum(row.failure is None for row in rows)
        found.append(f"{label}: {'all' if everyone else ', '.join(names)}")
    for row in rows:
        if row.failure is None and not row.valid:
            found.append(f"{row.name}: a trial is invalid; its numbers are no results")
        elif row.failure is None and not row.verdict:
            found.append(f"{row.name}: verdict false, {row.reason}")
    return found
