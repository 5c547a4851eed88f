# SPDX-License-Identifier: Apache-2.0
"""The page of the support bundle: its contents can be read before it is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import (
    QFrame,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
)

from gui.shell import Shell
from gui.widgets.controls import check_box, named, push_button
from gui.widgets.file_dialog import FileRequest, with_chooser
from gui.widgets.layouts import CARD, STRETCH, in_column, in_row, split
from gui.widgets.notice import Notice, Severity
from gui.widgets.table import DataTable, TableColumn
from gui.widgets.text import PlainLabel
from rig.api.support import bundle
from rig.api.support.bundle import Bundle, BundleFile
from rig.bench.scan import scan
from rig.files.plain_text import visible
from rig.files.user_folders import expanded
from rig.units import bytes_text

_COLUMNS = (
    TableColumn("file", lambda file: file.name),
    TableColumn(
        "size",
        lambda file: bytes_text(file.size_b),
        lambda file: file.size_b,
        right=True,
    ),
    TableColumn("what it holds", lambda file: file.what),
)
_EXPLAINED = (
    "For a question to somebody who is not here: versions, the bench file, what is"
    " attached, how the open session went. No traces, no data. Passwords, keys, home"
    " folders and the names of users and computers are taken out. Collect it, look at"
    " every file, then write it."
)


class SupportCard(QFrame):
    """Collect a support bundle, look at its files, write it."""

    def __init__(self, shell: Shell) -> None:
        super().__init__()
        self._shell = shell
        self.bundle: Bundle | None = None
        self.setProperty("role", "card")
        self._serials = check_box(
            "support-serials", "Keep serial &numbers of instruments", self._forget
        )
        self._collect = _button("support-collect", "&Collect", self._do_collect)
        self._write = _button("support-write", "&Write", self._do_write)
        self._write.setEnabled(False)
        self._path = named(
            QLineEdit("~/neurorig-support.zip"), "support-path", "File of the bundle"
        )
        self._files = DataTable(_COLUMNS, "support-files")
        self._files.chosen.connect(self._show_file)
        self._text = named(QPlainTextEdit(), "support-text", "Text of the file")
        self._text.setReadOnly(True)
        self._text.setTabChangesFocus(True)
        self._text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._text.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self._notice = Notice()
        heading = PlainLabel("Support bundle", role="heading")
        explained = PlainLabel(_EXPLAINED, role="muted", wrap=True)
        path = with_chooser(self._path, FileRequest.NAME, "Archives (*.zip)")
        row = in_row([self._collect, self._serials, STRETCH, (path, 2), self._write])
        both = split([self._files, self._text], (480, 520), name="support-split")
        in_column(
            [heading, explained, row, self._notice, (both, 1)],
            self,
            margins=CARD,
        )

    def _forget(self) -> None:
        """Drop a bundle that was collected with other choices."""
        self.bundle = None
        self._files.set_rows([])
        self._text.clear()
        self._write.setEnabled(False)

    def _do_collect(self) -> None:
        self._notice.clear()
        self._collect.setEnabled(False)
        session = self._shell.session.path if self._shell.session is not None else None
        bench = self._shell.bench_path
        keep = self._serials.isChecked()
        self._shell.worker.do(
            lambda: bundle.collect(session, bench, keep_serials=keep, scan=scan),
            self._take,
            self._fail,
            key="support",
        )

    def _take(self, made: Bundle) -> None:
        self._collect.setEnabled(True)
        if made.serials_kept != self._serials.isChecked():
            return
        self.bundle = made
        self._files.set_rows(made.files)
        self._files.choose(made.files[0])
        self._write.setEnabled(True)

    def _fail(self, error: BaseException) -> None:
        self._collect.setEnabled(True)
        self._notice.show_error(error)

    def _show_file(self, file: BundleFile) -> None:
        self._text.setPlainText(visible(file.text))

    def _do_write(self) -> None:
        if self.bundle is None:
            return
        made = self.bundle
        path = expanded(self._path.text())
        if path.exists():
            self._notice.show_text(
                f"{path} is there already: give another name", Severity.ERROR
            )
            return
        self._shell.worker.do(
            lambda: made.write(path), self._written, self._fail, key="support"
        )

    def _written(self, path: Path) -> None:
        self._notice.show_text(
            f"{path} is written: look at it once more before you send it",
            Severity.SUCCESS,
        )


def _button(name: str, text: str, action: Callable[[], None]) -> QPushButton:
    accessible = f"{text.replace('&', '')} the support bundle"
    return push_button(name, text, action, accessible=accessible)
