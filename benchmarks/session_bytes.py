# SPDX-License-Identifier: Apache-2.0
"""Bytes of a session with every sample, and with means between windows, in one run.

Run it: `python -m benchmarks.session_bytes [--samples N | --quick]`; two minutes. The
POSIX firmware (`make firmware`) runs the ASC network on a simulated line of 921 600
baud and 1 ms each way; a simulated JS220 records it at its full rate, 1 MHz, SYNC at 2
MHz. Two sessions of one trial each, `[bench] between_windows` "full" and "reduced";
both must be valid, and `rig check` must find every number of both again. After them the
bytes of a whole run, 16 240 samples x 5 trials, COMPUTED from the bytes of a query and
its load here.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.paced_line import PacedLine
from rig.check.check import check
from rig.session.session import open_bench
from rig.store import inventory
from rig.trace.trace import Trace
from sut_backends.hosted import posix
from sut_backends.hosted.posix import DutProcess

ROOT = Path(__file__).resolve().parents[1]
BENCH = ROOT / "benches" / "posix-asc-joulescope.toml"
BAUD = 921_600
DELAY_S = 0.001
#: NeuroBench's whole test split, and its trials.
WHOLE = 16_240
TRIALS = 5
#: Of the simulated processor, for queries of about 65 ms: those of other computed whole
#: runs.
BLOCK_NS = 67


class PacedProcess(DutProcess):
    """The firmware as a process, its port on a line of a real pace."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._line = PacedLine(self.port, BAUD, DELAY_S)
        self.port = self._line.path

    def close(self) -> None:
        """End the line, and the process."""
        self._line.close()
        super().close()


@dataclass(frozen=True, slots=True)
class Recorded:
    """A session as it lies on the disk."""

    size_b: int
    recorded_s: float
    reduced_s: float
    queries: int

    @property
    def query_b(self) -> float:
        """Return the bytes of one query, with its load and its part of the rest."""
        return self.size_b / self.queries


def session(kept: str, samples: int) -> Recorded:
    """Run a session, which must be valid and found again by the check."""
    overrides = [
        f"bench.between_windows={kept}",
        f"task.asc.samples={samples}",
        f"sut.posix.baud={BAUD}",
        f"sut.posix.block_ns={BLOCK_NS}",
        "scenario.single_stream.idle_s=0.1",
    ]
    with TemporaryDirectory() as root:
        with open_bench(BENCH, overrides) as bench:
            result = bench.run(1, Path(root))
        checked = check(result.folder)
        trial = result.trials[0]
        if trial.problems or not checked.ok:
            wrong = [finding for finding in checked.findings if not finding.ok]
            raise RuntimeError(f"{kept}: {trial.problems} {wrong}")
        trace = Trace.open(result.folder / "trial-1" / "trace.jls")
        left_out = sum(span.stop - span.start for span in trace.reduced)
        size_b = sum(
            path.stat().st_size for path in inventory.files(result.folder).values()
        )
        windows_s = []
        for sample in trial.measured.samples:
            lengths_s = (window.stop_s - window.start_s for window in sample.windows)
            windows_s.append(sum(lengths_s))
        print(
            f"{kept}: {size_b / 1e6:.1f} MB, {trace.duration_s:.1f} s recorded,"
            f" {left_out / trace.sample_hz:.1f} s of them means in {len(trace.reduced)}"
            f" spans; {len(windows_s)} queries of"
            f" {1e3 * sum(windows_s) / len(windows_s):.1f} ms",
            flush=True,
        )
        return Recorded(
            size_b,
            trace.duration_s,
            left_out / trace.sample_hz,
            len(trial.measured.samples),
        )


def main() -> int:
    """Print the table; return the exit code: 1 where means save less than half."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--samples", type=int, default=50)
    parser.add_argument("--quick", action="store_true", help="three samples")
    options = parser.parse_args()
    samples = 3 if options.quick else options.samples
    posix.DutProcess = PacedProcess  # type: ignore[misc]
    full, reduced = session("full", samples), session("reduced", samples)
    print(
        f"{samples} seconds of audio, {BAUD} baud, simulated JS220 at 1 MHz:"
        f" {full.size_b / reduced.size_b:.2f} times fewer bytes with means between"
        " windows"
    )
    for name, item in (("full", full), ("reduced", reduced)):
        print(
            f"{name}: {item.query_b / 1e6:.2f} MB for a query and its load; COMPUTED"
            f" for {WHOLE} x {TRIALS}: {item.query_b * WHOLE * TRIALS / 1e9:.0f} GB"
        )
    return 0 if full.size_b > 2 * reduced.size_b else 1


if __name__ == "__main__":
    sys.exit(main())
