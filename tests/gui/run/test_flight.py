# SPDX-License-Identifier: Apache-2.0
"""A run of a hundred thousand events (40 000 in `make test`): bounded memory, and a
window that goes on drawing. Frames are counted, not seconds: the speed of this computer
does not matter.
"""

from __future__ import annotations

import gc
import threading
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gui.run.flight import Flight, FlightChanged, FlightEnded
from gui.run.screen import RunScreen
from rig.interfaces.console import WireLine
from rig.live.block import COLUMN_S, LiveBlock
from rig.model.completion import END, Completion, Mark
from rig.model.scores import Score
from rig.model.step_record import StepRecord
from rig.model.steps import Query
from rig.store.events import (
    RailState,
    SessionStarted,
    StepBegun,
    StepDone,
    TrialStarted,
)
from tests.length import length

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytestqt.qtbot import QtBot

    from gui.window import MainWindow

EVENTS = length(100_000, 40_000)
#: Each is notified when it begins and when it is done.
STEPS = EVENTS // 2
ABOUT = {
    "simulated": True,
    "task": {"phases": ["preprocess", "infer"], "name": "t", "samples": 3},
}
#: A live block has the columns of so many steps.
STEPS_OF_A_BLOCK = 4
COLUMNS = 40 * STEPS_OF_A_BLOCK
#: By then every bounded store is full: the console, the edges, the minute of columns.
FULL = 3_100

LEVEL = np.full(COLUMNS, 0.04, dtype=np.float32)


def begin(flight: Flight) -> None:
    flight._take(RailState("", True))
    flight._take(SessionStarted(Path("s"), 1, STEPS, ABOUT))
    flight._take(TrialStarted(1, 7, Path("s/trial-1")))


def block(number: int) -> LiveBlock:
    """Return a block with three falls for each of its steps."""
    start_s = number * COLUMNS * COLUMN_S
    falls = (
        start_s
        + np.arange(3 * STEPS_OF_A_BLOCK) * COLUMNS * COLUMN_S / 3 / STEPS_OF_A_BLOCK
    )
    return LiveBlock(
        "",
        start_s,
        COLUMN_S,
        LEVEL,
        mean_w=LEVEL,
        most_w=LEVEL,
        falls_s=falls,
        rises_s=falls + 5e-5,
        lost=0,
    )


def step(flight: Flight, number: int) -> None:
    """Act as the engine does for a query: two events, two lines of the console, a live
    block now and then.
    """
    flight.console.add(WireLine(0.0, "tx", "RUN", "#1"))
    flight._take(
        StepBegun(1, number, Query((number,)), share=number / STEPS, left_s=60.0)
    )
    if number % STEPS_OF_A_BLOCK == 0:
        flight._see(block(number // STEPS_OF_A_BLOCK))
    marks = Completion((Mark(1, 0), Mark(2, 5), Mark(END, 9)), b"")
    flight._take(
        StepDone(1, StepRecord(number, Query((number,)), marks, Score(True, "a", "a")))
    )
    flight.console.add(WireLine(0.0, "rx", "text", "m-ready"))


def test_memory_does_not_grow_with_the_queries() -> None:
    posted: list[FlightChanged | FlightEnded] = []
    flight = Flight(posted.append)
    begin(flight)
    tracemalloc.start()
    try:
        for number in range(FULL):
            step(flight, number)
        gc.collect()
        early_b, _ = tracemalloc.get_traced_memory()
        for number in range(FULL, 2 * FULL):
            step(flight, number)
        gc.collect()
        late_b, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert flight.record.snapshot().queries == 2 * FULL
    assert late_b - early_b < 100_000
    assert len(posted) == 1, "nobody looked: so nobody is told again"
    frame = flight.frame("", 5.0, 900)
    assert frame is not None and not frame.empty
    assert "infer" in {frame.strip.name(at) for at in range(len(frame.strip.starts_s))}


def test_the_window_draws_while_a_hundred_thousand_events_arrive(
    window: MainWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    window.go("run")
    screen = window.screen_named("run")
    assert isinstance(screen, RunScreen)
    fed = threading.Event()
    pace = threading.Event()

    def work(flight: Flight) -> Callable[[], None]:
        def run() -> None:
            begin(flight)
            for number in range(STEPS):
                step(flight, number)
                if number % (STEPS // 100) == 0:
                    # No link brings more queries a second: 100 000, in `make test` 40
                    # 000.
                    pace.wait(0.005)
                    handled.append(screen.live.view.frames_painted)
            fed.set()

        return run

    handled: list[int] = []
    flight = screen._new_flight()
    flight._begin(work(flight), flight._ended)
    qtbot.waitUntil(fed.is_set, timeout=120_000)
    flight.wait(10.0)
    screen._refresh_rest()
    assert flight.recent.size_b < 2_000_000
    assert screen.live.tiles.name("right") == f"right of {STEPS}"
    assert screen.live.tiles.value("right").startswith("100.0 % (99.9")
    assert screen.live.console.lines.blockCount() <= 1000
    # Painted again and again while they came, and the bridge held no event back.
    assert len(set(handled)) > 10
    qtbot.waitUntil(lambda: not window.shell.bridge._items, timeout=10_000)
