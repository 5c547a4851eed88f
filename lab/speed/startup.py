# SPDX-License-Identifier: Apache-2.0
"""Wall and CPU time of `rig --help` and of an empty Python, each freshly started: the
least of many.

    python -m lab.speed.startup [COUNT]

The aim is 0.2 s of wall time on a quiet computer; the exit code is 1 where it is
missed.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

CASES = {"python": ["-c", "pass"], "rig --help": ["-m", "rig", "--help"]}
COUNT = 20
AIM_S = 0.2


def started(arguments: list[str]) -> tuple[float, float]:
    """Run Python once; return wall and CPU time in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began_s = time.perf_counter()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    wall_s = time.perf_counter() - began_s
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Print the least times of each case; return an exit code."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else COUNT
    walls_s = {}
    for name, arguments in CASES.items():
        times = [started(arguments) for _ in range(count)]
        wall_s, cpu_s = (min(each) for each in zip(*times, strict=True))
        walls_s[name] = wall_s
        print(
            f"{name:<12} wall {wall_s * 1e3:6.1f} ms  CPU {cpu_s * 1e3:6.1f} ms  (of"
            f" {count})"
        )
    return int(walls_s["rig --help"] > AIM_S)


if __name__ == "__main__":
    sys.exit(main())
