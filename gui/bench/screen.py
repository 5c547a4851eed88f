# SPDX-License-Identifier: Apache-2.0
"""The bench screen: choose a bench file, connect and prove it, edit it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from PySide6.QtWidgets import QStackedWidget, QWidget

from gui.bench import link, rows_view
from gui.bench.cards import Cards
from gui.bench.choose_page import ChoosePage
from gui.bench.connect_page import BUTTONS, ConnectPage
from gui.bench.document import DocumentReading, is_example, read_text
from gui.bench.file_bar import PAGES, FileBar
from gui.bench.link import BenchLink, Deed, Due, Over, Ready, Told
from gui.bench.settings_page import SettingsPage
from gui.screen import Screen
from gui.shell import Shell
from gui.widgets.controls import shortcut
from gui.widgets.layouts import DENSE, in_column
from gui.widgets.notice import Severity
from rig.bench import bench_file, examples
from rig.bench.bench_file import BenchFile
from rig.bench.scan import EMPTY, ScanRow, is_empty
from rig.errors import ConfigError
from rig.model.finding import Finding
from rig.model.wiring import WireFinding
from rig.store.events import PartOpened

#: The engine lets go of instruments within this time when the window is closed.
_CLOSE_S = 10.0


class BenchScreen(Screen):
    """Three pages under one bar."""

    KEYS: ClassVar = (
        ("Alt+1, Alt+2, Alt+3", "bench files, parts and wires, settings"),
        ("F7", "connect, or disconnect"),
        ("F8", "probe"),
        ("F9", "prove the wiring, wire by wire"),
        ("F10", "supply on or off"),
        ("F11", "scan for what is attached"),
        ("Esc", "stop; the supply is off then"),
        ("Ctrl+S", "save the bench file"),
        ("Ctrl+Z", "undo, in the text"),
    )

    def __init__(self, shell: Shell) -> None:
        super().__init__(shell)
        self._file: BenchFile | None = None
        self._reading: DocumentReading | None = None
        self.cards = Cards()
        self._link: BenchLink | None = None
        self._failed = False
        self._wanted: Deed | None = None
        self._saving = False
        self._proved: tuple[tuple[str, str], ...] | None = None
        self.choose = ChoosePage()
        self.connect_page = ConnectPage()
        self.settings = SettingsPage()
        self.bar = FileBar()
        self._pages = QStackedWidget()
        pages: dict[str, QWidget] = {
            "files": self.choose,
            "parts": self.connect_page,
            "settings": self.settings,
        }
        for name, _, _ in PAGES:
            self._pages.addWidget(pages[name])
        in_column(
            [self.bar, self.notice, (self._pages, 1)],
            self,
            margins=DENSE,
            spacing=10,
        )
        self._listen()
        self._show_state()
        self.work("bench-examples", examples.examples, self.choose.set_examples)
        self._take_bench(shell.bench_path)

    # What other parts call

    def enter(self) -> None:
        """Open the bench that was open last, or read its file again if it was
        changed.
        """
        self._look_at_recent()

    def _look_at_recent(self) -> None:
        recent = [path for path in self.shell.memory.recent if path.suffix == ".toml"]
        self.work(
            "bench-recent",
            lambda: [path for path in recent if path.exists()],
            self.choose.set_recent,
        )

    def leave(self) -> None:
        """Switch the supply off: it is on only while this screen is in view."""
        self.stop()

    def close_down(self) -> bool:
        """End the deed at work; the supply is off after it."""
        self._wanted = None
        return self._ends(self._link, _CLOSE_S)

    @property
    def busy(self) -> bool:
        """Whether something goes on, and a supply may be on."""
        return self._link is not None

    def show_page(self, name: str) -> None:
        """Show one of the pages: files, parts, settings."""
        names = [each for each, _, _ in PAGES]
        self._pages.setCurrentIndex(names.index(name))
        self.bar.mark_page(name)

    # The file

    def _take_bench(self, path: Path | None) -> None:
        if path is None:
            self.show_page("files")
            return
        self._look_at_recent()
        if self._file is not None and path == self._file.path:
            return
        self.stop()
        self.work("bench-file", lambda: BenchFile.read(path), self._take_file)

    def _take_file(self, file: BenchFile) -> None:
        self.notice.clear()
        self._file = file
        self._reading = None
        self._proved = None  # those findings are of another bench
        self.settings.load(file.text)
        self.bar.offer_name(file.path, is_example(file.path))
        self._read()
        if self._pages.currentWidget() is self.choose:
            self.show_page("parts")
        self._show_state()

    def _read(self) -> None:
        if self._file is None:
            return
        text = self.settings.text.toPlainText()
        folder = self._file.path.resolve().parent
        self.work("bench-text", lambda: read_text(text, folder), self._take_reading)
        self._show_state()

    def _take_reading(self, reading: DocumentReading) -> None:
        self._reading = reading
        self.settings.show_reading(reading)
        self.connect_page.set_problem(reading.sentence)
        if self._link is None:
            self.cards = (
                Cards.of(reading.resolved) if reading.resolved is not None else Cards()
            )
            self._show_cards()
            # Test results stay while only comments change.
            if (
                reading.picture != self.connect_page.picture.drawn
                or self._proved != reading.due
            ):
                self._proved = reading.due
                self.connect_page.set_diagram(reading.picture)
                self.connect_page.rows.begin("Wires to prove", reading.due)
        simulated = any(card.simulated for card in self.cards.by_key.values())
        self.bar.labels.set_labels(["SIMULATED"] if simulated else [])
        self._show_state()
        if self._wanted is not None and not self.changed:
            wanted, self._wanted = self._wanted, None
            self.do(wanted)

    @property
    def changed(self) -> bool:
        """Whether the text is another than the file's."""
        return (
            self._file is not None
            and self.settings.text.toPlainText() != self._file.text
        )

    def save(self) -> None:
        """Save the text: to its file, or where it came with the rig under another
        name."""
        if self._file is None or self._saving:
            return
        self._saving = True
        file, text = self._file, self.settings.text.toPlainText()
        path = self.bar.name() or file.path

        def write() -> BenchFile:
            if path != file.path:
                return bench_file.write(path, text, file.newline, new=True)
            if is_example(path):
                raise ConfigError(
                    f"{path.name} came with the rig, and is not written over",
                    try_next="another name, in the field beside Save",
                )
            return file.saved(text)

        self.work("bench-save", write, self._saved, self._save_failed)

    def _saved(self, file: BenchFile) -> None:
        self._saving = False
        other = self._file is None or file.path != self._file.path
        self._file = file
        self.notice.clear()
        self.bar.offer_name(file.path, False)
        self.shell.say(f"{file.path.name} is saved")
        self._show_state()
        if other:
            self.shell.set_bench(file.path)
        self._read()

    def _save_failed(self, error: BaseException) -> None:
        self._wanted = None
        self._saving = False
        if self._file is not None:
            self.bar.offer_name(self._file.path, True)
        self.notice.show_error(error)

    def _reload(self) -> None:
        if self._file is not None:
            path = self._file.path
            self.work("bench-file", lambda: BenchFile.read(path), self._take_file)

    def _create(self, name: str, path: Path) -> None:
        self.work(
            "bench-file",
            lambda: examples.new(name, path),
            lambda file: self.shell.set_bench(file.path),
        )

    def _without(self, name: str) -> None:
        path = Path.cwd() / f"{name}.toml"

        def made() -> Path:
            return path if path.exists() else examples.new(name, path).path

        self.work("bench-file", made, self.shell.set_bench)

    # The engine

    def do(self, deed: Deed) -> None:
        """Begin a deed with the bench; changes are saved before."""
        if self._link is not None:
            return
        if deed is not Deed.SCAN:
            if self._file is None or self._reading is None:
                return
            if self.changed:
                self._wanted = deed
                self.save()
                return
            if self._reading.resolved is None:
                return
        self.notice.clear()
        self._failed = False
        if self._reading is not None and self._reading.resolved is not None:
            self.cards = Cards.of(self._reading.resolved)
            self._show_cards()
        self.connect_page.picture.clear_found()
        self.connect_page.rows.begin(link.HEADINGS[deed])
        path = self._file.path if self._file is not None else None
        self._link = BenchLink(deed, path, self.shell.bridge.post)
        self.show_page("parts")
        self._show_state()

    def stop(self) -> None:
        """End the deed at work, or one that waits; the supply is off after it."""
        self._wanted = None
        if self._link is not None:
            self._link.stop()

    def _arrived(self, item: Any) -> None:
        if not isinstance(item, Told) or item.link is not self._link:
            return
        what = item.what
        rows = self.connect_page.rows
        if self.cards.take(what):
            self._show_cards()
        match what:
            case Due():
                rows.begin(link.HEADINGS[item.link.deed], what.rows)
            case WireFinding():
                self._failed = self._failed or what.ok is False
                rows.add(rows_view.of_wire(what))
                self.connect_page.picture.mark(str(what.wire), what.rail, what.ok)
            case Finding():
                self._failed = self._failed or not what.ok
                rows.add(rows_view.of_finding(what))
            case PartOpened() if item.link.deed in (Deed.CONNECT, Deed.POWER):
                if what.info is not None:
                    rows.add(rows_view.of_part(what))
            case Ready():
                self._ready(what)
            case list():
                self._scanned(what)
            case Over():
                self._over(what.error)
            case _:
                pass

    def _ready(self, ready: Ready) -> None:
        self.cards.readings(ready.readings)
        self._show_cards()
        assert self._link is not None
        connected = self._link.deed is Deed.CONNECT
        state = "Connected; the supply is on" if connected else "The supply is on"
        self.connect_page.rows.say(state)
        for rail, text in ready.readings.items():
            self.connect_page.rows.add(
                rows_view.FindingRow("supply", "✓ ok", text, rail=rail)
            )

    def _scanned(self, rows: list[ScanRow]) -> None:
        for row in rows:
            self.connect_page.rows.add(rows_view.of_scan(row))
        if is_empty(rows):
            self.notice.show_text(
                "nothing is attached\n" + "\n".join(EMPTY), Severity.WARNING
            )

    def _over(self, error: BaseException | None) -> None:
        assert self._link is not None
        deed, stopped = self._link.deed, self._link.stopped
        self._link = None
        self.cards.over(error is not None)
        self._show_cards()
        if error is not None:
            self.notice.show_error(error)
        rows = self.connect_page.rows
        rows.end(link.outcome(deed, error, self._failed, stopped))
        self._show_state()

    # Display

    def _show_cards(self) -> None:
        self.connect_page.cards.show_cards(self.cards)

    def _show_state(self) -> None:
        running = self._link.deed if self._link is not None else None
        usable = self._reading is not None and self._reading.resolved is not None
        self.connect_page.set_state(running, usable)
        wrong = self._reading is not None and self._reading.problem is not None
        self.bar.show_file(self._file, self.changed, wrong)

    def _listen(self) -> None:
        self.shell.bridge.arrived.connect(self._arrived)
        self.shell.bench_changed.connect(self._take_bench)
        self.bar.page_chosen.connect(self.show_page)
        self.bar.saved.connect(self.save)
        self.bar.loaded.connect(self._reload)
        self.choose.created.connect(self._create)
        self.choose.opened.connect(self.shell.set_bench)
        self.choose.without.connect(self._without)
        self.connect_page.wanted.connect(self.do)
        self.connect_page.stopped.connect(self.stop)
        self.settings.changed.connect(self._read)
        self.settings.text.textChanged.connect(self._show_state)
        self.settings.offer_kinds()
        for deed, _, key, _ in BUTTONS:
            shortcut(self, key, partial(self.connect_page.press, deed))
        shortcut(self, "Esc", self.stop)
        shortcut(self, "Ctrl+S", self.save)
        for name, _, key in PAGES:
            shortcut(self, key, partial(self.bar.press, name))
