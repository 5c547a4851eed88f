# SPDX-License-Identifier: Apache-2.0
"""Progress of a running session."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from rig.cli.labels import print_labels
from rig.kinds import registry as kinds
from rig.results import labels
from rig.store.events import (
    Event,
    SessionResumed,
    SessionStarted,
    StepDone,
    TrialFinished,
    TrialResumed,
    TrialStarted,
)
from rig.store.session_folder import SessionFolder


class RunProgress:
    """A subscriber that shows how far a session is, and how long it will take."""

    def __init__(self, console: Console) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        self._progress = Progress(*columns, console=console, transient=not console.is_terminal)
        self._console = console
        self._task: TaskID | None = None

    def __enter__(self) -> RunProgress:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def __call__(self, event: Event) -> None:
        """Show one event."""
        match event:
            case SessionStarted():
                self._console.print(f"session [bold]{escape(str(event.folder))}[/]", soft_wrap=True)
                print_labels(self._console, labels.of_provenance(event.provenance))
                self._task = self._progress.add_task("queries", total=event.trials * event.queries)
            case SessionResumed():
                stands = (
                    f"goes on: {event.finished} of {event.trials} trials are finished, "
                    f"{event.done} queries of the next are done"
                )
                self._console.print(
                    f"session [bold]{escape(str(event.folder))}[/] {stands}", soft_wrap=True
                )
                print_labels(
                    self._console, labels.of_provenance(SessionFolder(event.folder).provenance())
                )
                done = event.finished * event.queries + event.done
                self._task = self._progress.add_task(
                    "queries", total=event.trials * event.queries, completed=done
                )
            case TrialStarted() | TrialResumed() if self._task is not None:
                self._progress.update(self._task, description=f"trial {event.trial}")
            case StepDone() if self._task is not None and kinds.of(event.done.step).measured:
                self._progress.advance(self._task)
            case TrialFinished():
                for problem in event.trial.problems:
                    self._console.print(
                        f"[red]trial {event.trial.number}: {problem.code}[/] "
                        f"{escape(problem.detail)}",
                        soft_wrap=True,
                    )
            case _:
                return
