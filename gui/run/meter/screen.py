# SPDX-License-Identifier: Apache-2.0
"""The meter: one monitor without a task, its numbers and its live picture, and
recordings."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from PySide6.QtCore import QTimer

from gui.run.live_view import LiveControls, LiveView
from gui.run.meter.link import MeterLink, MeterOver, MeterSaid
from gui.run.meter.record_bar import RecordBar
from gui.run.meter.source_bar import SourceBar
from gui.run.meter.values_view import ValuesView
from gui.screen import Screen
from gui.shell import Shell
from gui.widgets.controls import push_button, shortcut
from gui.widgets.layouts import DENSE, STRETCH, in_column, in_row
from gui.widgets.notice import Severity, error_text
from rig.bench import config
from rig.bench.metering import Metering, NotRecorded, RecordingEnded, kinds
from rig.errors import RigError
from rig.interfaces.monitor import MonitorInfo
from rig.live.meter import RecordState
from rig.model.origin import Origin, of_part
from rig.store.events import Opening

_FRAME_MS = 33
#: Numbers are read by people: so many frames for each.
_REST_EVERY = 6
#: After so long without samples the page states that it waits for the instrument.
_SILENT_S = 2.0
#: The engine switches off and closes within this time when the window is closed.
_CLOSE_S = 15.0


class MeterScreen(Screen):
    """The screen: the source on top, then numbers, picture, recording."""

    KEYS: ClassVar = (
        ("F5", "start: the supply goes on"),
        ("Shift+F5, Esc", "stop: the supply is off then"),
        ("Ctrl+R", "record, or end the recording"),
        ("Ctrl+0", "energy, charge and time begin again"),
        ("Space", "hold the live picture (all else goes on)"),
    )

    def __init__(self, shell: Shell) -> None:
        super().__init__(shell)
        self._link: MeterLink | None = None
        self._frames = 0
        self._newest: Path | None = None
        self._open = push_button(
            "meter-open",
            "Open in Trace",
            self._open_newest,
            accessible="Open the newest recording in Trace",
        )
        self.bar = SourceBar()
        self.values = ValuesView()
        self.view = LiveView(phased=False)
        self.controls = LiveControls("meter")
        self.record_bar = RecordBar(Path(shell.memory.get("recordings", "recordings")))
        self._timer = QTimer(self)
        self._timer.setInterval(_FRAME_MS)
        self._timer.timeout.connect(self._frame)
        self._open.setEnabled(False)
        controls = in_row([self.controls, STRETCH, self._open])
        head = [self.bar, self.notice, self.values]
        in_column([*head, controls, (self.view, 1), self.record_bar], self, DENSE)
        self._listen()
        self.view.set_silence(
            "Start switches the supply on and shows what is drawn from it"
        )
        self._bench_changed(shell.bench_path)

    # What other parts call

    def leave(self) -> None:
        """Switch off: a supply that is not seen is not on."""
        self.stop()

    def close_down(self) -> bool:
        """End the meter; the supply is off then."""
        return self._ends(self._link, _CLOSE_S)

    @property
    def busy(self) -> bool:
        """Whether the meter is at work, and a supply may be on."""
        return self._link is not None

    # Actions of the user

    def start(self) -> None:
        """Switch the supply on, and measure."""
        if self._link is not None or not self.bar.start.isEnabled():
            return
        self.notice.clear()
        try:
            source = self.bar.source
        except RigError as error:
            self.notice.show_error(error)
            return
        self.bar.labels.set_labels([])
        self.values.clear()
        self.view.reset()
        self.view.set_silence("the monitor is being opened ...")
        self.record_bar.said.setText("")
        self._link = MeterLink(source, self.shell.bridge.post)
        self._link.start()
        self._timer.start()
        self._show_state()

    def stop(self) -> None:
        """Switch the supply off."""
        if self._link is not None:
            self._link.stop()

    def reset(self) -> None:
        """Let the sums begin again."""
        if self._link is not None and self._link.meter is not None:
            self._link.meter.reset()

    def record(self) -> None:
        """Record, or end the recording, or the wait for its trigger."""
        meter = self._link.meter if self._link is not None else None
        if meter is None:
            return
        if meter.reading().state is not RecordState.OFF:
            meter.end_recording()
        else:
            try:
                trigger = self.record_bar.trigger
            except RigError as error:
                self.notice.show_error(error)
                return
            self.notice.clear()
            root = self.record_bar.root
            self.shell.memory.set("recordings", str(root))
            meter.record(root / _folder_name(), trigger)
        self._show_numbers()

    # The engine

    def _arrived(self, item: Any) -> None:
        if not isinstance(item, MeterSaid | MeterOver) or item.link is not self._link:
            return
        if isinstance(item, MeterOver):
            self._over(item.error)
            return
        match item.what:
            case Opening():
                self.view.set_silence(f"{item.what.name} is being opened ...")
            case Metering():
                self._metering(item.what.info)
            case RecordingEnded():
                self._recorded(item.what)
            case NotRecorded():
                self.notice.show_error(item.what.error)
            case _:
                pass

    def _metering(self, info: MonitorInfo) -> None:
        origin = info.origin or of_part(info.simulated)
        labels = [] if origin is Origin.MEASURED else [origin.upper()]
        self.bar.labels.set_labels(labels)
        self.view.set_silence("no samples yet")
        self.shell.say(f"{info.name}: the supply is on")
        self._show_state()

    def _recorded(self, recorded: RecordingEnded) -> None:
        self.values.show_recorded(recorded.amounts)
        if recorded.error is not None:
            self.notice.show_error(recorded.error)
            return
        self.record_bar.said.setText(f"recorded: {recorded.trace}")
        self.record_bar.said.setToolTip(str(recorded.trace))
        self._open.setEnabled(True)
        self._newest = recorded.trace

    def _over(self, error: BaseException | None) -> None:
        self._frame()
        self._timer.stop()
        self._link = None
        if error is not None:
            self.notice.show_error(error)
        self.view.set_silence("the supply is off")
        self.shell.say("the meter has ended: the supply is off")
        self._show_state()

    def _open_newest(self) -> None:
        if self._newest is not None:
            self.shell.open_trace(self._newest)

    # Display

    def _frame(self) -> None:
        link = self._link
        if link is None:
            return
        if not self.controls.hold.isChecked():
            frame = link.frame(self.controls.span_s, self.view.columns)
            if frame is not None:
                self.view.show_frame(frame)
        self._frames += 1
        if self._frames % _REST_EVERY == 0 or not link.alive:
            self._show_numbers()

    def _show_numbers(self) -> None:
        link = self._link
        if link is None or link.meter is None:
            return
        reading = link.meter.reading()
        self.values.show_reading(reading)
        self.record_bar.show_state(reading.state, link.alive)
        if reading.state is RecordState.ARMED:
            self.record_bar.said.setText("waits for the trigger")
        elif reading.state is RecordState.RECORDING:
            self.record_bar.said.setText("recording")
        elif self.record_bar.said.text() in ("waits for the trigger", "recording"):
            self.record_bar.said.setText("")
        if reading.power is None and link.silent_s > _SILENT_S:
            self.view.set_silence(
                "the monitor sends no samples; one that records from the first edge of"
                " SYNC on waits for it"
            )

    def _show_state(self) -> None:
        running = self._link is not None
        self.bar.set_running(running)
        ready = self._link is not None and self._link.meter is not None
        self.record_bar.show_state(RecordState.OFF, ready)

    def _bench_changed(self, path: Path | None) -> None:
        """Offer the monitors of the bench file that is at hand now."""
        if path is None:
            self._offer(None, ())
            return

        def rails() -> tuple[tuple[str, str], ...]:
            resolved = config.load(path)
            return tuple(
                (rail, choice.kind) for rail, choice in resolved.monitors.items()
            )

        self.work(
            "meter-bench",
            rails,
            partial(self._offer, path),
            partial(self._unreadable, path),
        )

    def _unreadable(self, path: Path, error: BaseException) -> None:
        self._offer(None, ())
        text = f"{path.name} offers no monitor\n{error_text(error)}"
        self.notice.show_text(text, Severity.WARNING)

    def _offer(self, path: Path | None, rails: tuple[tuple[str, str], ...]) -> None:
        if self._link is not None:
            self.stop()
        self.bar.offer(path, rails, kinds())

    def _listen(self) -> None:
        self.shell.bridge.arrived.connect(self._arrived)
        self.shell.bench_changed.connect(self._bench_changed)
        self.bar.start.clicked.connect(self.start)
        self.bar.stop.clicked.connect(self.stop)
        self.bar.reset.clicked.connect(self.reset)
        self.record_bar.record.clicked.connect(self.record)
        keys = {
            "F5": self.start,
            "Shift+F5": self.stop,
            "Esc": self.stop,
            "Ctrl+R": self.record_bar.record.click,
            "Ctrl+0": self.reset,
            "Space": self.controls.hold.toggle,
        }
        for key, action in keys.items():
            shortcut(self, key, action)


def _folder_name() -> str:
    """Return the name of a new recording's folder: when it was asked for."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}-meter"
