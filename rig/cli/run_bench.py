# SPDX-License-Identifier: Apache-2.0
"""The trials of a bench file, or the rest of a session, with progress and results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rig.api.report import write_report
from rig.cli import exit_codes
from rig.cli.kept_session import KeptSession
from rig.cli.options import SESSIONS_TRY, PrintedForm
from rig.cli.printed.progress import RunProgress
from rig.cli.printed.result_tables import print_results
from rig.cli.printed.summary import print_summary
from rig.cli.printed.terminal import Terminal, print_named
from rig.cli.printed.verdicts import print_explained
from rig.host.second_signal import stopped_by_signals
from rig.host.stop import Stop
from rig.results import document
from rig.session import session
from rig.store import witness_list
from rig.store.events import Event, SessionStarted, Subscriber
from rig.store.session_folder import SessionFolder, refuse_unwritable


def run_bench(
    bench: Path,
    overrides: Sequence[str],
    trials: int | None,
    sessions: Path,
    form: PrintedForm,
    *,
    witness: bool = False,
) -> int:
    """Run all trials and print the results, with `witness` the first hash before them;
    return the exit code.
    """
    console = Terminal(stderr=form.as_json)
    refuse_unwritable(sessions, SESSIONS_TRY)
    with KeptSession() as kept:
        more = (WitnessPrinter(console),) if witness else ()
        result = run_session(
            bench,
            overrides,
            trials,
            sessions,
            console=console,
            kept=kept,
            more=more,
        )
        return _finish(result, form, console)


class WitnessPrinter:
    """A subscriber that prints the first hash of a session before its first trial, and
    adds it to the list beside the sessions.
    """

    def __init__(self, console: Terminal) -> None:
        self._console = console

    def __call__(self, event: Event) -> None:
        """Hear one event."""
        if not isinstance(event, SessionStarted):
            return
        folder = SessionFolder(event.folder)
        path = witness_list.add(folder)
        first = witness_list.first_hash(folder)
        print_named(self._console, "witness", f"{first}, added to {path}")
        asked = f"openssl ts -query -digest {first} -sha256 -cert -out witness.tsq"
        print_named(self._console, "stamp", asked)


def run_session(
    bench: Path,
    overrides: Sequence[str],
    trials: int | None,
    sessions: Path,
    *,
    console: Terminal,
    kept: KeptSession,
    more: Sequence[Subscriber] = (),
) -> session.SessionResult:
    """Run all trials of a bench, with progress; `more` subscribe to its events."""
    stop = Stop()
    with (
        stopped_by_signals(stop),
        session.open_bench(bench, overrides, stop=stop) as opened,
        RunProgress(console) as progress,
    ):
        return opened.run(trials, sessions, (progress, kept, *more))


def resume_session(folder: Path, form: PrintedForm) -> int:
    """Run the rest of a session and print the results; return the exit code."""
    console = Terminal(stderr=form.as_json)
    stop = Stop()
    with KeptSession(folder) as kept:
        with stopped_by_signals(stop), RunProgress(console) as progress:
            result = session.resume(folder, (progress, kept), stop)
        return _finish(result, form, console)


def _finish(result: session.SessionResult, form: PrintedForm, console: Terminal) -> int:
    """Write the report, print the results, and return the exit code."""
    results = result.results
    # Its traces were hashed when they were closed, or when the session was resumed.
    report = write_report(result.folder, hashed=True, trials=result.trials)
    if form.as_json:
        tree = {
            "session": str(result.folder),
            "outcome": results.outcome,
            "report": str(report),
        }
        Terminal().out(
            json.dumps(tree | {"results": document.to_json(results)}, indent=1)
        )
    elif form.wide:
        print_results(console, results)
    print_summary(console, results, result.folder, report)
    if form.explain:
        print_explained(console, results.verdicts)
    return exit_codes.of_outcomes([results.outcome])
