# SPDX-License-Identifier: Apache-2.0
"""The page of a board's first bench: board, monitor and ports are chosen, then the
project is made, built and written to the board; `rig start` does the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QFormLayout, QPlainTextEdit, QWidget

from gui.widgets.controls import check_box, combo_box, named, offer, push_button
from gui.widgets.file_dialog import ANY, FileRequest, chooser
from gui.widgets.layouts import LOW, STRETCH, in_column, in_row
from gui.widgets.path_field import PathField
from gui.widgets.text import PlainLabel, plain
from rig.bench.first_bench import (
    NO_MONITOR,
    PORT,
    SIMULATED,
    FirstBench,
    attached,
    board_choices,
    instrument_setting,
    monitor_choices,
)
from rig.bench.scan import ONBOARD, SERIAL, ScanRow
from rig.files.plain_text import visible
from rig.files.user_folders import expanded
from rig.firmware import project
from rig.firmware.monitors import MONITORS
from rig.firmware.project import Port

#: Lines of the commands that are kept.
_KEPT = 5000
_ABOUT = (
    "Makes a firmware project with bench files and a wiring page, builds its image and"
    " writes it to the board. The next page shows the wires and proves them. The same"
    " in a terminal: rig start."
)


def ports_known() -> dict[str, Port]:
    """Return the boards and processes that a project can be made for, by name."""
    return project.ports(project.sources())


class NewBoardPage(QWidget):
    """Choices on top, the commands' lines below. `asked` is emitted with the bench to
    make and whether its image is to be written to the board, `opened` with its file,
    `scanned` to look for instruments, `stopped` and `closed` without anything.
    """

    asked = Signal(object, bool)
    opened = Signal(object)
    scanned = Signal()
    stopped = Signal()
    closed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._known: Mapping[str, Port] = {}
        self._rows: Sequence[ScanRow] = ()
        self._first: FirstBench | None = None
        self._is_running = False
        self._board = combo_box("new-board", "Board", (), self._take_board)
        self._monitor = combo_box("new-monitor", "Monitor", (), self._take_monitor)
        self._port = _address_box("new-port", "Serial port of the board")
        self._instrument = _address_box("new-instrument", "Address of the monitor")
        self._folder = PathField("new-folder", "Folder of the project", "a new folder")
        self._flashed = check_box(
            "new-flashed", "The image is on the board already: write none"
        )
        self._make = push_button(
            "new-make",
            "",
            self._ask,
            accessible="Make the first bench",
            role="primary",
        )
        self._stop = push_button("new-stop", "Stop", self.stopped.emit)
        self._open = push_button("new-open", "&Wires and probe", self._give_bench)
        self._remark = plain("new-remark", role="muted")
        self._back = push_button("new-back", "Back", self.closed.emit)
        self._port_row = QWidget()
        self._form = QFormLayout()
        self._lines = named(QPlainTextEdit(), "new-lines", "Lines of the commands")
        self._lines.setReadOnly(True)
        self._lines.setMaximumBlockCount(_KEPT)
        self._port.editTextChanged.connect(lambda text: self._show_state())
        self._instrument.editTextChanged.connect(lambda text: self._show_state())
        self._folder.textChanged.connect(lambda text: self._show_state())
        self._flashed.toggled.connect(lambda on: self._show_state())
        self._lay_out()
        self._show_state()

    def set_ports(self, known: Mapping[str, Port]) -> None:
        """Offer boards, the first one chosen unless one was."""
        self._known = known
        rows = [
            (f"{name}: {text}", name) for name, text in board_choices(known).items()
        ]
        offer(self._board, rows, self._board.currentData())
        self._take_board()

    def set_attached(self, rows: Sequence[ScanRow]) -> None:
        """Offer the addresses of attached instruments and ports."""
        self._rows = rows
        self._take_monitor()

    def begin(self) -> None:
        """Show that commands run."""
        self._is_running = True
        self._lines.clear()
        self._show_state()

    def add_line(self, line: str) -> None:
        """Show a line of a command."""
        self._lines.appendPlainText(visible(line))

    def end(self, *, made: bool) -> None:
        """Show that the commands have ended."""
        self._is_running = False
        if not made:
            self._first = None
        self._show_state()

    # The choices

    def _take_board(self) -> None:
        port = self._known.get(self._name(self._board))
        if port is None:
            return
        choices = monitor_choices(port)
        rows = [(f"{name}: {text}", name) for name, text in choices.items()]
        offer(self._monitor, rows, self._monitor.currentData())
        self._folder.setText(str(Path.cwd() / self._name(self._board)))
        self._take_monitor()

    def _take_monitor(self) -> None:
        self._offer_addresses()
        self._show_state()

    def _offer_addresses(self) -> None:
        _offer_typed(self._port, attached(self._rows, SERIAL, ONBOARD))
        lines = MONITORS.get(self._name(self._monitor))
        if lines is not None:
            _offer_typed(self._instrument, attached(self._rows, lines.kind))

    def _name(self, box: QComboBox) -> str:
        return str(box.currentData() or "")

    def _missing(self, first: FirstBench) -> str:
        """Name the choice that lacks, "" where none does."""
        if first.is_flashed and PORT not in first.addresses:
            return "the port of the board is missing"
        lines = MONITORS.get(first.monitor)
        if lines is None or not lines.address_needed:
            return ""
        known = instrument_setting(first.monitor) in first.addresses
        return "" if known else "the address of the monitor is missing"

    def _chosen(self) -> FirstBench | None:
        """Return the bench of the choices, None before there is a choice."""
        board = self._name(self._board)
        monitor = self._name(self._monitor)
        folder = self._folder.text().strip()
        if not (board and monitor and folder):
            return None
        known = self._known[board]
        addresses = self._addresses(monitor)
        return FirstBench(
            folder=expanded(folder),
            board=board,
            monitor=monitor,
            known=known,
            addresses=addresses,
        )

    def _addresses(self, monitor: str) -> dict[str, str]:
        addresses = {}
        if monitor != SIMULATED and (port := _typed(self._port)):
            addresses[PORT] = port
        if monitor in MONITORS and (typed := _typed(self._instrument)):
            addresses[instrument_setting(monitor)] = typed
        return addresses

    def _ask(self) -> None:
        first = self._first = self._chosen()
        if first is not None:
            self.asked.emit(first, first.is_flashed and not self._flashed.isChecked())

    def _give_bench(self) -> None:
        if self._first is not None:
            self.opened.emit(self._first.bench)

    # What is shown

    def _show_state(self) -> None:
        monitor = self._name(self._monitor)
        port = self._known.get(self._name(self._board))
        is_board = port is not None and port.board is not None
        on_board = is_board and monitor in (*MONITORS, NO_MONITOR)
        running = self._is_running
        for box in (self._board, self._monitor, self._folder, self._back):
            box.setEnabled(not running)
        self._form.setRowVisible(self._port_row, on_board)
        self._form.setRowVisible(self._instrument, monitor in MONITORS)
        self._form.setRowVisible(self._flashed, on_board)
        for part in (self._port_row, self._instrument, self._flashed):
            part.setEnabled(not running)
        flashes = on_board and not self._flashed.isChecked()
        self._make.setText("&Make, build and flash" if flashes else "&Make and build")
        chosen = self._chosen()
        missing = "no folder is given" if chosen is None else self._missing(chosen)
        is_made = chosen is not None and chosen == self._first and not running
        remark = "made; next: the wires, and a probe" if is_made else missing
        self._remark.setText("" if running or not self._known else remark)
        self._make.setEnabled(not missing and not running)
        self._stop.setEnabled(running)
        self._open.setEnabled(is_made)

    def _lay_out(self) -> None:
        heading = PlainLabel("New board", role="heading")
        about = plain("new-about", _ABOUT, role="muted", wrap=True)
        scan = push_button("new-scan", "S&can", self.scanned.emit)
        scan.setToolTip("Look for ports and instruments")
        folder = QWidget()
        choose = chooser(self._folder, FileRequest.NAME, ANY, self._take_folder)
        in_row([(self._folder, 1), choose], folder)
        in_row([(self._port, 1), scan], self._port_row)
        form = self._form
        form.addRow("Board", self._board)
        form.addRow("Monitor", self._monitor)
        form.addRow("Port of the board", self._port_row)
        form.addRow("Address of the monitor", self._instrument)
        form.addRow("Folder", folder)
        form.addRow("", self._flashed)
        row = [self._make, self._stop, self._open, self._remark, STRETCH, self._back]
        buttons = in_row(row)
        in_column([heading, about, form, buttons, (self._lines, 1)], self, spacing=10)

    def _take_folder(self, path: Path) -> None:
        self._folder.setText(str(path))


def _address_box(name: str, accessible: str) -> QComboBox:
    box = combo_box(name, accessible)
    box.setEditable(True)
    box.setSizePolicy(LOW)
    return box


def _typed(box: QComboBox) -> str:
    """Return the address in a box: that of a row that was chosen, or a typed one."""
    text = box.currentText().strip()
    row = box.findText(text)
    return text if row < 0 else str(box.itemData(row))


def _offer_typed(box: QComboBox, addresses: Mapping[str, str]) -> None:
    """Offer addresses; one that was typed stays."""
    before = _typed(box)
    rows = []
    for address, name in addresses.items():
        shown = name if name.startswith(address) else f"{address}: {name}"
        rows.append((shown, address))
    offer(box, rows, before)
    if before and before not in addresses:
        box.setEditText(before)
