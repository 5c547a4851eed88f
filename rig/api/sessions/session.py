# SPDX-License-Identifier: Apache-2.0
"""A session folder in Python: metrics with their uncertainty, problems, verdict,
tables, traces.

A session that crashed, or is still running, opens with what its finished trials hold.
"""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rig.api.sessions import tables
from rig.api.sessions.metric import HEADS, Metrics, SessionMetric, cells, table_html
from rig.api.sessions.older_problems import PLACED_SINCE, placed
from rig.api.sessions.verdict import SessionVerdict
from rig.api.traces import span_lines, uart_lines
from rig.api.traces.spans import Spans
from rig.api.traces.trace import SessionTrace, open_trace
from rig.api.traces.uart_lines import UartLines
from rig.errors import DAMAGE, DataError, RigError
from rig.files import typed
from rig.problems import PROBLEM_CODES, Problem
from rig.results import changed, document, labels
from rig.results import results as reduction
from rig.results.document import Results
from rig.results.verdict import Outcome
from rig.store import provenance_file, sample_lines, verified
from rig.store.sample_lines import TrialLines
from rig.store.segments import counted, segments
from rig.store.session_folder import (
    EVENTS,
    PROVENANCE,
    RESULTS,
    SessionFolder,
    no_session,
    read_json,
)
from rig.store.verified import FileChange
from rig.units import plural

if TYPE_CHECKING:
    import pandas

    from rig.check.check import Check

_SUCCESS = "success"
_UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionProblem(Problem):
    """A problem of a trial, as `rig.problems.Problem` states it: its code, the evidence
    and its place.

    The time of an edge is known by the trace (`SessionTrace.locate`).
    """

    def __str__(self) -> str:
        return f"trial {self.trial}: {self.code}: {self.detail}"

    @property
    def meaning(self) -> str:
        """The meaning of the code."""
        return PROBLEM_CODES.get(self.code, "")


class Session:
    """A session folder; its content is read on first use."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._folder = SessionFolder(self.path)

    @cached_property
    def status(self) -> str:
        """Return how the session ended: success, abort, fail; killed where it did not
        end (yet); unreadable.
        """
        try:
            self._folder.refuse_other()
            return self._folder.journal().status
        except (RigError, OSError):
            return _UNREADABLE

    @cached_property
    def changed(self) -> tuple[FileChange, ...]:
        """Return which files were changed, removed or added after the run, by their
        SHA-256 in events.jsonl; empty where none was.

        Traces, which may have gigabytes, are left to `check`.
        """
        return verified.changes(self._folder)

    @cached_property
    def results(self) -> Results:
        """The results; of a session that did not end, what its finished trials
        give."""
        if (self.path / RESULTS).exists():
            return document.read(self.path / RESULTS)
        context = reduction.Context.of(self._folder)
        trials = []
        for number, seed in self._finished():
            folder = self._folder.recorded(number)
            trials.append(reduction.reduce_trial(context, folder, number, seed))
        return reduction.derive(context, trials)

    @property
    def content(self) -> dict[str, Any]:
        """The results as results.json has them."""
        return document.to_json(self.results)

    @cached_property
    def metrics(self) -> Metrics:
        """The metrics by name."""
        verdict = self.results.replication
        judged = {name: one.ok for name, one in verdict.per_metric.items()}
        judged |= {name: one.ok for name, one in verdict.drawn.items()}
        marked = self.labels
        metrics = {}
        for name, row in self.results.metrics.items():
            metrics[name] = SessionMetric.of(name, row, judged.get(name), marked)
        return Metrics(metrics, self.results.absent)

    @cached_property
    def problems(self) -> tuple[SessionProblem, ...]:
        """The problems of the trials with their places; each makes its trial
        invalid.
        """
        problems = self.results.problems
        if problems and self._has_older_results():
            problems = tuple(map(self._placed, problems))
        return tuple(
            SessionProblem(**dataclasses.asdict(problem)) for problem in problems
        )

    @property
    def valid(self) -> bool:
        """Whether the session ended as it should, is as it was then, and every
        trial is valid.
        """
        return not self.invalid_because

    @property
    def invalid_because(self) -> str:
        """Return why the session is invalid; empty where it is valid."""
        if self.status == _UNREADABLE:
            return "it cannot be read"
        trials = self.results.trials
        reasons = [*map(str, self.changed), *map(str, self.problems)]
        if self.status != _SUCCESS:
            complete = plural(len(trials), "complete trial")
            reasons.append(f"it did not finish ({self.status}): {complete}")
        return "\n".join(reasons)

    @property
    def verdict(self) -> SessionVerdict:
        """Whether the trials replicate; INVALID where the session is not
        valid."""
        judged = self.results.replication
        outcome = judged.judged
        reason = judged.reason
        if self.changed or not self.valid:
            outcome = Outcome.INVALID
            reason = changed.reason(self.changed) or self.invalid_because
        return SessionVerdict(
            outcome=outcome,
            rule=judged.rule,
            reason=reason,
            scope=judged.scope,
            covered=(*judged.per_metric, *judged.drawn),
            not_tested=judged.not_tested,
            labels=self.labels,
        )

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """The provenance of the session."""
        return self._folder.provenance()

    @property
    def rails(self) -> tuple[str, ...]:
        """The rails that have a trace each, the first one's time being the
        session's."""
        return tuple(provenance_file.from_json(self.provenance).monitors)

    @property
    def labels(self) -> tuple[str, ...]:
        """Return what must stand beside every number: SIMULATED, GENERATED DATA, ...,
        and CHANGED AFTER THE RUN where a file is not as events.jsonl has it.
        """
        found = (*labels.of_provenance(self.provenance), *changed.mark(self.changed))
        return tuple(label.text for label in found)

    def trials(self) -> pandas.DataFrame:
        """Return a table of the trials: how each went, and its value of each metric."""
        return self._frame(tables.trial_rows(self.results))

    def samples(self) -> pandas.DataFrame:
        """Return a table of the timed samples: answers, latency and energy of each
        phase."""
        return self._frame(self._rows(tables.sample_rows))

    def windows(self) -> pandas.DataFrame:
        """Return a table of all measured windows: of samples, idle times, streams,
        crossings."""
        return self._frame(self._rows(tables.window_rows))

    def _frame(self, rows: Iterable[tables.Row]) -> pandas.DataFrame:
        """Return rows as a table; `attrs["labels"]` are the session's."""
        frame = _frame(rows)
        frame.attrs.update(labels=self.labels)
        return frame

    def trace(self, trial: int, rail: str = "", segment: int = 1) -> SessionTrace:
        """Open the trace of a trial; `rail` names one of several monitors, `segment` a
        part of a trial that was interrupted.
        """
        rails = self.rails
        if not rails:
            raise DataError(f"{self.path} has no traces", evidence=reduction.NO_ENERGY)
        if rail not in rails:
            raise DataError(
                f"{self.path} has no rail {rail!r}",
                try_next=f"one of {', '.join(rails)}",
            )
        self._require_trial(trial)
        places = segments(self._folder.recorded(trial))
        if not 1 <= segment <= len(places):
            raise DataError(f"trial {trial} has {len(places)} segments, not {segment}")
        trace = open_trace(places[segment - 1] / rail)
        trace.show_trial(trial)
        return trace

    def spans(self, trial: int, rail: str = "", segment: int = 1) -> Spans:
        """Return the measured windows and the warm-up queries of a trial, in the time
        of a rail's trace; of a trial that was interrupted those of one segment.
        """
        self._require_trial(trial)
        found = [row for row in self.results.trials if row.number == trial]
        return span_lines.of_trial(
            self._folder, trial, rail, segment, found[0] if found else None
        )

    def uart_lines(
        self, trial: int, rail: str = "", segment: int = 1
    ) -> UartLines | None:
        """Return the lines of a trial's uart.log at their times in a rail's trace, with
        how far each may be off; None where the log cannot be tied to the trace.
        """
        spans = self.spans(trial, rail, segment)
        return uart_lines.of_trial(self._folder, trial, segment, spans)

    def _require_trial(self, trial: int) -> None:
        known = self._folder.trials()
        if trial not in known:
            raise DataError(
                f"{self.path} has no trial {trial}", try_next=f"one of {known}"
            )

    def check(self) -> Check:
        """Recompute every number from the raw files and compare, as `rig check`
        does."""
        from rig.check.check import check

        return check(self.path)

    def __repr__(self) -> str:
        return f"<Session {self.path.name}: {self._summary()}>"

    def _repr_html_(self) -> str:
        try:
            rows = [
                (*cells(metric), _per_trial(metric)) for metric in self.metrics.values()
            ]
        except (RigError, OSError, *DAMAGE):
            rows = []
        title = (
            f"<p><b>{html.escape(self.path.name)}</b>:"
            f" {html.escape(self._summary())}</p>"
        )
        return title + (table_html((*HEADS, "per trial"), rows) if rows else "")

    def _summary(self) -> str:
        """Return status, verdict and labels in one line, for a folder in any state."""
        if self.status == _UNREADABLE:
            return self.status
        try:
            if self.status != _SUCCESS:
                return f"{self.status}{labels.beside(self.labels)}"
            count = len(self.results.trials)
            parts = [plural(count, "trial"), f"{self.verdict}".replace("\n", "; ")]
            return ", ".join(parts)
        except (RigError, OSError, *DAMAGE):
            return _UNREADABLE

    def _has_older_results(self) -> bool:
        """Check whether results.json has problems without their places."""
        path = self.path / RESULTS
        if not path.is_file():
            return False
        return document.schema_of(read_json(path)) < PLACED_SINCE

    def _placed(self, problem: Problem) -> Problem:
        """Return a problem of older results with its place, as far as files tell it."""
        monitors = self.results.provenance.monitors
        rates_hz = {name: float(info.sample_hz) for name, info in monitors.items()}

        def spans_of(rail: str) -> Spans | None:
            with suppress(RigError, OSError):
                return self.spans(problem.trial, rail)
            return None

        def moment_of(mark: int) -> float | None:
            rows = [row for row in self.results.trials if row.number == problem.trial]
            if not rows or rows[0].timebase is None:
                return None
            with suppress(RigError, OSError):
                steps = chain(*counted(self._folder.recorded(problem.trial)))
                marks = chain.from_iterable(item.completion.marks for item in steps)
                for found in islice(marks, max(mark - 1, 0), mark):
                    return rows[0].timebase.seconds(found.tick)
            return None

        return placed(problem, rates_hz, spans_of, moment_of)

    def _finished(self) -> list[tuple[int, int]]:
        """Return number and seed of each finished trial."""
        events = self._folder.events()
        seeds = {
            event.trial: event.seed
            for event in events
            if event.event == "trial_started"
        }
        finished = [event.trial for event in events if event.event == "trial_finished"]
        return [(number, seeds[number]) for number in finished]

    def _rows(
        self, rows: Callable[[int, TrialLines], Iterator[tables.Row]]
    ) -> Iterator[tables.Row]:
        for number in self._folder.trials():
            yield from rows(number, sample_lines.read(self._folder.trial(number)))


def open_session(path: Path | str) -> Session:
    """Open a session folder, finished or not; raises DataError where it is none."""
    session = Session(path)
    if not (session.path / EVENTS).is_file():
        # At once: a folder that is something else may hold more than one can wait for.
        raise no_session(session.path, f"no {EVENTS}")
    SessionFolder(session.path).refuse_other()
    return session


def sessions(root: Path | str = "sessions") -> list[Session]:
    """Return the sessions in a folder, the newest first; one that cannot be read has
    the status "unreadable".
    """
    folders = [path.parent for path in Path(root).glob(f"*/{EVENTS}")]
    return [Session(path) for path in sorted(folders, key=_created, reverse=True)]


@dataclass(frozen=True, slots=True)
class _Created:
    """When a session was made, of all its provenance."""

    created_utc: str
    more: dict[str, Any] = typed.rest()


def _created(path: Path) -> tuple[str, str]:
    """Return when a session was made, as text that sorts; folders may have been
    renamed."""
    try:
        told = typed.from_json(_Created, SessionFolder(path).provenance(), PROVENANCE)
        created = told.created_utc
    except (RigError, OSError):
        created = ""
    return created, path.name


def _frame(rows: Iterable[tables.Row]) -> pandas.DataFrame:
    import pandas

    frame = pandas.DataFrame(list(rows))
    # An idle time has no step: pandas would turn the numbers of the others into
    # fractions.
    return frame.astype({"step": "Int64"}) if "step" in frame else frame


def _per_trial(metric: SessionMetric) -> str:
    return ", ".join(f"{value:.4g}" for value in metric.per_trial)
