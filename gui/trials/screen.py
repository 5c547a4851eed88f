# SPDX-License-Identifier: Apache-2.0
"""The trials screen: how the trials of a session agree, what another claim would come
to, what its scenario draws.
"""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QLabel,
    QScrollArea,
    QTabWidget,
    QWidget,
)

from gui.screen import Screen
from gui.shell import Shell
from gui.trials import further, words
from gui.trials.dots import Dots
from gui.trials.metric_view import MetricView
from gui.trials.pictures import PictureView
from gui.widgets.controls import check_box, named, push_button, shortcut
from gui.widgets.labels import Labels
from gui.widgets.layouts import DENSE, TAB, in_column, in_row, split
from gui.widgets.line_field import LineField
from gui.widgets.notice import Severity
from gui.widgets.table import DataTable
from gui.widgets.text import plain, set_state
from rig.api.sessions.session import Session
from rig.api.trials import pictures
from rig.api.trials.drift import RULE_DRIFT, RULE_ODD
from rig.api.trials.replication import MetricTrials, SessionTrials, session_trials
from rig.api.trials.within import RULE, sentences, within_trials
from rig.model.picture import Picture
from rig.results.verdict import Outcome

_EMPTY = (
    "Open a session to see its trials: on the start page, from the list of sessions, or"
    " by dropping its folder here."
)
_LEGEND = (
    "Dots: trials, from top to bottom in order of time, about the {reference}."
    " Green: within 5 %. Bars: 95 % intervals, thick for the same samples,"
    " thin for other samples."
)


#: Colours of verdicts.
_STATES = {
    Outcome.PASS: "ok",
    Outcome.FAIL: "bad",
    Outcome.NOT_TESTED: "warn",
    Outcome.INVALID: "bad",
}


class TrialsScreen(Screen):
    """How the trials of the open session agree."""

    def __init__(self, shell: Shell) -> None:
        super().__init__(shell)
        self._session: Session | None = None
        self.view: SessionTrials | None = None
        self._labels = Labels()
        self._labels.setWordWrap(False)
        self._headline = _line("trials-headline")
        self._findings = _line("trials-findings")
        set_state(self._findings, "bad")
        self._trace = push_button(
            "trials-odd-trace",
            "",
            self._show_odd_trace,
            accessible="Show the trace of the odd trial",
        )
        self.filter = LineField(
            "trials-filter", "Filter metrics by name", "Filter metrics (Ctrl+F)"
        )
        self.filter.setClearButtonEnabled(True)
        self.details = check_box(
            "trials-details",
            "&Details",
            self._choose_rows,
            accessible="Show details too",
        )
        self.details.setToolTip("Show also percentiles and other details")
        self.dots = Dots()
        self.detail = MetricView()
        self.tabs = named(QTabWidget(), "trials-tabs", "Views of the trials")
        self.pictures: list[PictureView] = []
        self._legend = _line("trials-legend", role="muted")
        self._lay_out()
        self.filter.textChanged.connect(self._choose_rows)
        self.dots.chosen.connect(self._show_metric)
        self.detail.drift.trial_chosen.connect(self._show_trace)
        shortcut(self, "Ctrl+F", self.filter.setFocus)
        self._show_nothing(_EMPTY)

    def show_session(self, session: Session) -> None:
        """Read the trials of a session in the background, and show them."""
        self._session = session
        self._show_nothing(f"Reading {session.path.name} ...")
        self.work(
            "trials-session",
            lambda: (session_trials(session), session.labels),
            self._take,
            self._fail,
        )
        self.work(
            "trials-pictures", lambda: _drawn(session), self._take_pictures, self._fail
        )

    def _take(self, read: tuple[SessionTrials, tuple[str, ...]]) -> None:
        view, labels = read
        self.view = view
        self.notice.clear()
        self._labels.set_labels(labels)
        if view.note:
            self.notice.show_text(view.note, Severity.WARNING)
        self._headline.setText(words.headline(view))
        set_state(self._headline, _STATES[view.results.replication.judged])
        self._findings.setText(" ".join(view.sentences))
        self._findings.setVisible(bool(view.sentences))
        self._findings.setToolTip("\n\n".join((RULE_ODD, RULE_DRIFT, RULE)))
        odd = view.drifts.pointed
        self._trace.setVisible(
            odd is not None and bool(view.results.provenance.monitors)
        )
        if odd is not None:
            self._trace.setText(f"Show the trace of trial {odd.trial}")
        claims = any(metric.claimed is not None for metric in view.metrics)
        legend = _LEGEND.format(reference="claim" if claims else "mean of the trials")
        if claims:
            legend += " Diamond: their mean."
        self._legend.setText(legend + words.marks_legend(view.metrics))
        self.details.setVisible(any(metric.detail for metric in view.metrics))
        self._choose_rows()
        if not view.metrics:
            self._headline.setText(
                "There is nothing to compare: no trial has finished."
            )
        elif odd is not None:
            self.dots.choose_named(odd.metric)
        for title, page in further.tabs(view):
            for table in page.findChildren(DataTable):
                table.set_labels(labels)
            self.tabs.addTab(page, title)
        self.tabs.setVisible(bool(view.metrics) or view.results.coverage is not None)

    def _take_pictures(
        self, drawn: tuple[tuple[Picture, ...], tuple[str, ...]]
    ) -> None:
        if self.view is None or self._session is None:
            return
        found_pictures, drifts = drawn
        # Between the first page and the tables.
        for number, picture in enumerate(found_pictures, start=1):
            name = f"{self._session.path.name}-{picture.name}"
            self.pictures.append(PictureView(picture, name))
            self.tabs.insertTab(number, self.pictures[-1], picture.title)
        sentences = " ".join([*self.view.sentences, *drifts])
        self._findings.setText(sentences)
        self._findings.setVisible(bool(sentences))
        # Qt 6.11 leaves the label at the height of its shorter text here.
        layout = self.layout()
        assert layout is not None
        layout.activate()

    def _fail(self, error: BaseException) -> None:
        self._show_nothing("")
        self.notice.show_error(error)

    def _show_nothing(self, text: str) -> None:
        self.view = None
        self.notice.clear()
        self._labels.set_labels(())
        self._headline.setText(text)
        set_state(self._headline, "")
        self._findings.hide()
        self._trace.hide()
        self.tabs.hide()
        while self.tabs.count() > 1:
            page = self.tabs.widget(1)
            self.tabs.removeTab(1)
            if page is not None:
                page.deleteLater()
        self.pictures = []

    def _choose_rows(self) -> None:
        view = self.view
        if view is None:
            return
        asked = self.filter.text().strip().lower()
        every = not any(not metric.detail for metric in view.metrics)
        details_too = every or asked or self.details.isChecked()
        rows = []
        for metric in view.metrics:
            is_shown = details_too or not metric.detail
            if is_shown and asked in metric.name.lower():
                rows.append(metric)
        self.dots.set_metrics(tuple(rows))
        if not rows:
            self.detail.set_metric(view, None)
        elif self.dots.current:
            self._show_metric(self.dots.current)

    def _show_metric(self, name: str) -> None:
        if self.view is not None:
            metric: MetricTrials = self.view.of(name)
            self.detail.set_metric(self.view, metric)

    def _show_odd_trace(self) -> None:
        if self.view is not None and self.view.drifts.pointed is not None:
            self._show_trace(self.view.drifts.pointed.trial)

    def _show_trace(self, trial: int) -> None:
        if self._session is not None and self.view is not None:
            rails = self.view.results.provenance.monitors
            if rails:
                self.shell.open_trace(self._session.path, trial, next(iter(rails)))
            else:
                self.shell.say(
                    "this session has no traces: there was no energy monitor"
                )

    def _lay_out(self) -> None:
        top = in_row([(self._headline, 1), self._labels])
        findings_row = in_row([(self._findings, 1), self._trace])
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(self.dots)
        search = in_row([(self.filter, 1), self.details])
        left = QWidget()
        in_column([search, (area, 1), self._legend], left, margins=TAB)
        both = split([left, self.detail], (640, 600), name="trials-splitter")
        both.setChildrenCollapsible(False)
        self.tabs.addTab(both, "Replication")
        in_column(
            [self.notice, top, findings_row, (self.tabs, 1)],
            self,
            margins=DENSE,
        )


def _drawn(session: Session) -> tuple[tuple[Picture, ...], tuple[str, ...]]:
    """Return the pictures of a session, and what drifts within its trials in words."""
    rows = within_trials(session)
    return pictures.pictures(session, rows), sentences(rows)


def _line(name: str, role: str = "") -> QLabel:
    return plain(name, role=role, wrap=True)
