# SPDX-License-Identifier: Apache-2.0
"""Resident memory over a long recording of a JS110 at 2 MS/s: prepared blocks, faster
than real time; simulated.

Run it: `python -m benchmarks.memory [MINUTES] [FOLDER] [--quick]`, on Linux; 5 minutes
(5 GB) by default, 60 need 61 GB. One trace, in a temporary folder (of FOLDER where
given) that is deleted. Exit code 1 when memory grows by more than a MB, for any length.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.streams import TICK_HZ, JoulescopeStreams
from drivers.joulescope.block import StreamBlock
from drivers.joulescope.stream_merger import Lanes
from rig.trace.trace import TRACE, Trace
from rig.trace.writer import TraceWriter

_BYTES_PER_S = 17_000_000
_SPARE_B = 4 << 30
_POINTS = 12
#: The trace library's queue of 64 MB fills first.
_WARM_UP = 2
_LIMIT_B = 1 << 20


def resident_b() -> int:
    """Return this process's resident memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf(
        "SC_PAGE_SIZE"
    )


def record(
    folder: Path, prepared: JoulescopeStreams, seconds: float
) -> list[tuple[float, int]]:
    """Write one trace; return the memory at each of `_POINTS` times, and print it."""
    points: list[tuple[float, int]] = []
    began_s = time.monotonic()
    with TraceWriter(
        folder,
        sample_hz=TICK_HZ,
        edge_hz=TICK_HZ,
        source="JS110",
        serial="",
        about={"simulated": True},
    ) as writer:
        lanes = Lanes(writer, 1)
        for signal, message in prepared.blocks(seconds):
            lanes.feed(signal, StreamBlock.of(message))
            if writer.samples >= (len(points) + 1) * seconds * TICK_HZ / _POINTS:
                points.append((writer.samples / TICK_HZ, resident_b()))
                elapsed_s = time.monotonic() - began_s
                at_s, size_b = points[-1]
                print(
                    f"  {at_s:>7.1f} s recorded, {size_b / 1e6:>7.2f} MB resident, "
                    f"{at_s / elapsed_s:>5.1f} times real time",
                    flush=True,
                )
        lanes.finish()
    return points


def main() -> int:
    """Record, print the slope, and read the trace again."""
    parser = argparse.ArgumentParser(description="memory over a long recording")
    parser.add_argument("minutes", type=float, nargs="?", default=5.0)
    parser.add_argument("folder", nargs="?", help="of the temporary folder")
    parser.add_argument("--quick", action="store_true", help="six seconds")
    options = parser.parse_args()
    minutes = 0.1 if options.quick else options.minutes
    seconds = minutes * 60
    prepared = JoulescopeStreams.prepare("js110")
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        needed_b = seconds * _BYTES_PER_S + _SPARE_B
        free_b = shutil.disk_usage(name).free
        if free_b < needed_b:
            print(
                f"  not run: {minutes:g} minutes need {needed_b / 1e9:.0f} GB in"
                f" {name}, {free_b / 1e9:.0f} GB are free"
            )
            return 2
        print(
            f"  {minutes:g} minutes of 2 MS/s in one trace, {resident_b() / 1e6:.2f} MB"
            " resident before"
        )
        points = record(Path(name), prepared, seconds)
        times_s, sizes_b = np.array(points[_WARM_UP:]).T
        slope = float(np.polyfit(times_s, sizes_b, 1)[0])
        print(
            f"  slope after the first {points[_WARM_UP - 1][0]:.0f} s: {slope:+.1f}"
            f" bytes a simulated second, {slope * 3600 / 1e6:+.2f} MB an hour; range"
            f" {np.ptp(sizes_b) / 1e6:.2f} MB"
        )
        size_b = (Path(name) / TRACE).stat().st_size
        began_s = time.monotonic()
        trace = Trace.open(Path(name) / TRACE)
        opened_s = time.monotonic()
        print(
            f"  {size_b / 1e9:.2f} GB, opened with {len(trace.falls_s)} edges in "
            f"{opened_s - began_s:.1f} s,"
            f" {resident_b() / 1e6:.2f} MB resident; {len(trace.gaps)} gaps"
        )
        bounds_s = np.linspace(0.0, trace.duration_s, _POINTS + 1).tolist()
        energy_j = sum(trace.energies_j(list(pairwise(bounds_s))))
        error = energy_j / prepared.energy_j(seconds) - 1
        print(
            f"  all of it integrated in {_POINTS} windows in"
            f" {time.monotonic() - opened_s:.1f} s, {resident_b() / 1e6:.2f} MB"
            f" resident; energy off by {error:+.1e}"
        )
    # It may shrink: the system takes back pages of files.
    grown_b = float(sizes_b.max() - sizes_b[0])
    return 0 if grown_b < _LIMIT_B and abs(error) < 1e-6 and not trace.gaps else 1


if __name__ == "__main__":
    sys.exit(main())
