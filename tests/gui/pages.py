# SPDX-License-Identifier: Apache-2.0
"""Every page of the window with a finished session, looked at for texts that are cut.

QT_SCALE_FACTOR=2 python -m tests.gui.pages SESSION CONFIG THEME...
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from PySide6.QtWidgets import QApplication, QTabWidget

from gui.bench.link import Deed
from gui.bench.screen import BenchScreen
from gui.memory import Memory
from gui.run.meter.screen import MeterScreen
from gui.run.screen import RunScreen
from gui.sessions.screen import SessionsScreen
from gui.trace.screen import TraceScreen
from gui.window import MainWindow
from gui.worker import BackgroundWorker
from rig.files.shipped import DEMO
from tests.conftest import VIRTUAL_NULL
from tests.gui.clipping import clipped, measured

SIZES = ((1024, 700), (1400, 900))
_LONGEST_S = 60.0


def pages(window: MainWindow, folder: Path) -> Iterator[str]:
    """Show one page of the window after another with a finished session; yield its name
    once everything of it is there.
    """
    window.shell.memory.set("sessions", str(folder.parent))
    window.shell.memory.opened(folder)
    window.shell.memory.opened(DEMO)
    window.open_session(folder)
    _until(lambda: window.shell.session is not None)
    window.shell.set_bench(VIRTUAL_NULL)
    for name in (
        "start",
        "bench",
        "run",
        "trace",
        "trials",
        "sessions",
        "meter",
        "keys",
        "about",
    ):
        window.go(name)
        _settle(window)
        screen = window.screen_named(name)
        if isinstance(screen, BenchScreen):
            yield from _bench(window, screen)
        elif isinstance(screen, RunScreen):
            yield from _run(window, screen)
            # The run is the session at hand now.
            window.open_session(folder)
            _until(lambda: getattr(window.shell.session, "path", None) == folder)
        elif isinstance(screen, SessionsScreen):
            yield "sessions"
            screen.table.choose(screen.table.rows[0])
            _settle(window)
            yield "sessions, one chosen"
            screen.table.choose_all(screen.table.rows[:2])
            _settle(window)
            yield "sessions, two compared"
        elif isinstance(screen, TraceScreen):
            yield from _trace(screen)
        elif isinstance(screen, MeterScreen):
            yield from _meter(screen)
        else:
            yield name
        for tabs in screen.findChildren(QTabWidget):
            for position in range(1, tabs.count() if tabs.isVisible() else 0):
                tabs.setCurrentIndex(position)
                _settle(window)
                yield f"{name}, {tabs.tabText(position)}"


def _bench(window: MainWindow, screen: BenchScreen) -> Iterator[str]:
    for page in ("files", "settings", "parts"):
        screen.show_page(page)
        _settle(window)
        yield f"bench, {page}"
    screen.do(Deed.PROVE)
    _until(lambda: not screen.busy)
    yield "bench, wires proved"


def _run(window: MainWindow, screen: RunScreen) -> Iterator[str]:
    screen.plan.setup.settings.setPlainText("task.null.samples=6")
    screen.plan.setup.trials.setValue(2)
    root = Path(window.shell.memory.get("sessions", "")) / "runs"
    screen.plan.setup.root.setText(str(root))
    _settle(window)
    _until(
        lambda: screen.plan.estimate is not None and screen.plan.estimate.trials == 2
    )
    yield "run, plan"
    screen.start()
    _until(lambda: screen.flight is not None and not screen.flight.alive)
    _settle(window)
    _until(lambda: "verdict is being read" not in screen.outcome.text)
    yield "run, live"


def _trace(screen: TraceScreen) -> Iterator[str]:
    _until(screen.idle)
    yield "trace"
    assert screen.state is not None
    screen.state.set_utc(True)
    screen.stack.toggle_levels()
    screen.show_second()
    _until(screen.idle)
    yield "trace, two"
    screen.show_second()


def _meter(screen: MeterScreen) -> Iterator[str]:
    yield "meter"
    screen.start()
    _until(lambda: bool(screen.values.text("power-now")))
    yield "meter, at work"
    screen.stop()
    _until(lambda: not screen.busy)


def _settle(window: MainWindow) -> None:
    def busy() -> bool:
        return any(worker.busy for worker in window.findChildren(BackgroundWorker))

    # What waits until a person has typed enough begins within this time.
    _wait(0.35)
    _until(lambda: not busy())
    _wait(0.02)


def _wait(least_s: float) -> None:
    """Let Qt work for so long. Not by qWait: it keeps Python's lock from the window's
    threads."""
    until = time.monotonic() + least_s
    while time.monotonic() < until:
        QApplication.processEvents()
        time.sleep(0.005)  # the window's threads work meanwhile


def _until(holds: Callable[[], bool]) -> None:
    begun = time.monotonic()
    while not holds():
        _wait(0.02)
        if time.monotonic() - begun > _LONGEST_S:
            raise TimeoutError("the window is still busy")


def look(folder: Path, config: Path, themes: Sequence[str]) -> tuple[list[str], int]:
    """Return texts that are cut on the pages of the window, in every size, and how many
    texts were measured. Each screen is looked at in all themes, the further pages of it
    in one.
    """
    memory = Memory(config)
    memory.set("theme", themes[0])
    window = MainWindow(memory)
    window.show()
    result: dict[str, list[str]] = {}
    count = 0
    for page in pages(window, folder):
        # To change the theme takes longest: once on each screen.
        first = window.shell.theme.name
        rest = [] if "," in page else [name for name in themes if name != first]
        for theme in (first, *rest):
            window.shell.themes.choose(theme)
            for size in SIZES:
                window.resize(*size)
                # A layout that asks for another height has it one pass later.
                for _ in range(5):
                    QApplication.processEvents()
                count += measured(window)
                for fault in clipped(window):
                    result.setdefault(fault, []).append(f"{page} {size[0]} {theme}")
    window.close()
    return [f"{fault} ({'; '.join(where)})" for fault, where in result.items()], count


if __name__ == "__main__":
    application = QApplication(["clipping"])
    faults, texts = look(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
    ratio = application.primaryScreen().devicePixelRatio()
    print("\n".join([*faults, f"{texts} texts at scale {ratio:g}"]))
