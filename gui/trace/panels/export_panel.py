# SPDX-License-Identifier: Apache-2.0
"""Export of the selection, the view or the whole trace at its full rate, its size
stated first."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QFormLayout,
    QProgressBar,
    QWidget,
)

from gui.bridge import Bridge
from gui.trace.picture.picture_file import folder_for, free_path
from gui.trace.shown.background import BackgroundTask
from gui.trace.shown.state import Topic, TraceState
from gui.widgets.controls import combo_box, push_button
from gui.widgets.file_dialog import FileRequest, with_chooser
from gui.widgets.layouts import STRETCH, TAB, in_column, in_row
from gui.widgets.line_field import LineField
from gui.widgets.notice import Notice, Severity
from gui.widgets.text import PlainLabel, plain
from gui.worker import BackgroundWorker
from rig.files.user_folders import expanded
from rig.units import bytes_text, quantity

_WHAT = ("Selection", "Visible span", "Whole trace")
_PICTURES = "Pictures (*.svg *.pdf *.png)"
_FORMS = {"JLS": "jls", "CSV": "csv", "Parquet": "parquet"}


class ExportPanel(QWidget):
    """Choices of an export: stretch, form, file; and the size of the file."""

    def __init__(self, worker: BackgroundWorker, sizes: BackgroundWorker) -> None:
        super().__init__()
        self.setObjectName("trace-export")
        self._task: BackgroundTask[Path] = BackgroundTask(worker, "trace-export")
        self._size: BackgroundTask[int] = BackgroundTask(sizes, "trace-export-size")
        self._bridge = Bridge(self)
        self._state: TraceState | None = None
        self.what = combo_box("export-what", "What is exported", _WHAT, self._estimate)
        self.form = combo_box(
            "export-form", "File format", tuple(_FORMS), self._renamed
        )
        self.path = LineField("export-path", "File to write")
        self.picture = LineField("export-picture", "File of the picture")
        self.save_picture = push_button(
            "export-picture-save", "Save the picture (P)", accessible="Save the picture"
        )
        self.size_text = plain("export-size", wrap=True)
        self.button = push_button(
            "export-start", "Export", self.export, accessible="Export the selection"
        )
        self.cancel = push_button(
            "export-cancel", "Cancel", self._cancel, accessible="Cancel the export"
        )
        self.cancel.setEnabled(False)
        self.progress = QProgressBar()
        self.progress.setObjectName("export-progress")
        self.progress.setRange(0, 1000)
        self.progress.hide()
        self.notice = Notice()
        self._lay_out()
        self._bridge.arrived.connect(
            lambda share: self.progress.setValue(round(1000 * share))
        )
        self.path.editingFinished.connect(
            lambda: self._named(Path(self.path.text().strip()))
        )

    @property
    def waiting(self) -> bool:
        """Whether a file is being written, or its size estimated."""
        return self._task.pending or self._size.pending

    def set_state(self, state: TraceState) -> None:
        """Take a trace."""
        self._state = state
        state.listen(self._changed)
        subject = state.subject
        stem = subject.title.removesuffix(subject.path.suffix)
        if subject.trial:
            stem = f"{subject.title}-trial-{subject.trial}"
        folder = folder_for(subject.path)
        self.picture.setText(str(free_path(folder / f"{stem}.png")))
        self.path.setText(str(free_path(folder / f"{stem}-part.{self._form}")))
        self._estimate()

    def stop(self) -> None:
        """Cancel an export; its partial file is removed."""
        self._task.cancel()
        self._size.cancel()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Estimate what changed while the panel was hidden."""
        super().showEvent(event)
        if self._state is not None:
            chosen = self._state.selection is not None
            self.what.setCurrentText("Selection" if chosen else "Visible span")
        self._estimate()

    def export(self) -> None:
        """Write the file in the background."""
        stretch = self._stretch()
        if self._state is None or stretch is None or not self.path.text().strip():
            return
        trace, form = self._state.subject.trace, self._form
        path = expanded(Path(self.path.text().strip()))
        self.notice.clear()
        self.progress.setValue(0)
        self._running(True)
        post = self._bridge.post
        write = partial(trace.export, path, *stretch, form=form, progress=post)
        self._task.start(
            lambda stopped: write(stopped=stopped), self._done, self._failed
        )

    @property
    def _form(self) -> str:
        return _FORMS[self.form.currentText()]

    def _stretch(self) -> tuple[float, float] | None:
        state = self._state
        if state is None:
            return None
        what = self.what.currentText()
        if what == "Selection":
            chosen = state.selection
            return None if chosen is None else (chosen.start_s, chosen.stop_s)
        if what == "Visible span":
            return state.view.start_s, state.view.stop_s
        return 0.0, state.view.duration_s

    def _changed(self, topic: Topic) -> None:
        if topic in ("view", "markers", "chosen") and self.isVisible():
            self._estimate()

    def _estimate(self) -> None:
        if self._state is None or not self.isVisible():
            return
        stretch = self._stretch()
        self.button.setEnabled(stretch is not None and not self._task.pending)
        if stretch is None:
            self.size_text.setText(
                "Nothing is selected: Shift-drag in the picture, or choose a window."
            )
            return
        trace, form = self._state.subject.trace, self._form
        self.size_text.setText("...")
        start_s, stop_s = stretch
        samples = round((stop_s - start_s) * trace.sample_hz)

        def show(size_b: int) -> None:
            self.size_text.setText(
                f"about {bytes_text(size_b)}: {samples} samples,"
                f" {quantity(stop_s - start_s, 's')} at"
                f" {quantity(trace.sample_hz, 'Hz')}, none left out"
            )

        self._size.start(
            lambda stopped: trace.export_bytes(start_s, stop_s, form),
            show,
            self.notice.show_error,
        )

    def _named(self, path: Path) -> None:
        """Take the format that a name ends with."""
        for name, form in _FORMS.items():
            if path.suffix.lower() == f".{form}":
                self.form.setCurrentText(name)

    def _renamed(self) -> None:
        text = self.path.text()
        if text:
            self.path.setText(str(Path(text).with_suffix(f".{self._form}")))
        self._estimate()

    def _running(self, running: bool) -> None:
        self.button.setEnabled(not running)
        self.cancel.setEnabled(running)
        self.progress.setVisible(running)

    def _cancel(self) -> None:
        self._task.cancel()
        self._running(False)
        self.notice.show_text(
            "the export was cancelled: no part of it stays", Severity.INFORMATION
        )

    def _done(self, path: Path) -> None:
        self._running(False)
        self.notice.show_text(
            f"{path}: {bytes_text(path.stat().st_size)} written", Severity.SUCCESS
        )

    def _failed(self, error: BaseException) -> None:
        self._running(False)
        self.notice.show_error(error)

    def _lay_out(self) -> None:
        form = QFormLayout()
        form.addRow("What", self.what)
        form.addRow("As", self.form)
        form.addRow("File", with_chooser(self.path, FileRequest.NAME, take=self._named))
        form.addRow("Size", self.size_text)
        row = in_row([self.button, self.cancel, STRETCH])
        layout = in_column([form, row, self.progress, self.notice], self, margins=TAB)
        pictured = QFormLayout()
        pictured.addRow(
            "Picture", with_chooser(self.picture, FileRequest.NAME, _PICTURES)
        )
        hint = PlainLabel(
            "SVG or PDF for a paper, or PNG, as the name ends; also on the clipboard.",
            wrap=True,
        )
        layout.addSpacing(16)
        layout.addLayout(pictured)
        layout.addWidget(hint)
        layout.addWidget(self.save_picture, 0, Qt.AlignmentFlag.AlignLeft)
        layout.addStretch(1)
