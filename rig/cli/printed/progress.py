# SPDX-License-Identifier: Apache-2.0
"""Progress of a running session."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from rig.cli.printed.checks import print_recovery
from rig.cli.printed.terminal import Terminal, escape, print_line
from rig.live.running import RunningSession, RunState
from rig.model.metric import Prominence
from rig.store.events import (
    Event,
    Recovering,
    SessionResumed,
    SessionStarted,
    StepDone,
    TrialFinished,
)
from rig.store.session_folder import SessionFolder
from rig.units import scale


class _LeftColumn(ProgressColumn):
    """Column of the remaining time, unknown until the first trial."""

    def __init__(self, running: RunningSession) -> None:
        self._running = running
        super().__init__()

    def render(self, task: Task) -> Text:
        """Return hours, minutes and seconds."""
        left_s = self._running.state.left_s
        if left_s is None:
            return Text("unknown", style="progress.remaining")
        return Text(str(timedelta(seconds=round(left_s))), style="progress.remaining")


class RunProgress:
    """A subscriber that shows how far a session is, and how long it will take."""

    def __init__(self, console: Terminal) -> None:
        self._running = RunningSession()
        time_left = _LeftColumn(self._running)
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[count]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            time_left,
        )
        self._progress = Progress(*columns, console=console, transient=True)
        self._console = console
        self._task: TaskID | None = None
        self._interleaved = False

    def __enter__(self) -> RunProgress:
        self._console.goes_on = True
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def __call__(self, event: Event) -> None:
        """Show one event."""
        self._running(event)
        self._tell(event)
        # Where a step ends the next one begins.
        if self._task is not None and not isinstance(event, StepDone):
            state = self._running.state
            done = (
                state.finished if state.step is None else state.trial - 1
            ) * state.queries_due
            queries = done + (0 if state.step is None else state.queries)
            if self._interleaved:
                queries = state.queries
            description = _description(state, self._interleaved)
            self._progress.update(
                self._task,
                completed=state.share,
                count=f"{queries}/{state.trials_due * state.queries_due}",
                description=description,
            )

    def _tell(self, event: Event) -> None:
        match event:
            case Recovering():
                print_recovery(event.trace, event.limit_s)
            case SessionStarted():
                print_line(
                    self._console, f"session [bold]{escape(str(event.folder))}[/]", 2
                )
                self._begin(event.provenance)
            case SessionResumed():
                stands = (
                    f"goes on: {event.finished} of {event.trials} trials are finished, "
                    f"{event.done} queries of the next are done"
                )
                line = f"session [bold]{escape(str(event.folder))}[/] {stands}"
                print_line(self._console, line, 2)
                self._begin(SessionFolder(event.folder).provenance())
            case TrialFinished():
                for problem in event.trial.problems:
                    where = f"[red]trial {event.trial.number}: {problem.code}[/]"
                    print_line(self._console, f"{where} {escape(problem.detail)}", 2)
            case _:
                return

    def _begin(self, provenance: dict[str, Any]) -> None:
        self._interleaved = provenance.get("interleaved") is True
        self._task = self._progress.add_task("queries", total=1.0, count="")


def _description(state: RunState, interleaved: bool) -> str:
    """Return the trial at hand, and a headline metric of those that are finished."""
    at_hand = "interleaved" if interleaved else f"trial {state.trial}"
    trial = at_hand if state.trial else "queries"
    headlines = [
        each for each in state.metrics if each.prominence is Prominence.HEADLINE
    ]
    if not headlines:
        return trial
    # Times and energies say more, while a session runs, than a plain number does.
    first = next((each for each in headlines if each.unit != "1"), headlines[0])
    half = first.interval.expanded_uncertainty
    factor, unit = scale(first.value, first.unit)
    width = "" if half is None else f" ± {half * factor:.2g}"
    return escape(f"{trial}, {first.name} {first.value * factor:.5g}{width} {unit}")
