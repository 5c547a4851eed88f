# SPDX-License-Identifier: Apache-2.0
"""A whole run of 16 240 samples x 5 trials, and its check: processor time, peak memory,
bytes; simulated.

Run it: `python -m benchmarks.full_session [--samples N] [--keep FOLDER] [--quick]`. The
virtual device answers null queries and the virtual monitor samples at 200 kHz, with
every sample kept: 8.7 GB. Exit code 1 where a command needs more than 1 GB of memory,
the check finds a difference, or takes more than a minute.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BENCH = ROOT / "benches" / "virtual-null.toml"
#: NeuroBench's whole test split.
WHOLE = 16_240
_MEMORY_B = 1e9
_CHECK_S = 60.0
#: Bytes of a sample's five queries and loads.
_SAMPLE_B = 540_000
_SPARE_B = 2e9
_KB = 1024
#: Time between two looks at the memory.
_LOOK_S = 0.1


@dataclass(frozen=True, slots=True)
class Cost:
    """What a command took, with the processes that it started and awaited; the largest
    memory of all of them together, as it was seen while they ran.
    """

    code: int
    wall_s: float
    cpu_s: float
    peak_b: int


def command(words: Sequence[str | Path]) -> Cost:
    """Run `rig` without its output."""
    began_s = time.monotonic()
    devnull = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, devnull, 1)]
    line = [sys.executable, "-m", "rig", *map(str, words)]
    pid = os.posix_spawn(sys.executable, line, os.environ, file_actions=actions)
    os.close(devnull)
    peak_b = 0
    while not (ended := os.wait4(pid, os.WNOHANG))[0]:
        peak_b = max(peak_b, memory_b(pid))
        time.sleep(_LOOK_S)
    _, status, usage = ended
    return Cost(
        code=os.waitstatus_to_exitcode(status),
        wall_s=time.monotonic() - began_s,
        cpu_s=usage.ru_utime + usage.ru_stime,
        peak_b=max(peak_b, usage.ru_maxrss * _KB),
    )


def memory_b(pid: int) -> int:
    """Return the bytes in memory of a process and of those that it started, as Linux
    has them; what they share counts in each.
    """
    place = Path("/proc", str(pid))
    try:
        pages = int((place / "statm").read_text().split()[1])
        lists = [path.read_text() for path in place.glob("task/*/children")]
    except OSError:  # it has ended
        return 0
    children = map(int, " ".join(lists).split())
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(map(memory_b, children))


def size_b(folder: Path) -> int:
    """Return the bytes of all files of a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> int:
    """Run a session, check it, and print the costs of both."""
    parser = argparse.ArgumentParser(description="a whole session and its check")
    parser.add_argument("--samples", type=int, default=WHOLE)
    parser.add_argument("--keep", type=Path, help="folder where the session stays")
    parser.add_argument("--quick", action="store_true", help="40 samples")
    options = parser.parse_args()
    samples = 40 if options.quick else options.samples
    with ExitStack() as stack:
        kept = options.keep or stack.enter_context(tempfile.TemporaryDirectory())
        folder = Path(kept)
        folder.mkdir(parents=True, exist_ok=True)
        free_b = shutil.disk_usage(folder).free
        needed_b = samples * _SAMPLE_B + _SPARE_B
        if free_b < needed_b:
            print(f"  not run: needs {needed_b / 1e9:.0f} GB in {folder}")
            return 2
        return _measured(folder, samples)


def _measured(folder: Path, samples: int) -> int:
    sessions = folder / "sessions"
    ran = command(
        [
            *("run", BENCH, "--sessions", sessions),
            *("--set", f"task.null.samples={samples}"),
        ]
    )
    print(f"  {samples} samples x 5 trials of null queries, SIMULATED", flush=True)
    _print("run", ran)
    if ran.code != 0:
        return 1
    (session,) = sessions.iterdir()
    print(f"  {size_b(session) / 1e9:.3f} GB in the session", flush=True)
    checked = command(["check", session])
    _print("check", checked)
    peak_b = max(ran.peak_b, checked.peak_b)
    aims_met = peak_b < _MEMORY_B and checked.wall_s < _CHECK_S
    return 0 if checked.code == 0 and aims_met else 1


def _print(name: str, cost: Cost) -> None:
    print(
        f"  {name:<6} exit {cost.code}, {cost.wall_s:7.1f} s, {cost.cpu_s:7.1f} s of"
        f" processor time, {cost.peak_b / 1e6:6.1f} MB at most",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
