# SPDX-License-Identifier: Apache-2.0
"""The live view of the run screen beside a recording of 2 MS/s: its share of a core,
lost samples, and the memory of an hour.

Run it: `python -m lab.speed.gui_live [SECONDS]`; 10 s for each row by default. Linux
only, no display is needed. Prepared blocks of current, voltage and SYNC, 20 ms each,
are written to a trace on time, as a driver does; the rows take turns in one process:
the writer alone, and with the window's live page open at 1400 x 900, drawn thirty times
a second by Qt's software renderer. CPU time is that of all threads. The hour is
simulated: its blocks and steps come as fast as they are taken, and the page is drawn
for each 0.4 s of it.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QEventLoop
from PySide6.QtWidgets import QApplication

from gui.memory import Memory
from gui.run.flight import Flight
from gui.run.screen import RunScreen
from gui.window import MainWindow
from rig.interfaces.console import WireLine
from rig.live.block import COLUMN_S, LiveBlock
from rig.live.observers import Observers
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
from rig.trace.tap import tapped
from rig.trace.trace import Trace
from rig.trace.writer import TraceWriter

HZ = 2_000_000
BLOCK_S = 0.02
QUERY_S = 0.06
TURNS = 3
HOUR_S = 3600.0
#: So much of a core the live view may take.
SHARE_MAX = 0.2
#: So much may the memory grow over the hour, after its first minutes.
GROWTH_MAX_B = 10e6
WARM_S = 300.0
_ABOUT = {
    "simulated": True,
    "task": {"phases": ["preprocess", "infer"], "name": "t", "samples": 1},
}


@dataclass(frozen=True, slots=True)
class Row:
    """One recording: CPU seconds a second, frames a second, samples lost, and how late
    it was."""

    name: str
    cpu: float
    frames_hz: float
    lost: int
    late_s: float


def main(seconds: float) -> int:
    """Print the rows and the hour; return 1 where a limit is passed."""
    application = QApplication([])
    with tempfile.TemporaryDirectory() as folder:
        window = MainWindow(Memory(Path(folder) / "gui.json"))
        window.resize(1400, 900)
        window.show()
        window.go("run")
        screen = window.screen_named("run")
        assert isinstance(screen, RunScreen)
        rows = []
        for turn in range(TURNS):
            rows += [
                record(
                    application, screen, Path(folder) / f"{turn}-{live}", seconds, live
                )
                for live in (False, True)
            ]
        for row in rows:
            print(
                f"{row.name:12} {row.cpu * 100:6.1f} % of a core  {row.frames_hz:5.1f}"
                f" frames/s  {row.lost} samples lost  {row.late_s * 1e3:.0f} ms late"
            )

        def median_of(name: str) -> float:
            return float(np.median([row.cpu for row in rows if row.name == name]))

        alone, seen = median_of("writer alone"), median_of("live view")
        print(
            f"the live view takes {(seen - alone) * 100:.1f} % of a core (median of"
            f" {TURNS})"
        )
        growth_b = hour(application, screen)
        window.close()
    lost = sum(row.lost for row in rows)
    ok = seen - alone < SHARE_MAX and lost == 0 and growth_b < GROWTH_MAX_B
    print("within the limits" if ok else "NOT within the limits")
    return 0 if ok else 1


def record(
    application: QApplication,
    screen: RunScreen,
    folder: Path,
    seconds: float,
    live: bool,
) -> Row:
    """Write a trace in real time, with the page open or not."""
    folder.mkdir()
    painted = screen.live.view.frames_painted
    done = threading.Event()
    late_s: list[float] = []
    with ExitStack() as stack:
        if live:
            flight = stack.enter_context(flying(screen))
            observers = Observers([flight._see])
            stack.callback(observers.close)
            stack.enter_context(tapped(folder, partial(observers.tap, "")))
        writer = threading.Thread(target=write, args=(folder, seconds, late_s, done))
        began_cpu_s = time.process_time()
        began_s = time.monotonic()
        writer.start()
        number = 0
        while not done.is_set():
            if live and time.monotonic() - began_s > number * QUERY_S:
                query(flight, number)
                number += 1
            application.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 10)
            done.wait(0.005)
        writer.join()
        took_s = time.monotonic() - began_s
        cpu = (time.process_time() - began_cpu_s) / took_s
    written = round(seconds / BLOCK_S) * round(HZ * BLOCK_S)
    trace = Trace.open(folder / "trace.jls")
    lost = written - round(trace.duration_s * HZ) + (flight.lost if live else 0)
    frames_hz = (screen.live.view.frames_painted - painted) / took_s
    return Row(
        "live view" if live else "writer alone", cpu, frames_hz, lost, max(late_s)
    )


def write(
    folder: Path, seconds: float, late_s: list[float], done: threading.Event
) -> None:
    """Write prepared blocks on time."""
    count = round(HZ * BLOCK_S)
    random = np.random.default_rng(1)
    current = [
        (0.012 + 0.002 * random.standard_normal(count)).astype(np.float32)
        for _ in range(8)
    ]
    voltage = np.full(count, 3.3, dtype=np.float32)
    levels = np.full(count // 8, 0xFF, dtype=np.uint8)
    levels[:12] = 0
    with TraceWriter(
        folder, sample_hz=HZ, edge_hz=HZ, source="prepared", serial="", about={}
    ) as writer:
        began_s = time.monotonic()
        for number in range(round(seconds / BLOCK_S)):
            ahead_s = began_s + (number + 1) * BLOCK_S - time.monotonic()
            if ahead_s > 0:
                time.sleep(ahead_s)
            late_s.append(max(-ahead_s, 0.0))
            writer.analog(current[number % len(current)], voltage)
            writer.sync_packed(levels)
    done.set()


@contextmanager
def flying(screen: RunScreen) -> Iterator[Flight]:
    """Show a flight whose engine is this program."""
    flight = screen._new_flight()
    flight._take(RailState("", True))
    flight._take(SessionStarted(Path("s"), 1, 1_000_000, _ABOUT))
    flight._take(TrialStarted(1, 1, Path("s/trial-1")))
    try:
        yield flight
    finally:
        screen._timer.stop()


def query(flight: Flight, number: int) -> None:
    """Tell the events of one query, and bytes on the wire."""
    flight.console.add(WireLine(0.0, "tx", "RUN", "#1"))
    flight._take(StepBegun(1, number, Query((number,)), share=0.5, left_s=60.0))
    marks = Completion((Mark(1, 0), Mark(2, 5), Mark(END, 9)))
    flight._take(
        StepDone(1, StepRecord(number, Query((number,)), marks, Score(True, "a", "a")))
    )
    flight.console.add(WireLine(0.0, "rx", "text", "m-ready"))


def hour(application: QApplication, screen: RunScreen) -> float:
    """Show an hour of blocks and steps; return the growth of the process in bytes after
    the first minutes.
    """
    columns = round(BLOCK_S / COLUMN_S)
    random = np.random.default_rng(1)
    early_b = 0.0
    with flying(screen) as flight:
        screen._timer.stop()
        queries = 0
        for number in range(round(HOUR_S / BLOCK_S)):
            start_s = number * BLOCK_S
            mean = (0.04 + 0.001 * random.standard_normal(columns)).astype(np.float32)
            falls = start_s + np.array([0.002, 0.012])
            flight._see(
                LiveBlock(
                    "",
                    start_s,
                    COLUMN_S,
                    mean,
                    mean_w=mean,
                    most_w=mean,
                    falls_s=falls,
                    rises_s=falls + 5e-5,
                    lost=0,
                    trace=1,
                    at_s=0.0,
                )
            )
            if start_s > queries * QUERY_S:
                query(flight, queries)
                queries += 1
            if number % 20 == 0:
                screen._frame()
                application.processEvents()
            if early_b == 0.0 and start_s > WARM_S:
                gc.collect()
                early_b = resident_b()
        gc.collect()
        late_b = resident_b()
    print(
        f"an hour: {queries} queries, {round(HOUR_S / BLOCK_S)} blocks; memory after"
        f" {WARM_S / 60:.0f} minutes {early_b / 1e6:.1f} MB, at the end"
        f" {late_b / 1e6:.1f} MB, peak"
        f" {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.1f} MB"
    )
    return late_b - early_b


def resident_b() -> float:
    """Return the memory of this process that is in use."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return float(pages * resource.getpagesize())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument(
        "seconds", nargs="?", type=float, default=10.0, help="of each row"
    )
    sys.exit(main(parser.parse_args().seconds))
