# SPDX-License-Identifier: Apache-2.0
"""Processor time of `rig report`: page and check each by themselves, against one that
gives what it has hashed and reduced to the other.

Run it: `.venv/bin/python benchmarks/report_once.py [--rounds N]`; two minutes. Two
sessions of the virtual bench at 1 MHz, two trials each, made here: as they are written
today, and with a results.json of schema 3, which says less of its metrics, so that a
page alone reduces every trial again. "Apart" is what `rig report` did before: the page,
then the check. Processor time of this process and its children, the median of the
rounds, taken in turn; beside it bytes that were hashed and trials that were reduced.
What the check computes is the same.
"""

from __future__ import annotations

import argparse
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.forger import rehash
from rig.check.check import check
from rig.report.report import rendered
from rig.results import document, results
from rig.session.session import open_bench
from rig.store import session_folder

BENCH = Path(__file__).resolve().parents[1] / "benches" / "virtual-null.toml"
SETTINGS = ("task.null.samples=100", "monitor.virtual.sample_hz=1_000_000")


def apart(folder: Path) -> None:
    """Write the page, then check, as before."""
    rendered(folder)
    check(folder, is_report_new=True)


def once(folder: Path) -> None:
    """Check, and write the page from that."""
    checked = check(folder, is_report_new=True)
    rendered(folder, hashed=True, trials=checked.trials)


def cpu_s() -> float:
    """Return the processor time of this process and its children so far."""
    used = [
        resource.getrusage(who)
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]
    return sum(one.ru_utime + one.ru_stime for one in used)


@contextmanager
def counted() -> Iterator[dict[str, int]]:
    """Count bytes that are hashed and trials that are reduced."""
    counts = {"hashed_b": 0, "reduced": 0}
    digest, reduce_trial = session_folder.sha256, results.reduce_trial

    def hashed(path: Path) -> str:
        counts["hashed_b"] += path.stat().st_size
        return digest(path)

    def reduced(*arguments: Any) -> Any:
        counts["reduced"] += 1
        return reduce_trial(*arguments)

    session_folder.sha256, results.reduce_trial = hashed, reduced  # type: ignore[assignment]
    try:
        yield counts
    finally:
        session_folder.sha256, results.reduce_trial = digest, reduce_trial


def compared(name: str, folder: Path, rounds: int) -> float:
    """Print both ways, and return their ratio."""
    ways: dict[str, Callable[[Path], None]] = {"apart": apart, "once": once}
    times: dict[str, list[float]] = {way: [] for way in ways}
    told = {}
    once(folder)  # what is imported, and in the system's cache, is so for all
    for _ in range(rounds):
        for way, action in ways.items():
            with counted() as counts:
                begun_s = cpu_s()
                action(folder)
                times[way].append(cpu_s() - begun_s)
            told[way] = (
                f"{counts['hashed_b'] / 1e6:.0f} MB hashed, {counts['reduced']} reduced"
            )
    for way in ways:
        print(f"{name}, {way}: {median(times[way]):.2f} s ({told[way]})", flush=True)
    ratio = median(times["apart"]) / median(times["once"])
    print(f"{name}: {ratio:.2f} times less")
    return ratio


def main() -> int:
    """Print the table; return the exit code: 1 where nothing is saved."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with TemporaryDirectory() as root:
        with open_bench(BENCH, SETTINGS) as bench:
            folder = bench.run(2, Path(root)).folder
        now = compared("today's results.json", folder, rounds)
        path = folder / session_folder.RESULTS
        path.write_text(document.text(document.read(path), 3), encoding="utf-8")
        rehash(folder)
        old = compared("results.json of schema 3", folder, rounds)
    return 0 if min(now, old) > 1 else 1


if __name__ == "__main__":
    sys.exit(main())
