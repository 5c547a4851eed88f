# SPDX-License-Identifier: Apache-2.0
"""The form of a run: bench file, task, scenario, claim, trials, settings, folder."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QComboBox,
    QFormLayout,
    QPlainTextEdit,
    QSpinBox,
    QWidget,
)

from gui.run import form
from gui.run.form import BenchFacts, RunForm
from gui.widgets.controls import combo_box, delayed, named, offer
from gui.widgets.file_dialog import BENCHES, FileRequest, with_chooser
from gui.widgets.layouts import LOW
from gui.widgets.line_field import LineField
from gui.widgets.text import tip
from rig.files.user_folders import expanded

#: The plan is made again after so long without typing.
_SETTLE_MS = 250
_SETTINGS_PX = 220
_CLAIMS = "Claims (*.toml *.json)"
_OF_THE_FILE = "as in the bench file"


class SetupPanel(QWidget):
    """The form; `changed` is emitted when it says something else, a moment after the
    last key."""

    changed = Signal()
    #: Another bench file was chosen here.
    bench_chosen = Signal(object)

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.setObjectName("run-setup")
        self._facts: BenchFacts | None = None
        self._bench: Path | None = None
        self._settle = delayed(self, _SETTLE_MS, self.changed.emit)
        self.bench = LineField("run-bench", "Bench file", "a bench file (.toml)")
        self.bench.editingFinished.connect(self._bench_typed)
        self.kinds = {section: self._kind(section) for section in form.SECTIONS}
        self.trials = named(QSpinBox(), "run-trials", "Trials")
        self.trials.setSizePolicy(LOW)
        self.trials.setRange(0, 1000)
        self.trials.setSpecialValueText(_OF_THE_FILE)
        self.trials.valueChanged.connect(self._settle.start)
        self.claim = LineField(
            "run-claim", "Claim file", "none: the bench file's own, if any"
        )
        self.claim.textChanged.connect(self._settle.start)
        self.root = LineField("run-root", "Folder of the sessions", "sessions")
        self.root.setText(str(root))
        self.root.textChanged.connect(self._settle.start)
        self.settings = named(QPlainTextEdit(), "run-settings", "Settings")
        self.settings.setPlaceholderText(
            "one SECTION.KIND.KEY=VALUE a line, as\n"
            "task.asc.samples=12\nscenario.single_stream.idle_s=1"
        )
        self.settings.setTabChangesFocus(True)
        self.settings.setMaximumHeight(_SETTINGS_PX)
        self.settings.textChanged.connect(self._settle.start)
        self._lay_out()

    @property
    def value(self) -> RunForm:
        """The contents of the form."""
        text = self.claim.text().strip()
        kinds = {}
        for section, box in self.kinds.items():
            if box.currentData():
                kinds[section] = box.currentData()
        return RunForm(
            bench=self._bench,
            kinds=kinds,
            settings=self.settings.toPlainText(),
            claim=expanded(text) if text else None,
            trials=self.trials.value() or None,
            root=expanded(self.root.text().strip() or "sessions"),
        )

    def set_bench(self, path: Path | None, facts: BenchFacts | None) -> None:
        """Take another bench file, and its facts, None where it cannot be read."""
        if path != self._bench:
            for box in self.kinds.values():
                box.setCurrentIndex(0)
        self._bench = path
        self._facts = facts
        self.bench.setText("" if path is None else str(path))
        self.bench.setToolTip(tip(self.bench.text()))
        for section, box in self.kinds.items():
            in_bench = "" if facts is None else facts.kinds[section]
            box.setItemText(
                0, f"{in_bench}  (bench file)" if in_bench else _OF_THE_FILE
            )
        own_trials = _OF_THE_FILE if facts is None else f"{facts.trials}  (bench file)"
        self.trials.setSpecialValueText(own_trials)
        self._settle.start()

    def _kind(self, section: str) -> QComboBox:
        start = self._settle.start
        box = combo_box(f"run-{section}", section.capitalize(), action=start)
        box.setSizePolicy(LOW)
        kinds = [(kind, kind) for kind in form.known_kinds(section)]
        offer(box, [(_OF_THE_FILE, ""), *kinds])
        return box

    def _lay_out(self) -> None:
        rows = QFormLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        rows.addRow(
            "Bench",
            with_chooser(self.bench, FileRequest.FILE, BENCHES, self.bench_chosen.emit),
        )
        rows.addRow("Task", self.kinds["task"])
        rows.addRow("Scenario", self.kinds["scenario"])
        rows.addRow("Trials", self.trials)
        rows.addRow("Claim", with_chooser(self.claim, FileRequest.FILE, _CLAIMS))
        rows.addRow("Sessions", with_chooser(self.root, FileRequest.FOLDER))
        rows.addRow("Settings", self.settings)

    def _bench_typed(self) -> None:
        text = self.bench.text().strip()
        path = expanded(text) if text else None
        if path != self._bench:
            self.bench_chosen.emit(path)
