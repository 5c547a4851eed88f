# SPDX-License-Identifier: Apache-2.0
"""How often the sensors of this machine's GPU change, idle and under load, and how
their energies compare: the basis of the windows that NVML resolves.

Run it: `python -m lab.speed.nvml_updates [SECONDS]`; a GPU and the extra `gpu` are
needed. It polls each reading as fast as it can be read, first without load, then beside
matrix products.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from drivers.host_counters.nvml_board import COUNTERS, ENERGY, GpuBoard, binding, find
from drivers.host_counters.nvml_state import read_state
from rig.errors import RigError

_LOAD = """
import time, torch
a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
end_s = time.monotonic() + {seconds}
print("ready", flush=True)
while time.monotonic() < end_s:
    for _ in range(20):
        a @ a
    torch.cuda.synchronize()
"""


@dataclass(frozen=True, slots=True)
class Polled:
    """Readings of a sensor: times in seconds, and values."""

    times_s: np.ndarray
    counts: np.ndarray

    @property
    def apart_s(self) -> np.ndarray:
        """Return the times between two changes of its value."""
        changes = np.flatnonzero(np.diff(self.counts)) + 1
        return np.diff(self.times_s[changes])


def polled(count: Callable[[], int], seconds: float) -> Polled:
    """Poll a sensor for some seconds."""
    times_s = []
    counts = []
    end_s = time.monotonic() + seconds
    while (now_s := time.monotonic()) < end_s:
        counts.append(count())
        times_s.append(now_s)
    return Polled(np.array(times_s), np.array(counts))


def row(name: str, source: str, found: Polled) -> str:
    """Return the results of a sensor's polls."""
    apart_ms = 1e3 * found.apart_s
    took_us = 1e6 * float(np.median(np.diff(found.times_s)))
    span_s = found.times_s[-1] - found.times_s[0]
    mean_w = (
        1e-3 * (found.counts[-1] - found.counts[0]) / span_s
        if source == ENERGY
        else 1e-3 * found.counts.mean()
    )
    text = (
        f"{name:<6}{source:<9}mean {mean_w:7.2f} W, a reading takes {took_us:7.1f} us"
    )
    if len(apart_ms) < 2:
        return f"{text}, {len(apart_ms)} changes"
    low, middle, high = np.percentile(apart_ms, [5, 50, 95])
    return (
        f"{text}, {len(apart_ms)} changes: {middle:.1f} ms apart (5 to 95 %: {low:.1f}"
        f" to {high:.1f}; most {apart_ms.max():.1f})"
    )


def rows(library: object, board: GpuBoard, name: str, seconds: float) -> None:
    """Print a row for each sensor that the board has."""
    for source, counter in COUNTERS.items():
        try:
            print(
                row(name, source, polled(counter(library, board).count, seconds)),
                flush=True,
            )
        except RigError as error:
            print(f"{name:<6}{source:<9}{error.cause}: {error.evidence}", flush=True)


def main() -> int:
    """Print the rows of an idle board and of one under load; return 1 without a
    board."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 4.0
    try:
        library = binding()
        library.nvmlInit()
        board = find(library, "", 0)
    except Exception as error:  # no binding, no driver, no board: here is where it ends
        print(f"no board: {error}")
        return 1
    print(
        f"{board.name}, driver {board.driver}, CUDA {board.cuda}, averages:"
        f" {board.averages}"
    )
    print(f"state: {read_state(library, board.handle).plain()}")
    rows(library, board, "idle", seconds)
    code = _LOAD.format(seconds=5 * seconds)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as load:
        assert load.stdout is not None
        load.stdout.readline()
        rows(library, board, "load", seconds)
        print(f"state: {read_state(library, board.handle).plain()}")
        load.terminate()
    library.nvmlShutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
