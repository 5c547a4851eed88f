# SPDX-License-Identifier: Apache-2.0
"""The run screen: the plan, Start, the run, Stop, and the outcome."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from PySide6.QtCore import QTimer, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QStackedWidget

from gui.run import form, run_text
from gui.run.bar import RunBar, RunOutcome
from gui.run.flight import Flight, FlightChanged, FlightEnded
from gui.run.form import BenchFacts, RunForm
from gui.run.live_page import LivePage
from gui.run.plan_page import PlanPage
from gui.run.record import RunStage
from gui.run.setup_panel import SetupPanel
from gui.screen import Screen
from gui.shell import Shell
from gui.widgets.layouts import DENSE, in_column
from gui.widgets.notice import Severity
from rig.api.report import write_report
from rig.api.sessions.session import Session, open_session
from rig.results.verdict import Outcome as Verdict

#: Thirty frames a second; numbers and console every so many frames.
_FRAME_MS = 33
_REST_EVERY = 6
_AWAY_MS = 1000
#: The engine switches off and closes within this time when the window is closed.
_CLOSE_S = 30.0
_SUCCESS = "success"
_UNREADABLE = "unreadable"
_SEVERITIES = {
    Verdict.PASS: Severity.SUCCESS,
    Verdict.FAIL: Severity.ERROR,
    Verdict.NOT_TESTED: Severity.WARNING,
    Verdict.INVALID: Severity.ERROR,
}


class RunScreen(Screen):
    """The run screen: the plan, Start, the run, Stop, and the outcome."""

    KEYS: ClassVar = (
        ("F5", "start a session"),
        ("Shift+F5", "stop: the supply goes off, the session is kept"),
        ("F6", "resume the session that was stopped or cut off"),
        ("Alt+P, Alt+L", "the plan; what happens now"),
        ("Space", "hold the live picture (the recording goes on)"),
        ("Ctrl+L", "filter the console"),
        ("Alt+T, Alt+R, Alt+E", "after the end: trace, trials, report"),
    )

    def __init__(self, shell: Shell) -> None:
        super().__init__(shell)
        self.flight: Flight | None = None
        self._resumable: Path | None = None
        self._starting = False
        self._dirty = False
        self._frames = 0
        root = Path(shell.memory.get("sessions", "sessions"))
        self.bar = RunBar()
        self.outcome = RunOutcome()
        self.plan = PlanPage(SetupPanel(root))
        self.live = LivePage()
        self._pages = QStackedWidget()
        self._pages.addWidget(self.plan)
        self._pages.addWidget(self.live)
        self._timer = QTimer(self)
        self._timer.setInterval(_FRAME_MS)
        self._timer.timeout.connect(self._frame)
        in_column(
            [self.bar, self.notice, self.outcome, (self._pages, 1)],
            self,
            margins=DENSE,
        )
        self._connect()
        self._bench_changed(shell.bench_path)

    def enter(self) -> None:
        """Go on drawing; where there was no plan, look whether there is one by now."""
        self._timer.setInterval(_FRAME_MS)
        if self.plan.estimate is None:
            self._plan()
        if self.flight is not None and self.flight.alive:
            self._timer.start()

    def leave(self) -> None:
        """Stop drawing while the screen is hidden; the status line has the progress."""
        if self._timer.isActive():
            self._timer.setInterval(_AWAY_MS)

    def show_session(self, session: Session) -> None:
        """Offer to resume a session that did not end well."""
        if self._busy:
            return

        def status() -> tuple[Path, str]:
            return session.path, session.status

        self.work("run-status", status, self._take_status, lambda error: None)

    def close_down(self) -> bool:
        """Stop the run and wait until the supply is off."""
        return self._ends(self.flight, _CLOSE_S)

    def start(self) -> None:
        """Begin a new session."""
        if self._busy:
            return
        self._starting = True
        self._buttons()
        value = self.plan.setup.value
        self.notice.clear()

        def ready() -> tuple[RunForm, list[str]]:
            value.path()
            return value, value.overrides()

        self.work("", ready, self._launch, self._not_begun)

    def resume(self) -> None:
        """Go on with the session that was stopped."""
        if self._busy or self._resumable is None:
            return
        folder = self._resumable
        self._new_flight().resume(folder)

    def stop(self) -> None:
        """Ask the engine to stop."""
        if self.flight is not None and self.flight.alive:
            self.flight.stop()
            self._refresh_rest()

    @property
    def _busy(self) -> bool:
        """Whether a run is at work, or about to begin."""
        return self._starting or (self.flight is not None and self.flight.alive)

    def _launch(self, ready: tuple[RunForm, list[str]]) -> None:
        self._starting = False
        value, overrides = ready
        assert value.bench is not None
        self.shell.memory.set("sessions", str(value.root))
        self._new_flight().run(value.bench, overrides, value.trials, value.root)

    def _not_begun(self, error: BaseException) -> None:
        self._starting = False
        self.notice.show_error(error)
        self._buttons()

    def _new_flight(self) -> Flight:
        flight = self.flight = Flight(self.shell.bridge.post)
        self._resumable = None
        self._dirty = True
        self.notice.clear()
        self.outcome.hide()
        self.live.set_flight(flight)
        self.bar.set_busy(True, True)
        self.bar.show_page("live")
        self._timer.start()
        return flight

    def _arrived(self, item: Any) -> None:
        match item:
            case FlightChanged(flight=flight) if flight is self.flight:
                self._dirty = True
            case FlightEnded(flight=flight) if flight is self.flight:
                self._ended(flight)
            case _:
                pass

    def _frame(self) -> None:
        """Draw one frame: the curve each time, numbers and console more seldom."""
        flight = self.flight
        if flight is not None and not self.isVisible():
            self.shell.say(f"running: {run_text.progress(flight.record.snapshot())}")
            return
        self._frames += 1
        self.live.refresh_curve()
        if self._frames % _REST_EVERY == 0:
            self._refresh_rest()

    def _refresh_rest(self) -> None:
        flight = self.flight
        if flight is None:
            return
        if self._dirty:
            self._dirty = False
            flight.seen()
        snapshot = flight.record.snapshot()
        self.bar.show_snapshot(snapshot)
        self.live.refresh_rest(snapshot)

    def _ended(self, flight: Flight) -> None:
        flight.wait(_CLOSE_S)
        self._timer.stop()
        self.live.refresh_curve()
        self._refresh_rest()
        snapshot = flight.record.snapshot()
        if snapshot.error is not None:
            self.notice.show_error(snapshot.error)
        finished = snapshot.stage is RunStage.FINISHED
        if not finished or snapshot.powered:
            self._resumable = None if finished else snapshot.folder
            severity = Severity.ERROR if snapshot.powered else Severity.WARNING
            self.outcome.say(
                run_text.outcome(snapshot), severity, session=bool(snapshot.trials)
            )
        self._buttons()
        if snapshot.folder is not None:
            self.shell.open_session(snapshot.folder)
            if finished and not snapshot.powered:
                self._judge(snapshot.folder)

    def _judge(self, folder: Path) -> None:
        def verdict() -> tuple[str, Severity]:
            session = open_session(folder)
            judged = session.verdict
            sentence = f"{judged.outcome.upper()}: {judged.reason} ({judged.rule})."
            if judged:
                count = len(session.results.trials)
                about = f" for {judged.scope}" if judged.scope else ""
                sentence = f"PASS: {count} trials agree{about} ({judged.rule})."
            return sentence, _SEVERITIES[judged.outcome]

        self.outcome.say(
            "Finished; the verdict is being read ...", Severity.INFORMATION
        )
        self.work("run-verdict", verdict, lambda outcome: self.outcome.say(*outcome))

    def _go_to(self, name: str) -> None:
        folder = None if self.flight is None else self.flight.record.snapshot().folder
        if folder is None:
            return
        if name == "trace":
            self.shell.open_trace(folder, trial=1)
        elif name == "trials":
            self.shell.go("trials")
        else:
            self.shell.say("the report is being written ...")
            self.work("", lambda: write_report(folder), self._show_report)

    def _show_report(self, page: Path) -> None:
        self.shell.say(f"report: {page}")
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(page)))

    def _take_status(self, status_of: tuple[Path, str]) -> None:
        folder, status = status_of
        if self._busy:
            return
        if status not in (_SUCCESS, _UNREADABLE):
            self._resumable = folder
        elif self._resumable == folder:
            self._resumable = None
        self._buttons()

    def _buttons(self) -> None:
        self.bar.set_busy(self._busy, self._busy and not self._starting)
        self.bar.set_resumable(self._resumable)

    def _bench_changed(self, path: Path | None) -> None:
        """Read the bench file that is at hand now."""
        if path is None:
            self.bar.set_title("")
            self.plan.setup.set_bench(None, None)
            return
        self.plan.setup.set_bench(path, None)

        def failed(error: BaseException) -> None:
            self._take_facts(path, None)

        read = partial(form.facts, path)
        self.work("run-facts", read, partial(self._take_facts, path), failed)

    def _take_facts(self, path: Path, facts: BenchFacts | None) -> None:
        if not self._busy:
            self.bar.set_title("" if facts is None else facts.name)
        self.plan.setup.set_bench(path, facts)

    def _plan(self) -> None:
        """Estimate the run that the form describes."""
        value = self.plan.setup.value
        self.plan.show_waiting()

        def plan() -> tuple[Any, Any]:
            return value.estimate(), value.command()

        self.work(
            "run-plan",
            plan,
            lambda planned: self.plan.show_estimate(*planned),
            self.plan.show_error,
        )

    def _connect(self) -> None:
        self.shell.bridge.arrived.connect(self._arrived)
        self.shell.bench_changed.connect(self._bench_changed)
        self.plan.setup.changed.connect(self._plan)
        self.plan.setup.bench_chosen.connect(self.shell.set_bench)
        self.bar.start.clicked.connect(self.start)
        self.bar.stop.clicked.connect(self.stop)
        self.bar.resume.clicked.connect(self.resume)
        self.bar.page_chosen.connect(
            lambda name: self._pages.setCurrentWidget(
                self.plan if name == "plan" else self.live
            )
        )
        self.outcome.wanted.connect(self._go_to)
