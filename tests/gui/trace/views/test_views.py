# SPDX-License-Identifier: Apache-2.0
"""Views of a part of the trace by clicks: overlay, edge, histogram, export, axes,
annotations."""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from PySide6.QtWidgets import QGraphicsView

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.trace.screen import TraceScreen
    from gui.trace.views.plain_plot import PlainPlot
    from gui.window import MainWindow


def _settled(qtbot: QtBot, screen: TraceScreen) -> None:
    qtbot.waitUntil(screen.idle, timeout=10_000)


def _key(qtbot: QtBot, screen: TraceScreen, key: str, shift: bool = False) -> None:
    from PySide6.QtCore import Qt

    held = (
        Qt.KeyboardModifier.ShiftModifier if shift else Qt.KeyboardModifier.NoModifier
    )
    qtbot.keyClick(screen.stack, getattr(Qt.Key, f"Key_{key}"), held)


def _left() -> Any:
    from PySide6.QtCore import Qt

    return Qt.MouseButton.LeftButton


def _shown(qtbot: QtBot, screen: TraceScreen, widget: Any) -> None:
    screen.tabs.setCurrentWidget(widget)
    qtbot.waitUntil(lambda: screen.idle() and widget.isVisible(), timeout=10_000)


def _above_the_plot(plot: PlainPlot) -> bool:
    """Return whether the names of curves are above the samples, each at a place of its
    own."""
    names = plot.names
    boxes = list(names.boxes(names.width()))
    apart = not any(one.intersects(other) for one, other in pairwise(boxes))
    view = plot.findChild(QGraphicsView)
    assert view is not None and names.isVisible()
    inside = boxes[-1].bottom() <= names.height()
    return apart and inside and names.geometry().bottom() < view.geometry().top()


def test_the_trials_are_overlaid_in_the_sample_that_is_chosen_whatever_their_orders(
    screen: TraceScreen, qtbot: QtBot, virtual_session: Path
) -> None:
    import rig

    session = rig.open_session(virtual_session)
    screen.open(virtual_session, trial=4)
    qtbot.waitUntil(
        lambda: screen.state is not None and screen.state.subject.trial == 4
    )
    _settled(qtbot, screen)
    state = screen.state
    assert state is not None
    kinds = [(span.kind, span.phase) for span in state.subject.spans]
    position = kinds.index(("sample", "infer"))
    wanted = state.subject.spans[position]
    screen.windows.table.selectRow(position)
    _shown(qtbot, screen, screen.overlay)
    result = screen.overlay.shown
    assert result is not None
    assert [item.trial for item in result.trials] == [1, 2, 3, 4, 5]
    assert (result.sample, result.repetition) == (wanted.sample, 1)
    assert screen.overlay.occasion.currentText() == f"sample {wanted.sample}"
    for item in result.trials:
        spans = [span for span in session.spans(item.trial) if span.step == item.step]
        assert {span.sample for span in spans} == {wanted.sample}
        assert min(span.start_s for span in spans) == item.start_s
    assert len({item.step for item in result.trials}) > 1, (
        "the trials have other orders"
    )
    assert len(screen.overlay.table.rows) == 5
    names = screen.overlay.power.names
    assert len(names.names) == 5 and names.names[0].text.startswith("trial 1")
    qtbot.waitUntil(lambda: _above_the_plot(screen.overlay.power))
    for button, back in ((screen.overlay.next, False), (screen.overlay.previous, True)):
        qtbot.mouseClick(button, _left())
        _settled(qtbot, screen)
        assert screen.overlay.shown is not None
        assert (screen.overlay.shown.sample == wanted.sample) is back
    # Another trial of the session is shown in the same sample.
    screen.open(virtual_session, trial=2)
    qtbot.waitUntil(
        lambda: screen.state is not None and screen.state.subject.trial == 2
    )
    _settled(qtbot, screen)
    assert screen.overlay.occasion.currentText() == f"sample {wanted.sample}"


def test_an_edge_is_shown_with_its_uncertainty(
    screen: TraceScreen, qtbot: QtBot, virtual_session: Path
) -> None:
    state = screen.state
    assert state is not None
    position = next(
        k for k, span in enumerate(state.subject.spans) if span.kind == "sample"
    )
    span = state.subject.spans[position]
    screen.windows.table.selectRow(position)
    _shown(qtbot, screen, screen.edge)
    result = screen.edge.shown
    assert result is not None
    assert result.edge.at_s == span.start_s
    assert result.u_s == state.subject.trace.edge_uncertainty_s(span.start_s) > 0
    assert result.borders_s[0] < 0 < result.borders_s[-1]
    assert "known to" in screen.edge.text.text()
    assert [name.text for name in screen.edge.plot.names.names] == ["as seen", "marker"]
    qtbot.waitUntil(lambda: _above_the_plot(screen.edge.plot))


def test_the_histogram_and_the_spectrum_are_of_the_selection(
    screen: TraceScreen, qtbot: QtBot
) -> None:
    from rig.api.traces.distributions import Histogram, Spectrum

    state = screen.state
    assert state is not None
    position = next(
        k for k, span in enumerate(state.subject.spans) if span.kind == "idle"
    )
    span = state.subject.spans[position]
    screen.windows.table.selectRow(position)
    view = screen.distribution
    _shown(qtbot, screen, view)
    assert isinstance(view.shown, Histogram)
    assert view.shown.seconds.sum() == pytest.approx(
        span.stop_s - span.start_s, rel=1e-3
    )
    view.kind.setCurrentText("Spectrum")
    _settled(qtbot, screen)
    assert isinstance(view.shown, Spectrum)
    view.logarithmic.click()
    assert view.notice.text == ""


def test_an_export_states_its_size_and_has_the_same_energy(
    screen: TraceScreen, qtbot: QtBot, tmp_path: Path
) -> None:
    import rig

    state = screen.state
    assert state is not None
    start_s, stop_s = 0.1, 0.25
    state.place_dual(start_s, stop_s)
    panel = screen.export
    _shown(qtbot, screen, panel)
    assert "about" in panel.size_text.text()
    assert "30000 samples" in panel.size_text.text()
    for form, suffix in (("JLS", "jls"), ("CSV", "csv")):
        panel.form.setCurrentText(form)
        path = tmp_path / f"part.{suffix}"
        panel.path.setText(str(path))
        qtbot.mouseClick(panel.button, _left())
        qtbot.waitUntil(
            lambda: screen.idle() and "written" in panel.notice.text, timeout=10_000
        )
        panel.notice.clear()
        whole = state.subject.trace.statistics(start_s, stop_s, at_edges=False)
        with rig.open_trace(path) as part:
            again = part.statistics(at_edges=False)
        assert again.count == whole.count == 30_000
        assert again.energy_j == pytest.approx(whole.energy_j, rel=1e-7)
        assert again.power.most == pytest.approx(whole.power.most, rel=1e-6)
    panel.path.setText(str(tmp_path / "part.csv"))
    qtbot.mouseClick(panel.button, _left())
    qtbot.waitUntil(lambda: bool(panel.notice.text), timeout=10_000)
    assert "there already" in panel.notice.text


def test_exact_ends_of_an_axis_are_typed_and_given_up(
    screen: TraceScreen, qtbot: QtBot
) -> None:
    from PySide6.QtCore import Qt

    state = screen.state
    assert state is not None
    panel = screen.scales
    _shown(qtbot, screen, panel)
    for field, text in ((panel.lows["power"], "0 mW"), (panel.highs["power"], "60 mW")):
        field.selectAll()
        qtbot.keyClicks(field, text)
        qtbot.keyClick(field, Qt.Key.Key_Return)
    assert state.scales["power"].exact == (0.0, 0.06)
    panel.highs["power"].selectAll()
    qtbot.keyClicks(panel.highs["power"], "-1 W")
    qtbot.keyClick(panel.highs["power"], Qt.Key.Key_Return)
    assert "smaller end first" in panel.notice.text
    qtbot.mouseClick(
        panel.findChild(type(screen.export.button), "scale-power-auto"), _left()
    )
    assert state.scales["power"].exact is None


def test_annotations_are_saved_beside_the_trace_and_come_back(
    window: MainWindow, qtbot: QtBot, virtual_session: Path, tmp_path: Path
) -> None:
    import shutil

    from PySide6.QtCore import Qt

    path = tmp_path / "run.jls"
    shutil.copyfile(virtual_session / "trial-1" / "trace.jls", path)
    window.shell.open_trace(path)
    screen: Any = window.screen_named("trace")
    qtbot.waitUntil(lambda: screen.state is not None and screen.idle(), timeout=10_000)
    screen.state.place_dual(0.1, 0.2, "wake-up")
    screen.state.place_single(0.3)
    qtbot.keyClick(screen.stack, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: "saved as" in screen.markers.notice.text, timeout=10_000)
    assert path.with_suffix(".anno.jls").exists()
    marks = screen.state.markers.marks
    window.shell.open_trace(path)
    before = screen.state
    qtbot.waitUntil(lambda: screen.state is not before, timeout=10_000)
    assert screen.state.markers.marks == marks
    assert screen.state.markers.marks[0].label == "wake-up"


def test_a_picture_is_saved_with_what_it_is_of(
    screen: TraceScreen, qtbot: QtBot, tmp_path: Path
) -> None:
    import re

    from PySide6.QtGui import QGuiApplication, QImage

    state = screen.state
    assert state is not None
    assert "SIMULATED" in state.subject.labels
    screen.export.picture.setText(str(tmp_path / "shot.png"))
    for _ in range(2):
        _key(qtbot, screen, "P")
    assert {path.name for path in tmp_path.iterdir()} == {"shot.png", "shot-2.png"}
    image = QImage(str(tmp_path / "shot.png"))
    assert image.width() == 2 * screen.stack.width()
    assert image.height() > 2 * screen.stack.height()
    assert QGuiApplication.clipboard().image().size() == image.size()
    pixels = product(range(0, image.width(), 2), range(4, 38))
    head = {image.pixel(x, y) for x, y in pixels}
    assert len(head) > 4, "session and labels stand above the picture"
    colours = {image.pixel(x, image.height() // 2) for x in range(0, image.width(), 3)}
    assert len(colours) > 3
    screen.export.picture.setText(str(tmp_path / "shot.svg"))
    _key(qtbot, screen, "P")
    text = (tmp_path / "shot.svg").read_text("utf-8")
    output = "".join(re.findall(r">([^<>]+)</text>", text))
    for words in (f"{state.subject.title}, trial 1", ", ".join(state.subject.labels)):
        assert words in output
    for words in ("infer", "Current (mA)", "Voltage (V)", "Power (mW)", "SYNC", " ms"):
        assert words in output
    assert "<image" not in text
    screen.export.picture.setText(str(tmp_path / "shot.pdf"))
    _key(qtbot, screen, "P")
    assert (tmp_path / "shot.pdf").read_bytes().startswith(b"%PDF")
    for suffix in ("png", "svg", "pdf"):
        screen.notice.clear()
        screen.export.picture.setText(str(tmp_path / "nowhere" / f"shot.{suffix}"))
        _key(qtbot, screen, "P")
        assert "try:" in screen.notice.text


def test_no_spike_is_lost_at_any_zoom(screen: TraceScreen, qtbot: QtBot) -> None:
    state = screen.state
    assert state is not None
    trace = state.subject.trace
    power = trace.power()
    at_s = float(trace.times()[power.argmax()])
    for factor in (1.0, 3.0, 10.0, 100.0, 1000.0):
        state.set_view(state.view.fitted().zoomed(factor, at_s))
        _settled(qtbot, screen)
        picture = screen.picture
        assert picture is not None
        assert picture.columns.power is not None
        inside = (picture.columns.stop_s > state.view.start_s) & (
            picture.columns.start_s < state.view.stop_s
        )
        assert picture.columns.power.most[inside].max() == pytest.approx(
            power.max(), rel=1e-6
        )


def test_the_rows_of_windows_highlight_under_the_mouse(
    screen: TraceScreen, qtbot: QtBot
) -> None:
    state = screen.state
    assert state is not None
    table = screen.windows.table
    _shown(qtbot, screen, screen.windows)
    index = table.model().index(2, 1)
    qtbot.mouseMove(table.viewport(), table.visualRect(index).center())
    qtbot.waitUntil(lambda: state.hovered is not None)
    assert state.hovered is not None
    assert state.hovered.start_s == state.subject.spans[2].start_s
