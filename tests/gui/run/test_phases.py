# SPDX-License-Identifier: Apache-2.0
"""A phase has one colour while it is recorded, in the trace, and in the report; a
selection hides no curve.
"""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PySide6.QtGui import QColor

from gui.picture.bands_item import band_colour
from gui.picture.lanes import ticks_for, time_ticks_for
from gui.picture.ticks import linear
from gui.run.frame import LiveFrame
from gui.run.live_view import LiveView
from gui.run.phases import Strip
from gui.theme import THEMES, shown
from rig.report import palette
from rig.report.report import rendered

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.window import MainWindow

PHASES = ("preprocess", "infer")


def live(qtbot: QtBot) -> dict[str, str]:
    """Return the colour of each phase as it is recorded."""
    power = np.full(100, 1e-3)
    names = ("", "idle", *PHASES)
    strip = Strip(
        np.array([0.0, 1.0, 2.0, 3.0]), np.array([1, 2, 3, 0], dtype=np.int32), names
    )
    view = LiveView()
    qtbot.addWidget(view)
    view.resize(700, 300)
    view.set_phases(PHASES)
    view.show_frame(LiveFrame(0.0, 4.0, power, power, power, strip=strip))
    image = view.grab().toImage()
    area = view._lanes.phases
    y = round(area.top() + 4)
    return {
        name: image.pixelColor(
            round(area.left() + area.width() * (position + 0.05) / 4), y
        ).name()
        for position, name in enumerate(("idle", *PHASES))
    }


def traced(
    window: MainWindow, qtbot: QtBot, session: Path
) -> tuple[Any, dict[str, str]]:
    """Return the trace screen in a sample, and the colour of each phase in it."""
    window.shell.open_trace(session, 2)
    screen: Any = window.screen_named("trace")
    qtbot.waitUntil(lambda: screen.state is not None and screen.idle())
    kinds = [(span.kind, span.phase) for span in screen.state.subject.spans]
    spans = [
        screen.state.subject.spans[kinds.index(("sample", phase))] for phase in PHASES
    ]
    screen.state.set_view(screen.state.view.on(spans[0].start_s, spans[1].stop_s))
    qtbot.waitUntil(screen.idle)
    image = screen.stack.grab().toImage()
    y = round(screen.stack.lanes.phases.top() + 4)
    result = {}
    for span in spans:
        at_s = 0.95 * span.start_s + 0.05 * span.stop_s
        result[span.phase] = image.pixelColor(round(screen.stack.x_of(at_s)), y).name()
    return screen, result


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phase_has_one_colour_in_run_trace_and_report(
    window: MainWindow, qtbot: QtBot, virtual_session: Path, theme: str
) -> None:
    window.shell.themes.choose(theme)
    recorded = live(qtbot)
    screen, result = traced(window, qtbot, virtual_session)
    assert set(screen.state.subject.phases.values()) >= {*PHASES, "idle"}
    page = rendered(virtual_session)
    for number, phase in enumerate(PHASES):
        colour = band_colour(number, loud=True).name()
        assert recorded[phase] == result[phase] == colour
        assert THEMES[theme].phases[number] in page, (
            "the report has the same in both themes"
        )
        assert re.search(rf"var\(--c{number}, {palette.LIGHT[number]}\)", page)
    # The report draws the phases in the order of the task, a colour each.
    latency = re.search(r'class="latency".*?</svg>', page, re.DOTALL)
    assert latency is not None
    used = list(dict.fromkeys(re.findall(r"var\(--(c\d)", latency[0])))
    assert used == ["c0", "c1"]


def test_what_is_chosen_hides_no_curve(
    window: MainWindow, qtbot: QtBot, virtual_session: Path
) -> None:
    screen, _ = traced(window, qtbot, virtual_session)
    state = screen.state
    position = next(
        k for k, span in enumerate(state.subject.spans) if span.kind == "sample"
    )
    span = state.subject.spans[position]
    area = screen.stack.lanes.signals["power"]
    inside = range(
        round(screen.stack.x_of(span.start_s)) + 3,
        round(screen.stack.x_of(span.stop_s)) - 3,
    )

    def curve() -> list[tuple[int, int]]:
        image = screen.stack.grab().toImage()
        colour = QColor(shown().power)
        rows = range(int(area.top()) + 1, int(area.bottom()))
        return [at for at in product(inside, rows) if image.pixelColor(*at) == colour]

    before = curve()
    assert len(before) >= len(inside) > 20
    view = state.view
    screen.windows.table.selectRow(position)
    state.set_view(view)
    qtbot.waitUntil(screen.idle)
    state.place_dual(span.start_s, span.stop_s)
    assert state.chosen is not None and state.markers.chosen is not None
    assert curve() == before


@pytest.mark.parametrize("size", [(1024, 700), (1400, 900)])
def test_each_axis_of_the_trace_has_room_for_5_ticks_and_4_at_least(
    window: MainWindow, qtbot: QtBot, virtual_session: Path, size: tuple[int, int]
) -> None:
    window.resize(*size)
    screen, _ = traced(window, qtbot, virtual_session)
    window.go("trace")
    qtbot.waitUntil(screen.idle)
    lanes = screen.stack.lanes
    rooms = [ticks_for(area) for area in lanes.signals.values()]
    for room in (*rooms, time_ticks_for(lanes.time)):
        assert room >= 5
        for high in (1.0, 1.3, 1.7, 2.2, 3.1, 4.4, 6.5, 9.9):
            assert 4 <= len(linear(0.0, high, "A", room).places) <= 8
