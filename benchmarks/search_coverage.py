# SPDX-License-Identifier: Apache-2.0
"""How often the 95 % intervals of searches hold the truth, for populations that are
known.

Run it: `python -m benchmarks.search_coverage [RUNS] [--seed N] [--page
docs/decisions/2026-11-24-intervals-of-searches.md]`; 2000 runs of each case by default,
with a seed from the clock, which is printed. Trials are made of searches as the
scenario `optimization` gets them, without real time, and its own function makes the
intervals. `--page` puts both tables into a page, between its marks.

The aim is 93 to 97 %, for other workloads 93 to 99 %, as their interval contains that
of the same ones. Exact intervals of counts and ranks hold the truth at least as often
as they say: 93 % or more. An aim is missed where the exact binomial interval of the
count leaves it out; so is the rule that an interval is withheld by the design alone,
where some runs of a case have one and some not. One missed makes the exit code 1. Cases
without an aim are shown in brackets.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Protocol

from benchmarks.skewed_searches import LAYOUTS, POPULATIONS, Held
from benchmarks.skewed_searches import one_run as skewed_run
from benchmarks.threshold_searches import DESIGNS
from benchmarks.threshold_searches import one_run as threshold_run
from rig.stats.binomial import Share

LOW = 0.93
HIGH = 0.97
HIGH_OTHER = 0.99
#: An exact interval of a count jumps: no aim above.
EXACT = ("success", "tts99", "latency_p50")
#: Metrics that are stated only where each search reaches its aim.
WHOLE = ("latency", "energy")
BEGIN = "<!-- search coverage: made by benchmarks/search_coverage.py -->"
END = "<!-- end of search coverage -->"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One interval of one metric in all runs of a case: how many runs there were, in
    how many of them the metric and the interval, how many hold the truth, and how many
    have no upper end.
    """

    runs: int
    stated: int
    known: int
    held: int
    endless: int

    def aim_missed(self, low: float, high: float, confidence: float = 0.95) -> bool:
        """Return whether the coverage lies outside the aim, and not by chance."""
        least, most = Share(self.held, self.known).interval(confidence)
        return most < low or least > high

    @property
    def text(self) -> str:
        """Return the coverage in percent, with the share without an upper end where
        that is more than half a percent.
        """
        if not self.known:
            return "not known"
        output = f"{100 * self.held / self.known:.1f}"
        endless = 100 * self.endless / self.known
        return f"{output} ({endless:.0f})" if endless >= 0.5 else output


Both = tuple[Found, Found]


def coverage(runs: Sequence[Held]) -> dict[str, Both]:
    """Return the results of each metric, for the same and for other workloads."""
    names = dict.fromkeys(chain.from_iterable(runs))
    return {name: (_found(runs, name, 0), _found(runs, name, 1)) for name in names}


def _found(runs: Sequence[Held], name: str, which: int) -> Found:
    own = [run[name][which] for run in runs if name in run]
    known = [item for item in own if item[0] is not None]
    return Found(
        runs=len(runs),
        stated=len(own),
        known=len(known),
        held=sum(bool(item[0]) for item in known),
        endless=sum(item[1] for item in known),
    )


def misses(case: str, name: str, both: Both, confidence: float = 0.95) -> Iterator[str]:
    """Yield which aims a metric of a case misses, and not by chance."""
    what = name.split()[0]
    for which, result in zip(("same", "other"), both, strict=True):
        if 0 < result.known < result.stated:
            yield (
                f"{case}: {name}, {which}: withheld in {result.stated - result.known}"
                " runs"
            )
        # A mean latency of those sessions alone with only successful searches is one of
        # shorter times.
        if not result.known or (what in WHOLE and result.stated < result.runs):
            continue
        high = HIGH if which == "same" else HIGH_OTHER
        if result.aim_missed(LOW, 1.0 if what in EXACT else high, confidence):
            yield (
                f"{case}: {name}, {which}: {result.text} %, aim {LOW:.0%} to {high:.0%}"
            )


class OneRun(Protocol):
    """Makes one run of a case."""

    def __call__(self, number: int, *, seed: int) -> Held: ...


def cases() -> Iterator[tuple[str, bool, OneRun]]:
    """Yield the title of each case, whether it has an aim, and the function that makes
    one run of it.
    """
    for population, of in POPULATIONS.items():
        for layout, shape in LAYOUTS.items():
            run = partial(_skewed, population=population, layout=layout)
            yield f"{population} | {layout}", of.judged and shape.judged, run
    for title in DESIGNS:
        yield title, True, partial(_threshold, title=title)


def _skewed(number: int, seed: int, population: str, layout: str) -> Held:
    return skewed_run(number, population, layout, seed)


def _threshold(number: int, seed: int, title: str) -> Held:
    return threshold_run(number, title, seed)


def tables(found: Mapping[str, Mapping[str, Both]]) -> Iterator[str]:
    """Yield the lines of both tables: skewed populations by designs, metrics of a
    solver with thresholds by designs.
    """
    yield f"| same; other workloads | {' | '.join(LAYOUTS)} |"
    yield "|---" * (len(LAYOUTS) + 1) + "|"
    for population, of in POPULATIONS.items():
        for name in ("gap", "latency") if of.times else ("gap",):
            cells = []
            for layout, shape in LAYOUTS.items():
                both = found[f"{population} | {layout}"][name]
                cells.append(_cell(both, of.judged and shape.judged))
            yield f"| {name}: {population} | {' | '.join(cells)} |"
    yield ""
    yield f"| same; other workloads | {' | '.join(DESIGNS)} |"
    yield "|---" * (len(DESIGNS) + 1) + "|"
    for name in dict.fromkeys(chain.from_iterable(found[title] for title in DESIGNS)):
        rows = [found[title].get(name) for title in DESIGNS]
        whole = [both is not None and both[0].stated == both[0].runs for both in rows]
        pairs = zip(rows, whole, strict=True)
        yield (
            f"| {name} |"
            f" {' | '.join('' if b is None else _cell(b, ok) for b, ok in pairs)} |"
        )


def _cell(both: Both, judged: bool) -> str:
    same, other = both
    output = f"{same.text}; {other.text}"
    return output if judged else f"[{output}]"


def put_into(page: Path, lines: Sequence[str]) -> None:
    """Replace the text between the marks of a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(
        "\n".join([before + BEGIN, "", *lines, "", END + after]), encoding="utf-8"
    )


def main() -> int:
    """Print the coverages; exit code 1 when one misses its aim, and not by chance."""
    options = argparse.ArgumentParser(
        description="how often 95 % intervals of searches contain the truth"
    )
    options.add_argument(
        "runs",
        type=int,
        nargs="?",
        default=2000,
        help="runs of each case (%(default)s)",
    )
    options.add_argument(
        "--seed", type=int, help="of all draws (default: from the clock)"
    )
    options.add_argument(
        "--page", type=Path, help="a page with marks, to put the tables into"
    )
    options.add_argument("--quick", action="store_true", help="two runs of each case")
    asked = options.parse_args()
    if asked.quick:
        asked.runs = 2
    seed = time.time_ns() // 1_000_000 if asked.seed is None else asked.seed
    print(f"{asked.runs} runs of each case, seed {seed}", flush=True)
    result: dict[str, dict[str, Both]] = {}
    missed: list[str] = []
    with ProcessPoolExecutor() as pool:
        for case, judged, run in cases():
            made = pool.map(partial(run, seed=seed), range(asked.runs), chunksize=16)
            result[case] = coverage(list(made))
            for name, both in result[case].items():
                print(f"{case:<60} {name:<18} {_cell(both, judged)}", flush=True)
                missed += misses(case, name, both) if judged else []
    lines = list(tables(result))
    verdict = (
        "every aim is met" if not missed else f"missed, and not by chance: {missed}"
    )
    print("", *lines, "", verdict, sep="\n")
    if asked.page is not None:
        date = time.strftime("%Y-%m-%d", time.gmtime())
        output = (
            f"Simulated on {date}, {asked.runs} runs of each case, seed {seed};"
            f" {verdict}."
        )
        put_into(asked.page, [output, "", *lines])
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
