# SPDX-License-Identifier: Apache-2.0
"""The trace screen: the picture, the overview, the numbers, and beside them windows,
markers, problems and views of a part.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QKeySequence, QShowEvent
from PySide6.QtWidgets import QWidget

from gui.picture.lane_painter import LineEdges
from gui.screen import Screen
from gui.shell import Shell, TraceRequest
from gui.trace.file_form import FileForm
from gui.trace.header import Header
from gui.trace.keyboard.key_sheet import KEYS, KeySheet
from gui.trace.keyboard.keys import pressed
from gui.trace.panels.export_panel import ExportPanel
from gui.trace.panels.marker_panel import MarkerPanel
from gui.trace.panels.problems_panel import ProblemsPanel
from gui.trace.panels.scale_panel import ScalePanel
from gui.trace.panels.statistics_panel import StatisticsPanel
from gui.trace.panels.window_table import WindowTable
from gui.trace.picture import picture_file
from gui.trace.picture.cursor import cursor_text
from gui.trace.picture.overview import Overview
from gui.trace.picture.picture_file import free_path
from gui.trace.picture.stack_mouse import InteractiveStack
from gui.trace.second import SecondTrace
from gui.trace.shown import annotation_marks
from gui.trace.shown.background import Pictures, ViewColumns
from gui.trace.shown.markers import Stretch
from gui.trace.shown.state import Topic, TraceState
from gui.trace.shown.subject import Subject, open_subject
from gui.trace.shown.uart_lane import UartLane
from gui.trace.tabs import Tabs
from gui.trace.views.distribution_view import DistributionView
from gui.trace.views.edge_view import EdgeView
from gui.trace.views.overlay_view import OverlayView
from gui.widgets.layouts import in_column, split
from gui.widgets.notice import Severity, error_text
from gui.worker import BackgroundWorker
from rig.annotations import Annotations
from rig.api.sessions.session import Session
from rig.api.traces.uart_lines import UartLines
from rig.errors import RigError
from rig.files.user_folders import expanded
from rig.trace.edges import Edges

#: So much of the width is the picture's, the rest that of the tables.
_PICTURE_SHARE = 0.55


class TraceScreen(Screen):
    """The screen of one trace at a time."""

    KEYS: ClassVar = KEYS

    def __init__(self, shell: Shell) -> None:
        super().__init__(shell)
        self.state: TraceState | None = None
        #: Pictures must not wait for sums over a whole trace, nor both for its first
        #: reading.
        names = ("pictures", "numbers", "levels", "views", "export")
        self._workers = [BackgroundWorker(self, f"rig-trace-{name}") for name in names]
        self._pictures_worker, self._numbers_worker, self._levels_worker = (
            self._workers[:3]
        )
        self._views_worker, self._export_worker = self._workers[3:]
        self._closing = False
        self._sized = False
        self._prepared = False
        self._waiting: Session | None = None
        self._pictures: Pictures | None = None
        self.form = FileForm(shell, self._pictures_worker, self.notice)
        self.header = Header()
        self.overview = Overview()
        self.stack = InteractiveStack()
        self.second = SecondTrace()
        self.statistics = StatisticsPanel()
        self.windows = WindowTable()
        self.markers = MarkerPanel(
            (
                ("save", "Save annotations", self.save_annotations),
                ("load", "Load annotations", self.load_annotations),
            )
        )
        self.problems = ProblemsPanel()
        self.edge = EdgeView(self._views_worker)
        self.overlay = OverlayView(self._views_worker)
        self.distribution = DistributionView(self._views_worker)
        self._views = self.edge, self.overlay, self.distribution
        self.export = ExportPanel(self._export_worker, self._views_worker)
        self.scales = ScalePanel()
        self.tabs = Tabs()
        self.sheet = KeySheet(self)
        #: Actions of keys that need more than the state.
        self._actions: dict[str, Callable[[], object]] = {
            "N": partial(self.windows.step, True),
            "Shift+N": partial(self.windows.step, False),
            "P": self.save_picture,
            "?": self.sheet.toggle,
            "H": self.stack.toggle_levels,
            "V": self.show_second,
            "Ctrl+C": self.copy_statistics,
            "Ctrl+S": self.save_annotations,
        }
        self.stack.ask_numbers = self.statistics.for_lanes
        self.statistics.changed.connect(self.stack.update)
        self._lay_out()
        self.form.answered.connect(self.open)
        self.header.file.clicked.connect(self.form.ask_again)
        self.header.chosen.connect(self._choose)
        self.header.pressed.connect(self.press)
        self.export.save_picture.clicked.connect(self.save_picture)

    # Display.

    def enter(self) -> None:
        """Show the session that was opened while another screen was in front."""
        self.stack.setFocus()
        if self._waiting is not None:
            session, self._waiting = self._waiting, None
            self.open(session.path)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Give picture and tables their widths as they were left."""
        super().showEvent(event)
        if not self._sized:
            self._sized = True
            share = float(self.shell.memory.get("trace-split", _PICTURE_SHARE))
            wide = self.width()
            self._split.setSizes([round(share * wide), round((1 - share) * wide)])

    def show_session(self, session: Session) -> None:
        """Show the first trace of a session, once this screen is in front."""
        if self.isVisible():
            self.open(session.path)
        else:
            self._waiting = session

    def show_trace(self, request: TraceRequest) -> None:
        """Show a trace, and a stretch of it."""
        self._waiting = None
        self.open(request.path, request.trial, request.rail or None, span=request.span)

    def open(
        self,
        path: Path,
        trial: int | None = None,
        rail: str | None = None,
        segment: int = 1,
        span: tuple[float, float] | None = None,
    ) -> None:
        """Open a trace in the background and show it."""
        self.shell.say(f"opening {path.name} ...")
        self.form.begin(path)
        options = self.shell.said_of(path)

        def failed(error: BaseException) -> None:
            self.shell.say("")
            self.notice.show_text(
                f"{path} cannot be shown: {error_text(error)}", Severity.ERROR
            )
            self.form.ask_after(error)

        open_trace = partial(open_subject, path, trial, rail, segment, options=options)
        self._pictures_worker.do(
            open_trace,
            partial(self._take, span=span),
            failed,
            key="trace-open",
        )

    def idle(self) -> bool:
        """Check whether picture and numbers are up to date."""
        if any(view.waiting for view in (self.export, *self._views)):
            return False
        asked = self._pictures is not None and self._pictures.pending
        busy = self.second.waiting or any(worker.busy for worker in self._workers[:-1])
        return not (asked or busy or self.stack.waiting or self.statistics.waiting)

    @property
    def picture(self) -> ViewColumns | None:
        """The picture that is shown."""
        return None if self._pictures is None else self._pictures.now

    def close_down(self) -> bool:
        """End the threads."""
        self._closing = True
        left, right = self._split.sizes()
        if self._sized and left + right:
            self.shell.memory.set("trace-split", left / (left + right))
        for part in (self.statistics, self.second, self.export, *self._views):
            part.stop()
        for worker in self._workers:
            worker.close_down()
        return True

    def _take(self, subject: Subject, span: tuple[float, float] | None) -> None:
        self.notice.clear()
        self.shell.say("")
        before = self.state
        state = TraceState(subject)
        if before is not None and before.subject.path == subject.path:
            state.scales = before.scales
            state.snap, state.numbered = before.snap, before.numbered
            state.hidden = set(before.hidden)
            state.set_utc(before.utc)
        self.state = state
        trace = subject.trace
        show = self.notice.show_error
        worker = self._pictures_worker
        self._pictures = Pictures(worker, trace, lambda: self._pictured(subject), show)
        self._prepared = False
        whole = Pictures(
            worker, trace, self.overview.refresh, show, key="trace-overview"
        )
        self.header.set_subject(subject)
        self.stack.set_state(state, self._pictures)
        self.overview.set_state(state, whole)
        self.second.set_first(state)
        self.statistics.set_state(state, self._numbers_worker)
        self.windows.set_state(state)
        self.markers.set_state(state)
        for part in (*self._views, self.export, self.scales):
            part.set_state(state)
        count = self.problems.set_state(state)
        self.tabs.name(self.problems, f"Problems ({count})" if count else "Problems")
        state.listen(self._changed)
        self._changed("snap")
        if span is not None:
            state.choose(Stretch(*span, "chosen"))
            state.set_view(state.view.on(*span, margin=0.15))

    def _pictured(self, subject: Subject) -> None:
        """Show new columns; after the first ones the whole trace is read."""
        self.stack.refresh()
        if not self._prepared:
            self._prepared = True
            self._prepare(subject)

    def _prepare(self, subject: Subject) -> None:
        """Read the whole trace once, so that pictures have power and are quick at every
        zoom."""
        trace = subject.trace

        def give_up() -> bool:
            state = self.state
            return self._closing or state is None or state.subject is not subject

        def prepared(state: TraceState, done: bool) -> None:
            if done:
                self.stack.want()
                self.overview.ask()

        if subject.has_sync:
            self._read(subject, "edges", trace.edges, TraceState.set_edges)
        for name in subject.lines:
            self._read_line(subject, name)
        if subject.session is not None:
            self._read_uart(subject, subject.session)
        self._levels_worker.do(
            partial(trace.prepare, stopped=give_up),
            self._while_shown(subject, prepared),
            self.notice.show_error,
            key="trace-prepare",
        )

    def _while_shown(
        self, subject: Subject, take: Callable[[TraceState, Any], None]
    ) -> Callable[[Any], None]:
        """Return a function that takes a result unless another trace is shown."""

        def taken(result: Any) -> None:
            if self.state is not None and self.state.subject is subject:
                take(self.state, result)

        return taken

    def _read(
        self,
        subject: Subject,
        what: str,
        read: Callable[[], Any],
        take: Callable[[TraceState, Any], None],
        fail: Callable[[BaseException], None] | None = None,
    ) -> None:
        """Read a part of a trace in the background, and take it into the state."""
        self._views_worker.do(
            read,
            self._while_shown(subject, take),
            fail or self.notice.show_error,
            key=f"trace-{what}",
        )

    def _read_line(self, subject: Subject, name: str) -> None:
        """Read a digital line, and show its lane."""

        def take(state: TraceState, edges: Edges) -> None:
            state.set_line(name, LineEdges.of(edges.falls_s, edges.rises_s))

        def fail(state: TraceState, error: BaseException) -> None:
            state.set_line_fault(name, error_text(error))

        failed = self._while_shown(subject, fail)
        read = partial(subject.trace.line_edges, name)
        self._read(subject, f"line-{name}", read, take, failed)

    def _read_uart(self, subject: Subject, session: Session) -> None:
        """Read uart.log, and show it where it can be tied to the trace."""

        def read() -> UartLines | None:
            choice = subject.choice
            return session.uart_lines(choice.trial, choice.rail, choice.segment)

        def take(state: TraceState, log: UartLines | None) -> None:
            state.set_uart(UartLane.of(log) if log is not None and log.lines else None)

        self._read(subject, "uart", read, take)

    def _choose(self, trial: int, rail: str, segment: int) -> None:
        if self.state is not None:
            self.open(self.state.subject.path, trial, rail, segment)

    # Keys.

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Carry out the actions of the key sheet."""
        if self.sheet.isVisible():
            self.sheet.hide()
        elif not self.press(_keys(event)):
            super().keyPressEvent(event)

    def press(self, keys: str) -> bool:
        """Carry out the action of keys, as "Shift+F"; return whether they have one.
        Shift may be needed to type a sign: without another meaning it has none.
        """
        if self.state is None:
            return False
        for name in (keys, keys.removeprefix("Shift+")):
            if name in self._actions:
                self._actions[name]()
                return True
            if pressed(name, self.state, self.stack.reach_s):
                return True
        return False

    def copy_statistics(self) -> None:
        """Copy the numbers of the selection, or of the view without a selection."""
        if self.state is None:
            return
        chosen = self.state.selection is not None
        boxes = self.statistics
        (boxes.selection_box if chosen else boxes.visible_box).copy()
        self.shell.say(f"numbers of the {'selection' if chosen else 'view'} copied")

    def show_second(self) -> None:
        """Show a second trace in the place of the boxes of numbers, or hide it."""
        self.second.toggle()
        self.statistics.setVisible(self.second.isHidden())

    def save_annotations(self) -> None:
        """Write the markers beside the trace or its session."""
        state = self.state
        if state is None:
            return
        content = annotation_marks.as_annotations(
            state.markers.marks, state.subject.annotations
        )
        trace = state.subject.trace
        notice = self.markers.notice
        self._views_worker.do(
            partial(annotation_marks.saved, trace, content),
            partial(notice.show_text, severity=Severity.SUCCESS),
            notice.show_error,
            key="trace-annotate",
        )

    def load_annotations(self) -> None:
        """Show the markers that are saved beside the trace in the place of those
        shown."""
        state = self.state
        if state is None:
            return

        def take(annotations: Annotations) -> None:
            state.load(annotation_marks.marks(annotations))
            self.markers.notice.show_text(
                f"{len(annotations.markers)} markers loaded", Severity.SUCCESS
            )

        self._views_worker.do(
            state.subject.trace.annotations,
            take,
            self.markers.notice.show_error,
            key="trace-annotations",
        )

    def save_picture(self) -> None:
        """Save the picture as the export panel names it, and copy it; no file is
        overwritten."""
        if self.state is None:
            return
        path = free_path(expanded(self.export.picture.text().strip()))
        try:
            picture_file.save(self.stack, self.header.legend, path)
        except RigError as error:
            self.notice.show_error(error)
        else:
            self.shell.say(f"picture: {path}, and on the clipboard")

    # Layout.

    def _changed(self, topic: Topic) -> None:
        state = self.state
        if state is None:
            return
        if topic == "snap":
            self.header.snap.setChecked(state.snap)
        elif topic == "scale":
            self.header.logarithmic.setChecked(state.logarithmic)
        elif topic == "cursor":
            self.header.readout.setText(cursor_text(state, self._pictures))

    def _lay_out(self) -> None:
        left = QWidget()
        traces = [(self.stack, 1), (self.second, 1)]
        in_column([self.header.legend, self.overview, *traces], left, spacing=2)
        for widget, title in (
            (self.windows, "Windows"),
            (self.markers, "Markers"),
            (self.problems, "Problems"),
            (self.edge, "Edge"),
            (self.overlay, "Trials"),
            (self.distribution, "Histogram"),
            (self.scales, "Axes"),
            (self.export, "Export"),
        ):
            self.tabs.name(widget, title)
        self._split = split([left, self.tabs], (), name="trace-split", shares=(5, 3))
        body = QWidget()
        in_column([(self._split, 1), self.statistics], body, spacing=0)
        in_column(
            [self.header, self.notice, (self.form, 1), (body, 1)], self, spacing=0
        )
        self.form.in_place_of = (self.header, body)


def _keys(event: QKeyEvent) -> str:
    """Return the name of pressed keys, as "Ctrl+Shift+Z"."""
    held = event.modifiers()
    parts = ["Ctrl"] if held & Qt.KeyboardModifier.ControlModifier else []
    parts += ["Shift"] if held & Qt.KeyboardModifier.ShiftModifier else []
    return "+".join([*parts, QKeySequence(event.key()).toString()])
