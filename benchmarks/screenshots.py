# SPDX-License-Identifier: Apache-2.0
"""Make the pictures of docs/how-to/GUI.md: drive every screen on virtual sessions,
without a display.

make screenshots
QT_QPA_PLATFORM=offscreen python -m benchmarks.screenshots --dark --out /tmp/pictures
QT_QPA_PLATFORM=offscreen python -m benchmarks.screenshots --size 1024x700 --out DIR
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PIL import Image
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QPushButton

from gui.memory import Memory
from gui.window import MainWindow
from gui.worker import BackgroundWorker
from rig.api import demonstration
from rig.api.archive import tags
from rig.files.shipped import shipped
from rig.session.session import open_bench

OUT = Path(__file__).resolve().parent.parent / "docs" / "images"
_LONGEST_S = 60.0
#: Fewer colours make small files; more than a screen without photographs has.
_COLOURS = 128


def main(words: list[str]) -> int:
    """Make the pictures; return an exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--out", type=Path, default=OUT, help="folder of the pictures")
    parser.add_argument("--dark", action="store_true", help="in the dark theme")
    parser.add_argument("--quick", action="store_true", help="the start screen only")
    parser.add_argument("--size", default="1400x900", help="of the window, in pixels")
    parser.add_argument("only", nargs="*", help="names of pictures, all by default")
    options = parser.parse_args(words)
    if options.quick:
        options.only = ["start"]
    application = QApplication.instance() or QApplication(["screenshots"])
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch) / "lab"
        place.mkdir()
        theme = "dark" if options.dark else "light"
        wide, tall = (int(part) for part in options.size.split("x"))
        studio = Studio(place, options.out, theme, (wide, tall))
        try:
            for name, picture in studio.pictures().items():
                if not options.only or name in options.only:
                    picture()
                    studio.shoot(name)
        finally:
            studio.window.close()
    del application
    return 0


class Studio:
    """A window with sessions to show."""

    def __init__(
        self, scratch: Path, out: Path, theme: str, size: tuple[int, int]
    ) -> None:
        self.out = out
        self.root = scratch / "sessions"
        # What the pictures show is in no folder of anybody; what tasks generate is
        # kept.
        os.environ.setdefault("XDG_CACHE_HOME", str(Path.home() / ".cache"))
        os.environ["HOME"] = str(scratch)
        platform.platform = lambda *_, **__: "Linux-x86_64"
        os.chdir(scratch)
        self.session = _sessions(self.root)
        self.bench = Path("benches") / "my-bench.toml"
        self.bench.parent.mkdir()
        shutil.copy(shipped("benches") / "virtual-asc.toml", self.bench)
        memory = Memory(scratch / "gui.json")
        memory.set("theme", theme)
        memory.set("sessions", "sessions")
        for path in (self.bench, self.session):
            memory.opened(path)
        self.window = MainWindow(memory)
        self.window.resize(*size)
        self.window.show()

    def pictures(self) -> dict[str, Callable[[], None]]:
        """Return what to do before each picture."""
        return {
            "start": lambda: self.window.go("start"),
            "bench": self._bench,
            "plan": self._plan,
            "run": self._run,
            "trials": self._trials,
            "trace": self._trace,
            "file-form": self._file_form,
            "lanes": self._lanes,
            "meter": self._meter,
            "sessions": self._sessions,
            "compare": self._compare,
            "keys": lambda: self.window.go("keys"),
            "about": self._about,
        }

    def shoot(self, name: str) -> None:
        """Write one picture."""
        self.settle()
        self.window.statusBar().clearMessage()
        path = self.out / f"gui-{name}.png"
        self.window.grab().save(str(path))
        with Image.open(path) as picture:
            few = picture.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
        few.save(path, optimize=True)
        print(f"{path.name} {path.stat().st_size / 1000:.0f} kB")

    def settle(self, least_s: float = 0.6) -> None:
        """Wait until nothing is read or computed any more."""
        begun = time.monotonic()
        while time.monotonic() - begun < _LONGEST_S:
            QTest.qWait(50)
            workers = self.window.findChildren(BackgroundWorker)
            if time.monotonic() - begun > least_s and not any(
                each.busy for each in workers
            ):
                QTest.qWait(100)
                if not any(each.busy for each in workers):
                    return
        print("something is still busy", file=sys.stderr)

    def click(self, name: str) -> None:
        """Press a button."""
        button = self.window.findChild(QPushButton, name)
        if button is None:
            raise SystemExit(f"there is no button {name}")
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)

    def _bench(self) -> None:
        self.window.shell.set_bench(self.bench)
        self.window.go("bench")
        screen = self.window.screen_named("bench")
        self.settle()
        self.click("bench-prove")
        begun = time.monotonic()
        while time.monotonic() - begun < _LONGEST_S:
            QTest.qWait(100)
            if not screen.busy:  # type: ignore[attr-defined]
                break

    def _plan(self) -> None:
        self.window.shell.set_bench(self.bench)
        self.window.go("run")

    def _run(self) -> None:
        self.click("run-start")
        screen = self.window.screen_named("run")
        flight = screen.flight  # type: ignore[attr-defined]
        begun = time.monotonic()
        while time.monotonic() - begun < _LONGEST_S:
            QTest.qWait(20)
            flight = screen.flight  # type: ignore[attr-defined]
            if flight is not None and not flight.alive:
                break

    def _open(self) -> None:
        now = self.window.shell.session
        if now is None or now.path != self.session:
            self.window.open_session(self.session)
            self.settle()

    def _trials(self) -> None:
        self._open()
        self.window.go("trials")

    def _trace(self) -> None:
        self._open()
        self.window.shell.open_trace(self.session, trial=4)
        self.settle()
        self.window.go("trace")

    def _lanes(self) -> None:
        """Open a table with four digital lines, of which sync is SYNC."""
        lines = ["time (s),current (A),voltage (V),sync,D0,D1,D2"]
        for number in range(3000):
            busy = number % 300 > 120
            current_a = 0.012 + 0.001 * (number % 7) if busy else 0.003
            levels = (1 - busy, number // 25 % 2, number // 150 % 2, number // 900 % 2)
            bits = ",".join(str(int(level)) for level in levels)
            lines.append(f"{number / 1000:.3f},{current_a:.4f},3.3,{bits}")
        Path("logic.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.window.go("trace")
        self.window.open_path(Path("logic.csv"))
        self.settle()
        screen = self.window.screen_named("trace")
        screen.tabs.setCurrentWidget(screen.scales)  # type: ignore[attr-defined]

    def _meter(self) -> None:
        self.window.shell.set_bench(self.bench)
        self.window.go("meter")
        self.settle()
        self.click("meter-start")
        QTest.qWait(6000)

    def _file_form(self) -> None:
        rows = "".join(f"{k},{1 + k % 7},{k // 10 % 2}\n" for k in range(300))
        Path("log.csv").write_text(f"t,I,trigger\n{rows}", encoding="utf-8")
        self.window.open_path(Path("log.csv"))
        self.settle()
        for name, text in (("current", "I:mA"), ("supply_v", "3"), ("time", "t:ms")):
            field = self.window.findChild(QLineEdit, f"file-form-{name}")
            assert field is not None
            QTest.keyClicks(field, text)

    def _sessions(self) -> None:
        self.window.go("sessions")
        self.settle()
        screen = self.window.screen_named("sessions")
        table = screen.table  # type: ignore[attr-defined]
        table.choose(next(row for row in table.rows if row.bench == demonstration.NAME))
        self.click("session-check")

    def _compare(self) -> None:
        self.window.go("sessions")
        self.settle()
        screen = self.window.screen_named("sessions")
        table = screen.table  # type: ignore[attr-defined]
        names = ("board-a", "board-b")
        table.choose_all([row for row in table.rows if row.bench in names])

    def _about(self) -> None:
        self._open()
        self.window.go("about")
        self.settle()
        self.click("support-collect")


def _sessions(root: Path) -> Path:
    """Make the sessions of the pictures: the demonstration, two to compare, one that
    was stopped; return the first.
    """
    found = demonstration.make(root)
    bench = shipped("benches") / "virtual-asc.toml"
    few = ["task.asc.samples=20"]
    for name, more in (
        ("board-a", []),
        (
            "board-b",
            ["sut.virtual.infer.power_w=0.0461", "sut.virtual.infer.duration_s=0.0402"],
        ),
    ):
        with open_bench(bench, [*few, *more, f"bench.name={name}"]) as opened:
            tags.write(opened.run(5, root).folder, f"{name} revision-{len(more)}")
    with (
        open_bench(bench, [*few, "bench.name=stopped"]) as opened,
        suppress(KeyboardInterrupt),
    ):
        opened.run(5, root, (_stop_in_trial_3,))
    return found


def _stop_in_trial_3(event: object) -> None:
    if getattr(event, "trial", 0) == 3:
        raise KeyboardInterrupt


if __name__ == "__main__":
    QGuiApplication.setApplicationName("neurorig")
    sys.exit(main(sys.argv[1:]))
