# SPDX-License-Identifier: Apache-2.0
"""What it costs to look at a recording of 2 000 000 samples a second while it is
written.

Run it: `.venv/bin/python benchmarks/observers.py [SECONDS]`; 10 s for each row by
default. Prepared blocks, 36 a second as a Joulescope sends them, are handed to the
trace writer when they are due, without an observer and with one, turn and turn about.
With one, a thread asks for 30 pictures a second of the newest ten seconds. CPU times
are those of threads, in shares of a core: what waits for the machine is not in them.
"late" is the longest that a block had to wait for the one before. The exit code is 1
where a sample, a block or an edge was lost.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from rig.live.block import LiveBlock
from rig.live.observers import Observers
from rig.live.recent import Recent
from rig.trace.tap import tapped
from rig.trace.trace import TRACE, Trace
from rig.trace.writer import TraceWriter

_SAMPLE_HZ = 2_000_000
_BLOCKS_HZ = 36
_BLOCK = _SAMPLE_HZ // _BLOCKS_HZ // 8 * 8
#: SYNC falls once in each block.
_PULSE = 200
_FRAMES_HZ = 30
_SHOWN_S = 10.0
_COLUMNS = 1400
_TURNS = 2


@dataclass(frozen=True, slots=True)
class Row:
    """One recording: shares of a core, what arrived, and how late the writer was."""

    observed: bool
    driver: float
    live: float
    picture: float
    columns: int
    columns_due: int
    edges: int
    edges_due: int
    left_out: int
    lost: int
    late_s: float

    @property
    def good(self) -> bool:
        """Say whether everything arrived."""
        seen = (self.columns, self.edges) == (self.columns_due, self.edges_due)
        return not self.lost and not self.left_out and (seen or not self.observed)


class _Counting(Recent):
    """Keeps the newest seconds, and counts what came, and the CPU time of the thread it
    came in."""

    def __init__(self) -> None:
        super().__init__(_SHOWN_S)
        self.columns = 0
        self.edges = 0
        self.cpu_s = 0.0

    def __call__(self, block: LiveBlock) -> None:
        self.add(block)
        self.columns += len(block.mean_w)
        self.edges += len(block.falls_s)
        self.cpu_s = time.thread_time()


class _Pictures(threading.Thread):
    """Asks for pictures, as a window does."""

    def __init__(self, recent: Recent) -> None:
        super().__init__(name="pictures")
        self._recent = recent
        self._end = threading.Event()
        self.cpu_s = 0.0

    def run(self) -> None:
        while not self._end.wait(1 / _FRAMES_HZ):
            self._recent.picture(_SHOWN_S, _COLUMNS)
        self.cpu_s = time.thread_time()

    def finish(self) -> None:
        """End it."""
        self._end.set()
        self.join()


def recorded(seconds: float, observed: bool) -> Row:
    """Write a trace in real time, and return what that took."""
    generator = np.random.default_rng(1)
    current_a = (1e-3 + 1e-4 * generator.standard_normal(_BLOCK)).astype(np.float32)
    voltage_v = np.full(_BLOCK, 3.3, dtype=np.float32)
    levels = np.ones(_BLOCK, dtype=np.uint8)
    levels[100 : 100 + _PULSE] = 0
    packed = np.packbits(levels, bitorder="little")
    counting = _Counting()
    observers = Observers((counting,) if observed else ())
    pictures = _Pictures(counting)
    blocks = round(seconds * _SAMPLE_HZ / _BLOCK)
    late_s = 0.0
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        if observed:
            stack.enter_context(tapped(folder, partial(observers.tap, "")))
            pictures.start()
        with TraceWriter(
            folder,
            sample_hz=_SAMPLE_HZ,
            edge_hz=_SAMPLE_HZ,
            source="prepared",
            serial="",
            about={},
        ) as writer:
            began_s = time.monotonic()
            first_s = time.thread_time()
            for block in range(blocks):
                left_s = began_s + (block + 1) * _BLOCK / _SAMPLE_HZ - time.monotonic()
                late_s = max(late_s, -left_s)
                time.sleep(max(left_s, 0.0))
                writer.analog(current_a, voltage_v)
                writer.sync_packed(packed)
            driver_s = time.thread_time() - first_s
            elapsed_s = time.monotonic() - began_s
        observers.close()
        if observed:
            pictures.finish()
        trace = Trace.open(folder / TRACE)
        lost = (
            blocks * _BLOCK
            - trace.length
            + sum(gap.stop - gap.start for gap in trace.gaps)
        )
    return Row(
        observed,
        driver_s / elapsed_s,
        counting.cpu_s / elapsed_s,
        pictures.cpu_s / elapsed_s,
        counting.columns,
        -(-blocks * _BLOCK // round(_SAMPLE_HZ * 0.0005)),
        counting.edges,
        blocks,
        observers.left_out,
        lost,
        late_s,
    )


def table(seconds: float) -> Iterator[Row]:
    """Yield a row without and one with an observer, turn and turn about."""
    for _ in range(_TURNS):
        yield recorded(seconds, False)
        yield recorded(seconds, True)


def shown(rows: Iterator[Row]) -> bool:
    """Print the table as its rows come; return whether nothing was lost."""
    print(
        f"{'observer':<8} {'driver':>7} {'live':>7} {'picture':>7} {'columns':>15}"
        f" {'edges':>9} {'left out':>8} {'lost':>5} {'late':>8}"
    )
    good = True
    for row in rows:
        good = good and row.good
        columns, edges = (
            (f"{row.columns}/{row.columns_due}", f"{row.edges}/{row.edges_due}")
            if row.observed
            else ("-", "-")
        )
        print(
            f"{'one' if row.observed else 'none':<8} {row.driver:>7.2%}"
            f" {row.live:>7.2%} {row.picture:>7.2%} {columns:>15} {edges:>9}"
            f" {row.left_out:>8} {row.lost:>5} {row.late_s * 1e3:>6.1f} ms",
            flush=True,
        )
    return good


if __name__ == "__main__":
    sys.exit(
        0 if shown(table(float(sys.argv[1]) if len(sys.argv) > 1 else 10.0)) else 1
    )
