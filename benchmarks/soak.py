# SPDX-License-Identifier: Apache-2.0
"""Resident memory of `rig run` over eight hours of virtual time in one session;
simulated.

Run it: `python -m benchmarks.soak [--hours H] [--quick]`, on Linux. Trials of twenty
minutes, almost all of it idle times, on the virtual device, with a virtual monitor of
10 kHz: 2.4 GB in eight hours, in a temporary folder. The least memory during each trial
is printed. The results of a trial, with the effects on each of its windows, stay in
memory until the verdict: of these eight queries some 0.1 MB. Exit code 1 where memory
grows after the third trial by more than twice that a trial, two standard errors aside,
or a trial is not valid.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
BENCH = ROOT / "benches" / "virtual-null.toml"
_IDLE_S = 600.0
_QUICK_S = 5.0
#: The idle times before and after the queries.
_IDLES = 2
_WARM_UP = 3
_LIMIT_B = 200_000
_POLL_S = 0.02


def resident_b(pid: int) -> int:
    """Return the resident memory of a process; 0 where it has ended."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def points(process: subprocess.Popen[str], sessions: Path) -> list[int]:
    """Return the memory at the end of each trial, and print it."""
    sizes_b: list[int] = []
    least_b = 0
    began_s = time.monotonic()
    while process.poll() is None:
        time.sleep(_POLL_S)
        text = "".join(path.read_text() for path in sessions.glob("*/events.jsonl"))
        finished = text.count('"trial_finished"')
        now_b = resident_b(process.pid)
        # The least: blocks that are on their way come and go.
        least_b = min(least_b or now_b, now_b) if now_b else least_b
        if finished > len(sizes_b):
            size_b, least_b = least_b, 0
            sizes_b += [size_b] * (finished - len(sizes_b))
            print(
                f"  trial {finished:>3}: {size_b / 1e6:7.2f} MB resident after"
                f" {time.monotonic() - began_s:6.1f} s",
                flush=True,
            )
    return sizes_b


def main() -> int:
    """Run the session, and print the slope of its memory."""
    parser = argparse.ArgumentParser(description="memory over many hours")
    parser.add_argument("--hours", type=float, default=8.0, help="of virtual time")
    parser.add_argument("--quick", action="store_true", help="eight trials of 10 s")
    options = parser.parse_args()
    idle_s = _QUICK_S if options.quick else _IDLE_S
    trials = 8
    if not options.quick:
        trials = max(round(options.hours * 3600 / (_IDLES * idle_s)), _WARM_UP + 4)
    with tempfile.TemporaryDirectory() as name:
        sessions = Path(name) / "sessions"
        words = ["run", str(BENCH), "--trials", str(trials)]
        words += [
            "--sessions",
            str(sessions),
            "--set",
            "monitor.virtual.sample_hz=10000",
        ]
        words += ["--set", f"scenario.single_stream.idle_s={idle_s}"]
        words += ["--set", "task.null.samples=8"]
        words += ["--set", "sut.virtual.sync_hold_us=200"]
        process = subprocess.Popen(
            [sys.executable, "-m", "rig", *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        sizes_b = points(process, sessions)
        _, said = process.communicate()
    hours = trials * _IDLES * idle_s / 3600
    if process.returncode != 0 or len(sizes_b) < _WARM_UP + 4:
        print(f"  exit {process.returncode}, {len(sizes_b)} trials: {said[-300:]}")
        return 1
    late_b = np.array(sizes_b[_WARM_UP:], dtype=np.float64)
    (slope_b, _), covariance = np.polyfit(np.arange(len(late_b)), late_b, 1, cov=True)
    error_b = float(np.sqrt(covariance[0, 0]))
    print(
        f"  {hours:.2f} virtual hours in {trials} trials, SIMULATED:"
        f" {slope_b / 1e3:+.1f} kB a trial after trial {_WARM_UP}, standard error"
        f" {error_b / 1e3:.1f} kB,"
        f" {late_b[0] / 1e6:.1f} MB then, {max(sizes_b) / 1e6:.1f} MB at most"
    )
    return 0 if slope_b - 2 * error_b < _LIMIT_B else 1


if __name__ == "__main__":
    sys.exit(main())
