# SPDX-License-Identifier: Apache-2.0
"""CPU time of looking at a long trace: opening, the first picture, columns at every
zoom, edges, statistics; and of pyjls's own `fsr_statistics` for the same columns of
current and voltage.

    python -m lab.speed.trace_view [--samples 1e8] [--folder FOLDER]

A trace at 1 MHz with a digital SYNC line and a spike of one sample in it is generated
in a temporary folder (8.2 bytes a sample); 1e9 samples are 8 GB. CPU time, as wall time
is noise on a shared machine. The exit code is 1 where an aim is missed: a first picture
of 1400 columns within 1 s; columns, once prepared, at 8 ms at the median of every zoom;
the spike in all of them.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyjls

import rig
from rig.api.traces.columns import Columns
from rig.files.user_folders import CACHE_VARIABLE
from rig.trace.levels import ENTRY
from rig.trace.trace import CURRENT, TRACE, VOLTAGE
from rig.trace.writer import TraceWriter

HZ = 1e6
COLUMNS = 1400
VIEWS = 20
SPIKE_A = 0.5
FIRST_S = 1.0
COLUMNS_S = 8e-3
_BLOCK = 1 << 20


def generate(folder: Path, samples: int) -> int:
    """Write a trace and return where in it the spike is."""
    rng = np.random.default_rng(1)
    current = rng.normal(0.02, 0.002, _BLOCK).astype(np.float32)
    voltage = rng.normal(3.3, 0.001, _BLOCK).astype(np.float32)
    levels = np.ones(_BLOCK, dtype=np.uint8)
    for at in range(0, _BLOCK, 50_000):
        levels[at : at + 50] = 0
    packed = np.packbits(levels, bitorder="little")
    spike = int(samples * 0.61803)
    with TraceWriter(
        folder, sample_hz=HZ, edge_hz=HZ, source="benchmark", serial="", about={}
    ) as writer:
        for at in range(0, samples, _BLOCK):
            count = min(_BLOCK, samples - at)
            block = current[:count] * np.float32(1 + 0.3 * np.sin(at / 3e7))
            if at <= spike < at + count:
                block[spike - at] = SPIKE_A
            writer.analog(block, voltage[:count])
            writer.sync_packed(packed[: count // 8])
    return spike


def cpu_s(work: Callable[[], object]) -> float:
    """Return the CPU time of one call, all threads together."""
    began_s = time.process_time()
    work()
    return time.process_time() - began_s


def views(length: int, span: int, spike: int) -> list[tuple[float, float]]:
    """Return stretches of one length in seconds, each with the spike."""
    rng = np.random.default_rng(span)
    low, high = max(spike - span + 2, 0), max(min(spike - 1, length - span), 1)
    starts = rng.integers(min(low, high - 1), high, VIEWS)
    return [(start / HZ, (start + span) / HZ) for start in starts.tolist()]


def has_spike(columns: Columns) -> bool:
    """Return whether a picture shows the spike in current, and in power where it has
    that."""
    current, power = columns.current, columns.power
    assert current is not None
    seen = float(np.nanmax(current.most)) == SPIKE_A
    return seen and (power is None or float(np.nanmax(power.most)) > SPIKE_A * 3.0)


def peer_s(path: Path, columns: Columns) -> float:
    """Return the CPU time of pyjls for the same columns of current and voltage."""
    step = round(float(np.median(columns.stop_s - columns.start_s)) * HZ)
    first = -(-round(float(columns.start_s[0]) * HZ) // step) * step
    count = max(len(columns) - 2, 1)
    with pyjls.Reader(str(path)) as reader:
        return cpu_s(
            lambda: [
                reader.fsr_statistics(at, first, step, count)
                for at in (CURRENT, VOLTAGE)
            ]
        )


def zooms(
    path: Path, trace: rig.SessionTrace, length: int, spike: int
) -> tuple[float, bool]:
    """Print the CPU time of columns for each zoom; return the worst median, and whether
    the spike was in all of them.
    """
    worst_s, spikes = 0.0, True
    print(
        f"{'samples':>10} {'columns':>8} {'median':>9} {'p95':>9} {'pyjls':>9}   ms CPU"
    )
    spans = np.geomspace(1400, length, 13).astype(int).tolist()
    # Just below and above where another way of making columns begins.
    edges = (ENTRY * COLUMNS * 3 // 4, 1 << 19)
    spans = sorted({*spans, *edges, *(edge + 1 for edge in edges), length})
    for span in (span for span in spans if span <= length):
        times_s, peers_s, count = [], [], 0
        for start_s, stop_s in views(length, span, spike):
            result: list[Columns] = []
            times_s.append(
                cpu_s(lambda: result.append(trace.columns(start_s, stop_s, COLUMNS)))  # noqa: B023
            )
            [columns] = result
            spikes &= has_spike(columns)
            peers_s.append(peer_s(path, columns))
            count = len(columns)
        median_s, p95_s = np.median(times_s), np.percentile(times_s, 95)
        worst_s = max(worst_s, float(median_s))
        print(
            f"{span:>10} {count:>8} {median_s * 1e3:>9.2f} {p95_s * 1e3:>9.2f} "
            f"{np.median(peers_s) * 1e3:>9.2f}"
        )
    return worst_s, spikes


def look(path: Path, spike: int) -> int:
    """Print what looking at a trace costs; return an exit code."""
    opened: list[rig.SessionTrace] = []
    # Its modules are imported with a program, not with a file.
    print(f"importing {cpu_s(lambda: rig.open_trace) * 1e3:.0f} ms CPU")
    opening_s = cpu_s(lambda: opened.append(rig.open_trace(path)))
    [trace] = opened
    length = round(trace.duration_s * HZ)
    picture_s = cpu_s(lambda: trace.columns(count=COLUMNS))
    print(f"{length:.3g} samples, {path.stat().st_size / 1e9:.2f} GB")
    print(
        f"opening {opening_s * 1e3:.1f} ms, first picture {picture_s * 1e3:.1f} ms CPU"
    )
    print("not prepared: from the file's index, power where it is short")
    _, spikes = zooms(path, trace, length, spike)
    print(f"preparing: {cpu_s(trace.prepare):.2f} s CPU, once, in a thread of its own")
    with rig.open_trace(path) as again:
        print(
            f"preparing again, from the user's cache: {cpu_s(again.prepare) * 1e3:.0f}"
            " ms CPU"
        )
    worst_s, more = zooms(path, trace, length, spike)
    spikes &= more
    print(f"edges: {cpu_s(trace.edges):.2f} s CPU ({len(trace.edges())} of them)")
    stop_s = min(trace.duration_s, 100.0)
    numbers_s = cpu_s(lambda: trace.statistics(0.0, stop_s))
    print(f"exact statistics of {stop_s * HZ:.3g} samples: {numbers_s:.2f} s CPU")
    trace.close()
    good = opening_s + picture_s < FIRST_S and worst_s < COLUMNS_S and spikes
    print(
        "the spike is in every picture"
        if spikes
        else "THE SPIKE IS MISSING in a picture"
    )
    return int(not good)


def main() -> int:
    """Generate a trace, or take one that is there, and look at it; return an exit
    code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=float, default=1e8)
    parser.add_argument(
        "--folder", type=Path, help="where the trace is generated, and kept"
    )
    options = parser.parse_args()
    samples = int(options.samples)
    with tempfile.TemporaryDirectory() as scratch:
        os.environ[CACHE_VARIABLE] = scratch
        folder = options.folder or Path(scratch) / "trace"
        folder.mkdir(parents=True, exist_ok=True)
        spike = int(samples * 0.61803)
        if not (folder / TRACE).exists():
            print(
                f"generating took {cpu_s(lambda: generate(folder, samples)):.1f} s CPU"
            )
        return look(folder / TRACE, spike)


if __name__ == "__main__":
    sys.exit(main())
